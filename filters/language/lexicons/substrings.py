"""Find entries as substrings in scripts without spaces, whether or not they are words there."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from winnow.filters.language.kernels.classes import decode, width
from winnow.schemas.kernels import kernel, leaf


class Unspaced(NamedTuple):
    """Words of scripts without spaces, by their first two letters."""

    keys: NDArray[np.int64]  # two code points; 0: free
    firsts: NDArray[np.int32]  # index of its first word
    counts: NDArray[np.int32]
    begins: NDArray[np.int64]
    masks: NDArray[np.int64]
    pool: NDArray[np.uint8]
    places: NDArray[np.int64]  # word i is the bytes `places[i]` to `places[i + 1]` of the pool
    entries: NDArray[np.int32]


@leaf
def _candidates(buffer, begin, end, table, number, found, count):  # type: ignore[no-untyped-def]
    """Every occurrence of an entry's letters; -1 if `found` has no room."""
    first_slot, mask = table.begins[number], table.masks[number]
    at = begin
    if at >= end:
        return count
    point = decode(buffer, at)
    after = at + width(buffer[at])
    while after < end:
        following = decode(buffer, after)
        key = (point << 21) | following
        slot = ((point * 0x9E3779B1 + following * 0x85EBCA6B) >> 7) & mask
        while table.keys[first_slot + slot] != 0:
            if table.keys[first_slot + slot] == key:
                first = table.firsts[first_slot + slot]
                for word in range(first, first + table.counts[first_slot + slot]):
                    place = table.places[word]
                    size = table.places[word + 1] - place
                    if at + size > end:
                        continue
                    same = np.int64(0)
                    while same < size and buffer[at + same] == table.pool[place + same]:
                        same += 1
                    if same == size:
                        if count == len(found):
                            return -1
                        found[count, 0], found[count, 1], found[count, 2] = at, at + size, table.entries[word]
                        count += 1
                break
            slot = (slot + 1) & mask
        at, point = after, following
        after = at + width(buffer[at])
    return count


@kernel
def scan_unspaced(buffer, offsets, sets, table):  # type: ignore[no-untyped-def]
    """Every occurrence in every text of an entry of its set, whether or not it is a word there."""
    rows = len(offsets) - 1
    bounds = np.zeros(rows + 1, np.int64)
    found = np.empty((256, 3), np.int64)
    count = 0
    for row in range(rows):
        if sets[row] >= 0:
            while True:
                after = _candidates(buffer, offsets[row], offsets[row + 1], table, sets[row], found, count)
                if after >= 0:
                    break
                wider = np.empty((2 * len(found), 3), np.int64)
                wider[: len(found)] = found
                found = wider
            count = after
        bounds[row + 1] = count
    return bounds, found[:count].copy()
