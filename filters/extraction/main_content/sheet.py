"""What the scan of a page writes into, and what is asked of single bytes and names."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from winnow.filters.extraction.main_content.names import FNV_BASIS, FNV_PRIME
from winnow.schemas.kernels import leaf

Bytes = npt.NDArray[np.uint8]
Numbers = npt.NDArray[np.int32]
Masks = npt.NDArray[np.int64]

MOST_DEEP = 512
JSON_LD = -2  # in place of the name of such a script

# Rows of `Sheet.elements`
TAG, PARENT, BEGINS, ENDS, FIRST_BLOCK, END_BLOCK, NAME = range(7)
ATTRIBUTES, ATTRIBUTES_END, CLASS, CLASS_END, ID, ID_END, HREF, HREF_END = range(7, 15)
ELEMENT_ROWS = 15
# Rows of `Sheet.blocks`
OWNER, FROM, UNTIL, LINKED, BUTTONED, LINKS, RUNS, BREAKS, PICTURES = range(9)
BLOCK_ROWS = 9
# Places in `Sheet.counts`: what there is so far, what is open, and what the block that is being written has
N_ELEMENTS, N_BLOCKS, N_TEXT, N_DATA, N_PICTURES, N_TITLED, N_BODY = range(7)
N_DEPTH, N_OWNER, N_HIDDEN, N_FOREIGN, N_LINK, N_BUTTON, N_PRE, N_OVERFLOW = range(7, 15)
N_START, N_PENDING, N_BREAKS, N_LINKED, N_BUTTONED, N_LINKS, N_RUNS, N_BROKEN = range(15, 23)
COUNTS = 23

_BASIS, _PRIME = np.uint64(FNV_BASIS), np.uint64(FNV_PRIME)


class Sheet(NamedTuple):
    """A page that is being read: few arrays, as each costs time whenever a function that takes them is compiled."""

    source: Bytes
    text: Bytes
    elements: Numbers  # [ELEMENT_ROWS, elements]
    masks: Masks  # of each element
    blocks: Numbers  # [BLOCK_ROWS, blocks]
    noted: Numbers  # [2, 1 + scripts] the ranges of the title and of scripts of JSON-LD
    stack: Numbers  # [2, depth] open elements, and the block element that was open before each
    opened: Numbers  # how many elements of each tag are open
    counts: Masks


@leaf
def lower(byte):  # type: ignore[no-untyped-def]
    """The byte, in lower case."""
    return byte + 32 if 65 <= byte <= 90 else byte


@leaf
def is_letter(byte):  # type: ignore[no-untyped-def]
    """Whether it is a letter of ASCII."""
    return 97 <= (byte | 32) <= 122


@leaf
def is_space(byte):  # type: ignore[no-untyped-def]
    """Whether it is white space."""
    return byte == 32 or 9 <= byte <= 13


@leaf
def found_byte(source, byte, at, end):  # type: ignore[no-untyped-def]
    """Where a byte stands first, or the end. Looks at 32 bytes at once, as processors do."""
    while at + 32 <= end:
        some = False
        for place in range(at, at + 32):
            some |= source[place] == byte
        if some:
            break
        at += 32
    while at < end and source[at] != byte:
        at += 1
    return at


@leaf
def name_hash(source, at, end):  # type: ignore[no-untyped-def]
    """The hash of a name, in lower case."""
    found = _BASIS
    for place in range(at, end):
        found = (found ^ np.uint64(lower(source[place]))) * _PRIME
    return found


@leaf
def holds(source, at, end, word):  # type: ignore[no-untyped-def]
    """Where a word begins, in any case; -1 if it does not stand there."""
    first = word[0]
    for place in range(at, end - len(word) + 1):
        if lower(source[place]) == first:
            same = True
            for offset in range(1, len(word)):
                if lower(source[place + offset]) != word[offset]:
                    same = False
                    break
            if same:
                return place
    return -1
