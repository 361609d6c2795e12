"""The radius join of 256-bit hashes, divided into partitions of bounded size.

A pair within the radius differs in at most one bit of some band (`hamming`). So each hash goes to 16 partitions, one
per band, and each partition joins its hashes by its band alone; a pair is reported by the first band that finds it.

If a band is too large for one partition, it is split by its lowest bits: a hash belongs to the partition with these
bits, and a copy goes to each partition whose bits have one 0 where the hash has a 1. A pair that differs in one of
these bits meets there, and nowhere else. With s such bits a hash is sent 16 * (1 + s / 2) times on average: 16 times
without a split, 56 times with 32 partitions per band.

The output of a partition does not grow with its pairs: each hash's nearest, and a spanning forest of the pairs.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from winnow.filters.duplicates.components import Edges, Forest
from winnow.filters.duplicates.perceptual.hamming import BANDS, HammingPairs, radius_pairs

_NONE = np.iinfo(np.int64).max
_DISTANCE = 32  # the bits below are a position

Positions = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PartitionJoin:
    """The hashes of a partition that have others within the radius, as positions in it."""

    matched: Positions
    nearest: Positions  # for each matched one the nearest, or the first of several
    distance: Positions  # to it, in bits
    forest: Edges  # the smallest of each tree, and another


def partition_count(split: int) -> int:
    """The number of partitions if each band is split by this many bits."""
    return BANDS << split


def send_to_partitions(hashes: NDArray[np.uint64], split: int) -> Iterator[tuple[Positions, Positions]]:
    """Positions of hashes, and the partition that each is sent to."""
    every = np.arange(len(hashes))
    for band in range(BANDS):
        parts = _parts(hashes, band, split)
        yield every, (band << split) + parts
        for bit in range(split):
            copied = np.flatnonzero(parts >> bit & 1)
            yield copied, (band << split) + (parts[copied] ^ (1 << bit))


def join_partition(hashes: NDArray[np.uint64], partition: int, split: int, radius: int) -> PartitionJoin:
    """Join the hashes of one partition, its own and copies, in any order; ties go to the first hash."""
    nearest = np.full(len(hashes), _NONE)  # the distance, then the position
    forest = Forest(len(hashes))
    for joined in partition_pairs(hashes, partition, split, radius):
        first, second = joined.first, joined.second
        distance = joined.distance.astype(np.int64) << _DISTANCE
        np.minimum.at(nearest, first, distance | second)
        np.minimum.at(nearest, second, distance | first)
        forest.join(first, second)
    matched = np.flatnonzero(nearest < _NONE)
    found = nearest[matched]
    return PartitionJoin(matched, found & ((1 << _DISTANCE) - 1), found >> _DISTANCE, forest.edges)


def partition_pairs(hashes: NDArray[np.uint64], partition: int, split: int, radius: int) -> Iterator[HammingPairs]:
    """The pairs of one partition; equal hashes form a pair each with each."""
    band, own = partition >> split, belongs(hashes, partition, split)
    for joined in radius_pairs(hashes, radius, range(band, band + 1)):
        mine = own[joined.first] | own[joined.second]  # two copies meet in their own partition
        yield HammingPairs(joined.first[mine], joined.second[mine], joined.distance[mine])


def band_values(hashes: NDArray[np.uint64], partition: int, split: int) -> Positions:
    """The values, in the partition's band, of the hashes that belong to it."""
    return _values(hashes, partition >> split)[belongs(hashes, partition, split)]


def belongs(hashes: NDArray[np.uint64], partition: int, split: int) -> NDArray[np.bool_]:
    """Whether each hash belongs to a partition; the others are copies."""
    found: NDArray[np.bool_] = _parts(hashes, partition >> split, split) == partition & ((1 << split) - 1)
    return found


def _parts(hashes: NDArray[np.uint64], band: int, split: int) -> Positions:
    found: Positions = _values(hashes, band) & ((1 << split) - 1)
    return found


def _values(hashes: NDArray[np.uint64], band: int) -> Positions:
    shifted = (hashes[:, band >> 2] >> np.uint64((band & 3) * 16)) & np.uint64(0xFFFF)
    return shifted.astype(np.int64)
