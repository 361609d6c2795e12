"""The radius join: every pair that comparing all with all finds, each once, however many share a band."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.property_sizes import scaled
from winnow.filters.duplicates.perceptual.hamming import BANDS, MAX_RADIUS, radius_pairs

Pairs = list[tuple[int, int, int]]


def found(hashes: NDArray[np.uint64], radius: int = MAX_RADIUS, at_once: int = 1 << 20) -> Pairs:
    return sorted(
        (first, second, distance)
        for joined in radius_pairs(hashes, radius, at_once=at_once)
        for first, second, distance in zip(
            joined.first.tolist(), joined.second.tolist(), joined.distance.tolist(), strict=True
        )
    )


def brute(hashes: NDArray[np.uint64], radius: int = MAX_RADIUS) -> Pairs:
    pairs: Pairs = []
    for first in range(len(hashes)):
        distances = np.bitwise_count(hashes[first + 1 :] ^ hashes[first]).sum(axis=1)
        near = np.flatnonzero(distances <= radius)
        pairs += [(first, first + 1 + int(at), int(distances[at])) for at in near]
    return pairs


def changed(hashes: NDArray[np.uint64], most: int, random: np.random.Generator) -> NDArray[np.uint64]:
    """Copies, each with up to so many bits changed."""
    copies = hashes.copy()
    for copy in copies:
        for bit in random.permutation(256)[: random.integers(0, most + 1)].tolist():
            copy[bit >> 6] ^= np.uint64(1) << np.uint64(bit & 63)
    return copies


def planted(count: int, seed: int) -> NDArray[np.uint64]:
    """Random hashes and changed copies of a tenth of them, some within the radius and some beyond."""
    random = np.random.default_rng(seed)
    hashes = random.integers(0, 2**64, (count, 4), dtype=np.uint64)
    return np.concatenate([hashes, changed(hashes[: count // 10], 60, random)])


@pytest.mark.parametrize("radius", [0, 7, 30, 31])
def test_it_finds_what_comparing_all_with_all_finds(radius: int) -> None:
    hashes = planted(2000, 7)
    assert found(hashes, radius) == brute(hashes, radius)
    assert len(found(hashes, radius)) > (50 if radius > 20 else 0)


def test_a_pair_that_differs_in_two_bits_of_almost_every_band_is_found() -> None:
    worst = np.zeros((2, 4), np.uint64)
    for band in range(15):  # 30 bits in 15 bands, and one in the last
        worst[1, band >> 2] |= np.uint64(3) << np.uint64((band & 3) * 16)
    worst[1, 3] |= np.uint64(1) << np.uint64(63)
    assert found(worst) == [(0, 1, 31)]


def test_few_values_in_a_band_change_nothing() -> None:
    random = np.random.default_rng(3)
    centres = random.integers(0, 2**64, (3, 4), dtype=np.uint64)
    hashes = changed(centres[random.integers(0, 3, 600)], 40, random)
    assert found(hashes) == brute(hashes)


def test_small_buffers_give_the_same_pairs() -> None:
    random = np.random.default_rng(5)
    hashes = changed(np.zeros((300, 4), np.uint64), 12, random)
    assert found(hashes, at_once=1) == found(hashes) == brute(hashes)


def test_bands_share_the_pairs_among_them() -> None:
    hashes = planted(1000, 11)
    shared = [
        (first, second)
        for band in range(BANDS)
        for joined in radius_pairs(hashes, bands=range(band, band + 1))
        for first, second in zip(joined.first.tolist(), joined.second.tolist(), strict=True)
    ]
    assert sorted(shared) == [(first, second) for first, second, _ in brute(hashes)]


@settings(max_examples=scaled(25), deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, MAX_RADIUS), st.integers(0, 80))
def test_any_hashes_and_radius(seed: int, radius: int, count: int) -> None:
    random = np.random.default_rng(seed)
    hashes = changed(random.integers(0, 2**64, (max(1, count // 8), 4), dtype=np.uint64).repeat(8, 0), 36, random)
    assert found(hashes, radius) == brute(hashes, radius)


@pytest.mark.large
def test_sixty_thousand_hashes() -> None:
    hashes = planted(60_000, 13)  # four billion comparisons by brute force: half a minute
    assert found(hashes) == brute(hashes)


@pytest.mark.parametrize("radius", [-1, 32])
def test_a_radius_that_bands_cannot_prove_is_refused(radius: int) -> None:
    with pytest.raises(ValueError, match="radius from 0 to 31"):
        next(radius_pairs(np.zeros((1, 4), np.uint64), radius))
