"""What Parquet and Arrow tables share: their reader, how a schema fits the recipe, and how a stream is watched."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO, Final

import pyarrow as pa
import pyarrow.types as pt

from winnow.pipelines.decoding.file_bytes import read_range
from winnow.pipelines.ingest.boundary import READER_FAILED, failure, is_of_content
from winnow.pipelines.ingest.files import holds_start, refuse_changed
from winnow.pipelines.ingest.records import Event, OverLimit, ReadLimits, Record, Span, Unreadable
from winnow.pipelines.ingest.tables.columns import EXPECTED, NON_FINITE_NUMBERS, ColumnMapping, Columns, Role, row_event
from winnow.pipelines.ingest.tables.values import as_text, is_textual, plain_type, rows_of
from winnow.schemas.errors import SourceError
from winnow.schemas.identity import Json
from winnow.schemas.records import FilePart

MAX_BATCH_ROWS: Final = 1024  # larger batches no longer fit the cache and are slower
ROWS_PER_BYTE: Final = 64  # more rows than this per byte of the file, or 16 million, are a bomb
VALUES_PER_BYTE: Final = 16  # likewise for values inside lists, per byte of their column
FREE_VALUES: Final = 16 << 20

# The errors that pyarrow raises on damaged files. `Watched` detects a failing stream; memory has its own error.
FAULTS: Final = (pa.ArrowException, OSError, ValueError, TypeError, KeyError, OverflowError, RuntimeError)


@dataclass
class SchemaTable(ABC):
    """An open table with a schema, whose groups of rows can each be read alone."""

    raw: BinaryIO
    stream: "Watched"
    schema: pa.Schema
    starts: Sequence[int]  # where in the file each group begins
    rows: Sequence[int]  # of each group
    limits: ReadLimits
    multiplies: bool  # whether some values of the group that is read may stand in many rows

    @abstractmethod
    def batches(self, group: int, column: str | None = None) -> Iterator[pa.RecordBatch | str]:
        """Yields a group's rows in order, at least with this column, and a final reason where they cannot be read."""


@dataclass(frozen=True, slots=True)
class TableReader:
    """Yields one event per row; a part of a file owns the groups of rows whose first byte lies in it."""

    open: Callable[[BinaryIO, int, ReadLimits], SchemaTable | str]  # or why it cannot be read
    container: str
    group: str  # what a group of rows is called
    mapping: ColumnMapping = field(default_factory=ColumnMapping)
    checked: bool = True  # whether a table that lacks a column is an error; else its rows are quarantined

    def __call__(self, stream: BinaryIO, part: FilePart, limits: ReadLimits) -> Iterator[Event]:
        """Yields events in row order; their ranges tile the groups that the part owns."""
        refuse_changed(stream, part)
        table = self.open(stream, part.size, limits)
        if isinstance(table, str):
            if holds_start(part):
                span = Span(0, part.size)
                yield Unreadable(span, "corrupt_table", table, is_over_limit=isinstance(table, OverLimit))
            return
        columns = columns_of_schema(table.schema, self.mapping)
        if self.checked and (misfit := columns.misfit(self.mapping)):
            raise SourceError(f"{part.path}: {misfit}")
        if columns.fault:
            if holds_start(part):
                yield Unreadable(Span(0, part.size), "corrupt_table", columns.fault)
            return
        first = 0
        for index, (start, rows) in enumerate(zip(table.starts, table.rows, strict=True)):
            anchor = min(max(0, start), part.size - 1)  # kept inside the file, whatever a footer says
            if part.start <= anchor < part.end:
                yield from self._group(table, index, first, part.path, limits)
            first += rows

    def _group(self, table: SchemaTable, index: int, first: int, path: str, limits: ReadLimits) -> Iterator[Event]:
        rows, done, reason, fault = table.rows[index], 0, "corrupt_table", ""
        batches = table.batches(index)
        try:
            for batch in batches:
                if isinstance(batch, str):
                    fault = batch
                    break
                for row, nulled in zip(*rows_of(textual(batch, self.mapping), self.mapping.media), strict=True):
                    if nulled:
                        row[NON_FINITE_NUMBERS] = nulled
                    span = Span(first + done, 1, "rows")
                    event = row_event(row, span, self.container, self.mapping, limits, path)
                    done += 1
                    if (
                        table.multiplies
                        and isinstance(event, Record)
                        and not fits(event.metadata, limits.max_body_bytes)
                    ):
                        detail = f"the row's other columns are more than {limits.max_body_bytes} bytes"
                        event = Unreadable(span, "too_large", detail, event.key)
                    yield event
        except Exception as error:
            if not is_of_content(error):
                raise
            reason, fault = READER_FAILED, failure(error)
        if done < rows:
            detail = fault or f"{self.group} {index} holds {done} readable rows of {rows}"
            span = Span(first + done, rows - done, "rows")
            yield Unreadable(span, reason, detail, is_over_limit=isinstance(fault, OverLimit))


