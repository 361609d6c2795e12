"""What tests of operators on videos share: a video's signals as batches, given to a watcher."""

from collections.abc import Iterable
from fractions import Fraction

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tests.filters.image.test_quality import batch
from winnow.filters.video.decode.facts import VideoFacts
from winnow.filters.video.decode.operator import Watcher
from winnow.filters.video.decode.signal_requests import Signal
from winnow.filters.video.decode.signals import SCHEMAS

FACTS = VideoFacts(
    container="matroska",
    streams=1,
    codec="vp9",
    profile="",
    pixel_format="yuv420p",
    interlaced=False,
    width=64,
    height=36,
    pixel_aspect=Fraction(1),
    orientation=1,
    time_base=Fraction(1, 1000),
    start=0,
    duration=4000,
    frames=100,
    keyframes=4,
    shortest_frame=40,
    longest_frame=40,
    held=0,
    longest_gop=1000,
    untimed=0,
    leaps=0,
    corrupt=0,
    bytes=1000,
    declared_seconds=4.0,
    declared_rate=None,
    audio_streams=0,
    subtitle_streams=0,
    sound=None,
)


def stills(pictures: Iterable[NDArray[np.uint8]], first: float = 0.0) -> pa.RecordBatch:
    """Pictures as a second of a video each."""
    images = batch(*pictures)
    seconds = first + np.arange(images.num_rows)
    times = [pa.array((seconds * 1000).astype(np.int64)), pa.array(seconds)]
    return pa.RecordBatch.from_arrays([*times, *images.columns], schema=SCHEMAS["stills"])


def watched(watcher: Watcher, signal: Signal, batches: Iterable[pa.RecordBatch]) -> dict[str, object]:
    """The layer's row of one video."""
    for one in batches:
        watcher.see(signal, one)
    (row,) = watcher.end(FACTS).to_pylist()
    return dict(row)
