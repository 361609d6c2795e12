"""Reads single media from tables again, by row number and the column that ingest named in the reference.

A table is read forwards: requests in row order decode every batch of rows once, and only that column. At most one batch
is held.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import Final

import pyarrow as pa

from winnow.pipelines.ingest.tables.arrow_tables import SchemaTable, column_type
from winnow.pipelines.ingest.tables.columns import ABSENT, find
from winnow.pipelines.ingest.tables.media_values import medium_of
from winnow.pipelines.ingest.tables.values import rows_of

_LISTED: Final = re.compile(r"(.+)\[(\d{1,9})\]", re.DOTALL)


class Cells:
    """The media of one open table."""

    def __init__(self, groups: SchemaTable) -> None:
        self._groups = groups
        self._starts = [0, *accumulate(groups.rows)]
        self._column = ""
        self._batches: Iterator[pa.RecordBatch | str] = iter(())
        self._batch: pa.RecordBatch | None = None
        self._first = self._end = 0  # the rows of the batch
        self._group = -1

    def find(self, row: int, member: str) -> bytes | None:
        """The bytes of a medium; None if there are none. `member`: the column, and of a list the item: `image`,
        `images[2]`."""
        column, number = member, None
        if column_type(self._groups.schema, member) is None:
            listed = _LISTED.fullmatch(member)
            column, number = (listed[1], int(listed[2])) if listed else (member, None)
        batch = self._batch_with(row, column)
        if batch is None:
            return None
        (values,), _ = rows_of(batch.slice(row - self._first, 1), column)
        value = find(values, column)
        return None if value is ABSENT else medium_of(value, number)

    def _batch_with(self, row: int, column: str) -> pa.RecordBatch | None:
        group = bisect_right(self._starts, row) - 1
        if not 0 <= row < self._starts[-1]:
            return None
        if group != self._group or column != self._column or row < self._first:
            self._group, self._column = group, column
            self._batches, self._batch = self._groups.batches(group, column), None
            self._first = self._end = self._starts[group]
        while self._end <= row:
            found = next(self._batches, None)
            if found is None or isinstance(found, str):
                self._group = -1
                return None
            self._batch = found
            self._first, self._end = self._end, self._end + found.num_rows
        return self._batch
