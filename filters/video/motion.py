"""How fast the picture moves: from the codec's own vectors where it has them, else by matching blocks of small planes.

Speeds are in widths of the picture a second, whatever its size, rate and codec: a thing that crosses the picture in two
seconds has speed 0.5. Vectors are what an encoder found cheapest, and what they refer to is only estimated
(`decode/vectors.py`): on pans of known speed they are within a third of it. Blocks are matched between frames a tenth
of a second apart, and are within a tenth of speeds up to 0.6.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.filters.operators import MEDIA_VIDEO, Assets, Operator, Watch, Watcher
from winnow.filters.video.decode.facts import VideoFacts
from winnow.filters.video.decode.signals import LUMA_COLUMNS, LUMA_ROWS, PATCH_COLUMNS, PATCH_ROWS, small_planes
from winnow.filters.video.decode.wanted import Signal
from winnow.schemas.kernels import arithmetic
from winnow.schemas.recipe.checks import Between

WRITES: Final = pa.schema(
    [
        pa.field("source", pa.string()),  # vectors or planes; null if nothing could be measured
        pa.field("speed", pa.float64()),  # mean over the picture and the time
        pa.field("fastest", pa.float64()),  # of the seconds of the video, the mean speed of the fastest
        pa.field("still", pa.float64()),  # share of the measured time that is slower than `still_speed`
        pa.field("least_patch", pa.float64()),  # mean speed of the part of the picture that moves least, of 16 x 9
        pa.field("pan", pa.float64()),  # mean over time of the speed that the whole picture has in common
        pa.field("by_second", pa.list_(pa.float32())),  # mean speed of each second; null where nothing was measured
    ]
)

FRAMES: Final = Signal("frames")
VECTORS: Final = Signal("vectors")
_STEP_SECONDS: Final = 0.1  # between frames whose blocks are matched
_LONGEST_SECONDS: Final = 1.0  # frames further apart are not compared
_LEAST_PREDICTED: Final = 0.5  # of a frame, by vectors; less is a cut, or mostly predicted from later frames
_LEAST_MATCHED: Final = 0.3  # of its patches; less is a cut
_REACH: Final = 4  # cells to each side that a block is looked for
_LEAST_TEXTURE: Final = 2.0  # levels, mean deviation of a block: a flat one matches anywhere
_MOST_RESIDUAL: Final = 12.0  # levels: a block that differs more has no match
_MOST_SECONDS: Final = 86400  # of `by_second`


@dataclass(frozen=True, slots=True)
class MotionConfig:
    """What motion is measured by."""

    by: Literal["either", "vectors", "planes"] = "either"  # vectors where the codec has any, else planes
    still_speed: Annotated[float, Between(0, 10)] = 0.005  # widths a second; ours


@dataclass(frozen=True, slots=True)
class _Moves:
    """Motion of some frames: when, for how long and how fast, and for each patch how far it went in what time."""

    seconds: NDArray[np.float64]
    lasting: NDArray[np.float64]
    speed: NDArray[np.float64]
    pan: NDArray[np.float64]
    ways: NDArray[np.float64]
    times: NDArray[np.float64]


class MotionWatcher:
    """Keeps four numbers for each frame with vectors and for each pair of frames matched; sums of patches."""

    def __init__(self, config: MotionConfig) -> None:
        self._config = config
        self._vectors: list[_Moves] = []
        self._planes: list[_Moves] = []
        self._last_vector: float | None = None
        self._last: tuple[float, NDArray[np.uint8]] | None = None

    def see(self, signal: Signal, batch: pa.RecordBatch) -> None:
        """Takes the next frames or vectors."""
        if signal == VECTORS:
            self._see_vectors(batch)
        else:
            self._see_planes(batch)

    def _see_vectors(self, batch: pa.RecordBatch) -> None:
        seconds = batch.column("seconds").to_numpy()
        before = np.concatenate([[seconds[0] if self._last_vector is None else self._last_vector], seconds[:-1]])
        self._last_vector = float(seconds[-1])
        covered = batch.column("covered").to_numpy() >= _LEAST_PREDICTED
        lasting = np.where(covered, np.minimum(seconds - before, _LONGEST_SECONDS), 0.0)
        speed, right, down = (batch.column(name).to_numpy().astype(np.float64) for name in ("speed", "right", "down"))
        patches = batch.column("patches").flatten().to_numpy().reshape(len(seconds), -1)
        ways, times = lasting @ np.nan_to_num(patches), lasting @ ~np.isnan(patches)
        self._vectors.append(_Moves(seconds, lasting, speed, np.hypot(right, down), ways, times))

    def _see_planes(self, batch: pa.RecordBatch) -> None:
        planes = small_planes(batch.column("luma"), LUMA_ROWS, LUMA_COLUMNS)
        shapes = batch.column("height").to_numpy() / batch.column("width").to_numpy()
        rows = []
        ways, times = np.zeros((2, PATCH_ROWS * PATCH_COLUMNS))
        for at, seconds in enumerate(batch.column("seconds").to_numpy().tolist()):  # some ten pairs a second
            if self._last is not None and seconds < self._last[0] + _STEP_SECONDS - 1e-6:
                continue
            if self._last is not None and seconds - self._last[0] <= _LONGEST_SECONDS:
                apart = seconds - self._last[0]
                patches = np.full((PATCH_ROWS, PATCH_COLUMNS), np.nan)
                covered, right, down = _match(self._last[1], planes[at], shapes[at], patches)
                if covered >= _LEAST_MATCHED * patches.size:
                    speed = float(np.nansum(patches)) / covered / apart
                    rows.append((seconds, apart, speed, np.hypot(right, down) / apart))
                    ways += np.nan_to_num(patches.reshape(-1))
                    times += ~np.isnan(patches.reshape(-1)) * apart
            self._last = seconds, planes[at].copy()
        if rows:
            columns = [np.array(one) for one in zip(*rows, strict=True)]
            self._planes.append(_Moves(columns[0], columns[1], columns[2], columns[3], ways, times))

    def end(self, facts: VideoFacts) -> pa.RecordBatch:
        """The speeds."""
        moves, source = self._vectors, "vectors"
        measured = sum(float(one.lasting.sum()) for one in moves)
        if measured < facts.seconds / 2 and self._planes:  # mostly frames without vectors
            moves, source = self._planes, "planes"
            measured = sum(float(one.lasting.sum()) for one in moves)
        if not measured:
            return pa.RecordBatch.from_pylist([{"source": None}], schema=WRITES)
        seconds, lasting, speed, pan = (
            np.concatenate([getattr(one, name) for one in moves]) for name in ("seconds", "lasting", "speed", "pan")
        )
        ways, times = (np.sum([getattr(one, name) for one in moves], axis=0) for name in ("ways", "times"))
        seen = times > measured / 2  # others are mostly without structure, or coded without vectors
        by_second = _by_second(seconds, lasting, speed)
        row: dict[str, Any] = {
            "source": source,
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
    which = np.clip(seconds, 0, _MOST_SECONDS - 1).astype(np.int64)
    total = np.bincount(which, lasting)
    with np.errstate(invalid="ignore"):
        found: NDArray[np.float64] = np.bincount(which, speed * lasting) / np.where(total > 0, total, np.nan)
    return found


@arithmetic
def _match(before, after, shape, patches):  # type: ignore[no-untyped-def]
    """Fills how far each patch has moved, in widths; gives how many were matched, and their mean move each way."""
    covered = 0
    rightward = downward = 0.0
    for row in range(PATCH_ROWS):
        for column in range(PATCH_COLUMNS):
            top = min(max(row * LUMA_ROWS // PATCH_ROWS - 2, _REACH), LUMA_ROWS - 8 - _REACH)
            left = min(max(column * LUMA_COLUMNS // PATCH_COLUMNS - 2, _REACH), LUMA_COLUMNS - 8 - _REACH)
            total = np.int32(0)
            for y in range(top, top + 8):
                for x in range(left, left + 8):
                    total = np.int32(total + np.int32(before[y, x]))
            mean = total / 64.0
            texture = 0.0
            for y in range(top, top + 8):
                for x in range(left, left + 8):
                    texture += abs(before[y, x] - mean)
            if texture < 64 * _LEAST_TEXTURE:
                continue
            best_y = best_x = 0
            least = _apart(before, after, top, left, 0, 0)
            for step in (4, 2, 1):  # the nearest of a coarse grid first, then around it
                if least < 64:
                    break
                middle_y, middle_x = best_y, best_x
                for down in range(middle_y - step, middle_y + step + 1, step):
                    for right in range(middle_x - step, middle_x + step + 1, step):
                        if max(abs(down), abs(right)) <= _REACH and (down != middle_y or right != middle_x):
                            here = _apart(before, after, top, left, down, right)
                            if here < least:
                                least, best_y, best_x = here, down, right
            if least > 64 * _MOST_RESIDUAL:
                continue
            y_by, x_by = _within_cell(before, after, top, left, best_y, best_x)
            across = (best_x + x_by) / LUMA_COLUMNS
            along = (best_y + y_by) / LUMA_ROWS * shape
            covered += 1
            rightward += across
            downward += along
            patches[row, column] = np.sqrt(across * across + along * along)
    if covered == 0:
        return 0, 0.0, 0.0
    return covered, rightward / covered, downward / covered


@arithmetic
def _apart(before, after, top, left, down, right):  # type: ignore[no-untyped-def]
    """How much a block differs from where it may have moved to; of equals, the nearest counts."""
    found = np.int32(4 * (abs(down) + abs(right)))
    for y in range(8):
        for x in range(8):
            one, other = np.int32(before[top + y, left + x]), np.int32(after[top + y + down, left + x + right])
            found = np.int32(found + np.int32(abs(np.int32(one - other))))
    return found


@arithmetic
def _within_cell(before, after, top, left, down, right):  # type: ignore[no-untyped-def]
    """How far a block has moved beyond whole cells, by the slopes of its levels, as Lucas and Kanade have it."""
    xx = yy = 64.0
    xy = x_gain = y_gain = 0.0
    for y in range(top, top + 8):
        for x in range(left, left + 8):
            x_slope = (np.float64(before[y, x + 1]) - np.float64(before[y, x - 1])) / 2
            y_slope = (np.float64(before[y + 1, x]) - np.float64(before[y - 1, x])) / 2
            gain = np.float64(after[y + down, x + right]) - np.float64(before[y, x])
            xx += x_slope * x_slope
            yy += y_slope * y_slope
            xy += x_slope * y_slope
            x_gain += x_slope * gain
            y_gain += y_slope * gain
    size = xx * yy - xy * xy
    x_by, y_by = (xy * y_gain - yy * x_gain) / size, (xy * x_gain - xx * y_gain) / size
    return min(max(y_by, -1.0), 1.0), min(max(x_by, -1.0), 1.0)


def _wants(config: MotionConfig) -> frozenset[Signal]:
    return frozenset({"either": {FRAMES, VECTORS}, "vectors": {VECTORS}, "planes": {FRAMES}}[config.by])


def _load(config: MotionConfig, _assets: Assets) -> Callable[[], Watcher]:
    return lambda: MotionWatcher(config)


OPERATOR = Operator(
    name="video.motion",
    version=1,
    summary="how fast each video's picture moves, in its widths a second",
    config=MotionConfig,
    reads=lambda _: (MEDIA_VIDEO,),
    writes=lambda _: WRITES,
    watch=Watch(wants=_wants, load=_load),
    needs=(),
)
