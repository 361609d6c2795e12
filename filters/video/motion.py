"""How fast the picture moves: from small planes of its frames, or from the codec's own vectors if a recipe asks for it.

Speeds are in widths of the picture per second, whatever its size, rate and codec: something that crosses the picture in
two seconds has speed 0.5. Planes are matched with each other (`matching/flow.py`), so the same film has the same speed
in every codec. Vectors are whatever an encoder found cheapest, and their reference frames are only estimated
(`decode/vectors.py`): they cost little less, are off by a third even for plain pans, and differ by codec.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.filters.video.decode.facts import VideoFacts
from winnow.filters.video.decode.operator import VideoOperator
from winnow.filters.video.decode.signal_requests import Signal
from winnow.filters.video.decode.signals import LUMA_COLUMNS, LUMA_ROWS, PATCH_COLUMNS, PATCH_ROWS, small_planes
from winnow.filters.video.matching.flow import match_frames
from winnow.schemas.recipe.checks import Between

WRITES: Final = pa.schema(
    [
        pa.field("source", pa.string()),  # vectors or planes; null if nothing could be measured
        pa.field("speed", pa.float64()),  # mean over the picture and the time
        pa.field("fastest", pa.float64()),  # the mean speed of the fastest second
        pa.field("still", pa.float64()),  # share of the measured time that is slower than `still_speed`
        pa.field("least_patch", pa.float64()),  # mean speed of the slowest of 16 x 9 parts of the picture
        pa.field("pan", pa.float64()),  # mean over time of the velocity that the whole picture shares
        pa.field("by_second", pa.list_(pa.float32())),  # mean speed of each second; null if not measured
    ]
)

FRAMES: Final = Signal("frames")
VECTORS: Final = Signal("vectors")
_SHORTEST_SECONDS: Final = 0.1  # between matched frames, if much moves
_LONGEST_SECONDS: Final = 0.4  # if little moves
_MOST_SECONDS: Final = 1.0  # frames further apart are not compared
_LEAST_PREDICTED: Final = 0.5  # of a frame, by vectors; less is a cut, or mostly predicted from later frames
_LEAST_MATCHED: Final = 0.3  # of its patches; less is a cut
_LAST_SECOND: Final = 86399  # of `by_second`


@dataclass(frozen=True, slots=True)
class MotionConfig:
    """The source of motion."""

    by: Literal["planes", "vectors"] = "planes"  # vectors: only those of H.264 and the MPEG family
    still_speed: Annotated[float, Between(0, 10)] = 0.005  # widths a second; ours


@dataclass(frozen=True, slots=True)
class _Moves:
    """Motion of some frames: time, duration and speed, and the distance and time of each patch."""

    seconds: NDArray[np.float64]
    lasting: NDArray[np.float64]
    speed: NDArray[np.float64]
    pan: NDArray[np.float64]
    ways: NDArray[np.float64]
    times: NDArray[np.float64]


class MotionWatcher:
    """Keeps four numbers for each frame with vectors and for each matched pair of frames, and sums over patches."""

    def __init__(self, config: MotionConfig) -> None:
        self._config = config
        self._moves: list[_Moves] = []
        self._last_vector: float | None = None
        self._last = np.empty((0, LUMA_ROWS, LUMA_COLUMNS), np.uint8)  # the frame that the next is matched with
        self._last_seconds = np.empty(0, np.float64)

    def see(self, signal: Signal, batch: pa.RecordBatch) -> None:
        """Take the next frames or vectors."""
        if signal == VECTORS:
            self._see_vectors(batch)
        else:
            self._see_planes(batch)

    def _see_vectors(self, batch: pa.RecordBatch) -> None:
        seconds = batch.column("seconds").to_numpy().copy()  # a view would keep the batch, with its patches
        before = np.concatenate([[seconds[0] if self._last_vector is None else self._last_vector], seconds[:-1]])
        self._last_vector = float(seconds[-1])
        covered = batch.column("covered").to_numpy() >= _LEAST_PREDICTED
        lasting = np.where(covered, np.minimum(seconds - before, _MOST_SECONDS), 0.0)
        speed, right, down = (batch.column(name).to_numpy().astype(np.float64) for name in ("speed", "right", "down"))
        patches = batch.column("patches").flatten().to_numpy().reshape(len(seconds), -1)
        ways, times = lasting @ np.nan_to_num(patches), lasting @ ~np.isnan(patches)
        self._moves.append(_Moves(seconds, lasting, speed, np.hypot(right, down), ways, times))

    def _see_planes(self, batch: pa.RecordBatch) -> None:
        planes = np.concatenate([self._last, small_planes(batch.column("luma"), LUMA_ROWS, LUMA_COLUMNS)])
        shapes = batch.column("height").to_numpy() / batch.column("width").to_numpy()
        seconds = np.concatenate([self._last_seconds, batch.column("seconds").to_numpy()])
        shapes = np.concatenate([self._last_seconds, shapes])  # the shape of the last frame is not used
        spans = _SHORTEST_SECONDS, _LONGEST_SECONDS, _MOST_SECONDS
        pairs, patches, last = match_frames(planes, seconds, shapes, *spans)
        self._last, self._last_seconds = planes[last : last + 1].copy(), seconds[last : last + 1]
        matched = pairs[:, 2] >= _LEAST_MATCHED * PATCH_ROWS * PATCH_COLUMNS
        if matched.any():
            at, apart, covered, right, down = np.ascontiguousarray(pairs[matched].T)
            patches = patches[matched].reshape(len(at), -1)
            seen = ~np.isnan(patches)
            moves = np.where(seen, patches, 0.0)
            speed, pan = moves.sum(axis=1) / covered / apart, np.hypot(right, down) / apart
            times = (seen * apart[:, None]).sum(axis=0)
            self._moves.append(_Moves(seconds[at.astype(np.int64)], apart, speed, pan, moves.sum(axis=0), times))

    def end(self, facts: VideoFacts) -> pa.RecordBatch:
        """The row of speeds."""
        measured = sum(float(one.lasting.sum()) for one in self._moves)
        if not measured:
            return pa.RecordBatch.from_pylist([{"source": None}], schema=WRITES)
        seconds, lasting, speed, pan = (
            np.concatenate([getattr(one, name) for one in self._moves])
            for name in ("seconds", "lasting", "speed", "pan")
        )
        ways, times = (np.sum([getattr(one, name) for one in self._moves], axis=0) for name in ("ways", "times"))
        if facts.orientation > 4:  # rotated by 90 degrees: its width is the stored height
            speed, pan, ways = (one * (facts.width / facts.height) for one in (speed, pan, ways))
        seen = times > measured / 2  # other patches mostly lack structure, or are coded without vectors
        by_second = _by_second(seconds, lasting, speed)
        row: dict[str, Any] = {
            "source": self._config.by,
            "speed": float((speed * lasting).sum() / measured),
            "fastest": float(np.nanmax(by_second)),
            "still": float(lasting[speed < self._config.still_speed].sum() / measured),
            "least_patch": float((ways[seen] / times[seen]).min()) if seen.any() else None,
            "pan": float((pan * lasting).sum() / measured),
            "by_second": [None if np.isnan(one) else one for one in by_second.tolist()],
        }
        return pa.RecordBatch.from_pylist([row], schema=WRITES)


def _by_second(
    seconds: NDArray[np.float64], lasting: NDArray[np.float64], speed: NDArray[np.float64]
) -> NDArray[np.float64]:
    which = np.clip(seconds, 0, _LAST_SECOND).astype(np.int64)
    total = np.bincount(which, lasting)
    with np.errstate(invalid="ignore"):
        found: NDArray[np.float64] = np.bincount(which, speed * lasting) / np.where(total > 0, total, np.nan)
    return found


OPERATOR = VideoOperator(
    name="video.motion",
    version=2,
    summary="how fast each video's picture moves, in its widths a second",
    config=MotionConfig,
    writes=lambda _: WRITES,
    wants=lambda config: frozenset({VECTORS if config.by == "vectors" else FRAMES}),
    load=lambda config, _assets: lambda: MotionWatcher(config),
)
