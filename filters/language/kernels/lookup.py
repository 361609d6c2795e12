"""A table of strings for kernels: look up which string a range of bytes equals.

The table is in two arrays shared with other tables, so that kernels pass few arguments: a block of integers (`MASK`
and so on, then its own tables) and bytes.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from winnow.filters.language.kernels.hashes import hash_bytes
from winnow.schemas.kernels import inlined, leaf

_MASK, _LONGEST, _AT, _SLOTS, _TEXT, _MARKS = range(6)
_MARK_SIZE = 1 << 14


def strings_block(strings: Sequence[str], ints_at: int, octets_at: int) -> tuple[npt.NDArray[np.int32], bytes]:
    """The block of distinct strings, numbered in order, and its bytes, for these positions in the arrays."""
    encoded = [string.encode() for string in strings]
    at = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    text = b"".join(encoded)
    slots = np.full(1 << (2 * len(strings) + 1).bit_length(), -1, np.int32)
    marks = np.zeros(_MARK_SIZE, np.uint8)
    _fill(np.frombuffer(text + b"\0", np.uint8), at, slots, marks)
    head = [
        len(slots) - 1,
        max(map(len, encoded), default=0),
        ints_at + 6,
        ints_at + 6 + len(at),
        octets_at,
        octets_at + len(text),
    ]
    return np.concatenate([np.array(head, np.int32), at, slots]), text + marks.tobytes()


@inlined
def _mark(first, middle, last, length):  # type: ignore[no-untyped-def]
    """A fingerprint of a string from three of its bytes and its length, which rejects most words."""
    return (np.int64(first) + 67 * np.int64(middle) + 1021 * np.int64(last) + 4099 * length) & (_MARK_SIZE - 1)


@inlined
def filter_of(ints, block):  # type: ignore[no-untyped-def]
    """The parts of a block that `may_be` needs; loops read them once."""
    return np.int64(ints[block + _MARKS]), np.int64(ints[block + _LONGEST])


@inlined
def may_be(octets, marks, longest, buffer, start, end):  # type: ignore[no-untyped-def]
    """Whether these bytes (at least one) may be a string of a block; few false positives."""
    length = end - start
    return (
        length <= longest
        and octets[marks + _mark(buffer[start], buffer[start + (length >> 1)], buffer[end - 1], length)] != 0
    )


@leaf
def _fill(text, at, slots, marks):  # type: ignore[no-untyped-def]
    for number in range(len(at) - 1):
        start, end = at[number], at[number + 1]
        slot = np.int64(hash_bytes(text, start, end) & np.uint64(len(slots) - 1))
        while slots[slot] >= 0:
            slot = (slot + 1) & (len(slots) - 1)
        slots[slot] = number
        marks[_mark(text[start], text[start + ((end - start) >> 1)], text[end - 1], end - start)] = 1


@leaf
def find(ints, octets, block, buffer, start, end):  # type: ignore[no-untyped-def]
    """The number of the block's string that equals these bytes (at least one), or -1."""
    length = end - start
    if (
        length > ints[block + _LONGEST]
        or octets[ints[block + _MARKS] + _mark(buffer[start], buffer[start + (length >> 1)], buffer[end - 1], length)]
        == 0
    ):
        return np.int64(-1)
    slot = np.int64(hash_bytes(buffer, start, end) & np.uint64(ints[block + _MASK]))
    while ints[ints[block + _SLOTS] + slot] >= 0:
        number = np.int64(ints[ints[block + _SLOTS] + slot])
        place = ints[block + _AT] + number
        if ints[place + 1] - ints[place] == length:
            text = ints[block + _TEXT] + ints[place]
            offset = 0
            while offset < length and octets[text + offset] == buffer[start + offset]:
                offset += 1
            if offset == length:
                return number
        slot = (slot + 1) & ints[block + _MASK]
    return np.int64(-1)
