"""Keys of bands: equal where a band's minima are, and nowhere else."""

import math

import numpy as np
import pytest

from winnow.filters.duplicates.bands import band_keys

_WHOLE = 2**64 - 1


def _key(band: int, minima: list[int]) -> int:
    """A key in plain Python. Keys are compared across runs, so their definition is not free to change."""
    state = (band + 1) * 0x9E3779B185EBCA87 & _WHOLE
    for value in minima:
        state = (state ^ value) * 0xC2B2AE3D27D4EB4F & _WHOLE
        state ^= state >> 32
    state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 & _WHOLE
    state = (state ^ (state >> 27)) * 0x94D049BB133111EB & _WHOLE
    return state ^ (state >> 31)


def _signatures(rows: int, hashes: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2**32, (rows, hashes), dtype=np.uint32)


def test_a_key_is_made_of_its_band_and_the_minima_of_that_band() -> None:
    signatures = _signatures(3, 7)

    keys = band_keys(signatures, 3, 2)

    assert keys.dtype == np.uint64
    assert keys.tolist() == [
        [_key(band, [int(value) for value in row[2 * band : 2 * band + 2]]) for band in range(3)] for row in signatures
    ]


def test_keys_stay_what_they_were() -> None:
    assert band_keys(np.array([[0, 1, 2**32 - 1, 0]], np.uint32), 2, 2).tolist() == [
        [14625690093684454354, 15652939390613530060]
    ]


def test_equal_minima_give_other_keys_in_other_bands() -> None:
    assert len(set(band_keys(np.zeros((1, 40), np.uint32), 20, 2)[0].tolist())) == 20


def test_no_rows_have_no_keys() -> None:
    assert band_keys(np.empty((0, 8), np.uint32), 2, 4).shape == (0, 2)


@pytest.mark.parametrize(("bands", "rows"), [(3, 3), (0, 4), (4, 0)])
def test_bands_that_a_signature_does_not_hold_are_refused(bands: int, rows: int) -> None:
    with pytest.raises(ValueError, match="expected"):
        band_keys(np.zeros((1, 8), np.uint32), bands, rows)


def test_a_signature_read_backwards_gives_the_keys_of_its_values() -> None:
    signatures = _signatures(5, 8)
    assert band_keys(signatures[:, ::-1], 2, 4).tolist() == band_keys(signatures[:, ::-1].copy(), 2, 4).tolist()


def test_any_bit_of_a_minimum_turns_half_of_the_keys_bits() -> None:
    signatures = np.repeat(_signatures(200, 2), 64, axis=0).reshape(200, 64, 2)
    keys = band_keys(signatures[:, 0], 1, 2)
    for bit in range(64):
        signatures[:, bit, bit // 32] ^= np.uint32(1 << (bit % 32))
    turned = band_keys(signatures.reshape(-1, 2), 1, 2).reshape(200, 64) ^ keys

    shares = np.unpackbits(turned.view(np.uint8), bitorder="little").reshape(200, 64, 64).mean(axis=0)
    assert shares.min() > 0.3
    assert shares.max() < 0.7
    assert abs(shares.mean() - 0.5) < 0.01


def test_half_a_million_small_bands_share_no_key() -> None:
    counted = np.arange(500_000, dtype=np.uint32)
    keys = band_keys(np.stack((counted % 1000, counted // 1000), axis=1), 1, 2)
    assert len(np.unique(keys)) == 500_000


@pytest.mark.parametrize(("bands", "rows"), [(14, 8), (20, 13), (26, 11)])
@pytest.mark.parametrize("alike", [0.6, 0.7, 0.75, 0.8, 0.9])
def test_pairs_share_a_key_as_often_as_the_curve_says(bands: int, rows: int, alike: float) -> None:
    pairs = 4000
    draw = np.random.default_rng(int(alike * 100) + bands)
    first = _signatures(pairs, bands * rows, seed=2)
    second = np.where(draw.random(first.shape) < alike, first, _signatures(pairs, bands * rows, seed=3))

    met = (band_keys(first, bands, rows) == band_keys(second, bands, rows)).any(axis=1).mean()

    expected = 1 - (1 - alike**rows) ** bands
    assert abs(met - expected) <= 4 * math.sqrt(expected * (1 - expected) / pairs) + 1e-3
