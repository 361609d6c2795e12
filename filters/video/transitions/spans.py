"""Transitions, what a detector of them is, and which of the found ones count."""

from dataclasses import dataclass
from typing import Annotated, Final, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from winnow.schemas.recipe.checks import Between

_BLACK_MEAN: Final = 20.0
_BLACK_DEVIATION: Final = 8.0


@dataclass(frozen=True, slots=True)
class ShotsConfig:
    """When a change of the picture ends a shot."""

    detector: Literal["adaptive", "transnet"] = "adaptive"  # by differences of frames, or by the network TransNet V2
    adaptive: Annotated[float, Between(1, 100)] = 3.5  # times the difference of frames around; PySceneDetect's sweep
    window: Annotated[int, Between(1, 30)] = 3  # frames on either side; the same sweep
    content: Annotated[float, Between(0, 255)] = 12.0  # least difference of a cut, in levels of small planes; ours
    min_seconds: Annotated[float, Between(0, 3600)] = 0.6  # of a shot; the same sweep
    dissolve_seconds: Annotated[float, Between(0, 4)] = 1.0  # the longest that is looked for; 0 for none; ours
    dissolve_content: Annotated[float, Between(0, 255)] = 16.0  # least difference of its ends; ours
    likely: Annotated[float, Between(0.01, 0.99)] = 0.2  # a network's least probability; ours


@dataclass(frozen=True, slots=True)
class Transition:
    """Between two shots: the first frame that is not the old one's alone, and the first that is the new one's alone."""

    kind: str
    start: int
    end: int


Found = list[tuple[float, Transition]]
"""Transitions, and how strong each is: of two that are too close the stronger counts."""


class Detector(Protocol):
    """Finds cuts and gradual transitions in the frames of one video that are no mere repetitions."""

    def see(self, planes: NDArray[np.uint8], seconds: NDArray[np.float64]) -> None:
        """Takes the small planes of the next frames, and their times."""

    def end(self) -> Found:
        """What was found in all frames, by their numbers."""


def counted(
    found: Found, luma: NDArray[np.float32], seconds: NDArray[np.float64], min_seconds: float
) -> list[Transition]:
    """The transitions of a video, in order, at least `min_seconds` apart; black frames are fades.

    Args:
        found: By a detector.
        luma: Mean and deviation of each frame.
        seconds: Its time.
        min_seconds: Of a shot.
    """
    black = (luma[:, 0] < _BLACK_MEAN) & (luma[:, 1] < _BLACK_DEVIATION)
    return _apart(_merged([*found, *_black_spans(black)], black), seconds, min_seconds)


def runs(flags: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Where flags are set: from each first one to before the next that is not."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8)))
    return [(int(start), int(end)) for start, end in edges.reshape(-1, 2)]


def _black_spans(black: NDArray[np.bool_]) -> Found:
    return [(255.0, Transition("fade", start, end)) for start, end in runs(black)]


def _merged(found: Found, black: NDArray[np.bool_]) -> Found:
    """Transitions that touch become one: a fade if black is within."""
    merged: Found = []
    for strength, one in sorted(found, key=lambda each: (each[1].start, each[1].end)):
        if merged and one.start <= merged[-1][1].end:
            before_strength, before = merged[-1]
            end = max(before.end, one.end)
            kind = "fade" if black[before.start : end].any() else "dissolve" if end > before.start else "cut"
            merged[-1] = max(strength, before_strength), Transition(kind, before.start, end)
        else:
            merged.append((strength, one))
    return merged


def _apart(found: Found, seconds: NDArray[np.float64], least: float) -> list[Transition]:
    """Of transitions that are too close, the strongest."""
    ends = np.append(seconds, np.inf)
    kept: list[Transition] = []
    for _, one in sorted(found, key=lambda each: (-each[0], each[1].start)):
        start, end = seconds[one.start], ends[one.end]
        if all(ends[other.end] + least <= start or end + least <= seconds[other.start] for other in kept):
            kept.append(one)
    return sorted(kept, key=lambda one: one.start)
