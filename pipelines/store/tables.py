"""Writes and reads Parquet objects: written to a local file, hashed by bytes and values, then put in one call (law 5).

What is read is checked against the hash in the object's name. Row groups are bounded in rows and in bytes, which
bounds a reader's memory.
"""

import bisect
import io
import itertools
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

import pyarrow as pa
import pyarrow.parquet as pq

from winnow.pipelines.processes.identity import Process
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.integrity.checked_parquet import CheckedFile, close_checked
from winnow.pipelines.store.integrity.damage import missing
from winnow.schemas.records import ObjectRecord
from winnow.schemas.values import ValueHasher

ROW_GROUP_ROWS = 16_384
ROW_GROUP_BYTES = 64 << 20
_SHORT_LIST = 64  # rows; the memory that reading so few takes is not worth giving back at once
LISTED_ROWS = 512  # of a row group of a list such as a manifest: its reader holds little of it at a time


_LARGE_BYTES = 32 << 20


class TableWriter:
    """Collects batches into one Parquet object; nothing is visible until `finish`."""

    def __init__(
        self,
        store: ObjectStore,
        schema: pa.Schema,
        *,
        row_group_rows: int = ROW_GROUP_ROWS,
        row_group_bytes: int = ROW_GROUP_BYTES,
    ) -> None:
        self._store = store
        self._schema = schema
        self._row_group_rows = row_group_rows
        self._row_group_bytes = row_group_bytes
        self._values = ValueHasher(schema)
        self._held: list[pa.RecordBatch] = []
        self._held_rows = 0
        self._held_bytes = 0
        descriptor, name = tempfile.mkstemp(dir=store.scratch(), prefix=Process.this().prefix, suffix=".parquet")
        os.close(descriptor)
        self._file = Path(name)
        self._parquet = pq.ParquetWriter(self._file, schema, compression="zstd")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.discard()

    @property
    def rows(self) -> int:
        """The number of rows written so far."""
        return self._values.rows

    def write(self, batch: pa.RecordBatch) -> None:
        """Adds rows; a row group ends at the first batch that reaches a bound."""
        self._values.update(batch)
        while batch.num_rows:
            room = self._row_group_rows - self._held_rows
            head = batch.slice(0, room)
            batch = batch.slice(head.num_rows)
            self._held.append(head)
            self._held_rows += head.num_rows
            self._held_bytes += head.nbytes
            if self._held_rows >= self._row_group_rows or self._held_bytes >= self._row_group_bytes:
                self._flush()

    def finish(self, name: Callable[[str], str]) -> ObjectRecord:
        """Publishes the table under the name made from its content's hash."""
        self._flush()
        path = name(close_checked(self._parquet, self._file))
        size = self._file.stat().st_size
        if not self._store.exists(path):
            self._store.put(path, self._file)
        self.discard()
        return ObjectRecord(path=path, rows=self._values.rows, bytes=size, values=self._values.hexdigest())

    def discard(self) -> None:
        """Discards what was written; does nothing after `finish`."""
        self._held.clear()
        if self._parquet.is_open:
            try:
                self._parquet.close()
            except OSError:  # the disk is full: nothing to save, and the file is removed below
                self._parquet.is_open = False
        self._file.unlink(missing_ok=True)

    def _flush(self) -> None:
        if self._held:
            table = pa.Table.from_batches(self._held, schema=self._schema)
            self._parquet.write_table(table, row_group_size=self._held_rows)
            if self._held_bytes >= _LARGE_BYTES:  # six times as much was taken, and would stay with the process
                pa.default_memory_pool().release_unused()
        self._held.clear()
        self._held_rows = 0
        self._held_bytes = 0


def put_table(store: ObjectStore, table: pa.Table, name: Callable[[str], str]) -> ObjectRecord:
    """Publishes a table that is in memory."""
    return _put(TableWriter(store, table.schema), table.to_batches(), name)


