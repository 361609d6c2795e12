"""What does not move or cannot be seen: shares of a video's time that are black or frozen, and its bars of black.

Shares are of time, not of frames, so that a still that is shown for long counts for as long. A frame is black when
nearly all its pixels are, with the thresholds of FFmpeg's `blackdetect`. Frames are frozen when each differs from the
one before by no more than compression makes it, for at least `min_seconds` on end. Bars are the lines and columns of
cells at the borders that stay black while the rest of the picture is not.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.filters.operators import MEDIA_VIDEO, Assets, Operator, Watch, Watcher
from winnow.filters.video.decode.facts import VideoFacts
from winnow.filters.video.decode.signals import LUMA_COLUMNS, LUMA_ROWS, small_planes
from winnow.filters.video.decode.wanted import Signal
from winnow.schemas.recipe.checks import Between

WRITES: Final = pa.schema(
    [
        pa.field("frames", pa.int64()),  # that could be decoded
        pa.field("black", pa.float64()),  # share of the time
        pa.field("frozen", pa.float64()),
        pa.field("longest_black", pa.float64()),  # seconds
        pa.field("longest_frozen", pa.float64()),
        pa.field("letterbox", pa.float64()),  # share of the height that bars above and below take
        pa.field("pillarbox", pa.float64()),  # share of the width that bars at the sides take
        pa.field("brightness", pa.float64()),  # mean luma over time, 0 to 255
        pa.field("contrast", pa.float64()),  # mean deviation of luma
    ]
)

FRAMES: Final = Signal("frames")
_BAR_LEVEL: Final = 18  # of a cell that is as black as a bar, compressed
_LIT_LEVEL: Final = 40  # of one cell at least, or a frame tells nothing of bars


@dataclass(frozen=True, slots=True)
class StaticConfig:
    """What counts as black and as frozen."""

    black_pixels: Annotated[float, Between(0, 1)] = 0.98  # share of a frame's pixels; FFmpeg's picture_black_ratio_th
    frozen_change: Annotated[float, Between(0, 255)] = 0.255  # mean difference; FFmpeg's freezedetect: 0.001 of 255
    min_seconds: Annotated[float, Between(0, 3600)] = 0.5  # of frozen time that counts; ours, FFmpeg's is 2


class StaticWatcher:
    """Keeps a few numbers for each frame, and the brightest level that each line and column of cells had."""

    def __init__(self, config: StaticConfig) -> None:
        self._config = config
        self._seconds: list[NDArray[np.float64]] = []
        self._measures: list[NDArray[np.float32]] = []
        self._brightest = np.zeros((LUMA_ROWS, LUMA_COLUMNS), np.uint8)

    def see(self, signal: Signal, batch: pa.RecordBatch) -> None:
        """Takes the next frames."""
        assert signal == FRAMES
        self._seconds.append(batch.column("seconds").to_numpy())
        names = ("mean", "deviation", "dark", "change")
        columns = [batch.column(name).to_numpy(zero_copy_only=False).astype(np.float32) for name in names]
        self._measures.append(np.stack(columns, axis=1))
        luma = small_planes(batch.column("luma"), LUMA_ROWS, LUMA_COLUMNS)
        lit = luma[(luma > _LIT_LEVEL).any(axis=(1, 2))]
        if len(lit):
            self._brightest = np.maximum(self._brightest, lit.max(axis=0))

    def end(self, facts: VideoFacts) -> pa.RecordBatch:
        """The shares."""
        if not self._seconds:
            return pa.RecordBatch.from_pylist([{"frames": 0}], schema=WRITES)
        config = self._config
        begins = np.concatenate(self._seconds)
        measures = np.concatenate(self._measures)
        mean, deviation, dark, change = (measures[:, at] for at in range(4))
        lasting = np.diff(np.append(begins, max(facts.seconds, begins[-1])))
        total = max(float(lasting.sum()), 1e-9)
        black = dark >= config.black_pixels
        still = change <= config.frozen_change
        black_runs = _run_seconds(black, lasting)
        frozen_runs = np.bincount(np.cumsum(~still), lasting)  # a run from each frame that differs from the last one
        frozen_runs = frozen_runs[frozen_runs >= config.min_seconds]
        above, below, left, right = _bars(self._brightest)
        row = {
            "frames": len(begins),
            "black": float(black_runs.sum()) / total,
            "frozen": float(frozen_runs.sum()) / total,
            "longest_black": float(black_runs.max(initial=0)),
            "longest_frozen": float(frozen_runs.max(initial=0)),
            "letterbox": (above + below) / LUMA_ROWS,
            "pillarbox": (left + right) / LUMA_COLUMNS,
            "brightness": float((mean * lasting).sum()) / total,
            "contrast": float((deviation * lasting).sum()) / total,
        }
        if facts.orientation > 4:  # turned by a quarter
            row["letterbox"], row["pillarbox"] = row["pillarbox"], row["letterbox"]
        return pa.RecordBatch.from_pylist([row], schema=WRITES)


def _run_seconds(flags: NDArray[np.bool_], lasting: NDArray[np.float64]) -> NDArray[np.float64]:
    """How long each run of flags lasts."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    sums = np.concatenate([[0.0], np.cumsum(lasting)])
    found: NDArray[np.float64] = sums[edges[1::2]] - sums[edges[::2]]
    return found


def _bars(brightest: NDArray[np.uint8]) -> tuple[int, int, int, int]:
    """Lines above and below, and columns at the left and the right, that were never lit; none if nothing was."""
    lines, columns = (np.unique(places) for places in np.nonzero(brightest > _BAR_LEVEL))
    if not len(lines):
        return 0, 0, 0, 0
    return int(lines[0]), int(LUMA_ROWS - 1 - lines[-1]), int(columns[0]), int(LUMA_COLUMNS - 1 - columns[-1])


def _load(config: StaticConfig, _assets: Assets) -> Callable[[], Watcher]:
    return lambda: StaticWatcher(config)


OPERATOR = Operator(
    name="video.static",
    version=1,
    summary="shares of each video's time that are black or frozen, and its bars of black",
    config=StaticConfig,
    reads=lambda _: (MEDIA_VIDEO,),
    writes=lambda _: WRITES,
    watch=Watch(wants=lambda _: frozenset({FRAMES}), load=_load),
    needs=(),
)
