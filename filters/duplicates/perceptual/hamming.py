"""Every pair of 256-bit hashes within a radius of 31 bits: an exact join, without comparing all with all.

A hash is cut into 16 bands of 16 bits. If two hashes differ in at most 31 bits, then in some band they differ in at
most one bit, because 16 bands with two differences each would be 32 ("Fast Exact Search in Hamming Space with
Multi-Index Hashing", Norouzi et al. 2012). So for each band only the hashes with equal values, or with values one bit
apart, are compared, and a pair comes out of the first such band alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from winnow.filters.duplicates.bits import count_bits
from winnow.schemas.kernels import kernel, leaf

BANDS = 16
MAX_RADIUS = 2 * BANDS - 1  # beyond, two hashes may differ by two bits in every band
_VALUES = 1 << 16
_AT_ONCE = 1 << 20  # pairs: 20 MiB


@dataclass(frozen=True, slots=True)
class Joined:
    """Some of the pairs: positions of hashes, the lesser first, and in how many bits they differ."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    distance: NDArray[np.uint8]


def radius_pairs(
    hashes: NDArray[np.uint64], radius: int = MAX_RADIUS, bands: range = range(BANDS), at_once: int = _AT_ONCE
) -> Iterator[Joined]:
    """Yields each pair of hashes within a radius once; its memory does not depend on the number of pairs.

    Args:
        hashes: Four words each. Equal hashes make a pair each with each: collapse them first.
        radius: The most bits in which two hashes of a pair differ.
        bands: The bands to compare by. The pairs of all 16 bands are all pairs; each is given by one band alone.
        at_once: About how many pairs to yield at once.
    """
    if not 0 <= radius <= MAX_RADIUS:
        raise ValueError(f"expected a radius from 0 to {MAX_RADIUS}, found {radius}")
    hashes = np.ascontiguousarray(hashes, np.uint64).reshape(-1, 4)
    for band in bands:  # each compares by other bits
        order, starts = sorted_by_band(hashes, band)
        ordered = hashes[order]
        room = max(at_once, int(np.max(np.diff(starts), initial=1)))
        first, second = np.empty(room, np.int64), np.empty(room, np.int64)
        distance = np.empty(room, np.uint8)
        state: NDArray[np.int64] = np.zeros(3, np.int64)  # the value, the probe and the hash to go on with
        while state[0] < _VALUES:
            count = _join(ordered, order, starts, band, radius, state, first, second, distance)
            if count:
                yield Joined(first[:count].copy(), second[:count].copy(), distance[:count].copy())


@kernel
def sorted_by_band(hashes, band):  # type: ignore[no-untyped-def]
    """The hashes' positions in order of their values in a band, and where each value begins."""
    word, shift = band >> 2, np.uint64((band & 3) * 16)
    starts = np.zeros(65536 + 1, np.int64)
    for at in range(len(hashes)):
        starts[np.int64((hashes[at, word] >> shift) & np.uint64(0xFFFF)) + 1] += 1
    for value in range(65536):
        starts[value + 1] += starts[value]
    places = starts[:-1].copy()
    order = np.empty(len(hashes), np.int64)
    for at in range(len(hashes)):
        mine = np.int64((hashes[at, word] >> shift) & np.uint64(0xFFFF))
        order[places[mine]] = at
        places[mine] += 1
    return order, starts


@kernel
def _join(ordered, order, starts, band, radius, state, first, second, distance):  # type: ignore[no-untyped-def]
    """Fill the buffers with pairs; the state says where to go on."""
    count = 0
    room = len(first)
    value, probe, at = state[0], state[1], state[2]
    while value < 65536:
        begin, end = starts[value], starts[value + 1]
        while probe <= 16 and begin < end:
            other = value if probe == 0 else value ^ (1 << (probe - 1))
            if other < value:  # compared from there
                probe += 1
                continue
            other_begin, other_end = starts[other], starts[other + 1]
            at = max(at, begin)
            while at < end and other_begin < other_end:
                low = at + 1 if other == value else other_begin
                if count + other_end - low > room:
                    state[0], state[1], state[2] = value, probe, at
                    return count
                for partner in range(low, other_end):
                    apart = bits_apart(ordered[at], ordered[partner], radius)
                    if apart <= radius and _first_band(ordered[at], ordered[partner], band):
                        one, two = order[at], order[partner]
                        first[count], second[count] = min(one, two), max(one, two)
                        distance[count] = apart
                        count += 1
                at += 1
            at = 0
            probe += 1
        value += 1
        probe = at = 0
    state[0] = value
    return count


@leaf
def bits_apart(one, other, radius):  # type: ignore[no-untyped-def]
    """In how many bits two hashes differ; some number above the radius as soon as it is known to be more."""
    apart = np.int64(count_bits(one[0] ^ other[0])) + np.int64(count_bits(one[1] ^ other[1]))
    if apart > radius:
        return apart
    return apart + np.int64(count_bits(one[2] ^ other[2])) + np.int64(count_bits(one[3] ^ other[3]))


@leaf
def _first_band(one, other, band):  # type: ignore[no-untyped-def]
    """Whether no earlier band compares the two."""
    for earlier in range(band):
        shift = np.uint64((earlier & 3) * 16)
        differing = ((one[earlier >> 2] ^ other[earlier >> 2]) >> shift) & np.uint64(0xFFFF)
        if differing & (differing - np.uint64(1)) == 0:
            return False
    return True
