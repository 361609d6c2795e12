"""Samples with a text in them: the rows that a filter leaves are read in their order until a page is full.

What has been read is kept, so that the next page goes on where this one has stopped. A request reads for a few seconds
at most and tells how far it came.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import reduce
from threading import Lock
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from winnow.pipelines.processes.cancelling import check_cancelled
from winnow.pipelines.reading.columns import Column, column_of, read_aligned
from winnow.pipelines.store import layout
from winnow.pipelines.store.tables import ROW_GROUP_ROWS
from winnow.runners.inspect.frame import Frame, Marks
from winnow.runners.inspect.listing import text_columns
from winnow.runners.inspect.measures import frame_layers, with_layers
from winnow.runners.inspect.opened import Opened

SECONDS: Final = 4.0
_MOST_FOUND: Final = 100_000


@dataclass
class TextSearch:
    """A search that goes on from page to page."""

    text: str
    marks: Marks  # the rows that are searched
    found: list[int] = field(default_factory=list)
    shard: int = 0  # the next to be read
    row: int = 0  # the next of its rows
    lock: Lock = field(default_factory=Lock)

    @property
    def nbytes(self) -> int:
        """The bytes of marks and of what is found."""
        return int(self.marks.nbytes) + 36 * len(self.found)

    def ended(self, frame: Frame) -> bool:
        """Whether all rows are read, or as many found as a search lists."""
        return self.shard >= len(frame.shards) or len(self.found) >= _MOST_FOUND

    def read_on(self, opened: Opened, frame: Frame, wanted: int, seconds: float = SECONDS) -> None:
        """Read until so many rows are found, the time is up, or all are read; CancelledError between blocks."""
        until = time.monotonic() + seconds
        columns = [column for name in text_columns(opened) if (column := column_of(name, frame_layers(opened)))]
        shards = with_layers(opened, frame, [layout.SAMPLES, *(column.layer for column in columns)])
        with self.lock:
            while not self.ended(frame) and len(self.found) < wanted and time.monotonic() < until:
                shard, start = shards[self.shard], int(frame.starts[self.shard])
                left = self.marks[start + self.row : start + shard.rows]
                if not left.any() or not columns:
                    self.shard, self.row = self.shard + 1, 0
                    continue
                store, at = frame.pinned.store.objects, 0
                for block in read_aligned(store, shard.objects, columns, ROW_GROUP_ROWS, shard.hidden):
                    check_cancelled()
                    rows = len(next(iter(block.values())))
                    if at >= self.row:
                        self.found += self._matching(block, columns, start + at, rows)
                        self.row = at + rows
                        if len(self.found) >= wanted or time.monotonic() >= until:
                            break
                    at += rows
                if self.row >= shard.rows:
                    self.shard, self.row = self.shard + 1, 0

    def _matching(self, block: dict[str, pa.Array], columns: list[Column], start: int, rows: int) -> Iterator[int]:
        marks = self.marks[start : start + rows]
        if not marks.any():
            return
        texts = [block[column.name].filter(pa.array(marks)).cast(pa.large_string()) for column in columns]
        text = reduce(pc.coalesce, texts)
        found = pc.fill_null(pc.match_substring(text, self.text, ignore_case=True), False)
        yield from (np.flatnonzero(marks)[found.to_numpy(zero_copy_only=False)] + start).tolist()
