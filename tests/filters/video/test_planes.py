"""Small planes and levels are those that a plain computation finds, whatever the size and the depth."""

from typing import Any

import numpy as np
import pytest
from av import VideoFrame
from numpy.typing import NDArray

from winnow.filters.video.decode.planes import FrameReader
from winnow.filters.video.decode.signals import CHROMA_COLUMNS, CHROMA_ROWS, LUMA_COLUMNS, LUMA_ROWS


def read(*frames: VideoFrame) -> tuple[NDArray[Any], NDArray[Any]]:
    """The luma cells and the measures of frames that follow one another."""
    reader, count = FrameReader(), len(frames)
    luma = np.empty((count, LUMA_ROWS * LUMA_COLUMNS), np.uint8)
    cb, cr = (np.empty((count, CHROMA_ROWS * CHROMA_COLUMNS), np.uint8) for _ in range(2))
    measures = np.empty((count, 4), np.float32)
    for at, frame in enumerate(frames):
        reader.read(frame, at, luma, cb, cr, measures)
    return luma.reshape(count, LUMA_ROWS, LUMA_COLUMNS), measures


def cells(picture: NDArray[Any]) -> NDArray[Any]:
    """The mean of the pixels of each cell on the lines that are read."""
    height, width = picture.shape
    step = min(max(height // 120, 1), 4)
    found = np.empty((LUMA_ROWS, LUMA_COLUMNS))
    for row in range(LUMA_ROWS):
        top, bottom = row * height // LUMA_ROWS, max((row + 1) * height // LUMA_ROWS, row * height // LUMA_ROWS + 1)
        lines = picture[-(-top // step) * step : bottom : step].astype(np.float64)
        for column in range(LUMA_COLUMNS):
            left = column * width // LUMA_COLUMNS
            right = max((column + 1) * width // LUMA_COLUMNS, left + 1)
            found[row, column] = lines[:, left:right].mean()
    return found


@pytest.mark.parametrize("shape", [(272, 640), (183, 321), (40, 1001), (36, 17), (700, 64), (20, 130)])
@pytest.mark.parametrize("deep", [False, True])
def test_cells_are_means_of_their_pixels(shape: tuple[int, int], deep: bool) -> None:
    draw = np.random.default_rng(3)
    kind: Any = np.uint16 if deep else np.uint8
    scale = 4 if deep else 1
    pictures = [draw.integers(0, 256 * scale, shape).astype(kind) for _ in range(2)]
    luma, measures = read(*(VideoFrame.from_ndarray(one, "gray10le" if deep else "gray") for one in pictures))
    for picture, small in zip(pictures, luma, strict=True):
        assert np.abs(small - np.minimum(cells(picture) / scale, 255)).max() <= 0.5 + 1e-9
    step = min(max(shape[0] // 120, 1), 4)
    before, after = (one[::step].astype(np.int64) // scale for one in pictures)
    expected = [after.mean(), after.std(), (after <= 25).mean(), np.abs(after - before).mean()]
    assert measures[1] == pytest.approx(expected, rel=1e-5)
    assert np.isnan(measures[0, 3])


def test_levels_of_the_widest_pictures_add_up() -> None:
    picture = np.tile(np.array([200, 255], np.uint8), (4, 24000))  # of one line, squares add up to more than 2 ** 31
    _, measures = read(VideoFrame.from_ndarray(picture, "gray"))
    assert measures[0, :2] == pytest.approx([227.5, 27.5])
