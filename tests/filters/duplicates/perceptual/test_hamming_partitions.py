"""The radius join in partitions: the nearest hashes and the clusters that comparing all with all gives."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.filters.duplicates.perceptual.test_hamming import Pairs, brute, changed, found, planted
from tests.property_sizes import scaled
from winnow.filters.duplicates.components import components
from winnow.filters.duplicates.perceptual.hamming_partitions import (
    band_values,
    join_partition,
    partition_count,
    send_to_partitions,
)

Hashes = NDArray[np.uint64]


def partitions_of(hashes: Hashes, split: int) -> list[NDArray[np.int64]]:
    """The positions of the hashes that each partition gets."""
    sent = list(send_to_partitions(hashes, split))
    positions, partitions = (np.concatenate(parts) for parts in zip(*sent, strict=True))
    return [np.sort(positions[partitions == partition]) for partition in range(partition_count(split))]


def joined(hashes: Hashes, split: int, radius: int) -> tuple[dict[int, tuple[int, int]], dict[int, int]]:
    """The distance and position of each hash's nearest, and the smallest position of its cluster."""
    nearest: dict[int, tuple[int, int]] = {}
    first, second = [np.zeros(0, np.uint64)], [np.zeros(0, np.uint64)]
    for partition, held in enumerate(partitions_of(hashes, split)):
        join = join_partition(hashes[held], partition, split, radius)
        lines = zip(held[join.matched], join.distance, held[join.nearest], strict=True)
        for position, distance, other in (map(int, line) for line in lines):
            nearest[position] = min(nearest.get(position, (257, 0)), (distance, other))
        first.append(held[join.forest[0].astype(np.int64)].astype(np.uint64))
        second.append(held[join.forest[1].astype(np.int64)].astype(np.uint64))
    vertices, roots = components(np.concatenate(first), np.concatenate(second))
    return nearest, dict(zip(vertices.tolist(), roots.tolist(), strict=True))


def expected(pairs: Pairs) -> tuple[dict[int, tuple[int, int]], dict[int, int]]:
    nearest: dict[int, tuple[int, int]] = {}
    for one, other, distance in pairs:
        for position, match in ((one, other), (other, one)):
            nearest[position] = min(nearest.get(position, (257, 0)), (distance, match))
    ends = np.array([pair[:2] for pair in pairs], np.uint64).reshape(-1, 2)
    vertices, roots = components(ends[:, 0], ends[:, 1])
    return nearest, dict(zip(vertices.tolist(), roots.tolist(), strict=True))


@pytest.mark.parametrize("split", [0, 1, 5])
def test_every_pair_within_the_radius_is_joined_and_no_other(split: int) -> None:
    hashes = planted(1500, 7)
    assert joined(hashes, split, 31) == expected(brute(hashes, 31))
    assert len(expected(brute(hashes, 31))[0]) > 100


def test_hashes_that_share_their_bands_are_joined() -> None:
    random = np.random.default_rng(3)
    centres = random.integers(0, 2**64, (3, 4), dtype=np.uint64)
    hashes = changed(centres[random.integers(0, 3, 500)], 40, random)
    assert joined(hashes, 3, 31) == expected(brute(hashes, 31))


@settings(max_examples=scaled(25), deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 31), st.integers(0, 60), st.integers(0, 4))
def test_any_hashes_radius_and_split(seed: int, radius: int, count: int, split: int) -> None:
    random = np.random.default_rng(seed)
    hashes = changed(random.integers(0, 2**64, (max(1, count // 8), 4), dtype=np.uint64).repeat(8, 0), 36, random)
    assert joined(hashes, split, radius) == expected(brute(hashes, radius))


def test_each_hash_belongs_to_one_partition_a_band_and_is_copied_for_half_of_the_split_bits() -> None:
    hashes = planted(2000, 5)
    parts = partitions_of(hashes, 4)
    owned = [len(band_values(hashes[held], partition, 4)) for partition, held in enumerate(parts)]
    assert sum(owned) == 16 * len(hashes)
    assert sum(map(len, parts)) == pytest.approx(16 * 3 * len(hashes), rel=0.02)
    assert all(count <= 1 + 4 for held in parts[:16] for count in Counter(held.tolist()).values())


@pytest.mark.large
def test_two_hundred_thousand_hashes() -> None:
    hashes = planted(200_000, 13)  # of which `test_hamming` compares all with all
    assert joined(hashes, 2, 31) == expected(found(hashes))
