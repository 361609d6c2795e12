"""Makes an operator on videos of one on pictures: the same kernel looks at some frames, and each video gets the mean
and the worst of what it says, and a list by frame.

Keyframes cost a fraction of a full decode, and are where pictures change; with `every_seconds` a frame in so many
seconds is looked at, whatever the encoder chose. Of a long video at most `max_frames` are, evenly spread: all until
there are more, then every second one, every fourth … So memory and time have a bound, and the frames depend on the
video alone.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Final, Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from winnow.filters.operators import IMAGES, STATUS, Assets, Kernel, PictureOperator
from winnow.filters.video.decode.facts import VideoFacts
from winnow.filters.video.decode.operator import VideoOperator, Watcher
from winnow.filters.video.decode.wanted import Signal
from winnow.schemas.recipe.checks import Between

NO_FRAMES: Final = "no_frames"
"""The status of a video none of whose frames can be looked at, such as one without keyframes."""

Worst: TypeAlias = Literal["max", "min"]

FRAMES = pa.field("frames", pa.int32())  # that were looked at
SECONDS = pa.field("seconds", pa.list_(pa.float64()))  # when each is shown, since the first frame

_AT_ONCE: Final = 8  # frames that a kernel gets together
_DECIMALS: Final = 5


@dataclass(frozen=True, slots=True)
class FrameChoice:
    """Which frames of a video are looked at."""

    every_seconds: Annotated[float | None, Between(0.1, 3600.0)] = None  # one in so many seconds; else keyframes
    max_frames: Annotated[int, Between(1, 1024)] = 32

    def stills(self, side: int | None) -> frozenset[Signal]:
        """The signal of these frames, shrunk to this side."""
        return frozenset({Signal("stills", side, self.every_seconds)})


class FrameWatcher:
    """Holds the chosen frames of one video, and measures them when it has ended."""

    def __init__(self, max_frames: int, measure: Callable[[pa.RecordBatch, pa.Array], pa.RecordBatch]) -> None:
        """`measure`: the layer's row from `IMAGES` and the times of the frames; there may be none."""
        self._most, self._measure = max_frames, measure
        self._step, self._seen = 1, 0
        self._held: list[pa.RecordBatch] = []  # a frame each

    def see(self, _: Signal, batch: pa.RecordBatch) -> None:
        """Keep every frame whose number is a multiple of the step, which doubles when there are too many."""
        for at in range(batch.num_rows):  # a picture each
            if self._seen % self._step == 0:
                if len(self._held) == self._most:
                    self._held = self._held[::2]
                    self._step *= 2
                if self._seen % self._step == 0:
                    self._held.append(pa.concat_batches([batch.slice(at, 1)]))
            self._seen += 1

    def end(self, _: VideoFacts) -> pa.RecordBatch:
        """The layer's row."""
        held, self._held = self._held, []
        if not held:
            return self._measure(pa.RecordBatch.from_pylist([], IMAGES), pa.array([], pa.float64()))
        frames = pa.concat_batches(held)
        return self._measure(frames.select(IMAGES.names), frames["seconds"])


def frames_operator(
    name: str,
    image: PictureOperator,
    config: type[FrameChoice],
    worst: Callable[[Any], Mapping[str, Worst]],
    *,
    summary: str,
    load: Callable[[Any, Assets], Kernel] | None = None,
    assets: Callable[[Any], tuple[str, ...]] | None = None,
    side: Callable[[Any], int | None] | None = None,
) -> VideoOperator:
    """The operator on videos.

    Args:
        name: Its name.
        image: The operator on pictures.
        config: Its configuration, which has that of the operator on pictures as `image`.
        worst: Its numbers that are written, and whether the highest or the lowest of a video is the worst.
        summary: What it measures.
        load: Its kernel on pictures, if it is another than that of the operator on pictures.
        assets: What that needs.
        side: To what frames are shrunk.
    """

    def load_watcher(config: Any, found: Assets) -> Callable[[], Watcher]:
        kernel = load(config, found) if load else image.load(config.image, found)
        measure = partial(_measured, kernel=kernel, schema=writes(config), worst=worst(config.image))
        return partial(FrameWatcher, config.max_frames, measure)

    def writes(config: Any) -> pa.Schema:
        fields = [STATUS, FRAMES, SECONDS]
        for column in worst(config.image):
            fields += [pa.field(column, pa.list_(pa.float32()))]
            fields += [pa.field(f"{column}_{what}", pa.float32()) for what in ("mean", "worst")]
        return pa.schema(fields)

    wanted_side = side or (lambda config: image.side(config.image))
    return VideoOperator(
        name=name,
        version=image.version,
        summary=summary,
        config=config,
        writes=writes,
        wants=lambda config: config.stills(wanted_side(config)),
        load=load_watcher,
        assets=assets or (lambda config: image.assets(config.image)),
        declares=image.declares,
        resource=image.resource,
        reasons=(NO_FRAMES, *image.reasons),
    )


@dataclass(frozen=True, slots=True)
class MeasuredFrames:
    """What a kernel said of the frames of a video."""

    status: str  # `ok` if it is of one of them, else that of the first
    good: pa.Array  # whether each is
    rows: pa.RecordBatch


def measure_frames(frames: pa.RecordBatch, kernel: Kernel) -> MeasuredFrames:
    """Run a kernel on frames, some at a time."""
    parts = [kernel(frames.slice(at, _AT_ONCE)) for at in range(0, max(frames.num_rows, 1), _AT_ONCE)]
    rows = pa.concat_batches(parts)
    if STATUS.name not in rows.schema.names:
        return MeasuredFrames("ok" if len(rows) else NO_FRAMES, pa.array([True] * len(rows), pa.bool_()), rows)
    good = pc.equal(rows[STATUS.name], "ok")
    said = rows[STATUS.name].to_pylist()
    status = "ok" if "ok" in said else said[0] if said else NO_FRAMES
    return MeasuredFrames(status, good, rows)


def _measured(
    frames: pa.RecordBatch, seconds: pa.Array, kernel: Kernel, schema: pa.Schema, worst: Mapping[str, Worst]
) -> pa.RecordBatch:
    found = measure_frames(frames, kernel)
    row: dict[str, Any] = {STATUS.name: found.status, FRAMES.name: len(frames), SECONDS.name: seconds.to_pylist()}
    for column, which in worst.items():
        values = found.rows[column].cast(pa.float32())
        row[column] = values.to_pylist()
        there = values.drop_null().to_numpy(zero_copy_only=False).astype(np.float64)
        if len(there):
            row[f"{column}_mean"] = round(float(there.mean()), _DECIMALS)
            row[f"{column}_worst"] = float(there.max() if which == "max" else there.min())
    return pa.RecordBatch.from_pylist([row], schema=schema)
