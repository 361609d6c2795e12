"""Unicode classes of code points for kernels: decode UTF-8 and look up flags.

Tables have two stages: the page of a code point, then its flags. Kernels take tables as arguments, so that compiled
code stays valid when a table changes.
"""

import sys
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from winnow.filters.language.kernels.tables import tables
from winnow.schemas.kernels import inlined, leaf

SPACE = 1  # str.isspace
ALPHA = 2  # str.isalpha
DIGIT = 4  # str.isdigit
DECIMAL = 8  # str.isdecimal
PUNCT = 16  # categories P*
SYMBOL = 32  # categories S*
UPPER = 64  # str.isupper
LOWER = 128  # str.islower
MARK = 256  # categories M*
BREAK = 512  # str.splitlines breaks here
CONTROL = 1024  # category Cc
FORMAT = 2048  # category Cf

_PAGE = 256


class Table(NamedTuple):
    """The flags of every code point."""

    pages: npt.NDArray[np.uint16]
    flags: npt.NDArray[np.uint16]


def table_of(flags: npt.NDArray[np.uint16]) -> Table:
    """A two-stage table from flags given per code point; code points beyond them have none."""
    padded = np.zeros(sys.maxunicode + 1, np.uint16)
    padded[: len(flags)] = flags
    blocks: dict[bytes, int] = {}
    pages = [blocks.setdefault(block.tobytes(), len(blocks)) for block in padded.reshape(-1, _PAGE)]
    return Table(np.array(pages, np.uint16), np.frombuffer(b"".join(blocks), np.uint16))


def character_set(characters: Iterable[str]) -> Table:
    """A table that flags these characters with 1."""
    flags = np.zeros(sys.maxunicode + 1, dtype=np.uint16)
    flags[[ord(character) for character in characters]] = 1
    return table_of(flags)


def flags_by_point() -> npt.NDArray[np.uint16]:
    """The flags of every code point, in the version of Unicode that the tables were made with."""
    runs = np.array(tables()["flags"], np.int64).reshape(-1, 2)
    begins = np.concatenate([[0], runs[:, 0], [sys.maxunicode + 1]])
    return np.repeat(np.concatenate([[0], runs[:, 1]]), np.diff(begins)).astype(np.uint16)


@lru_cache(maxsize=1)
def unicode_classes() -> Table:
    """The table of this module's flags for every code point."""
    return table_of(flags_by_point())


@inlined  # type: ignore[untyped-decorator]
def width(lead: np.uint8) -> int:
    """The number of bytes of a code point with this first byte."""
    if lead < 0x80:
        return 1
    if lead < 0xE0:
        return 2
    if lead < 0xF0:
        return 3
    return 4


@leaf  # type: ignore[untyped-decorator]
def decode(buffer: npt.NDArray[np.uint8], at: int) -> np.int64:
    """The code point at this position of valid UTF-8."""
    lead = np.int64(buffer[at])
    if lead < 0x80:
        return lead
    if lead < 0xE0:
        return ((lead & 0x1F) << 6) | (np.int64(buffer[at + 1]) & 0x3F)
    if lead < 0xF0:
        return ((lead & 0x0F) << 12) | ((np.int64(buffer[at + 1]) & 0x3F) << 6) | (np.int64(buffer[at + 2]) & 0x3F)
    return (
        ((lead & 0x07) << 18)
        | ((np.int64(buffer[at + 1]) & 0x3F) << 12)
        | ((np.int64(buffer[at + 2]) & 0x3F) << 6)
        | (np.int64(buffer[at + 3]) & 0x3F)
    )


@leaf  # type: ignore[untyped-decorator]
def flags_of(table: Table, point: int) -> np.int64:
    """The flags of a code point."""
    return np.int64(table.flags[(np.int64(table.pages[point >> 8]) << 8) | (point & 0xFF)])


@leaf  # type: ignore[untyped-decorator]
def character_before(buffer: npt.NDArray[np.uint8], start: int, at: int) -> int:
    """The start of the code point that ends here; the position itself at the start of the range."""
    if at == start:
        return at
    at -= 1
    while at > start and buffer[at] & 0xC0 == 0x80:
        at -= 1
    return at
