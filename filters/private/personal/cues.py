"""Cues: words that announce a kind of number, such as `DNI` and `social security`, in many languages.

A cue counts if it precedes a number with little between: `DNI (copia): `. The window is bounded, so even a text of
only cues takes linear time.
"""

import re
from collections.abc import Sequence

_LOOK_BACK = 96  # bytes before a number
_GAP = 24  # characters between a cue and its number, none of them a digit or the end of a line
SIGNS = " \t\n\r\xa0\u202f\u3000:：.-–—=>(（)[]#№º°'\"“”„|/,;*_+、，。"  # allowed between, also across two lines
MAX_SIGNS = 8
LONGEST_WORD = 24
_MAX_FILLERS = 2
_FILLER_WORDS = """
n no nr nro num number nummer numer numero número numéro nombre nos is ist es est er är on je jest è é z номер code kod
kode kood código codice der des del di de do da of the my your
"""  # allowed between a cue and its number
_FILLERS = frozenset(_FILLER_WORDS.split())
LINES = re.compile(r"[\d\n]")
WORDS = re.compile(r"[^\W\d_]+")
LAST_WORD = re.compile(r"(?<![^\W_])[^\W\d_]+\Z")
SPACED_SCRIPTS = "\u0900"  # below it are scripts of whole letters whose words are separated by blanks


class Cues:
    """The cues of one kind, matched in lower case before a position.

    Words match as whole words in scripts that separate words by blanks; in other scripts, and those whose vowels are
    marks, they match anywhere. Other words may stand between `strong` cues and the number; after ambiguous `weak` ones
    only signs and blanks may.
    """

    def __init__(self, strong: Sequence[str], weak: Sequence[str] = ()) -> None:
        everything = (*strong, *weak)
        self._far = frozenset(word for word in strong if _whole(word))
        self._far_parts = tuple(word for word in strong if not _whole(word))
        self._far_ascii = tuple(word for word in self._far_parts if word.isascii())
        self._near = frozenset(word for word in everything if _whole(word))
        self._near_parts = tuple(word for word in everything if not _whole(word))

    def before(self, text: str) -> bool:
        """Whether this lower-case text ends with a cue."""
        if self._directly_before(text):
            return True
        line = LINES.split(text[-_GAP - LONGEST_WORD :])[-1]
        gap = len(line) - _GAP
        if any(word[0] in self._far and word.end() >= gap for word in WORDS.finditer(line)):
            return True
        parts = self._far_ascii if line.isascii() else self._far_parts
        return any(part in line and bounded(line, line.index(part)) for part in parts)

    def _directly_before(self, text: str) -> bool:
        """Whether the text ends with a cue followed only by signs or a filler such as `number`."""
        for _ in range(_MAX_FILLERS + 1):
            left = text.rstrip(SIGNS)
            if len(text) - len(left) > MAX_SIGNS:
                return False
            last = LAST_WORD.search(left, max(0, len(left) - LONGEST_WORD))
            if last is not None and last[0] in self._near:
                return True
            if left.endswith(self._near_parts) and any(
                left.endswith(part) and bounded(left, len(left) - len(part)) for part in self._near_parts
            ):
                return True
            if last is None or last[0] not in _FILLERS:
                return False
            text = left[: last.start()]
        return False


def bounded(text: str, at: int) -> bool:
    """Whether no word of a script with blanks continues across this position."""
    return at == 0 or text[at] >= SPACED_SCRIPTS or not text[at - 1].isalnum()


def words(written: str) -> tuple[str, ...]:
    """Split a list at blanks; `·` is a blank inside a word."""
    return tuple(word.replace("·", " ") for word in written.split())


def _whole(word: str) -> bool:
    """Whether a cue is a single word of a script with blanks."""
    return word.isalpha() and word[0] < SPACED_SCRIPTS


def window(buffer: memoryview, low: int, at: int, size: int = _LOOK_BACK) -> str:
    """The lower-case text of so many bytes before a position; texts begin at `low`."""
    return bytes(buffer[max(low, at - size) : at]).decode("utf-8", "ignore").lower()
