"""Videos drawn frame by frame, encoded without loss, and what an operator says of them."""

import io
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import av
import numpy as np
from numpy.typing import NDArray

from winnow.filters.operators import find_operator
from winnow.filters.video.decode.opening import VideoLimits
from winnow.filters.video.decode.operator import VideoOperator
from winnow.filters.video.decode.watching import VideoPass
from winnow.pipelines.assets import AssetFiles

WIDTH, HEIGHT = 160, 90


def scene(seed: int, width: int = WIDTH, height: int = HEIGHT) -> NDArray[np.uint8]:
    """A still picture with structure at every scale."""
    draw = np.random.default_rng(seed)
    found = np.zeros((height, width, 3))
    for size in (3, 9, 30):
        coarse = draw.uniform(0, 255, (size, size, 3))
        rows = np.linspace(0, size - 1.001, height)
        columns = np.linspace(0, size - 1.001, width)
        up, left = rows.astype(int), columns.astype(int)
        down, right = (rows - up)[:, None, None], (columns - left)[None, :, None]
        top = coarse[up][:, left] * (1 - right) + coarse[up][:, left + 1] * right
        bottom = coarse[up + 1][:, left] * (1 - right) + coarse[up + 1][:, left + 1] * right
        found += (top * (1 - down) + bottom * down) / 3
    return found.astype(np.uint8)


def encoded(
    pictures: Sequence[NDArray[np.uint8]],
    times: Sequence[int] | None = None,
    codec: str = "ffv1",
    pixels: str = "yuv420p",
    options: Mapping[str, str] | None = None,
) -> bytes:
    """A Matroska file of pictures of red, green and blue, shown at these hundredths of a second, else 25 a second."""
    out = io.BytesIO()
    with av.open(out, "w", format="matroska", options={"fflags": "+bitexact"}) as container:
        stream: Any = container.add_stream(codec, rate=25, options={"threads": "1", **(options or {})})
        stream.height, stream.width, _ = pictures[0].shape
        stream.pix_fmt = pixels
        stream.codec_context.time_base = Fraction(1, 100)
        for number, picture in enumerate(pictures):
            frame = av.VideoFrame.from_ndarray(picture, "rgb24").reformat(format=pixels)
            frame.pts, frame.time_base = times[number] if times else 4 * number, Fraction(1, 100)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return out.getvalue()


def measured(name: str, content: bytes, mime: str = "video/matroska", **config: object) -> dict[str, Any]:
    """The row of a video in the layer of an operator."""
    operator = find_operator(f"video.{name}")
    made = operator.config(**config)
    assert isinstance(operator, VideoOperator)
    watcher = operator.load(made, AssetFiles())()
    video = VideoPass(io.BytesIO(content), mime, sorted(operator.wants(made), key=repr), VideoLimits())
    for signal, batch in video.signals():
        watcher.see(signal, batch)
    (row,) = watcher.end(video.facts).to_pylist()
    return dict(row)
