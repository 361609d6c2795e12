"""Reads the requested rows of a shard from several layers; row groups without any are not read."""

import bisect
import itertools
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from typing import TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.pipelines.reading.columns import Column, leaf_of
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.tables import open_table
from winnow.schemas.errors import StoreError

Rows = NDArray[np.int64]
Takeable = TypeVar("Takeable", pa.Array, pa.RecordBatch)


def read_picked(
    objects: ObjectStore, paths: Mapping[str, str], columns: Iterable[Column], rows: Rows
) -> Iterator[tuple[Rows, dict[str, pa.Array]]]:
    """Yields ascending, distinct `rows` in batches, with columns by dotted name; holds one row group of each layer.

    `objects`: the object of each layer; all have the same rows in the same order (law 2).
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
            # Up to where the row groups of all layers reach.
            end = min(layer.end_of(int(rows[at])) for layer in layers.values())
            until = int(np.searchsorted(rows, end))
            part = rows[at:until]
            taken = {layer: groups.take(part) for layer, groups in layers.items()}
            yield part, {f"{layer}.{leaf}": leaf_of(taken[layer], leaf) for layer in wanted for leaf in wanted[layer]}
            at = until


def taken(rows: Takeable, which: Rows) -> Takeable:
    """The selected rows, without a copy if they are consecutive."""
    if len(which) and which[-1] - which[0] == len(which) - 1 and (np.diff(which) == 1).all():
        return rows.slice(int(which[0]), len(which))
    return rows.take(pa.array(which))


class _Groups:
    """The row groups of one object; holds the one read last."""

    def __init__(self, stack: ExitStack, objects: ObjectStore, path: str, columns: list[str]) -> None:
        self._where = objects, path
        self._columns = columns
        self._parquet = stack.enter_context(open_table(objects, path))
        groups = (self._parquet.metadata.row_group(group).num_rows for group in range(self._parquet.num_row_groups))
        self._starts: list[int] = [0, *itertools.accumulate(groups)]
        self._held = -1
        self._batch: pa.RecordBatch | None = None

    def end_of(self, row: int) -> int:
        """The end of a row's row group."""
        return self._starts[self._group(row) + 1]

    def take(self, rows: Rows) -> pa.RecordBatch:
        """Takes rows of one row group."""
        group = self._group(int(rows[0]))
        if group != self._held or self._batch is None:
            self._batch = None  # frees the previous one first
            table = self._parquet.read_row_group(group, columns=self._columns, use_threads=False)
            (self._batch,) = table.combine_chunks().to_batches() or [pa.RecordBatch.from_pylist([], table.schema)]
            self._held = group
        return taken(self._batch, rows - self._starts[group])

    def _group(self, row: int) -> int:
        if row >= self._starts[-1]:
            objects, path = self._where
            raise StoreError(f"{objects.root}: {path} has no row {row}; run 'winnow audit'")
        after: int = bisect.bisect_right(self._starts, row)
        return after - 1
