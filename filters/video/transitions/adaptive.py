"""Finds cuts and dissolves by differences of frames.

A cut is a frame that differs from the one before by far more than the frames around it differ from theirs, as in
PySceneDetect's AdaptiveDetector, and whose difference lasts: a flash of one frame is none. Nor is what leaves most of
the picture as it was, such as something that moves before a camera that does not. A dissolve is found by what it is:
halfway, each frame is a mean of one before and one after, which differ from one another in more than brightness.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from winnow.filters.video.transitions.planes import ALIKE, CELLS, MOST_FRAMES, scores_of
from winnow.filters.video.transitions.spans import Found, ShotsConfig, Transition, runs

__all__ = ["AdaptiveDetector"]

_SAME_PLACE: Final = 0.5  # of the picture; more is the same only within a shot


class AdaptiveDetector:
    """Folds frames into a few numbers each; planes are held for the length of a dissolve."""

    def __init__(self, config: ShotsConfig) -> None:
        self._config = config
        self._planes = np.empty((0, CELLS), np.uint8)
        self._times = np.empty(0, np.float64)
        self._scored = 0  # frames of `_planes` whose scores are known
        self._scores: list[NDArray[np.float32]] = []

    def see(self, planes: NDArray[np.uint8], seconds: NDArray[np.float64]) -> None:
        """Takes the next frames."""
        self._planes = np.concatenate([self._planes, planes])
        self._times = np.concatenate([self._times, seconds])
        self._fold(end=False)

    def end(self) -> Found:
        """Cuts and dissolves."""
        self._fold(end=True)
        scores = np.concatenate(self._scores)
        return [*_cuts(scores, self._config), *_dissolves(scores, self._config)]

    def _fold(self, *, end: bool) -> None:
        half = self._config.dissolve_seconds / 2
        last = len(self._times) if end else int(np.searchsorted(self._times, self._times[-1] - half))
        if not end:
            last = min(max(last, len(self._times) - MOST_FRAMES), len(self._times) - 3)
        if last <= self._scored:
            return
        contents = (self._config.content, self._config.dissolve_content)
        self._scores.append(scores_of(self._planes, self._times, self._scored, last, half, *contents))
        keep = min(int(np.searchsorted(self._times, self._times[last - 1] - half)), last) - 4
        keep = max(keep, last - MOST_FRAMES - 4, 0)
        self._planes, self._times = self._planes[keep:].copy(), self._times[keep:].copy()
        self._scored = last - keep


def _cuts(scores: NDArray[np.float32], config: ShotsConfig) -> Found:
    change, lasting = scores[:, 0].astype(np.float64), scores[:, 1]
    count, window = len(change), config.window
    sums = np.concatenate([[0.0], np.cumsum(change)])
    at = np.arange(count)
    left, right = np.maximum(at - window, 1), np.minimum(at + window + 1, count)
    around = (sums[right] - sums[np.minimum(left, right)] - change) / np.maximum(right - left - 1, 1)
    is_cut = (change >= config.content) & (change >= config.adaptive * around) & (lasting >= change / 2)
    is_cut &= scores[:, 7] < _SAME_PLACE
    is_cut[:1] = False
    return [(float(change[one]), Transition("cut", int(one), int(one))) for one in np.flatnonzero(is_cut)]


def _dissolves(scores: NDArray[np.float32], config: ShotsConfig) -> Found:
    """The middles of dissolves are peaks of how much the ends differ, less what no mean of them explains."""
    span, residual, likeness = scores[:, 2], scores[:, 3], scores[:, 4]
    fits = (span >= config.dissolve_content) & (residual <= 0.25 * span) & (likeness < ALIKE)
    strength = np.where(fits, span - 2 * residual, 0)
    found = []
    for start, end in runs(fits):
        middle = start + int(np.argmax(strength[start:end]))
        before, after = middle - int(scores[middle, 5]), middle + int(scores[middle, 6])
        passed = np.cumsum(scores[before + 1 : after + 1, 0], dtype=np.float64)
        inner = np.flatnonzero((passed > 0.05 * passed[-1]) & (passed < 0.95 * passed[-1]))
        if len(inner):
            first, last = before + 1 + int(inner[0]), before + 2 + int(inner[-1])
            found.append((float(span[middle]), Transition("dissolve", first, last)))
    return found
