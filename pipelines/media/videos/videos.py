"""From the references of some rows to their watchers' results: each video is decoded once for all operators.

A video that is gone or cannot be watched is no failure: it gets a status. A lost disk is one: the task is retried.
"""

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.filters.video.decode.opening import UnwatchableError, VideoLimits
from winnow.filters.video.decode.operator import Watcher
from winnow.filters.video.decode.signal_requests import Clip, Signal
from winnow.pipelines.decoding.isolation import CRASHED
from winnow.pipelines.decoding.videos.isolation import See, watch_isolated
from winnow.pipelines.media.pictures import OK
from winnow.pipelines.media.references import MediaSources, Unavailable, status_of_other
from winnow.pipelines.media.required_media import RequiredMedia
from winnow.pipelines.reading.items import list_ends
from winnow.pipelines.running.ledger.crashes import CrashedVideos
from winnow.schemas.rows.samples import NOT_A_VIDEO

__all__ = ["VideoSource", "Videos", "Watching"]


@dataclass(frozen=True)
class VideoSource:
    """Where videos are read and what one may cost. Picklable."""

    media: MediaSources
    limits: VideoLimits


@dataclass(frozen=True)
class Watching:
    """What one operator watches: its signals, how it makes a watcher for each video, and its items' numbers,
    ascending."""

    signals: frozenset[Signal]
    make: Callable[[], Watcher]
    items: NDArray[np.int64]


class Videos:
    """The items of some rows of one source.

    `crashed` holds videos not to watch again, and collects new ones.
    """

    def __init__(
        self, source: VideoSource, name: str, media: pa.ListArray, crashed: CrashedVideos | None = None
    ) -> None:
        self._source, self._name, self._crashed = source, name, crashed
        self._items: Sequence[dict[str, Any]] = media.flatten().to_pylist()  # a few for each row; each reads a file
        self.offsets = list_ends(media)
        self.statuses: list[str | None] = [None] * len(self._items)
        """Of each item that anybody has looked at: `ok`, or why it could not be watched."""

    def watch(self, asked: Sequence[Watching]) -> list[dict[int, pa.RecordBatch]]:
        """Each operator's row of each video that could be watched, by item number."""
        found: list[dict[int, pa.RecordBatch]] = [{} for _ in asked]
        wanted = [set(one.items.tolist()) for one in asked]
        with closing(RequiredMedia(self._source.media, self._name)) as finder:
            for item in sorted(set().union(*wanted)):
                some = [number for number, items in enumerate(wanted) if item in items]
                rows = self._watched(finder, item, [asked[number] for number in some])
                for number, row in zip(some, rows, strict=False):  # no rows of an item that could not be watched
                    found[number][item] = row
        return found

    def _watched(self, finder: RequiredMedia, item: int, asked: Sequence[Watching]) -> list[pa.RecordBatch]:
        """Each operator's row of one item; none, and a status, if it cannot be watched."""
        medium = self._items[item]
        if not medium["mime"].startswith("video/"):
            self.statuses[item] = status_of_other(medium["mime"], NOT_A_VIDEO)
            return []
        part = medium.get("clip")
        clip = None if part is None else Clip(part["start"], part["end"])
        if self._crashed is not None and self._crashed.has(medium["sha256"], clip):
            self.statuses[item] = CRASHED
            return []
        content = finder.open(medium)
        if isinstance(content, Unavailable):
            self.statuses[item] = content.status
            return []
        signals = sorted(frozenset[Signal]().union(*(one.signals for one in asked)), key=repr)
        watchers: list[Watcher] = []

        def begin() -> See:
            watchers[:] = [one.make() for one in asked]
            return see

        def see(signal: Signal, batch: pa.RecordBatch) -> None:
            for one, watcher in zip(asked, watchers, strict=True):
                if signal in one.signals:
                    watcher.see(signal, batch)

        try:
            facts = watch_isolated(content, medium["mime"], signals, self._source.limits, begin, clip)
        except UnwatchableError as error:
            self.statuses[item] = error.reason
            if error.reason == CRASHED and self._crashed is not None and medium["sha256"] is not None:
                self._crashed.add_part(medium["sha256"], clip, error.detail)
            return []
        except OSError as error:
            raise finder.out_of_reach(medium["ref"]["path"], error) from error
        self.statuses[item] = OK
        return [watcher.end(facts) for watcher in watchers]