def put_list(
    store: ObjectStore, schema: pa.Schema, batches: Iterable[pa.RecordBatch], name: Callable[[str], str]
) -> ObjectRecord:
    """Publishes a list, such as a manifest, that drivers read whole with `read_list`."""
    return _put(TableWriter(store, schema, row_group_rows=LISTED_ROWS), batches, name)


def _put(writer: TableWriter, batches: Iterable[pa.RecordBatch], name: Callable[[str], str]) -> ObjectRecord:
    with writer:
        for batch in batches:
            writer.write(batch)
        return writer.finish(name)


def read_batches(
    store: ObjectStore, path: str, columns: list[str] | None = None, batch_rows: int = ROW_GROUP_ROWS
) -> Iterator[pa.RecordBatch]:
    """Yields the object's rows, at most a row group at a time."""
    with open_table(store, path) as parquet:
        yield from parquet.iter_batches(batch_size=batch_rows, columns=columns, use_threads=False)


def read_schema(store: ObjectStore, path: str) -> pa.Schema:
    """The columns of an object, without reading rows."""
    with open_table(store, path) as parquet:
        return parquet.schema_arrow


def read_rows(store: ObjectStore, path: str, rows: Sequence[int], columns: list[str] | None = None) -> pa.Table:
    """Reads rows of an object by number, in that order; reads only the row groups that hold them."""
    with open_table(store, path) as parquet:
        sizes = [parquet.metadata.row_group(group).num_rows for group in range(parquet.num_row_groups)]
        starts = [0, *itertools.accumulate(sizes)]
        groups = [bisect.bisect_right(starts, row) - 1 for row in rows]
        held = {
            group: parquet.read_row_group(group, columns=columns, use_threads=False) for group in sorted(set(groups))
        }
        found = [held[group].slice(row - starts[group], 1) for group, row in zip(groups, rows, strict=True)]
        if found:
            return pa.concat_tables(found)
        empty = parquet.schema_arrow.empty_table()
        return empty if columns is None else empty.select(columns)


def read_table(store: ObjectStore, path: str, columns: list[str] | None = None) -> pa.Table:
    """Reads a small object whole: draws, ranges."""
    with _small(store, path) as parquet:
        return parquet.read(columns=columns, use_threads=False)


def read_list(store: ObjectStore, path: str) -> Iterator[pa.RecordBatch]:
    """Yields the rows of a list, which is small when stored; it is read in one request."""
    with _small(store, path) as parquet:
        for batch in parquet.iter_batches(batch_size=LISTED_ROWS, use_threads=False):
            yield batch
            if len(batch) > _SHORT_LIST:  # reading takes several times what is kept of the rows
                pa.default_memory_pool().release_unused()


@contextmanager
def _small(store: ObjectStore, path: str) -> Iterator[pq.ParquetFile]:
    try:
        raw = store.read(path)
    except FileNotFoundError:
        raise missing(store.root, path) from None
    checked = CheckedFile(io.BytesIO(raw), store.root, path)
    checked.check()
    # In memory: an Arrow thread must not call into an exiting Python.
    with pq.ParquetFile(pa.BufferReader(raw), metadata=checked.metadata, pre_buffer=False) as parquet:
        yield parquet


def check_table(store: ObjectStore, path: str) -> None:
    """Reads an object whole, in bounded memory; DamagedError if a byte is not what was written."""
    with _checked(store, path) as checked:
        checked.check()


@contextmanager
def open_table(store: ObjectStore, path: str) -> Iterator[pq.ParquetFile]:
    """Opens an object whose parts are checked as they are read; MissingError if it does not exist.

    DamagedError, also later by the read that meets the damage, if it is not what its name says.
    """
    with (
        _checked(store, path) as checked,
        pq.ParquetFile(checked, metadata=checked.metadata, pre_buffer=False) as parquet,
    ):
        yield parquet


@contextmanager
def _checked(store: ObjectStore, path: str) -> Iterator[CheckedFile]:
    try:
        stream = store.open(path)
    except FileNotFoundError:
        raise missing(store.root, path) from None
    with stream:
        yield CheckedFile(stream, store.root, path)
