"""Where shots begin and end: cuts, fades through black and dissolves, from small planes of every frame.

A cut is a frame that differs from the one before by far more than the frames around it differ from theirs, as in
PySceneDetect's AdaptiveDetector, and whose difference lasts: a flash of one frame is none. A dissolve is found by what
it is: halfway, each frame is a mean of one before and one after, which differ from one another in more than brightness.
One into or out of black is a fade. Frames of a fade or a dissolve belong to no shot, so that no clip shows two.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.filters.operators import MEDIA_VIDEO, Assets, Operator, Watch, Watcher
from winnow.filters.video.decode.facts import VideoFacts
from winnow.filters.video.decode.signals import (
    CHROMA_COLUMNS,
    CHROMA_ROWS,
    LUMA_COLUMNS,
    LUMA_ROWS,
    small_planes,
)
from winnow.filters.video.decode.wanted import Signal
from winnow.schemas.kernels import arithmetic
from winnow.schemas.recipe.checks import Between

WRITES: Final = pa.schema(
    [
        pa.field("count", pa.int32()),
        pa.field("longest", pa.float64()),  # seconds
        pa.field("begins", pa.list_(pa.int64())),  # ticks of the first frame of each shot
        pa.field("ends", pa.list_(pa.int64())),  # ticks of the end of its last frame
        pa.field("begin_seconds", pa.list_(pa.float64())),  # the same, since the first frame of the video
        pa.field("end_seconds", pa.list_(pa.float64())),
        pa.field("transitions", pa.list_(pa.string())),  # how each shot begins: start, cut, fade or dissolve
        pa.field("pause_begins", pa.list_(pa.int64())),  # ticks of frames that are shown for more than a second
        pa.field("pause_ends", pa.list_(pa.int64())),  # when the frames behind them begin
        pa.field("numerator", pa.int64()),  # a tick takes numerator / denominator seconds
        pa.field("denominator", pa.int64()),
    ]
)

FRAMES: Final = Signal("frames")
_LUMA: Final = LUMA_ROWS * LUMA_COLUMNS
_CHROMA: Final = CHROMA_ROWS * CHROMA_COLUMNS
_CELLS: Final = _LUMA + 2 * _CHROMA
_PAUSE: Final = 1  # seconds for which a frame is shown
_MOST_FRAMES: Final = 128  # of each half of a dissolve
_WHOLE: Final = np.int32(2048)  # parts in which shares of frames are counted
_ALIKE: Final = np.float32(0.8)  # correlation of the ends of what is no dissolve
_BLACK_MEAN: Final = 20.0
_BLACK_DEVIATION: Final = 8.0


@dataclass(frozen=True, slots=True)
class ShotsConfig:
    """When a change of the picture ends a shot."""

    adaptive: Annotated[float, Between(1, 100)] = 3.5  # times the difference of frames around; PySceneDetect's sweep
    window: Annotated[int, Between(1, 30)] = 3  # frames on either side; the same sweep
    content: Annotated[float, Between(0, 255)] = 12.0  # least difference of a cut, in levels of small planes; ours
    min_seconds: Annotated[float, Between(0, 3600)] = 0.6  # of a shot; the same sweep
    dissolve_seconds: Annotated[float, Between(0, 4)] = 1.0  # the longest that is looked for; 0 for none; ours
    dissolve_content: Annotated[float, Between(0, 255)] = 16.0  # least difference of its ends; ours


@dataclass(frozen=True, slots=True)
class Transition:
    """Between two shots: the first frame that is not the old one's alone, and the first that is the new one's alone."""

    kind: str
    start: int
    end: int


class ShotsWatcher:
    """Folds the frames of a video into a few numbers each; planes are held for the length of a dissolve."""

    def __init__(self, config: ShotsConfig) -> None:
        self._config = config
        self._planes = np.empty((0, _CELLS), np.uint8)
        self._times = np.empty(0, np.float64)
        self._scored = 0  # frames of `_planes` whose dissolve score is known
        self._compared = 0  # frames of `_planes` whose difference is known
        self._ticks: list[NDArray[np.int64]] = []
        self._seconds: list[NDArray[np.float64]] = []
        self._scores: list[NDArray[np.float32]] = []
        self._luma: list[NDArray[np.float32]] = []

    def see(self, signal: Signal, batch: pa.RecordBatch) -> None:
        """Takes the next frames."""
        assert signal == FRAMES
        luma = small_planes(batch.column("luma"), LUMA_ROWS, LUMA_COLUMNS)
        chroma = [small_planes(batch.column(name), CHROMA_ROWS, CHROMA_COLUMNS) for name in ("cb", "cr")]
        planes = np.hstack([one.reshape(len(one), -1) for one in (luma, *chroma)])
        seconds = batch.column("seconds").to_numpy().copy()  # a view would keep the batch, with its planes
        self._ticks.append(batch.column("ticks").to_numpy().copy())
        self._seconds.append(seconds)
        self._luma.append(
            np.stack([batch.column(name).to_numpy().astype(np.float32) for name in ("mean", "deviation")], axis=1)
        )
        self._planes = np.concatenate([self._planes, planes])
        self._times = np.concatenate([self._times, seconds])
        self._fold(end=False)

    def end(self, facts: VideoFacts) -> pa.RecordBatch:
        """The shots."""
        self._fold(end=True)
        if not self._ticks:
            return _row([], [], np.empty((0, 2), np.int64), facts)
        ticks, seconds = np.concatenate(self._ticks), np.concatenate(self._seconds)
        found = transitions(np.concatenate(self._scores), np.concatenate(self._luma), seconds, self._config)
        ends_at = np.append(ticks, max(facts.start + facts.duration, int(ticks[-1]) + 1))
        bounds = [(0, "start"), *((one.end, one.kind) for one in found)]
        stops = [*(one.start for one in found), len(ticks)]
        shots = [(begin, stop, kind) for (begin, kind), stop in zip(bounds, stops, strict=True) if begin < stop]
        spans = [(int(ends_at[begin]), int(ends_at[stop])) for begin, stop, _ in shots]
        is_long = np.diff(ends_at) > _PAUSE / facts.time_base
        return _row(spans, [kind for _, _, kind in shots], np.stack([ticks, ends_at[1:]], axis=1)[is_long], facts)

    def _fold(self, *, end: bool) -> None:
        half = self._config.dissolve_seconds / 2
        last = len(self._times) if end else int(np.searchsorted(self._times, self._times[-1] - half))
        if not end:
            last = min(max(last, len(self._times) - _MOST_FRAMES), len(self._times) - 3)
        if last <= self._scored:
            return
        self._scores.append(_scores(self._planes, self._times, self._scored, last, half, self._config.dissolve_content))
        keep = min(int(np.searchsorted(self._times, self._times[last - 1] - half)), last) - 4
        keep = max(keep, last - _MOST_FRAMES - 4, 0)
        self._planes, self._times = self._planes[keep:].copy(), self._times[keep:].copy()
        self._scored = last - keep


def transitions(
    scores: NDArray[np.float32], luma: NDArray[np.float32], seconds: NDArray[np.float64], config: ShotsConfig
) -> list[Transition]:
    """The transitions of a video, in order, at least `min_seconds` apart.

    Args:
        scores: For each frame as `_scores` gives them.
        luma: Mean and deviation of each.
        seconds: Its time.
        config: What counts.
    """
    black = (luma[:, 0] < _BLACK_MEAN) & (luma[:, 1] < _BLACK_DEVIATION)
    found = [*_cuts(scores, config), *_dissolves(scores, config), *_black_spans(black)]
    return _apart(_merged(found, black), seconds, config.min_seconds)


def _cuts(scores: NDArray[np.float32], config: ShotsConfig) -> list[tuple[float, Transition]]:
    change, lasting = scores[:, 0].astype(np.float64), scores[:, 1]
    count, window = len(change), config.window
    sums = np.concatenate([[0.0], np.cumsum(change)])
    at = np.arange(count)
    left, right = np.maximum(at - window, 1), np.minimum(at + window + 1, count)
    around = (sums[right] - sums[np.minimum(left, right)] - change) / np.maximum(right - left - 1, 1)
    is_cut = (change >= config.content) & (change >= config.adaptive * around) & (lasting >= change / 2)
    is_cut[:1] = False
    return [(float(change[one]), Transition("cut", int(one), int(one))) for one in np.flatnonzero(is_cut)]


def _dissolves(scores: NDArray[np.float32], config: ShotsConfig) -> list[tuple[float, Transition]]:
    """The middles of dissolves are peaks of how much the ends differ, less what no mean of them explains."""
    span, residual, likeness = scores[:, 2], scores[:, 3], scores[:, 4]
    fits = (span >= config.dissolve_content) & (residual <= 0.25 * span) & (likeness < _ALIKE)
    strength = np.where(fits, span - 2 * residual, 0)
    found = []
    for start, end in _runs(fits):
        middle = start + int(np.argmax(strength[start:end]))
        before, after = middle - int(scores[middle, 5]), middle + int(scores[middle, 6])
        passed = np.cumsum(scores[before + 1 : after + 1, 0], dtype=np.float64)
        inner = np.flatnonzero((passed > 0.05 * passed[-1]) & (passed < 0.95 * passed[-1]))
        if len(inner):
            first, last = before + 1 + int(inner[0]), before + 2 + int(inner[-1])
            found.append((float(span[middle]), Transition("dissolve", first, last)))
    return found


def _black_spans(black: NDArray[np.bool_]) -> list[tuple[float, Transition]]:
    return [(255.0, Transition("fade", start, end)) for start, end in _runs(black)]


def _runs(flags: NDArray[np.bool_]) -> list[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    return [(int(start), int(end)) for start, end in edges.reshape(-1, 2)]


def _merged(found: list[tuple[float, Transition]], black: NDArray[np.bool_]) -> list[tuple[float, Transition]]:
    """Transitions that touch become one: a fade if black is within."""
    merged: list[tuple[float, Transition]] = []
    for strength, one in sorted(found, key=lambda each: (each[1].start, each[1].end)):
        if merged and one.start <= merged[-1][1].end:
            before_strength, before = merged[-1]
            end = max(before.end, one.end)
            kind = "fade" if black[before.start : end].any() else "dissolve" if end > before.start else "cut"
            merged[-1] = max(strength, before_strength), Transition(kind, before.start, end)
        else:
            merged.append((strength, one))
    return merged


def _apart(found: list[tuple[float, Transition]], seconds: NDArray[np.float64], least: float) -> list[Transition]:
    """Of transitions that are too close, the strongest."""
    ends = np.append(seconds, np.inf)
    kept: list[Transition] = []
    for _, one in sorted(found, key=lambda each: (-each[0], each[1].start)):
        start, end = seconds[one.start], ends[one.end]
        if all(ends[other.end] + least <= start or end + least <= seconds[other.start] for other in kept):
            kept.append(one)
    return sorted(kept, key=lambda one: one.start)


@arithmetic
def _scores(planes, times, first, last, half, content):  # type: ignore[no-untyped-def]
    """For frames from `first` to `last`: seven numbers.

    The difference from the frame before; the lesser of those between frames two further away, which a flash lacks; how
    much the frames half a dissolve before and after differ; what of this frame is no mean of these; how alike these are
    but for brightness; and how many frames before and after they are. Of what is no dissolve, the residual and the
    likeness may not be measured: they are as large as those that rule it out.
    """
    count = len(planes)
    found = np.zeros((last - first, 7), np.float32)
    for at in range(first, last):
        out = found[at - first]
        if at > 0:
            out[0] = _difference(planes[at - 1], planes[at])
            ahead = _difference(planes[at - 1], planes[min(at + 2, count - 1)])
            out[1] = min(ahead, _difference(planes[max(at - 3, 0)], planes[at]))
        before, after = at, at
        while before > 0 and at - before < _MOST_FRAMES and times[at] - times[before] < half - 1e-9:
            before -= 1
        while after < count - 1 and after - at < _MOST_FRAMES and times[after] - times[at] < half - 1e-9:
            after += 1
        out[5], out[6] = at - before, after - at
        if before == at or after == at:
            continue
        share = (times[at] - times[before]) / (times[after] - times[before])
        if not 0.4 <= share <= 0.6:  # near an end of the video, or of a still: it is like the nearer one in any case
            continue
        out[2] = _difference(planes[before], planes[after])
        out[4] = _likeness(planes[before], planes[after]) if out[2] >= content else _ALIKE
        out[3] = _residual(planes[before], planes[at], planes[after], share) if out[4] < _ALIKE else out[2]
    return found


@arithmetic
def _difference(one, other):  # type: ignore[no-untyped-def]
    luma = chroma = np.int32(0)
    for cell in range(_LUMA):
        luma = np.int32(luma + np.int32(abs(np.int32(np.int32(one[cell]) - np.int32(other[cell])))))
    for cell in range(_LUMA, _CELLS):
        chroma = np.int32(chroma + np.int32(abs(np.int32(np.int32(one[cell]) - np.int32(other[cell])))))
    return np.float32(luma / _LUMA + chroma / _CHROMA)


@arithmetic
def _residual(before, here, after, share):  # type: ignore[no-untyped-def]
    """The mean difference from the mean of two frames that has a share of the later one, in whole parts."""
    luma = chroma = np.int32(0)  # 64 x 36 differences of 255 wholes are less than 2 ** 31
    new = np.int32(round(share * _WHOLE))
    old = np.int32(_WHOLE - new)
    for cell in range(_LUMA):
        mean = np.int32(np.int32(old * np.int32(before[cell])) + np.int32(new * np.int32(after[cell])))
        luma = np.int32(luma + np.int32(abs(np.int32(np.int32(_WHOLE * np.int32(here[cell])) - mean))))
    for cell in range(_LUMA, _CELLS):
        mean = np.int32(np.int32(old * np.int32(before[cell])) + np.int32(new * np.int32(after[cell])))
        chroma = np.int32(chroma + np.int32(abs(np.int32(np.int32(_WHOLE * np.int32(here[cell])) - mean))))
    return np.float32(luma / (_WHOLE * _LUMA) + chroma / (_WHOLE * _CHROMA))


@arithmetic
def _likeness(one, other):  # type: ignore[no-untyped-def]
    """The correlation of luma."""
    of_one = of_other = squares = others = products = np.int32(0)  # 64 x 36 squares of 255 are less than 2 ** 31
    for cell in range(_LUMA):
        x, y = np.int32(one[cell]), np.int32(other[cell])
        of_one, of_other = np.int32(of_one + x), np.int32(of_other + y)
        squares, others = np.int32(squares + np.int32(x * x)), np.int32(others + np.int32(y * y))
        products = np.int32(products + np.int32(x * y))
    a, b, aa, bb, ab = np.int64(of_one), np.int64(of_other), np.int64(squares), np.int64(others), np.int64(products)
    first, second = aa - a * a / _LUMA, bb - b * b / _LUMA
    if first < _LUMA or second < _LUMA:  # one is flat
        return np.float32(0)
    return np.float32((ab - a * b / _LUMA) / np.sqrt(first * second))


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


def _load(config: ShotsConfig, _assets: Assets) -> Callable[[], Watcher]:
    return lambda: ShotsWatcher(config)


OPERATOR = Operator(
    name="video.shots",
    version=3,
    summary="where the shots of each video begin and end: cuts, fades and dissolves",
    config=ShotsConfig,
    reads=lambda _: (MEDIA_VIDEO,),
    writes=lambda _: WRITES,
    watch=Watch(wants=lambda _: frozenset({FRAMES}), load=_load),
    needs=(),
)
