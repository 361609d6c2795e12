"""The n-grams of a text's words, as hashes: what the model sees of a text.

Words are runs of letters and marks in lower case; whatever lies between them counts for nothing, as numbers and
punctuation say little of a language and much of a subject. A word's n-grams include its two edges.
"""

import sys
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from winnow.filters.language.kernels.classes import ALPHA, MARK, decode, flags_by_point, width
from winnow.schemas.kernels import inlined

LONGEST = 5
"""Characters of an n-gram at most."""
WORD = 256
"""Characters of a word, with its edges, that are read at once."""
EDGE = 1  # stands for the beginning and the end of a word
DENSE = 0x2E80
"""From here on scripts write whole words in one or two characters: single characters are n-grams, too."""

_BETWEEN, _NOTHING = 0, 2
_APOSTROPHES = {"'": "'", "’": "'", "ʼ": "'", "ʻ": "'", "·": "·", "‧": "·"}
_JOINERS = "\u200c\u200d\u00ad\u2060\ufeff"
_PRIME = np.uint32(0x01000193)
_SEED = np.uint32(0x811C9DC5)


@lru_cache(maxsize=1)
def folding() -> npt.NDArray[np.int32]:
    """What each code point is read as: its lower case, or nothing, or what lies between words."""
    flags = flags_by_point()
    found = np.zeros(sys.maxunicode + 1, np.int32)
    for point in np.flatnonzero(flags & (ALPHA | MARK)).tolist():
        lower = chr(point).lower()
        found[point] = ord(lower[0]) if len(lower) >= 1 else point
    for character, read in _APOSTROPHES.items():
        found[ord(character)] = ord(read)
    for character in _JOINERS:
        found[ord(character)] = _NOTHING
    return found


@inlined  # type: ignore[untyped-decorator]
def mixed(value: np.uint32) -> np.uint32:
    """A hash whose every bit depends on all of them."""
    value ^= value >> np.uint32(16)
    value *= np.uint32(0x85EBCA6B)
    value ^= value >> np.uint32(13)
    return value


@inlined
def read_word(buffer, at, end, fold, room):  # type: ignore[no-untyped-def]
    """Read the next word into `room`; returns its characters, with its edges, and where it ends; 0 if there is none."""
    length = 0
    room[0] = EDGE
    while at < end:
        read = fold[decode(buffer, at)]
        at += width(buffer[at])
        if read > _NOTHING:
            length += 1
            room[length] = read
        if length and (read == _BETWEEN or at >= end or length == len(room) - 2):
            room[length + 1] = EDGE
            return length + 2, at
    return 0, end


@inlined
def ngrams_of_word(room, length, out, count):  # type: ignore[no-untyped-def]
    """Write the hashes of a word's n-grams behind the first `count`; returns how many there are then."""
    for first in range(length):
        hashed = _SEED
        least = 1 if room[first] >= DENSE else 2
        for size in range(1, min(LONGEST, length - first) + 1):
            hashed = (hashed ^ np.uint32(room[first + size - 1])) * _PRIME
            hashed ^= hashed >> np.uint32(15)
            if size >= least:
                out[count] = mixed(hashed)
                count += 1
    return count
