"""Finds where two texts differ: by lines first, then by the words of lines that are not the same.

Both are aligned by a longest common subsequence (Hyyrö 2004: one column of the table is one long integer), so the work
is bounded by the length compared, whatever the texts are like. White space is ignored. `difflib` is not enough: it
found 265 of 1,254 common words of two unrelated texts of 5,000 words, and took 4 s for an edited text of 20,000 words
and 5 s for 5,000 words of two kinds; this takes 0.14 and 0.01 s.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from winnow.filters.language.words.unspaced import LETTER, NUMBER, word_roles

MAX_CHARACTERS = 200_000
MAX_LINES = 10_000
MAX_WORDS = 20_000
"""The most that is compared of each text; `MAX_WORDS` counts the words of differing lines."""

LEAST_SAME = 3
"""Fewer equal words in a row, between longer differing pieces, count as different."""

_SPACE = re.compile(r"\s+")

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Word:
    """A word, a punctuation mark, or a character of a script without spaces."""

    text: str
    after: str  # what comes before it: nothing, a space or a line break


Words: TypeAlias = tuple[Word, ...]


@dataclass(frozen=True, slots=True)
class Run:
    """Words that are equal in both texts, or that replace each other."""

    left: Words
    right: Words
    same: bool


@dataclass(frozen=True)
class Difference:
    """The difference of two texts."""

    runs: tuple[Run, ...]
    compared: tuple[int, int]  # the number of characters compared of each text
    whole: tuple[int, int]  # the number of characters in each text
    coarse: bool  # whether some words were too many to compare and count as different

    @property
    def cut(self) -> bool:
        """Whether only part of a text was compared."""
        return self.compared != self.whole

    @property
    def same(self) -> bool:
        """Whether the compared parts are equal except for white space."""
        return all(run.same for run in self.runs)


def difference(left: str, right: str) -> Difference:
    """Compare two texts."""
    (one, compared), (other, compared_other) = _lines(left), _lines(right)
    runs: list[Run] = []
    budget = MAX_WORDS
    coarse = False
    for ours, theirs, same in _stretches([line for line, _ in one], [line for line, _ in other]):
        mine = _words(text for _, text in one[ours])
        yours = _words(text for _, text in other[theirs])
        if same:
            runs.append(Run(mine, yours, same=True))
        elif max(len(mine), len(yours)) > budget:
            coarse = True
            runs.append(Run(mine, yours, same=False))
        else:
            budget -= max(len(mine), len(yours))
            runs += _by_words(mine, yours)
    return Difference(tuple(_joined(runs)), (compared, compared_other), (len(left), len(right)), coarse)


def common(one: Sequence[Item], other: Sequence[Item]) -> list[tuple[int, int]]:
    """The positions of a longest common subsequence in both."""
    first, last = 0, min(len(one), len(other))
    while first < last and one[first] == other[first]:
        first += 1
    tail = 0
    while tail < last - first and one[-1 - tail] == other[-1 - tail]:
        tail += 1
    middle = _common(one[first : len(one) - tail], other[first : len(other) - tail])
    ends = ((len(one) - at, len(other) - at) for at in range(tail, 0, -1))
    return [*((at, at) for at in range(first)), *((at + first, to + first) for at, to in middle), *ends]


def _common(one: Sequence[Item], other: Sequence[Item]) -> list[tuple[int, int]]:
    if not one or not other:
        return []
    places: dict[Item, int] = {}
    for at, item in enumerate(one):
        places[item] = places.get(item, 0) | 1 << at
    full = (1 << len(one)) - 1
    row, rows = full, []
    for item in other:  # an unset bit: here the longest common subsequence grows by one
        here = row & places.get(item, 0)
        row = ((row + here) | (row - here)) & full
        rows.append(row)
    found: list[tuple[int, int]] = []
    at, to = len(one) - 1, len(other) - 1
    while at >= 0 and to >= 0:
        if rows[to] >> at & 1:
            at -= 1
        elif to and not rows[to - 1] >> at & 1:
            to -= 1
        else:
            found.append((at, to))
            at, to = at - 1, to - 1
    return found[::-1]


def _stretches(one: Sequence[Item], other: Sequence[Item]) -> Iterator[tuple[slice, slice, bool]]:
    """The alternating equal and differing stretches of both."""
    at = to = 0
    pairs = [*common(one, other), (len(one), len(other))]
    begin = 0
    while begin < len(pairs):
        left, right = pairs[begin]
        if left > at or right > to:
            yield slice(at, left), slice(to, right), False
        end = begin
        while end + 1 < len(pairs) - 1 and pairs[end + 1] == (pairs[end][0] + 1, pairs[end][1] + 1):
            end += 1
        if begin == len(pairs) - 1:
            return
        at, to = pairs[end][0] + 1, pairs[end][1] + 1
        yield slice(left, at), slice(right, to), True
        begin = end + 1


def _by_words(one: Words, other: Words) -> Iterator[Run]:
    runs = [
        Run(one[ours], other[theirs], same)
        for ours, theirs, same in _stretches([word.text for word in one], [word.text for word in other])
    ]
    for number, run in enumerate(runs):
        around = [_size(runs[place]) for place in (number - 1, number + 1) if 0 <= place < len(runs)]
        chance = run.same and len(run.left) < LEAST_SAME and len(around) == 2 and min(around) > len(run.left)
        yield Run(run.left, run.right, same=False) if chance else run


def _size(run: Run) -> int:
    return max(len(run.left), len(run.right))


def _joined(runs: Sequence[Run]) -> Iterator[Run]:
    """The runs, with neighbours of the same sort merged."""
    held: list[Run] = []
    for run in [*runs, None]:
        if held and (run is None or run.same != held[0].same):
            left, right = (tuple(word for one in held for word in side(one)) for side in (_left, _right))
            yield Run(left, right, held[0].same)
            held = []
        if run is not None:
            held.append(run)


def _left(run: Run) -> Words:
    return run.left


def _right(run: Run) -> Words:
    return run.right


def _lines(text: str) -> tuple[list[tuple[str, str]], int]:
    """The lines that are not empty, each as compared and as written, and how many characters they cover."""
    cut = text[:MAX_CHARACTERS]
    found: list[tuple[str, str]] = []
    at = 0
    for line in cut.split("\n"):
        if len(found) == MAX_LINES:
            return found, at
        if compared := " ".join(line.split()):
            found.append((compared, line))
        at += len(line) + 1
    return found, len(cut)


def _words(lines: Iterator[str]) -> Words:
    return tuple(
        Word(text, "\n" if not place else " " if spaced else "")
        for line in lines
        for place, (text, spaced) in enumerate(_split(line))
    )


def _split(line: str) -> Iterator[tuple[str, bool]]:
    """The words of a line, each with whether a space comes before it."""
    table = word_roles()
    for number, piece in enumerate(_SPACE.split(line.strip())):
        start, joins = 0, False  # whether the piece that begins at `start` is a word that more letters may join
        for at, character in enumerate(piece):
            point = ord(character)
            mark = unicodedata.category(character)[0] == "M"
            letter = int(table.flags[(int(table.pages[point >> 8]) << 8) | (point & 0xFF)]) in (LETTER, NUMBER)
            if at and not mark and not (joins and letter):
                yield piece[start:at], start == 0 and number > 0
                start = at
            if not mark:
                joins = letter
        if piece:
            yield piece[start:], start == 0 and number > 0
