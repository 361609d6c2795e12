"""Pictures of frames are what the formula of their colours says, pixel by pixel, in every layout of chroma."""

import numpy as np
import pytest
from av import VideoFrame
from numpy.typing import NDArray

from winnow.filters.video.decode.pictures import picture_of
from winnow.filters.video.decode.planes import planes_of


def expected(frame: VideoFrame) -> NDArray[np.int64]:
    """BT.601 in 65536ths, each pixel with the nearest sample of chroma."""
    planes, shift = planes_of(frame), planes_of(frame).depth - 8
    low, luma, chroma = (0, 1.0, 1.0) if planes.full_range else (16, 255 / 219, 255 / 224)
    level = ((planes.luma[:, : frame.width].astype(np.int64) >> shift) - low) * round(luma * 65536) + 32768
    adds = np.zeros((*level.shape, 3), np.int64)
    if planes.cb is not None and planes.cr is not None:
        rows = np.arange(frame.height) * len(planes.cb) // frame.height
        x, width = np.arange(frame.width), planes.chroma_width
        columns = x if width == frame.width else x // 2 if 2 * width >= frame.width else x * width // frame.width
        blue, red = ((one[rows][:, columns].astype(np.int64) >> shift) - 128 for one in (planes.cb, planes.cr))
        factors = {"rr": 1.402, "gb": -2 * 0.886 * 0.114 / 0.587, "gr": -2 * 0.701 * 0.299 / 0.587, "bb": 1.772}
        of = {name: round(one * chroma * 65536) for name, one in factors.items()}
        adds = np.stack([of["rr"] * red, of["gb"] * blue + of["gr"] * red, of["bb"] * blue], axis=2)
    found: NDArray[np.int64] = np.clip((level[:, :, None] + adds) >> 16, 0, 255)
    return found


@pytest.mark.parametrize("size", [(64, 36), (61, 35), (3, 3), (2, 5)])
@pytest.mark.parametrize("layout", ["yuv420p", "yuv422p10le", "yuv444p", "yuv411p", "yuvj420p", "gray"])
def test_colours_are_those_of_the_formula(layout: str, size: tuple[int, int]) -> None:
    noise = np.random.default_rng(3).integers(0, 256, (size[1], size[0], 3)).astype(np.uint8)
    frame = VideoFrame.from_ndarray(noise, "rgb24").reformat(format=layout)
    np.testing.assert_array_equal(picture_of(frame, 1), expected(frame))
