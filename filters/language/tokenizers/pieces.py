"""Split long texts into pieces, as tokenizer packages use about 300 times a text's size while encoding it.

With almost every tokenizer, a cut next to a space between two letters, or after a line break before a letter, does not
change the tokens: no token crosses it and the tokenizer looks no further back. Which cuts are safe is tested on a few
pairs of words when a tokenizer is loaded. A piece without a safe cut is cut between any two characters, so a text
without spaces and line breaks may have one or two more tokens per piece.
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
_NEAR: Final = 1 << 11  # characters before a piece's end that are searched first

_WORDS: Final = (("the cat", "sat down"), ("Das ist", "Österreich und"), ("a", "b"), ("да это", "слово тут"))
_LINES: Final = (("A line.", "Another one"), ("foo", "bar"), ("Это да!", "слово тут"), ("第一行。", "第二行"))


@dataclass(frozen=True, slots=True)
class Cuts:
    """Cuts that do not change one tokenizer's tokens."""

    before_space: bool
    instead_of_space: bool  # the tokenizer puts a space before every text
    after_line: bool

    @classmethod
    def of(cls, encode: Encode) -> "Cuts":
        """Find the safe cuts by testing a tokenizer's encode function."""
        before = _agree(encode, _WORDS, "", " ")
        instead = not before and _agree(encode, _WORDS, "", "", between=" ")
        return cls(before, instead, _agree(encode, _LINES, "\n", ""))

    def pieces(self, text: str) -> Iterator[str]:
        """Split the text into pieces of at most `PIECE_CHARACTERS`, most of nearly that length."""
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
        """The end of the piece before a cut, and the start of the next one."""
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
    """Whether every pair has the same tokens in one text as in two; pairs that cannot be encoded are skipped."""
    compared = False
    for left, right in pairs:
        first, second = left + behind, before + right
        parts = encode([first, second, first + (between or "") + second])
        one, two, whole = parts
        if one is None or two is None or whole is None:
            continue
        if [*one, *two] != whole:
            return False
        compared = True
    return compared
