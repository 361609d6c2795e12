"""The beginnings and ends of shots: cuts, fades through black and dissolves, from small planes of every frame.

Frames that only repeat the one before, as when film of 20 frames a second is shown at 60, are dropped before the
detector: either one that compares frames or a network trained on transitions. A transition into or out of black is a
fade. Frames of a fade or a dissolve belong to no shot, so that no clip shows two.
"""

from collections.abc import Callable
from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.filters.models.transnet import MODEL as TRANSNET
from winnow.filters.operators import Assets
from winnow.filters.video.decode.facts import VideoFacts
from winnow.filters.video.decode.operator import VideoOperator, Watcher
from winnow.filters.video.decode.signal_requests import Signal
from winnow.filters.video.decode.signals import (
    CHROMA_COLUMNS,
    CHROMA_ROWS,
    LUMA_COLUMNS,
    LUMA_ROWS,
    small_planes,
)
from winnow.filters.video.transitions.adaptive import AdaptiveDetector
from winnow.filters.video.transitions.learned import TransNetDetector, open_network
from winnow.filters.video.transitions.planes import CELLS, fresh_frames
from winnow.filters.video.transitions.spans import Detector, ShotsConfig, counted

WRITES: Final = pa.schema(
    [
        pa.field("count", pa.int32()),
        pa.field("longest", pa.float64()),  # seconds
        pa.field("begins", pa.list_(pa.int64())),  # ticks of the first frame of each shot
        pa.field("ends", pa.list_(pa.int64())),  # ticks of the end of its last frame
        pa.field("begin_seconds", pa.list_(pa.float64())),  # the same, in seconds since the first frame of the video
        pa.field("end_seconds", pa.list_(pa.float64())),
        pa.field("transitions", pa.list_(pa.string())),  # how each shot begins: start, cut, fade or dissolve
        pa.field("pause_begins", pa.list_(pa.int64())),  # ticks of frames shown for more than a second
        pa.field("pause_ends", pa.list_(pa.int64())),  # when the frames after them begin
        pa.field("numerator", pa.int64()),  # a tick takes numerator / denominator seconds
        pa.field("denominator", pa.int64()),
    ]
)

NAME: Final = "video.shots"
FRAMES: Final = Signal("frames")
_PAUSE: Final = 1  # seconds for which a frame is shown


class ShotsWatcher:
    """Passes the frames of a video that are not repetitions to a detector, and keeps their times."""

    def __init__(self, detector: Detector, min_seconds: float) -> None:
        self._detector, self._min_seconds = detector, min_seconds
        self._last = np.empty((0, CELLS), np.uint8), np.empty(0, np.float64)  # the last frame that is not a repetition
        self._change = np.float32(0)  # its difference from the one before
        self._ticks: list[NDArray[np.int64]] = []
        self._fresh: list[NDArray[np.bool_]] = []
        self._seconds: list[NDArray[np.float64]] = []
        self._luma: list[NDArray[np.float32]] = []

    def see(self, signal: Signal, batch: pa.RecordBatch) -> None:
        """Pass on the next frames."""
        assert signal == FRAMES
        luma = small_planes(batch.column("luma"), LUMA_ROWS, LUMA_COLUMNS)
        chroma = [small_planes(batch.column(name), CHROMA_ROWS, CHROMA_COLUMNS) for name in ("cb", "cr")]
        before, when = self._last
        planes = np.concatenate([before, np.hstack([one.reshape(len(one), -1) for one in (luma, *chroma)])])
        seconds = np.concatenate([when, batch.column("seconds").to_numpy()])  # copies: views would keep the batch
        fresh, self._change = fresh_frames(planes, seconds, len(before), self._change)
        last = int(np.flatnonzero(fresh)[-1])
        self._last = planes[last : last + 1].copy(), seconds[last : last + 1].copy()
        fresh = fresh[len(before) :]
        planes, seconds = planes[len(before) :][fresh], seconds[len(before) :][fresh]
        measures = [batch.column(name).to_numpy().astype(np.float32) for name in ("mean", "deviation")]
        self._ticks.append(batch.column("ticks").to_numpy().copy())
        self._fresh.append(fresh)
        self._seconds.append(seconds)
        self._luma.append(np.stack(measures, axis=1)[fresh])
        self._detector.see(planes, seconds)

    def end(self, facts: VideoFacts) -> pa.RecordBatch:
        """The row of shots."""
        if not self._ticks:
            return _row([], [], np.empty((0, 2), np.int64), facts)
        ticks, fresh = np.concatenate(self._ticks), np.concatenate(self._fresh)
        luma, seconds = np.concatenate(self._luma), np.concatenate(self._seconds)
        found = counted(self._detector.end(), luma, seconds, self._min_seconds)
        end = max(facts.start + facts.duration, int(ticks[-1]) + 1)
        begins_at = np.append(ticks[fresh], end)
        bounds = [(0, "start"), *((one.end, one.kind) for one in found)]
        stops = [*(one.start for one in found), len(begins_at) - 1]
        shots = [(begin, stop, kind) for (begin, kind), stop in zip(bounds, stops, strict=True) if begin < stop]
        spans = [(int(begins_at[begin]), int(begins_at[stop])) for begin, stop, _ in shots]
        shown = np.stack([ticks, np.append(ticks[1:], end)], axis=1)
        is_long = np.diff(shown, axis=1)[:, 0] > _PAUSE / facts.time_base
        return _row(spans, [kind for _, _, kind in shots], shown[is_long], facts)


def _row(
    spans: list[tuple[int, int]], kinds: list[str], pauses: NDArray[np.int64], facts: VideoFacts
) -> pa.RecordBatch:
    tick = facts.time_base
    seconds = [tuple(float((at - facts.start) * tick) for at in span) for span in spans]
    values: list[object] = [
        len(spans),
        max((end - begin for begin, end in seconds), default=0.0),
        [begin for begin, _ in spans],
        [end for _, end in spans],
        [begin for begin, _ in seconds],
        [end for _, end in seconds],
        kinds,
        pauses[:, 0],
        pauses[:, 1],
        tick.numerator,
        tick.denominator,
    ]
    columns = [pa.array([value], form.type) for value, form in zip(values, WRITES, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=WRITES)


def _load(config: ShotsConfig, assets: Assets) -> Callable[[], Watcher]:
    make: Callable[[], Detector] = partial(AdaptiveDetector, config)
    if config.detector == "transnet":
        make = partial(TransNetDetector, open_network(NAME, assets.path(TRANSNET.name)), config.likely)
    return lambda: ShotsWatcher(make(), config.min_seconds)


OPERATOR = VideoOperator(
    name=NAME,
    version=4,
    summary="where the shots of each video begin and end: cuts, fades and dissolves",
    config=ShotsConfig,
    writes=lambda _: WRITES,
    wants=lambda _: frozenset({FRAMES}),
    load=_load,
    assets=lambda config: (TRANSNET.name,) if config.detector == "transnet" else (),
    declares=(TRANSNET,),
)
