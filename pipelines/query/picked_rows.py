"""Rows of a shard that are named by their numbers, of several layers at once; row groups without any are not read."""

import bisect
import itertools
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from winnow.pipelines.query.columns import Column, leaf_of
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.tables import unreadable_as
from winnow.schemas.errors import StoreError

Rows = NDArray[np.int64]
Takeable = TypeVar("Takeable", pa.Array, pa.RecordBatch)


def read_picked(
    objects: ObjectStore, paths: Mapping[str, str], columns: Iterable[Column], rows: Rows
) -> Iterator[tuple[Rows, dict[str, pa.Array]]]:
    """Some of the rows at a time, with their columns by dotted name: of each layer one row group is in memory.

    Args:
        objects: Where the objects are.
        paths: The object of each layer that has a column here; all have the same rows in the same order (law 2).
        columns: What to read.
        rows: Numbers of rows, ascending and distinct.
    """
    wanted: dict[str, list[str]] = {}
    for column in columns:
        wanted.setdefault(column.layer, []).append(column.leaf)
    with ExitStack() as stack:
        layers = {
            layer: _Groups(stack, objects, paths[layer], sorted({leaf.partition(".")[0] for leaf in leaves}))
            for layer, leaves in wanted.items()
        }
        at = 0
        while at < len(rows):
            # As far as the row groups of all layers go.
            end = min(layer.end_of(int(rows[at])) for layer in layers.values())
            until = int(np.searchsorted(rows, end))
            part = rows[at:until]
            taken = {layer: groups.take(part) for layer, groups in layers.items()}
            yield part, {f"{layer}.{leaf}": leaf_of(taken[layer], leaf) for layer in wanted for leaf in wanted[layer]}
            at = until


def taken(rows: Takeable, which: Rows) -> Takeable:
    """These of the rows; where they follow each other nothing is copied."""
    if len(which) and which[-1] - which[0] == len(which) - 1 and (np.diff(which) == 1).all():
        return rows.slice(int(which[0]), len(which))
    return rows.take(pa.array(which))


class _Groups:
    """The row groups of one object; the last one that was read is held."""

    def __init__(self, stack: ExitStack, objects: ObjectStore, path: str, columns: list[str]) -> None:
        self._where = objects, path
        self._columns = columns
        with unreadable_as(objects, path):
            stream = stack.enter_context(objects.open(path))
            self._parquet = stack.enter_context(pq.ParquetFile(stream, pre_buffer=False))
        groups = (self._parquet.metadata.row_group(group).num_rows for group in range(self._parquet.num_row_groups))
        self._starts: list[int] = [0, *itertools.accumulate(groups)]
        self._held = -1
        self._batch: pa.RecordBatch | None = None

    def end_of(self, row: int) -> int:
        """Where the row group of a row ends."""
        return self._starts[self._group(row) + 1]

    def take(self, rows: Rows) -> pa.RecordBatch:
        """Rows of one row group."""
        group = self._group(int(rows[0]))
        if group != self._held or self._batch is None:
            self._batch = None  # the one before goes first
            with unreadable_as(*self._where):
                table = self._parquet.read_row_group(group, columns=self._columns, use_threads=False)
            (self._batch,) = table.combine_chunks().to_batches() or [pa.RecordBatch.from_pylist([], table.schema)]
            self._held = group
        return taken(self._batch, rows - self._starts[group])

    def _group(self, row: int) -> int:
        if row >= self._starts[-1]:
            objects, path = self._where
            raise StoreError(f"{objects.root}: {path} has no row {row}, which is asked for; run 'winnow audit'")
        after: int = bisect.bisect_right(self._starts, row)
        return after - 1
