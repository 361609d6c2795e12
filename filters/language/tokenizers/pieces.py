"""Long texts in pieces: what the packages hold of a text while they encode it is some three hundred times as large.

A cut beside a space between two letters, or behind a line break before one, leaves the tokens as they are with almost
every tokenizer: none of its tokens reaches across, and it looks no further back. Which of the cuts are such is tried
out on a few pairs of words when a tokenizer is loaded. Only where a piece has no such place is it cut between any two
characters, so a text without spaces and line breaks may have a token or two more for each piece of it.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

PIECE_CHARACTERS: Final = 1 << 15

Encode: TypeAlias = Callable[[list[str]], list[list[int] | None]]

_LETTER: Final = r"[^\W\d_]"
_SPACE: Final = re.compile(rf"(?<={_LETTER}) (?={_LETTER})")
_LINE: Final = re.compile(rf"(?<=\S)\n(?={_LETTER})")
_NEAR: Final = 1 << 11  # so many characters before its end a piece is searched first

_WORDS: Final = (("the cat", "sat down"), ("Das ist", "Österreich und"), ("a", "b"), ("да это", "слово тут"))
_LINES: Final = (("A line.", "Another one"), ("foo", "bar"), ("Это да!", "слово тут"), ("第一行。", "第二行"))


@dataclass(frozen=True, slots=True)
class Cuts:
    """Where texts may be cut for one tokenizer without a difference."""

    before_space: bool
    instead_of_space: bool  # the tokenizer puts a space before every text
    after_line: bool

    @classmethod
    def of(cls, encode: Encode) -> "Cuts":
        """Tried out with a tokenizer's own function."""
        before = _agree(encode, _WORDS, "", " ")
        instead = not before and _agree(encode, _WORDS, "", "", between=" ")
        return cls(before, instead, _agree(encode, _LINES, "\n", ""))

    def pieces(self, text: str) -> Iterator[str]:
        """The text in pieces of at most `PIECE_CHARACTERS`, of which most have nearly as many."""
        start = 0
        while len(text) - start > PIECE_CHARACTERS:
            limit = start + PIECE_CHARACTERS
            end, after = self._cut(text, max(start, limit - _NEAR), limit)
            if end == limit:
                end, after = self._cut(text, start, limit)
            yield text[start:end]
            start = after
        yield text[start:]

    def _cut(self, text: str, start: int, limit: int) -> tuple[int, int]:
        """Where the piece before a cut ends, and where the one behind it begins."""
        found = (limit, limit)
        last = -1
        if self.before_space or self.instead_of_space:
            for match in _SPACE.finditer(text, start, limit):
                last = match.start()
                found = (last, last if self.before_space else last + 1)
        if self.after_line:
            for match in _LINE.finditer(text, start, limit):
                if match.end() > last:
                    found = (match.end(), match.end())
        return found


def _agree(
    encode: Encode, pairs: Sequence[tuple[str, str]], behind: str, before: str, between: str | None = None
) -> bool:
    """Whether every pair has the same tokens in one text as in two; pairs that cannot be encoded say nothing."""
    said = False
    for left, right in pairs:
        first, second = left + behind, before + right
        parts = encode([first, second, first + (between or "") + second])
        one, two, whole = parts
        if one is None or two is None or whole is None:
            continue
        if [*one, *two] != whole:
            return False
        said = True
    return said
