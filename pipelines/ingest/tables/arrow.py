"""Reads Arrow IPC files and streams (`.arrow`, Feather, the cache of Hugging Face's `datasets`) one row at a time.

A part of a file owns the batches whose first byte lies in it. A batch is decoded by Arrow alone, with the schema and
the dictionaries before it, and checked in full before a value is looked at; one that cannot be read is quarantined with
its rows. At most one batch is held; one that asks for more than 16 × `max_body_bytes` is not read.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import BinaryIO, Final, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from winnow.pipelines.ingest.records import OverLimit, ReadLimits
from winnow.pipelines.ingest.tables.arrow_messages import (
    BadMessageError,
    Message,
    Messages,
    inflated_bytes,
    walk_messages,
)
from winnow.pipelines.ingest.tables.arrow_tables import (
    FAULTS,
    FREE_VALUES,
    MAX_BATCH_ROWS,
    VALUES_PER_BYTE,
    SchemaTable,
    TableReader,
    Watched,
    fault_line,
    repeated_column,
)
from winnow.pipelines.ingest.tables.values import MAX_TYPE_DEPTH, depth_of, is_textual, types_within

_BODIES: Final = 16  # a batch may ask for this many times `max_body_bytes`, as may a page of Parquet
_SLICE_BODIES: Final = 4  # likewise the rows of a batch that are turned into objects at once


@dataclass
class ArrowTable(SchemaTable):
    """An open stream or file with a valid schema."""

    size: int
    messages: Messages

    def batches(self, index: int, _column: str | None = None) -> Iterator[pa.RecordBatch | str]:
        """Yields the rows of a batch in slices: of all columns, since their buffers lie together."""
        message = self.messages.batches[index]
        if not message.rows:
            return
        batch = self._decoded(index, message)
        if isinstance(batch, str):
            yield batch
            return
        widest = sum(_widest(column) for column in batch.columns)
        by_bytes = self.limits.batch_bytes // max(1, batch.nbytes // batch.num_rows)
        by_widest = _SLICE_BODIES * self.limits.max_body_bytes // max(1, widest)
        step = max(1, min(MAX_BATCH_ROWS, by_bytes, by_widest))
        for start in range(0, batch.num_rows, step):
            yield batch.slice(start, step)

    def _decoded(self, index: int, message: Message) -> pa.RecordBatch | str:
        place = f"batch {index}"
        if message.values > max(FREE_VALUES, VALUES_PER_BYTE * self.size):
            return f"{place} declares {message.values} values in a file of {self.size} bytes"
        before = [dictionary for dictionary in self.messages.dictionaries if dictionary.start < message.start]
        asked = sum(inflated_bytes(self.raw, one) for one in (*before, message))
        ceiling = _BODIES * self.limits.max_body_bytes
        if max(asked, message.end - message.body) > ceiling:
            return OverLimit(f"{place} asks for {asked} bytes, the limit is {ceiling}")
        assert self.messages.schema is not None
        try:
            with pa.ipc.open_stream(
                pa.PythonFile(_Spliced(self.stream, [self.messages.schema, *before, message]), mode="r")
            ) as opened:
                batch = opened.read_next_batch()
            _as_bytes(batch).validate(full=True)
            if batch.num_rows != message.rows:
                return f"{place} can be read in two ways"
            viewed = sum(_viewed_bytes(column) for column in batch.columns)
        except (StopIteration, pa.ArrowIndexError) as error:
            return fault_line(place, error)
        except FAULTS as error:
            return self.stream.fault(place, error)
        if viewed > ceiling:
            return OverLimit(f"{place} has {viewed} bytes of views, the limit is {ceiling}")
        return batch


def open_arrow(stream: BinaryIO, size: int, limits: ReadLimits) -> ArrowTable | str:
    """Opens a stream or file, or says why it cannot be read."""
    watched = Watched(stream)
    try:
        messages = walk_messages(stream, size, limits)
        assert messages.schema is not None
        with pa.ipc.open_stream(pa.PythonFile(_Spliced(watched, [messages.schema]), mode="r")) as opened:
            schema = opened.schema
        if any(depth_of(one.type) > MAX_TYPE_DEPTH for one in schema):
            return f"the schema nests deeper than {MAX_TYPE_DEPTH}"
        repeated_column(schema)  # a name that is not UTF-8 is an error only when it is read
    except BadMessageError as error:
        return str(error)[:200]
    except FAULTS as error:
        return watched.fault("the schema", error)
    multiplies = False
    for one in schema:
        for kind in types_within(one.type):
            if pt.is_list_view(kind) or pt.is_large_list_view(kind) or pt.is_run_end_encoded(kind):
                return f"column {one.name!r} has the type {kind}, which is not read: cast it to a list or its values"[
                    :200
                ]
            multiplies |= pt.is_dictionary(kind)
    starts, rows = [batch.start for batch in messages.batches], [batch.rows for batch in messages.batches]
    return ArrowTable(stream, watched, schema, starts, rows, limits, multiplies, size, messages)


ArrowReader = partial(TableReader, open_arrow, "arrow", "batch")


class _Spliced(Watched):
    """Some messages of a stream as a stream of their own."""

    def __init__(self, stream: Watched, messages: Sequence[Message]) -> None:
        super().__init__(cast(BinaryIO, stream))
        self._left = [(message.start, message.end) for message in reversed(messages)]
        self._at = 0

    def read(self, count: int = -1) -> bytes:
        """Reads across messages; what Arrow asks for at once never does."""
        pieces: list[bytes] = []
        while self._left and count:
            start, end = self._left.pop()
            length = end - start if count < 0 else min(count, end - start)
            self._stream.seek(start)
            piece = self._stream.read(length)
            pieces.append(piece)
            if len(piece) < length:
                break
            count -= length if count > 0 else 0
            if start + length < end:
                self._left.append((start + length, end))
        self._at += sum(map(len, pieces))
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def tell(self) -> int:
        """How much was read."""
        return self._at

    def seekable(self) -> bool:
        """Never."""
        return False


def _as_bytes(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch with its columns of strings as bytes: one that is not UTF-8 costs its row, not the batch."""
    columns = [
        column.view(pa.binary())
        if pt.is_string(column.type)
        else column.view(pa.large_binary())
        if pt.is_large_string(column.type)
        else column
        for column in batch.columns
    ]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _widest(array: pa.Array) -> int:
    """The most bytes that one entry of a dictionary adds to each row that names it."""
    if isinstance(array, pa.ExtensionArray):
        return _widest(array.storage)
    if pt.is_struct(array.type):
        return sum(_widest(child) for child in array.flatten())
    if not pt.is_dictionary(array.type) or not len(array.dictionary):
        return 0
    values = array.dictionary
    return int(pc.max(pc.binary_length(values)).as_py() or 0) if is_textual(values.type) else int(values.nbytes)


def _viewed_bytes(array: pa.Array) -> int:
    """The bytes of all views: many may show the same."""
    if isinstance(array, pa.ExtensionArray):
        return _viewed_bytes(array.storage)
    if pt.is_struct(array.type):
        return sum(_viewed_bytes(child) for child in array.flatten())
    if pt.is_list(array.type) or pt.is_large_list(array.type) or pt.is_fixed_size_list(array.type):
        return _viewed_bytes(array.flatten())
    if pt.is_map(array.type):
        return _viewed_bytes(array.keys) + _viewed_bytes(array.items)
    if not (pt.is_string_view(array.type) or pt.is_binary_view(array.type)):
        return 0
    lengths = np.frombuffer(array.buffers()[1], np.int32)[::4][array.offset : array.offset + len(array)]
    return int(lengths.astype(np.int64).sum())
