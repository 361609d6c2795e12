"""The normal form in which texts are compared: a table over all code points for kernels, and a Python version.

A text is its words (`winnow.filters.language.words.unspaced`), and a word is its code points without case and width, in
compatibility decomposition: NFC and NFD, full and half width, straight and curly apostrophes are equal. Invisible
characters are removed, marks stay; consecutive marks are sorted by number.

The tables come from Python's `unicodedata`, restricted to the version of Unicode that words are made with, so that
another Python gives the same form.
"""

import sys
import unicodedata
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.filters.language.folding.characters import folded_character
from winnow.filters.language.kernels.spans import texts_of
from winnow.filters.language.words.unspaced import LETTER, NUMBER, OTHER, split_unicode, word_roles

Unit: TypeAlias = Literal["words", "characters"]

ROLE = 15  # the bits of a form for the character's role in words
SEVERAL = 1 << 4  # becomes none or several: the form has an entry's number instead of a difference
SYLLABLE = 1 << 5  # a Hangul syllable, which is computed
STACKED = 1 << 6  # becomes a mark whose order among its neighbours is irrelevant
ACCENTED = 1 << 7  # becomes several: a letter, and one mark that is stacked on it
UNUSUAL = SEVERAL | SYLLABLE | STACKED
AT = 8  # from this bit on: the folded code point minus the code point, modulo 2^21, or an entry's number
POINT = (1 << 21) - 1
STACKED_POINT = 1 << 21  # like STACKED, for a code point of an entry

FIRST_SYLLABLE, LAST_SYLLABLE = 0xAC00, 0xD7A3
FIRST_LEAD, FIRST_VOWEL, FIRST_TAIL = 0x1100, 0x1161, 0x11A7
TAILS, SYLLABLES_OF_LEAD = 28, 588

LONGEST = 18
"""The most code points that one becomes."""

_APOSTROPHES = "\u2018\u2019"


class Forms(NamedTuple):
    """A two-stage table over all code points, and the entries of those that become several."""

    pages: NDArray[np.uint16]
    values: NDArray[np.uint32]
    entries: NDArray[np.int32]  # the start of each entry in `pool`, and the end of the last
    pool: NDArray[np.uint32]


def folded(character: str) -> str:
    """The normal form of a word's character; empty for an invisible one."""
    text = "'" if character in _APOSTROPHES else character
    while True:
        again = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
        if again == text:
            return "".join(one for one in text if not one.isspace() and folded_character(one, case=False))
        text = again


@lru_cache(maxsize=1)
def forms() -> Forms:
    """The tables, made once per process."""
    table = word_roles()
    roles = table.flags.reshape(-1, 256)[table.pages].ravel()
    values = roles.astype(np.uint32)
    entries: dict[str, int] = {}
    for page in range(0, sys.maxunicode, 256):
        points = [point for point in range(page, page + 256) if roles[point] != OTHER]
        text = "".join(map(chr, points))
        if unicodedata.normalize("NFKD", text).casefold() == text and not any(map(_changes, points)):
            continue  # ideographs and most else
        for point in points:
            values[point] |= _form(point, entries)
    return Forms(
        *_paged(values),
        np.cumsum([0, *map(len, entries)], dtype=np.int32),
        np.array([ord(one) | STACKED_POINT * is_stacked(one) for one in "".join(entries)], np.uint32),
    )


@lru_cache(maxsize=1)
def numeral_forms() -> Forms:
    """The tables in which the decimal digits of every script are those of ASCII."""
    plain = forms()
    values = plain.values.reshape(-1, 256)[plain.pages].ravel()
    for point in np.flatnonzero((values & ROLE == NUMBER) & (np.arange(len(values)) >= 0x80)).tolist():
        if (digit := unicodedata.decimal(chr(point), None)) is not None:
            values[point] = NUMBER | ((ord("0") + digit - point) & POINT) << AT
    return Forms(*_paged(values), plain.entries, plain.pool)


def _paged(values: NDArray[np.uint32]) -> tuple[NDArray[np.uint16], NDArray[np.uint32]]:
    """The pages of a table over all code points, and its blocks, each once."""
    blocks: dict[bytes, int] = {}
    pages = [blocks.setdefault(block.tobytes(), len(blocks)) for block in values.reshape(-1, 256)]
    return np.array(pages, np.uint16), np.frombuffer(b"".join(blocks), np.uint32)


def units_of(text: str, unit: Unit) -> list[str]:
    """The normal form of a text: its words, or its characters, each with its stacked marks.

    Between characters, one space separates two words that are both in scripts with spaces.
    """
    table = word_roles()
    words: list[tuple[str, bool]] = []  # whether it is of a script with spaces
    for word in split_unicode(texts_of(pa.array([text], pa.large_string()))).of(0):
        if form := "".join(map(folded, word)):
            point = ord(word[0])
            role = table.flags[(int(table.pages[point >> 8]) << 8) | (point & 0xFF)]
            words.append((form, role in (LETTER, NUMBER)))
    if unit == "words":
        return [_ordered(form) for form, _ in words]
    joined = "".join(
        " " + form if place and spaced and words[place - 1][1] else form for place, (form, spaced) in enumerate(words)
    )
    return stacks(_ordered(joined))


def stacks(text: str) -> list[str]:
    """The characters of a normal form, each with its stacked marks."""
    found: list[str] = []
    for one in text:
        if found and is_stacked(one):
            found[-1] += one
        else:
            found.append(one)
    return found


def _ordered(text: str) -> str:
    return "".join(one[:1] + "".join(sorted(one[1:])) if not is_stacked(one[0]) else "".join(sorted(one))
                   for one in stacks(text))  # fmt: skip


def is_stacked(character: str) -> bool:
    """Whether a mark's order among its neighbours is irrelevant: its combining class is not 0."""
    return unicodedata.combining(character) != 0


def _changes(point: int) -> bool:
    return is_stacked(chr(point)) or chr(point) in _APOSTROPHES or not folded_character(chr(point), case=False)


def _form(point: int, entries: dict[str, int]) -> int:
    if FIRST_SYLLABLE <= point <= LAST_SYLLABLE:
        return SYLLABLE
    form = folded(chr(point))
    if len(form) == 1:
        return ((ord(form) - point) & POINT) << AT | STACKED * is_stacked(form)
    accented = len(form) == 2 and not is_stacked(form[0]) and is_stacked(form[1])
    return entries.setdefault(form, len(entries)) << AT | SEVERAL | ACCENTED * accented
