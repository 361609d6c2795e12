"""Shares of a video's time that are black or frozen, and its black bars.

Shares are of time, not of frames, so that a still counts for as long as it is shown. A frame is black if nearly all its
pixels are, with the thresholds of FFmpeg's `blackdetect`. Frames are frozen if each differs from the one before by no
more than compression causes, for at least `min_seconds`. Bars are the lines and columns of cells at the borders that
stay black while the rest of the picture does not, and end at a straight edge: a dark sky ends at a skyline with a few
lit cells, not at a lit line. A bar that ends within a line of cells makes that line darker than the next one by its
share of it, in all cells and frames; so bars thinner than a line are found, too.
"""

from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.filters.video.decode.facts import VideoFacts
from winnow.filters.video.decode.operator import VideoOperator
from winnow.filters.video.decode.signal_requests import Signal
from winnow.filters.video.decode.signals import LUMA_COLUMNS, LUMA_ROWS, small_planes
from winnow.schemas.recipe.checks import Between

WRITES: Final = pa.schema(
    [
        pa.field("frames", pa.int64()),  # frames that could be decoded
        pa.field("black", pa.float64()),  # share of the time
        pa.field("frozen", pa.float64()),
        pa.field("longest_black", pa.float64()),  # seconds
        pa.field("longest_frozen", pa.float64()),
        pa.field("letterbox", pa.float64()),  # share of the height covered by bars above and below
        pa.field("pillarbox", pa.float64()),  # share of the width covered by bars at the sides
        pa.field("brightness", pa.float64()),  # mean luma over time, 0 to 255
        pa.field("contrast", pa.float64()),  # mean deviation of luma
    ]
)

FRAMES: Final = Signal("frames")
_BAR_LEVEL: Final = 18  # of a cell as black as a compressed bar
_BLACK_LEVEL: Final = 6  # of a bar without one on the other side
_EDGE_LEVEL: Final = 22  # of a cell of the picture beside a bar
_EDGE_CELLS: Final = 0.4  # share of those cells that are lit together
_EDGE_FRAMES: Final = 0.25  # share of the frames in which they are lit
_ALIKE_LINES: Final = 2  # the most by which bars on both sides differ
_THIN_LINES: Final = 0.4  # the thinnest bars that are found, one on each side
_ALIKE_THIN_LINES: Final = 0.5  # the most by which those differ
_NO_GRADIENT: Final = 0.8  # of a line by the next one; otherwise darkness grows towards the border by itself
_LIT_LEVEL: Final = 40  # of at least one cell; a darker frame reveals no bars


@dataclass(frozen=True, slots=True)
class StaticConfig:
    """What counts as black and as frozen."""

    black_pixels: Annotated[float, Between(0, 1)] = 0.98  # share of a frame's pixels; FFmpeg's picture_black_ratio_th
    frozen_change: Annotated[float, Between(0, 255)] = 0.255  # mean difference; FFmpeg's freezedetect: 0.001 of 255
    min_seconds: Annotated[float, Between(0, 3600)] = 0.5  # of frozen time that counts; ours, FFmpeg's is 2


class StaticWatcher:
    """Keeps a few numbers per frame, and what lines and columns of cells reveal about bars."""

    def __init__(self, config: StaticConfig) -> None:
        self._config = config
        self._seconds: list[NDArray[np.float64]] = []
        self._measures: list[NDArray[np.float32]] = []
        self._lines, self._columns = _Bars(LUMA_ROWS), _Bars(LUMA_COLUMNS)

    def see(self, signal: Signal, batch: pa.RecordBatch) -> None:
        """Take the next frames."""
        assert signal == FRAMES
        self._seconds.append(batch.column("seconds").to_numpy().copy())  # a view would keep the batch, with its planes
        names = ("mean", "deviation", "dark", "change")
        columns = [batch.column(name).to_numpy(zero_copy_only=False).astype(np.float32) for name in names]
        self._measures.append(np.stack(columns, axis=1))
        luma = small_planes(batch.column("luma"), LUMA_ROWS, LUMA_COLUMNS)
        luma = luma[luma.max(axis=(1, 2)) > _LIT_LEVEL]
        self._lines.see(luma)
        self._columns.see(luma.transpose(0, 2, 1))

    def end(self, facts: VideoFacts) -> pa.RecordBatch:
        """The row of measures."""
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
        row = {
            "frames": len(begins),
            "black": float(black_runs.sum()) / total,
            "frozen": float(frozen_runs.sum()) / total,
            "longest_black": float(black_runs.max(initial=0)),
            "longest_frozen": float(frozen_runs.max(initial=0)),
            "letterbox": self._lines.share(),
            "pillarbox": self._columns.share(),
            "brightness": float((mean * lasting).sum()) / total,
            "contrast": float((deviation * lasting).sum()) / total,
        }
        if facts.orientation > 4:  # rotated by 90 degrees
            row["letterbox"], row["pillarbox"] = row["pillarbox"], row["letterbox"]
        return pa.RecordBatch.from_pylist([row], schema=WRITES)


