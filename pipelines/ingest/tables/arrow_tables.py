"""What the readers of Parquet and Arrow tables share: how a schema fits the recipe, and how a stream is watched."""

from collections import Counter
from typing import BinaryIO, Final

import pyarrow as pa
import pyarrow.types as pt

from winnow.pipelines.decoding.file_bytes import read_range
from winnow.pipelines.ingest.tables.columns import EXPECTED, ColumnMapping, Columns, Role
from winnow.pipelines.ingest.tables.values import as_text, is_textual, plain_type
from winnow.schemas.identity import Json

MAX_BATCH_ROWS: Final = 1024  # larger batches no longer fit the cache and are slower
ROWS_PER_BYTE: Final = 64  # more rows than this per byte of the file, or 16 million, are a bomb
VALUES_PER_BYTE: Final = 16  # likewise for values inside lists, per byte of their column
FREE_VALUES: Final = 16 << 20

# The errors that pyarrow raises on damaged files. `Watched` detects a failing stream; memory has its own error.
FAULTS: Final = (pa.ArrowException, OSError, ValueError, TypeError, KeyError, OverflowError, RuntimeError)


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
        counts = Counter(field.name for field in fields)
        if twice := next((name for name, times in counts.items() if times > 1), None):
            return f"the schema has two columns {inside + twice!r}"[:200]
        for field in fields:
            kind = plain_type(field.type)
            queue.append((f"{inside}{field.name}.", [kind.field(index) for index in range(kind.num_fields)]))
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

    def raise_failure(self) -> None:
        """Raises the failure, if there was one."""
        if self._failure is not None:
            raise self._failure

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
