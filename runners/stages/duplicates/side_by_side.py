"""Lays two texts out in two aligned columns: equal words stay level, differences are marked.

Widths are in terminal columns: wide characters take two, combining marks none.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from winnow.runners.stages.duplicates.text_difference import Difference, Run, Word, Words
from winnow.runners.tables.escaping import cells, shortened
from winnow.runners.tables.quantities import grouped

FOLDED_WORDS = 24
"""Runs of fewer equal words are never folded."""
NEAR_WORDS = 40
"""A fold moves to a line break that is at most this many words away."""
MAX_WORD_CHARACTERS = 2_000

LEFT_MARKS = "[-", "-]"
RIGHT_MARKS = "{+", "+}"


@dataclass(frozen=True, slots=True)
class Piece:
    """Part of a line in one column."""

    text: str
    changed: bool


Pieces: TypeAlias = tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """A line of both columns."""

    left: Pieces
    right: Pieces


@dataclass(frozen=True, slots=True)
class Fold:
    """Equal lines, or equal words of one line, that are not shown."""

    lines: int
    words: int

    @property
    def summary(self) -> str:
        """The fold in words."""
        count, what = (self.lines, "line") if self.lines else (self.words, "word")
        return f"{grouped(count)} equal {what}{'' if count == 1 else 's'}"


@dataclass
class _Column:
    width: int
    marks: tuple[str, str]  # around changes; empty if colour marks them
    shown: Callable[[str], str]
    pieces: list[Piece] = field(default_factory=list)
    used: int = 0

    def add(self, word: Word, *, changed: bool) -> bool:
        """Add the word if it fits, and return whether it did. An empty line takes part of a longer word."""
        text = self.shown(word.text[:MAX_WORD_CHARACTERS])
        if word.after and self.pieces:
            text = " " + text
        follows = bool(self.pieces) and self.pieces[-1].changed
        marks = sum(map(len, self.marks)) if changed and not follows else 0
        wide = cells(text) + marks
        if self.used + wide > self.width:
            if self.pieces:
                return False
            text, wide = shortened(text, self.width - marks), self.width
        if follows and changed:
            text = self.pieces.pop().text + text
        elif changed and text.startswith(" "):  # the space is not what changed
            self.pieces.append(Piece(" ", False))
            text = text[1:]
        self.pieces.append(Piece(text, changed))
        self.used += wide
        return True

    def taken(self) -> Pieces:
        """Return the current line, and start the next."""
        line = tuple(
            Piece(f"{self.marks[0]}{piece.text}{self.marks[1]}", True) if piece.changed else piece
            for piece in self.pieces
        )
        self.pieces, self.used = [], 0
        return line


def side_by_side(found: Difference, width: int, shown: Callable[[str], str], *, marks: bool) -> Iterator[Row | Fold]:
    """The lines of two columns of this width in terminal columns.

    `shown` makes a word safe to print; `marks`: whether to put changes in marks, for output without colour.
    """
    none = "", ""
    left = _Column(width, LEFT_MARKS if marks else none, shown)
    right = _Column(width, RIGHT_MARKS if marks else none, shown)

    def flushed() -> Iterator[Row]:
        if left.pieces or right.pieces:
            yield Row(left.taken(), right.taken())

    for number, run in enumerate(found.runs):
        if not run.same:
            yield from _changed(run, left, right)
            continue
        first, last = number == 0, number == len(found.runs) - 1
        for part in _parts(run, width, first=first, last=last):
            if isinstance(part, Fold):
                yield from flushed()
                yield part
                continue
            for one, other in zip(part.left, part.right, strict=True):
                if one.after == other.after == "\n":
                    yield from flushed()
                if _fits(left, right, one, other):
                    continue
                yield from flushed()
                left.add(one, changed=False)
                right.add(other, changed=False)
    yield from flushed()


def _fits(left: _Column, right: _Column, one: Word, other: Word) -> bool:
    """Add an equal word to both columns if it fits, and return whether it did."""
    pieces, used = list(left.pieces), left.used
    if not left.add(one, changed=False):
        return False
    if right.add(other, changed=False):
        return True
    left.pieces, left.used = pieces, used
    return False


def _changed(run: Run, left: _Column, right: _Column) -> Iterator[Row]:
    at = to = 0
    while True:
        at = _filled(left, run.left, at)
        to = _filled(right, run.right, to)
        if at == len(run.left) and to == len(run.right):
            return
        yield Row(left.taken(), right.taken())


def _filled(column: _Column, words: Words, at: int) -> int:
    """Add words up to the end of the line; returns the index of the next word."""
    while at < len(words):
        if words[at].after == "\n" and column.pieces:
            return at
        if not column.add(words[at], changed=True):
            return at
        at += 1
    return at


def _parts(run: Run, width: int, *, first: bool, last: bool) -> Iterator[Run | Fold]:
    """A run of equal words, or its two ends with a fold between them if it is long."""
    head = 0 if first else _context(run.left, width)
    tail = 0 if last else _context(run.left[::-1], width)
    breaks = [at for at, word in enumerate(run.left) if word.after == "\n" and head <= at < len(run.left) - tail]
    if len(breaks) > 1:  # several lines: fold whole lines unless they are very long
        head = breaks[0] if not first and breaks[0] - head < NEAR_WORDS else head
        tail = len(run.left) - breaks[-1] if not last and len(run.left) - tail - breaks[-1] < NEAR_WORDS else tail
    between = len(run.left) - head - tail
    if between < FOLDED_WORDS:
        yield run
        return
    if head:
        yield Run(run.left[:head], run.right[:head], same=True)
    lines = sum(word.after == "\n" for word in run.left[head : head + between])
    yield Fold(lines if lines > 1 else 0, between)
    if tail:
        yield Run(run.left[-tail:], run.right[-tail:], same=True)


def _context(words: Sequence[Word], width: int) -> int:
    """How many of the first words fill about half a line."""
    used = 0
    for number, word in enumerate(words):
        used += cells(word.text[:width]) + bool(word.after)
        if used > width // 2:
            return number + 1
    return len(words)
