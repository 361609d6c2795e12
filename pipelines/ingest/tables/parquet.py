"""Reads Parquet tables one row at a time, in bounded memory.

A part of a file owns the row groups whose first byte lies in it. Footers and page headers are claims that are
checked before anything is decoded; an unreadable page quarantines the rest of its row group, while the
rows of earlier batches are kept.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import BinaryIO, Final

import pyarrow as pa
import pyarrow.parquet as pq

from winnow.pipelines.decoding.file_bytes import read_range
from winnow.pipelines.ingest.boundary import READER_FAILED, failure, is_of_content
from winnow.pipelines.ingest.files import holds_start, refuse_changed
from winnow.pipelines.ingest.records import Event, OverLimit, ReadLimits, Record, Span, Unreadable
from winnow.pipelines.ingest.tables.arrow_tables import (
    FAULTS,
    FREE_VALUES,
    MAX_BATCH_ROWS,
    ROWS_PER_BYTE,
    VALUES_PER_BYTE,
    Watched,
    columns_of_schema,
    fault_line,
    fits,
    repeated_column,
    textual,
)
from winnow.pipelines.ingest.tables.columns import NON_FINITE_NUMBERS, ColumnMapping, Columns, row_event
from winnow.pipelines.ingest.tables.footer import BYTE_ARRAY, FIXED_LEN_BYTE_ARRAY, Footer, parse_footer
from winnow.pipelines.ingest.tables.media_values import PARQUET
from winnow.pipelines.ingest.tables.pages import walk_pages
from winnow.pipelines.ingest.tables.thrift import BadThriftError
from winnow.pipelines.ingest.tables.values import MAX_TYPE_DEPTH, depth_of, names_no_value, rows_of
from winnow.schemas.errors import SourceError
from winnow.schemas.identity import Json
from winnow.schemas.records import FilePart

FOOTER_HEADERS: Final = 16  # a footer may be this many times as long as another format's header
BUFFER_BYTES: Final = 1 << 20  # per column, for a row group that is not read at once


@dataclass(frozen=True, slots=True)
class ParquetReader:
    """Yields one event per row."""

    mapping: ColumnMapping = field(default_factory=ColumnMapping)
    checked: bool = True  # whether a table that lacks a column is an error; else its rows are quarantined

    def __call__(self, stream: BinaryIO, part: FilePart, limits: ReadLimits) -> Iterator[Event]:
        """Yields events in row order; their ranges tile the row groups that the part owns."""
        refuse_changed(stream, part)
        table = open_table(stream, part, limits)
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
        for index, group in enumerate(table.footer.groups):
            anchor = min(max(0, group.start), part.size - 1)  # kept inside the file, whatever the footer says
            if part.start <= anchor < part.end:
                yield from self._row_group(table, index, first, limits)
            first += group.rows

    def _row_group(self, table: "ParquetTable", index: int, first: int, limits: ReadLimits) -> Iterator[Event]:
        rows = table.footer.groups[index].rows
        plan = plan_row_group(table.raw, table.footer, index, limits)
        done, reason = 0, "corrupt_table"
        fault = plan if isinstance(plan, str) else ""
        try:
            if not isinstance(plan, str) and plan.rows:
                for batch in table.batches(index, plan):
                    if isinstance(batch, str):
                        fault = batch
                        break
                    found = rows_of(textual(batch, self.mapping), self.mapping.media)
                    for row, nulled in islice(zip(*found, strict=True), plan.rows - done):
                        span = Span(first + done, 1, "rows")
                        yield self._event(row, nulled, span, table.path, plan, limits)
                        done += 1
                    if done == plan.rows:
                        break
        except Exception as error:
            if not is_of_content(error):
                raise
            reason, fault = READER_FAILED, failure(error)
        if done < rows:
            detail = fault or f"row group {index} holds {done} readable rows of {rows}"
            span = Span(first + done, rows - done, "rows")
            yield Unreadable(span, reason, detail, is_over_limit=isinstance(fault, OverLimit))

    def _event(
        self, row: dict[str, Json], nulled: int, span: Span, path: str, plan: "RowGroupPlan", limits: ReadLimits
    ) -> Event:
        if nulled:
            row[NON_FINITE_NUMBERS] = nulled
        event = row_event(row, span, PARQUET, self.mapping, limits, path)
        if plan.shared and isinstance(event, Record) and not fits(event.metadata, limits.max_body_bytes):
            detail = f"the row's other columns are more than {limits.max_body_bytes} bytes"
            return Unreadable(span, "too_large", detail, event.key)
        return event


def row_groups(stream: BinaryIO, size: int, limits: ReadLimits) -> list[tuple[int, int]]:
    """Where the row groups of a table begin and how many rows they have; none if its footer cannot be read."""
    table = open_table(stream, FilePart("", size, 0, size), limits)
    return [] if isinstance(table, str) else [(group.start, group.rows) for group in table.footer.groups]


def table_columns(stream: BinaryIO, size: int, mapping: ColumnMapping, limits: ReadLimits) -> Columns | None:
    """The columns of a table; None if its footer cannot be read."""
    table = open_table(stream, FilePart("", size, 0, size), limits)
    return None if isinstance(table, str) else columns_of_schema(table.schema, mapping)


@dataclass(frozen=True, slots=True)
class RowGroupPlan:
    """How to read a row group in bounded memory."""

    rows: int  # readable according to the page headers
    batch_rows: int
    buffer_bytes: int  # 0: each column at once
    shared: tuple[str, ...]  # list columns that must be read as dictionaries, so that values are not multiplied


def plan_row_group(
    stream: BinaryIO, footer: Footer, index: int, limits: ReadLimits, column: str | None = None
) -> RowGroupPlan | str:
    """Plans the reading of a row group, or only of one column of it, or says why it must not be read."""
    group = footer.groups[index]
    size = stream.seek(0, 2)
    ceiling = 4 * limits.max_body_bytes  # limit for a page, or for a batch at its worst
    rows = group.rows
    if rows > max(FREE_VALUES, ROWS_PER_BYTE * size):
        return f"row group {index} declares {rows} rows in a file of {size} bytes"
    uncompressed = packed = 0
    density, widest = 0.0, 0
    shared: list[str] = []
    for leaf, chunk in zip(footer.leaves, group.chunks, strict=True):
        if column is not None and leaf.path != column and not leaf.path.startswith(f"{column}."):
            continue
        place = f"row group {index}: column {leaf.path[:80]!r}"
        if not 0 <= chunk.start <= chunk.end <= size or chunk.values < 0:
            return f"{place} lies outside the file"
        length = chunk.end - chunk.start
        if leaf.repeated and chunk.values > max(FREE_VALUES, VALUES_PER_BYTE * length):
            return f"{place} declares {chunk.values} values in {length} bytes"
        pages = walk_pages(stream, chunk)
        # A common writer checks a page's size only every 1024 values, so pages of long texts may be large.
        for room, limit in ((pages.largest_inflated, ceiling), (pages.largest_page, 4 * ceiling)):
            if room > limit:
                return OverLimit(f"{place} has a page of {room} bytes, the limit is {limit}")
        if not pages.intact:
            if leaf.repeated:
                return f"{place} has a damaged page header"
            rows = min(rows, pages.values)
        uncompressed += pages.uncompressed
        packed += length
        density += pages.density
        if leaf.physical in (BYTE_ARRAY, FIXED_LEN_BYTE_ARRAY):
            # A page can name one large value of its dictionary, or one long prefix, for each of its rows.
            value = max(pages.dictionary_bytes, pages.largest_page if pages.shares_prefixes else 0)
            if not leaf.repeated:
                widest += value
            elif value * chunk.values > ceiling:
                shared.append(leaf.path)
    if uncompressed > limits.max_member_bytes:
        return OverLimit(f"row group {index} inflates to {uncompressed} bytes, the limit is {limits.max_member_bytes}")
    average = max(1, uncompressed // max(1, rows))
    batch_rows = min(MAX_BATCH_ROWS, limits.batch_bytes // average, ceiling // max(1, widest, int(density)))
    batch_rows = max(1, batch_rows)
    if rows < group.rows:  # a batch may not reach into pages with invalid headers
        batch_rows = min(batch_rows, 64)
        rows -= rows % batch_rows
    buffered = BUFFER_BYTES if packed > limits.max_body_bytes else 0
    return RowGroupPlan(rows, batch_rows, buffered, tuple(shared))


@dataclass(slots=True)
class ParquetTable:
    """An open file with a valid footer."""

    path: str
    raw: BinaryIO
    stream: "Watched"
    footer: Footer
    metadata: pq.FileMetaData
    schema: pa.Schema

    def batches(
        self, index: int, plan: RowGroupPlan, columns: Sequence[str] | None = None
    ) -> Iterator[pa.RecordBatch | str]:
        """Yields the row group's rows in batches, of these columns, and where reading fails a final reason."""
        try:
            file = pq.ParquetFile(
                pa.PythonFile(self.stream, mode="r"),
                metadata=self.metadata,
                read_dictionary=list(plan.shared) or None,
                buffer_size=plan.buffer_bytes,
                pre_buffer=False,
                coerce_int96_timestamp_unit="us",
                page_checksum_verification=True,
            )
            for batch in file.iter_batches(plan.batch_rows, [index], columns, use_threads=False):
                batch.validate()
                if any(map(names_no_value, batch.columns)):
                    yield f"row group {index}: an index lies outside its dictionary"
                    return
                yield batch
        except MemoryError:
            raise
        except FAULTS as error:
            self.stream.raise_failure()
            yield fault_line(f"row group {index}", error)


