"""Finds transitions with TransNet V2, which was trained on them: of several lengths, and in real films.

The network sees frames of 48 x 27 pixels, made of the small planes. It says of each how likely it ends a shot, and how
likely it is within a transition: the first finds transitions, the second tells how long each is.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from winnow.filters.models.onnx.sessions import open_session
from winnow.filters.models.transnet import COLUMNS, FRAMES, MARGIN, ROWS, histograms
from winnow.filters.video.decode.signals import CHROMA_COLUMNS, CHROMA_ROWS, LUMA_COLUMNS, LUMA_ROWS
from winnow.filters.video.transitions.planes import CELLS, LUMA
from winnow.filters.video.transitions.spans import Found, Transition, runs

EXTRA: Final = "image-models"
_STEP: Final = FRAMES - 2 * MARGIN
_LONGEST_CUT: Final = 2  # frames that a network may call part of a cut
_WITHIN: Final = 0.5  # probability that a frame is in the transition that was found

Network = Callable[[NDArray[np.uint8]], NDArray[np.float32]]
"""From `FRAMES` frames of red, green and blue to two numbers of each: whether it ends a shot, is in a transition."""


def open_network(operator: str, path: str) -> Network:
    """The network in a file."""
    session: Any = open_session(operator, EXTRA, path)

    def run(frames: NDArray[np.uint8]) -> NDArray[np.float32]:
        given = {"frames": frames.transpose(0, 3, 1, 2).astype(np.float32), "histograms": histograms(frames)}
        return np.concatenate(session.run(["ends", "within"], given), axis=1)

    return run


class TransNetDetector:
    """Holds the frames of one window of the network."""

    def __init__(self, network: Network, likely: float) -> None:
        self._network, self._likely = network, likely
        self._frames = np.empty((0, ROWS, COLUMNS, 3), np.uint8)
        self._count = 0
        self._said: list[NDArray[np.float32]] = []

    def see(self, planes: NDArray[np.uint8], _: NDArray[np.float64]) -> None:
        """Takes the next frames."""
        frames = frames_of(planes)
        if len(frames) and not self._count:
            self._frames = np.repeat(frames[:1], MARGIN, axis=0)
        self._count += len(frames)
        self._frames = np.concatenate([self._frames, frames])
        while len(self._frames) >= FRAMES:
            self._look()

    def end(self) -> Found:
        """Cuts and dissolves."""
        windows = -(-self._count // _STEP)
        for _ in range(windows - len(self._said)):
            missing = FRAMES - len(self._frames)
            if missing > 0:
                self._frames = np.concatenate([self._frames, np.repeat(self._frames[-1:], missing, axis=0)])
            self._look()
        return _transitions(np.concatenate(self._said)[: self._count], self._likely) if windows else []

    def _look(self) -> None:
        self._said.append(self._network(self._frames[:FRAMES])[MARGIN:-MARGIN])
        self._frames = self._frames[_STEP:].copy()


def _transitions(said: NDArray[np.float32], likely: float) -> Found:
    ends, within = said.T
    found = []
    taken = 0
    for start, stop in runs(ends > likely):
        peak = first = last = start + int(np.argmax(ends[start:stop]))
        while first > taken and within[first - 1] > _WITHIN:
            first -= 1
        while last + 1 < len(within) and within[last + 1] > _WITHIN:
            last += 1
        strength = 255.0 * float(ends[peak])
        if last - first < _LONGEST_CUT:
            first = last = peak + 1
        else:
            last += 1
        taken = last
        if last < len(ends):
            found.append((strength, Transition("cut" if first == last else "dissolve", first, last)))
    return found


def frames_of(planes: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Frames of red, green and blue, as the network sees them."""
    split = (LUMA, LUMA + (CELLS - LUMA) // 2)
    luma, cb, cr = np.split(planes, split, axis=1)
    levels = _resized(luma.reshape(-1, LUMA_ROWS, LUMA_COLUMNS))
    blue, red = (_resized(one.reshape(-1, CHROMA_ROWS, CHROMA_COLUMNS)) - 128 for one in (cb, cr))
    colours = np.stack([levels + 1.402 * red, levels - 0.344136 * blue - 0.714136 * red, levels + 1.772 * blue], axis=3)
    frames: NDArray[np.uint8] = np.clip(np.round(colours), 0, 255).astype(np.uint8)
    return frames


def _resized(planes: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Each cell the mean of what lies under it."""
    down, across = _shares(planes.shape[1], ROWS), _shares(planes.shape[2], COLUMNS)
    resized: NDArray[np.float64] = down @ planes.astype(np.float64) @ across.T
    return resized


def _shares(cells: int, wanted: int) -> NDArray[np.float64]:
    """Of each wanted cell, the share that each cell covers."""
    edges = np.arange(wanted + 1) * (cells / wanted)
    at = np.arange(cells)
    covered = np.minimum(edges[1:, None], at + 1) - np.maximum(edges[:-1, None], at)
    shares: NDArray[np.float64] = np.maximum(covered, 0) * (wanted / cells)
    return shares
