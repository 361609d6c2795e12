"""Open-addressing tables of 64-bit keys, which are never 0, as kernels search them."""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from winnow.schemas.kernels import kernel, leaf

Keys: TypeAlias = npt.NDArray[np.uint64]


def open_keys(keys: Keys) -> tuple[Keys, npt.NDArray[np.int32]]:
    """An open-addressing table that finds the row of each key."""
    size = 8
    while size < 2 * len(keys):
        size *= 2
    table, rows = np.zeros(size, np.uint64), np.zeros(size, np.int32)
    _put_all(table, rows, keys)
    return table, rows


@kernel
def _put_all(table, rows, keys):  # type: ignore[no-untyped-def]
    for place in range(len(keys)):
        slot = slot_of(table, keys[place])
        table[slot], rows[slot] = keys[place], place


@leaf
def slot_of(table, key):  # type: ignore[no-untyped-def]
    """The slot of an open table that holds a key, or the empty one where it belongs."""
    mask = np.uint64(len(table) - 1)
    slot = (key ^ (key >> np.uint64(29))) & mask
    while table[slot] != 0 and table[slot] != key:
        slot = (slot + np.uint64(1)) & mask
    return slot


@leaf
def look_up(keys, numbers, key):  # type: ignore[no-untyped-def]
    """The number of a key in an open table, or -1."""
    slot = slot_of(keys, key)
    return numbers[slot] if keys[slot] != 0 else -1
