"""Pictures of frames are what the formula of their colours says, pixel by pixel, in every layout of chroma."""

import io
from fractions import Fraction
from typing import Any

import av
import numpy as np
import pytest
from av import VideoFrame
from numpy.typing import NDArray

from winnow.filters.image.decode.batches import pixels_of
from winnow.filters.operators import IMAGES
from winnow.filters.video.decode.opening import VideoLimits
from winnow.filters.video.decode.pictures import picture_of
from winnow.filters.video.decode.planes import planes_of
from winnow.filters.video.decode.signal_requests import Signal
from winnow.filters.video.decode.watching import VideoPass


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


def told_by_its_container(container: str, codec: str) -> bytes:
    """Four frames of one colour: full range and BT.709, as the container says, and the codec's stream does not."""
    out = io.BytesIO()
    with av.open(out, "w", format=container, options={"fflags": "+bitexact", "movflags": "write_colr"}) as made:
        stream: Any = made.add_stream(codec, rate=25, options={"g": "2", "threads": "1", "qscale": "1"})
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        stream.codec_context.color_range, stream.codec_context.colorspace = 2, 1
        for number in range(4):
            levels = np.repeat(np.array([90, 100, 180], np.uint8), [48 * 64, 12 * 64, 12 * 64]).reshape(72, 64)
            frame = VideoFrame.from_ndarray(levels, "yuv420p")
            frame.pts, frame.time_base = number, Fraction(1, 25)
            made.mux(stream.encode(frame))
        made.mux(stream.encode(None))
    return out.getvalue()


@pytest.mark.parametrize("wanted", [[Signal("stills")], [Signal("stills"), Signal("stills", seconds=0.04)]])
@pytest.mark.parametrize(
    ("container", "mime", "codec"),
    [
        ("mp4", "video/mp4", "mpeg4"),
        ("matroska", "video/matroska", "mpeg4"),
        ("matroska", "video/matroska", "ffv1"),
    ],
)
def test_what_the_container_alone_says_of_colours_counts_in_every_still(
    container: str, mime: str, codec: str, wanted: list[Signal]
) -> None:
    watching = VideoPass(io.BytesIO(told_by_its_container(container, codec)), mime, wanted, VideoLimits())
    found: dict[Signal, list[list[int]]] = {signal: [] for signal in wanted}
    for signal, batch in watching.signals():
        found[signal] += [pixels[24, 32].tolist() for pixels in pixels_of(batch.select(IMAGES.names))]
    blue, red = 100 - 128, 180 - 128
    colour = [90 + 1.5748 * red, 90 - 0.1873 * blue - 0.4681 * red, 90 + 1.8556 * blue]
    assert [len(colours) for colours in found.values()] == [2, 4][: len(wanted)]
    for colours in found.values():
        np.testing.assert_allclose(colours, [colour] * len(colours), atol=2.5)  # codecs lose a little