def open_table(stream: BinaryIO, part: FilePart, limits: ReadLimits) -> "ParquetTable | str":
    """Opens the table, or says why its footer cannot be read."""
    tail = read_range(stream, max(0, part.size - 8), 8)
    if part.size < 12 or tail[4:] not in (b"PAR1", b"PARE"):
        return "no Parquet footer at the end of the file"
    if tail[4:] == b"PARE":
        return "the footer is encrypted"
    length = int.from_bytes(tail[:4], "little")
    if length > part.size - 12:
        return f"the footer claims {length} bytes of a file of {part.size}"
    if length > FOOTER_HEADERS * limits.max_header_bytes:
        return OverLimit(f"the footer is {length} bytes, the limit is {FOOTER_HEADERS * limits.max_header_bytes}")
    watched = Watched(stream)
    try:
        footer = parse_footer(read_range(stream, part.size - 8 - length, length))
        file = pq.ParquetFile(
            pa.PythonFile(watched, mode="r"),
            pre_buffer=False,
            thrift_string_size_limit=length,
            thrift_container_size_limit=length,
        )
        metadata, schema = file.metadata, file.schema_arrow
        if metadata.num_rows != footer.rows or metadata.num_row_groups != len(footer.groups):
            return "the footer can be read in two ways"
        if any(depth_of(kind) > MAX_TYPE_DEPTH for kind in schema.types):
            return f"the schema nests deeper than {MAX_TYPE_DEPTH}"
        repeated_column(schema)  # a name that is not UTF-8 is an error only when it is read
    except BadThriftError as error:
        return f"the footer: {error}"[:200]
    except MemoryError:
        raise
    except FAULTS as error:
        watched.raise_failure()
        return fault_line("the footer", error)
    return ParquetTable(part.path, stream, watched, footer, metadata, schema)
