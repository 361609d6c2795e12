"""Shrinking by area: the mean of what a new pixel covers, borders by their share."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.property_sizes import scaled
from winnow.filters.image.decode.shrink import fitted, resized, shrink


def shares(old: int, new: int) -> NDArray[np.float64]:
    """How much of each new pixel each old one covers."""
    starts = np.arange(new)[:, None] * old / new
    ends = starts + old / new
    pixels = np.arange(old)[None, :]
    covered: NDArray[np.float64] = np.clip(np.minimum(ends, pixels + 1) - np.maximum(starts, pixels), 0, None)
    return covered * new / old


@settings(max_examples=scaled(60), deadline=None)
@given(st.data(), st.integers(1, 60), st.integers(1, 60), st.integers(0, 2**32 - 1))
def test_each_pixel_is_the_mean_of_what_it_covers(data: st.DataObject, height: int, width: int, seed: int) -> None:
    picture = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    rows, columns = data.draw(st.integers(1, height)), data.draw(st.integers(1, width))
    exact = np.einsum("ry,yxc,kx->rkc", shares(height, rows), picture.astype(float), shares(width, columns))
    assert np.abs(shrink(picture, rows, columns) - exact).max() <= 0.51


def between(old: int, new: int) -> NDArray[np.float64]:
    """How much of each new pixel comes from each old one: by the distance of centres."""
    centres = np.clip((np.arange(new) + 0.5) * old / new - 0.5, 0, old - 1)
    found: NDArray[np.float64] = np.clip(1 - np.abs(centres[:, None] - np.arange(old)[None, :]), 0, None)
    return found


@settings(max_examples=scaled(40), deadline=None)
@given(*(st.integers(1, 40) for _ in range(4)), st.integers(0, 2**32 - 1))
def test_sides_that_grow_are_interpolated(height: int, width: int, rows: int, columns: int, seed: int) -> None:
    picture = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    down, across = (
        between(old, new) if new > old else shares(old, new) for old, new in ((height, rows), (width, columns))
    )
    exact = np.einsum("ry,yxc,kx->rkc", down, picture.astype(float), across)
    assert np.abs(resized(picture, rows, columns) - exact).max() <= 0.51


def test_halves_are_means_of_four() -> None:
    assert shrink(np.array([[0, 10, 20, 30], [40, 50, 60, 70]], np.uint8), 1, 2).tolist() == [[25, 45]]


def test_its_own_size_is_the_picture_itself() -> None:
    picture = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
    assert shrink(picture, 2, 2) is picture


@pytest.mark.parametrize("size", [(3, 2), (2, 3), (0, 2), (2, 0)])
def test_nothing_is_made_larger_or_empty(size: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="expected a size within 2 x 2"):
        shrink(np.zeros((2, 2, 3), np.uint8), *size)


def test_sizes_keep_their_aspect_and_no_side_vanishes() -> None:
    assert fitted(427, 640, 256) == (171, 256)
    assert fitted(640, 427, 256, shorter=True) == (384, 256)
    assert fitted(100, 80, 256) == (100, 80)
    assert fitted(10_000, 1, 100) == (100, 1)