def _run_seconds(flags: NDArray[np.bool_], lasting: NDArray[np.float64]) -> NDArray[np.float64]:
    """The duration of each run of flags."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    sums = np.concatenate([[0.0], np.cumsum(lasting)])
    found: NDArray[np.float64] = sums[edges[1::2]] - sums[edges[::2]]
    return found


class _Bars:
    """Detects bars at both ends of one axis of the picture from its lines, frame by frame."""

    def __init__(self, lines: int) -> None:
        self._brightest = np.zeros(lines, np.uint8)  # level of any cell of each line
        self._sums = np.zeros(lines, np.int64)  # of the levels of each line's cells
        self._edges = np.zeros((2, lines), np.int64)  # frames in which a line, or the one after it, is lit as an edge
        self._frames = 0

    def see(self, frames: NDArray[np.uint8]) -> None:
        """Add frames that are not all dark, as lines of cells."""
        self._frames += len(frames)
        self._brightest = np.maximum(self._brightest, frames.max(axis=0, initial=0).max(axis=1))
        self._sums += frames.sum(axis=(0, 2), dtype=np.int64)
        lit = np.pad(frames > _EDGE_LEVEL, ((0, 0), (1, 1), (0, 0)))
        # An edge may run through a line of cells, so those of the next one count as well.
        edged = (lit[:, :-1] | lit[:, 1:]).sum(axis=2, dtype=np.uint8) / frames.shape[2] >= _EDGE_CELLS
        self._edges += np.stack([edged[:, 1:], edged[:, :-1]]).sum(axis=1)

    def share(self) -> float:
        """The share of the lines that bars cover; 0 if nothing was lit."""
        lit = np.flatnonzero(self._brightest > _BAR_LEVEL)
        if not len(lit):
            return 0.0
        lines = len(self._brightest)
        sizes = [int(lit[0]), int(lines - 1 - lit[-1])]
        ends = [
            size + _covered(sums[size : size + 3])
            for size, sums in zip(sizes, (self._sums, self._sums[::-1]), strict=True)
        ]
        edged = [bool(self._edges[side][lit[-side]] >= _EDGE_FRAMES * self._frames) for side in (0, 1)]
        are_alike = abs(sizes[0] - sizes[1]) <= _ALIKE_LINES if min(sizes) > 0 else _are_thin(ends)
        if are_alike and any(edged):
            return sum(ends) / lines
        bars = (self._brightest[: sizes[0]], self._brightest[lines - sizes[1] :])
        return (
            sum(end for end, bar, is_edged in zip(ends, bars, edged, strict=True) if is_edged and _is_black(bar))
            / lines
        )


def _covered(sums: NDArray[np.int64]) -> float:
    """The share of the first lit line that a bar covers, from its level and those of the two lines after it."""
    if len(sums) < 3 or sums[1] <= 0 or sums[1] < _NO_GRADIENT * sums[2]:
        return 0.0
    return max(1 - float(sums[0] / sums[1]), 0.0)


def _are_thin(ends: list[float]) -> bool:
    return min(ends) >= _THIN_LINES and max(ends) <= 1 + _THIN_LINES and abs(ends[0] - ends[1]) <= _ALIKE_THIN_LINES


def _is_black(bar: NDArray[np.uint8]) -> bool:
    return len(bar) > 0 and bool(np.median(bar) <= _BLACK_LEVEL)  # beside a sharp edge compression makes it lighter


OPERATOR = VideoOperator(
    name="video.static",
    version=4,
    summary="shares of each video's time that are black or frozen, and its bars of black",
    config=StaticConfig,
    writes=lambda _: WRITES,
    wants=lambda _: frozenset({FRAMES}),
    load=lambda config, _assets: lambda: StaticWatcher(config),
)
