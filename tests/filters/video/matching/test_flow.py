"""Moves of planes are found within a tenth of a cell; noise, flat patches and cuts move nothing."""

from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.filters.video.drawn import scene
from winnow.filters.video.decode.signals import LUMA_COLUMNS, LUMA_ROWS, PATCH_COLUMNS, PATCH_ROWS
from winnow.filters.video.matching.flow import match_frames, match_planes

FINE = 8  # pixels of a cell's side


@cache
def large() -> NDArray[np.uint8]:
    """All that the camera could see."""
    return scene(5, 3 * FINE * LUMA_COLUMNS, 3 * FINE * LUMA_ROWS)[..., 0]


def seen(x: float = 0, y: float = 0, larger: float = 1, noise: float = 0, seed: int = 0) -> NDArray[np.uint8]:
    """The plane that a camera sees which has moved by so many cells, and so much closer."""
    rows = (np.arange(LUMA_ROWS * FINE) - LUMA_ROWS * FINE / 2) / larger + 1.5 * LUMA_ROWS * FINE + y * FINE
    columns = (np.arange(LUMA_COLUMNS * FINE) - LUMA_COLUMNS * FINE / 2) / larger + 1.5 * LUMA_COLUMNS * FINE + x * FINE
    view = large()[rows.round().astype(int)][:, columns.round().astype(int)].astype(np.float64)
    view += np.random.default_rng(seed).normal(0, noise, view.shape) if noise else 0
    cells = np.clip(view, 0, 255).reshape(LUMA_ROWS, FINE, LUMA_COLUMNS, FINE).mean(axis=(1, 3))
    found: NDArray[np.uint8] = cells.round().astype(np.uint8)
    return found


def moved(before: NDArray[np.uint8], after: NDArray[np.uint8]) -> tuple[int, float, float, NDArray[np.float64]]:
    """Patches that match, the camera's move in cells, and how far each patch has moved in cells."""
    patches = np.full((PATCH_ROWS, PATCH_COLUMNS), np.nan)
    covered, right, down = match_planes(before, after, LUMA_ROWS / LUMA_COLUMNS, patches)
    return covered, right * LUMA_COLUMNS, down * LUMA_COLUMNS, patches * LUMA_COLUMNS


@pytest.mark.parametrize(
    ("x", "y"), [(0.25, 0), (0, -0.5), (-1.5, 1.5), (3.25, -2), (-7, 0), (11, 4), (0, 8), (-15, 3)]
)
@pytest.mark.parametrize("noise", [0, 12])
def test_a_shift_is_found_in_every_direction(x: float, y: float, noise: float) -> None:
    covered, right, down, patches = moved(seen(noise=noise, seed=1), seen(x, y, noise=noise, seed=2))
    assert covered > 130
    assert (right, down) == pytest.approx((-x, -y), abs=0.1)  # what the camera passes goes the other way
    assert np.nanmedian(patches) == pytest.approx(np.hypot(x, y), abs=0.1)
    assert np.nanmean(patches) == pytest.approx(np.hypot(x, y), abs=0.2)


@pytest.mark.parametrize("larger", [0.95, 1.02, 1.08])
def test_a_zoom_moves_patches_by_their_distance_from_the_middle(larger: float) -> None:
    _, right, down, patches = moved(seen(), seen(larger=larger))
    x = (np.arange(PATCH_COLUMNS) + 0.5 - PATCH_COLUMNS / 2) * 4
    y = (np.arange(PATCH_ROWS) + 0.5 - PATCH_ROWS / 2) * 4
    assert (right, down) == pytest.approx((0, 0), abs=0.1)
    assert np.nanmean(patches) == pytest.approx(abs(larger - 1) * np.hypot(x, y[:, None]).mean(), rel=0.1)


def test_noise_moves_nothing() -> None:
    for seed in range(4):
        covered, right, down, patches = moved(seen(noise=40, seed=seed), seen(noise=40, seed=seed + 10))
        assert (right, down) == (0, 0)
        assert np.nanmean(patches) < 0.05
        assert covered > 130


def test_a_thing_moves_by_itself_before_what_stands_still_or_passes() -> None:
    for camera in (0.0, 1.0):
        before, after = seen(), seen(camera)
        thing = seen(20, 12)[:12, :16]
        before[10:22, 20:36] = thing
        after[10:22, 23:39] = thing
        _, right, _, patches = moved(before, after)
        assert right == pytest.approx(-camera, abs=0.1)
        assert np.median(patches[3:5, 7:9]) == pytest.approx(3, abs=0.3)
        assert np.median(patches[:, 11:]) == pytest.approx(camera, abs=0.1)


def test_what_is_flat_and_what_follows_a_cut_have_no_move() -> None:
    flat = np.full((LUMA_ROWS, LUMA_COLUMNS), 90, np.uint8)
    assert moved(flat, flat)[0] == 0
    assert moved(seen(), scene(9, LUMA_COLUMNS, LUMA_ROWS)[..., 1])[0] == 0


def test_what_moves_little_is_measured_over_longer_times() -> None:
    """A pan that turns round, so that each pair has its own speed, and a last one that nothing is compared with."""
    places = [*np.arange(0, 1, 0.05), *np.arange(1, 15, 1.0)]
    planes = np.stack([seen(x) for x in places])
    seconds = np.arange(len(planes)) / 25.0
    pairs, _, last = match_frames(planes, seconds, np.full(len(planes), 0.5625), 0.1, 0.4, 1.0)
    at = pairs[:, 0].astype(int)
    assert pairs[0, 1] >= 0.2
    assert pairs[-1, 1] == pytest.approx(0.12)
    assert last == at[-1]
    np.testing.assert_allclose(np.cumsum(pairs[:, 3]) * -LUMA_COLUMNS, np.array(places)[at], atol=0.3)
