"""What an operator on videos is: each video is decoded once, and the watchers of all operators see its signals."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

from winnow.filters.operators import Assets, Operator
from winnow.filters.video.decode.facts import VideoFacts
from winnow.filters.video.decode.wanted import Signal

__all__ = ["VideoOperator", "Watcher"]


class Watcher(Protocol):
    """What an operator makes of one video while it is decoded: a fold over its signals."""

    def see(self, signal: Signal, batch: pa.RecordBatch) -> None:
        """The next batch of a signal that the operator asked for, in the order of the video."""

    def end(self, facts: VideoFacts) -> pa.RecordBatch:
        """The layer's one row, when the video has ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VideoOperator(Operator):
    """Measures videos. Its values depend on the signals and the facts of one video alone.

    The columns of its layer are lists, aligned with the sample's media; what has finer parts (shots, frames) is a list
    within a measure.
    """

    wants: Callable[[Any], frozenset[Signal]]  # the signals that its watchers see
    load: Callable[[Any, Assets], Callable[[], Watcher]]
    """Called once a process; what it returns makes a watcher for each video."""

    def inputs(self, _config: Any) -> tuple[str, ...]:
        """Videos."""
        return ("media.video",)
