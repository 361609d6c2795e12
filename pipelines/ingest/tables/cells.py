"""Reads single media out of tables again: by the number of the row, and the column that ingest named in the reference.

A table is read forwards: what is asked for in the order of its rows decodes every batch of rows once, and of the file
only the column. At most one batch is held.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import BinaryIO, Final, Protocol

import pyarrow as pa

from winnow.pipelines.ingest.records import ReadLimits
from winnow.pipelines.ingest.tables.arrow import open_arrow
from winnow.pipelines.ingest.tables.arrow_tables import column_type
from winnow.pipelines.ingest.tables.columns import ABSENT, find
from winnow.pipelines.ingest.tables.media_values import ARROW, medium_of
from winnow.pipelines.ingest.tables.parquet import ParquetTable, open_table, plan_row_group
from winnow.pipelines.ingest.tables.values import rows_of
from winnow.schemas.records import FilePart

_LISTED: Final = re.compile(r"(.+)\[(\d{1,9})\]", re.DOTALL)


class Groups(Protocol):
    """A table as its groups of rows, each of which can be read alone."""

    @property
    def rows(self) -> Sequence[int]:
        """The rows of each group."""
        ...

    @property
    def schema(self) -> pa.Schema:
        """The columns."""
        ...

    def batches(self, group: int, column: str) -> Iterator[pa.RecordBatch | str]:
        """Yields a group's rows with this column, in order, and a final reason where they cannot be read."""
        ...


class Cells:
    """The media of one open table."""

    def __init__(self, groups: Groups) -> None:
        self._groups = groups
        self._starts = [0, *accumulate(groups.rows)]
        self._column = ""
        self._batches: Iterator[pa.RecordBatch | str] = iter(())
        self._batch: pa.RecordBatch | None = None
        self._first = self._end = 0  # the rows of the batch
        self._group = -1

    def find(self, row: int, member: str) -> bytes | None:
        """The bytes of a medium; None if there are none.

        Args:
            row: The number of the row in the table.
            member: The column, and of a list the item: `image`, `images[2]`.
        """
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


class _ParquetGroups:
    """The row groups of a Parquet file."""

    def __init__(self, table: ParquetTable, limits: ReadLimits) -> None:
        self._table = table
        self._limits = limits
        self.rows = [group.rows for group in table.footer.groups]
        self.schema = table.schema

    def batches(self, group: int, column: str) -> Iterator[pa.RecordBatch | str]:
        """Yields a row group's rows with this column."""
        plan = plan_row_group(self._table.raw, self._table.footer, group, self._limits, column)
        if isinstance(plan, str):
            yield plan
        else:
            yield from self._table.batches(group, plan, [column])


def open_cells(container: str, stream: BinaryIO, size: int, limits: ReadLimits) -> Cells | None:
    """The media of an open table; None if it cannot be read."""
    if container == ARROW:
        batches = open_arrow(stream, size, limits)
        return None if isinstance(batches, str) else Cells(batches)
    table = open_table(stream, FilePart("", size, 0, size), limits)
    return None if isinstance(table, str) else Cells(_ParquetGroups(table, limits))