def columns_of_schema(schema: pa.Schema, mapping: ColumnMapping) -> Columns:
    """The columns of a schema."""
    states: dict[Role, str] = {}
    for role, column in mapping.roles():
        kind = column_type(schema, column)
        if kind is not None:
            states[role] = "" if _fits_role(role, plain_type(kind)) else f"is {kind}, expected {EXPECTED[role]}"
    return Columns(tuple(schema.names), states, repeated_column(schema))


def repeated_column(schema: pa.Schema) -> str:
    """Says which column, or field of a struct, there is twice: nothing tells which one is meant. Else empty."""
    queue: list[tuple[str, list[pa.Field]]] = [("", list(schema))]
    while queue:
        inside, fields = queue.pop()
        counts = Counter(one.name for one in fields)
        if twice := next((name for name, times in counts.items() if times > 1), None):
            return f"the schema has two columns {inside + twice!r}"[:200]
        for one in fields:
            kind = plain_type(one.type)
            queue.append((f"{inside}{one.name}.", [kind.field(index) for index in range(kind.num_fields)]))
    return ""


def textual(batch: pa.RecordBatch, mapping: ColumnMapping) -> pa.RecordBatch:
    """Casts the mapped columns of bytes to strings, except media."""
    for column in sorted({column for role, column in mapping.roles() if role not in ("fetched_at", "media")}):
        for position in batch.schema.get_all_field_indices(column):
            seen = as_text(batch.column(position))
            batch = batch.set_column(position, pa.field(column, seen.type), seen)
    return batch


class Watched:
    """The stream as Arrow sees it; remembers the stream's own failures, which are not the file's fault."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._failure: OSError | None = None
        self.closed = False

    def fault(self, place: str, error: BaseException) -> str:
        """What to say of an error, unless it is one of the stream or of memory, which is raised."""
        if isinstance(error, MemoryError):
            raise error
        if self._failure is not None:
            raise self._failure
        return fault_line(place, error)

    def read(self, count: int = -1) -> bytes:
        """Reads some bytes."""
        try:
            return read_range(self._stream, self._stream.tell(), count) if count >= 0 else self._stream.read()
        except OSError as error:
            self._failure = error
            raise

    def seek(self, offset: int, whence: int = 0) -> int:
        """Moves to a place."""
        try:
            return self._stream.seek(offset, whence)
        except OSError as error:
            self._failure = error
            raise

    def tell(self) -> int:
        """The place."""
        return self._stream.tell()

    def seekable(self) -> bool:
        """Always."""
        return True

    def readable(self) -> bool:
        """Always."""
        return True

    def flush(self) -> None:
        """Nothing is written."""

    def close(self) -> None:
        """Does nothing: the caller owns the stream and closes it."""


def column_type(schema: pa.Schema, column: str) -> pa.DataType | None:
    """The type of a column, or of the field inside a struct that a dotted name reaches."""
    if column in schema.names:
        return schema.field(schema.get_all_field_indices(column)[-1]).type
    name, *inner = column.split(".")
    kind = schema.field(schema.get_all_field_indices(name)[-1]).type if name in schema.names else None
    for step in inner:
        if kind is None or not pt.is_struct(kind) or kind.get_field_index(step) < 0:
            return None
        kind = kind.field(kind.get_field_index(step)).type
    return kind


def _fits_role(role: Role, kind: pa.DataType) -> bool:
    """Whether values of a type may be what a role says; a column of nulls may be anything."""
    if pt.is_null(kind) or is_textual(kind):
        return True
    if role == "fetched_at":
        return bool(pt.is_timestamp(kind) or pt.is_date(kind) or pt.is_integer(kind) or pt.is_floating(kind))
    if role in ("captions", "language"):
        return bool((pt.is_list(kind) or pt.is_large_list(kind)) and is_textual(kind.value_type))
    if role == "media":
        return _may_be_media(kind)
    return role == "key" and bool(pt.is_integer(kind))


def _may_be_media(kind: pa.DataType) -> bool:
    """Whether a type is a struct of `bytes` or `path`, or a list of media."""
    if pt.is_list(kind) or pt.is_large_list(kind) or pt.is_fixed_size_list(kind):
        kind = plain_type(kind.value_type)
        if pt.is_null(kind) or is_textual(kind):
            return True
    if not pt.is_struct(kind):
        return False
    inner = [kind.field(name).type for name in ("bytes", "path") if kind.get_field_index(name) >= 0]
    return bool(inner) and all(pt.is_null(one) or is_textual(plain_type(one)) for one in inner)


def fits(value: Json, budget: int) -> bool:
    """Whether the value's strings and items are within the budget; stops as soon as they exceed it."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            budget -= len(item)
        elif isinstance(item, dict):
            stack.extend(item.values())
            budget -= sum(map(len, item))
        elif isinstance(item, list):
            stack.extend(item)
            budget -= len(item)
        if budget < 0:
            return False
    return True


def fault_line(place: str, error: BaseException) -> str:
    """A one-line error text that does not vary between runs."""
    text = " ".join(str(error).split()) or type(error).__name__
    return f"{place}: {text}"[:200]
