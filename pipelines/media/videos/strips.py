"""A few frames of a video side by side, one of each shot: what contact sheets show of it.

Short videos are decoded whole; of longer ones only keyframes are, so that a film costs little. Frames come out of the
process that watches videos, under the recipe's limits.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.filters.image.decode.batches import pixels_of
from winnow.filters.image.decode.containers import Bytes
from winnow.filters.operators import IMAGES
from winnow.filters.video.decode.opening import VideoLimits
from winnow.filters.video.decode.signal_requests import Clip, Signal
from winnow.filters.video.stills.frames_operator import FrameWatcher
from winnow.pipelines.decoding.videos.isolation import See, watch_isolated

__all__ = ["MOST_SHOTS", "Part", "ShotFrame", "shot_frames", "side_by_side"]

MOST_SHOTS: Final = 6
"""Of a video with more, so many are shown, evenly spread."""

_COLUMNS: Final = 3
_MOST_HELD: Final = 64  # frames, of which those of shots are chosen
_WHOLE_SECONDS: Final = 60.0  # up to here every frame is decoded
_STEPS: Final = 24  # frames of a video that is decoded whole
_GREY: Final = 128  # between frames, and of what a smaller frame leaves free
_GAP: Final = 3  # pixels between frames

Part = tuple[float, float]
"""Seconds of the video at which a shot begins and ends."""


@dataclass(frozen=True, slots=True)
class ShotFrame:
    """A frame, and when it is shown."""

    seconds: float
    pixels: NDArray[np.uint8]


def shot_frames(
    content: Bytes,
    mime: str,
    seconds: float | None,
    limits: VideoLimits,
    side: int,
    shots: Sequence[Part] = (),
    clip: Clip | None = None,
) -> list[ShotFrame]:
    """A frame near the middle of each shot, in order; shots without a frame are left out. UnwatchableError if there are
    none.

    `mime` is the sniffed type; `seconds` the length of the video or clip, if known; `side` the pixels of a frame's
    longer side; `shots` where its shots are, by default equal parts; `clip` the part that is shown (None: all).
    """
    short = None if seconds is None else max(seconds / _STEPS, 0.1)
    signal = Signal("stills", side, short if seconds is not None and seconds <= _WHOLE_SECONDS else None)
    held, lasting = _held(content, mime, signal, limits, clip)
    if not held and signal.seconds is None:  # no keyframe in this part
        held, lasting = _held(content, mime, Signal("stills", side, short or 1.0), limits, clip)
    if not held:
        return []
    parts = list(shots) or [(lasting * at / MOST_SHOTS, lasting * (at + 1) / MOST_SHOTS) for at in range(MOST_SHOTS)]
    chosen = np.unique(np.linspace(0, len(parts) - 1, min(MOST_SHOTS, len(parts))).round().astype(int))
    found: dict[float, ShotFrame] = {}
    for begin, end in (parts[at] for at in chosen.tolist()):
        inside = [one for one in held if begin - 1e-6 <= one.seconds < end]
        if inside:
            middle = min(inside, key=lambda one: abs(one.seconds - (begin + end) / 2))
            found[middle.seconds] = middle
    return list(found.values()) or held[:1]


def _held(
    content: Bytes, mime: str, signal: Signal, limits: VideoLimits, clip: Clip | None
) -> tuple[list[ShotFrame], float]:
    """Frames evenly spread over a video, at most `_MOST_HELD`, and its seconds."""
    watchers: list[FrameWatcher] = []

    def begin() -> See:
        watchers[:] = [FrameWatcher(_MOST_HELD, _with_times)]
        return watchers[0].see

    facts = watch_isolated(content, mime, (signal,), limits, begin, clip)
    batch = watchers[0].end(facts)
    pictures = pixels_of(batch.select(IMAGES.names))
    return [
        ShotFrame(at, pixels.copy()) for at, pixels in zip(batch["seconds"].to_pylist(), pictures, strict=True)
    ], facts.seconds


def _with_times(frames: pa.RecordBatch, seconds: pa.Array) -> pa.RecordBatch:
    return frames.append_column("seconds", seconds)


def side_by_side(frames: Sequence[NDArray[np.uint8]]) -> NDArray[np.uint8]:
    """Frames as one picture, in lines of three."""
    columns = min(_COLUMNS, len(frames))
    lines = -(-len(frames) // columns)
    height, width = (max(frame.shape[axis] for frame in frames) for axis in (0, 1))
    down, right = height + _GAP, width + _GAP
    found = np.full((lines * down - _GAP, columns * right - _GAP, 3), _GREY, np.uint8)
    for number, one in enumerate(frames):
        top, left = number // columns * down, number % columns * right
        found[top : top + one.shape[0], left : left + one.shape[1]] = one
    return found
