"""Reads Parquet tables one row at a time, in bounded memory.

A part of a file owns the row groups whose first byte lies in it. Footers and page headers are claims that are
checked before anything is decoded: a decoder allocates what each page's header says, so a kilobyte of file can ask for
gigabytes. pyarrow does not expose page headers, so they are read here: parquet-format's `PageHeader`. An unreadable
page quarantines the rest of its row group, while the rows of earlier batches are kept.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import BinaryIO, Final

import pyarrow as pa
import pyarrow.parquet as pq

from winnow.pipelines.decoding.file_bytes import read_range
from winnow.pipelines.ingest.records import OverLimit, ReadLimits
from winnow.pipelines.ingest.tables.arrow_tables import (
    FAULTS,
    FREE_VALUES,
    MAX_BATCH_ROWS,
    ROWS_PER_BYTE,
    VALUES_PER_BYTE,
    SchemaTable,
    TableReader,
    Watched,
    repeated_column,
)
from winnow.pipelines.ingest.tables.footer import BYTE_ARRAY, FIXED_LEN_BYTE_ARRAY, Chunk, Footer, parse_footer
from winnow.pipelines.ingest.tables.thrift import STRUCT, BadThriftError, Compact, CutOffError
from winnow.pipelines.ingest.tables.values import MAX_TYPE_DEPTH, depth_of, names_no_value

FOOTER_HEADERS: Final = 16  # a footer may be this many times as long as another format's header
BUFFER_BYTES: Final = 1 << 20  # per column, for a row group that is not read at once
MAX_RATIO: Final = 16  # of a page to its packed bytes: text compresses to between a quarter and a tenth

_PAGE_HEADER_STEPS: Final = (1 << 10, 64 << 10, 16 << 20)  # most headers are tiny; statistics can make them large

_DATA, _DICTIONARY, _DATA_V2 = 0, 2, 3
_DELTA_BYTE_ARRAY = 7


@dataclass(slots=True)
class ChunkPages:
    """The declarations of one column chunk's page headers, up to the first invalid one."""

    values: int = 0
    dictionary_bytes: int = 0
    largest_page: int = 0
    largest_inflated: int = 0  # among pages that inflate more than text ever does
    uncompressed: int = 0
    density: float = 0.0  # the most bytes per value in any data page
    shares_prefixes: bool = False  # a value may share a prefix with the previous one
    intact: bool = False  # every value that the footer declares is in a page with a valid header


@dataclass(slots=True)
class _PageHeader:
    kind: int = -1
    room: int = -1  # bytes of the decompressed page
    packed: int = -1
    values: int = 0
    encoding: int = -1


def walk_pages(stream: BinaryIO, chunk: Chunk) -> ChunkPages:
    """Reads a chunk's page headers until all its values are accounted for."""
    pages = ChunkPages()
    offset = chunk.start
    while pages.values < chunk.values:
        try:
            header, length = _read_page_header(stream, offset, chunk.end)
        except BadThriftError:
            return pages
        if min(header.kind, header.room, header.packed, header.values) < 0:
            return pages
        offset += length + header.packed
        if offset > chunk.end:
            return pages
        if header.kind == _DICTIONARY:
            pages.dictionary_bytes = max(pages.dictionary_bytes, header.room)
        elif header.values:
            pages.density = max(pages.density, header.room / header.values)
        if header.room > MAX_RATIO * header.packed:
            pages.largest_inflated = max(pages.largest_inflated, header.room)
        pages.largest_page = max(pages.largest_page, header.room)
        pages.shares_prefixes = pages.shares_prefixes or header.encoding == _DELTA_BYTE_ARRAY
        pages.uncompressed += header.room
        pages.values += header.values
    pages.intact = pages.values == chunk.values
    return pages


def _read_page_header(stream: BinaryIO, offset: int, end: int) -> tuple[_PageHeader, int]:
    """Reads the header at `offset`; returns it and its length."""
    for step in _PAGE_HEADER_STEPS:
        raw = read_range(stream, offset, min(step, end - offset)) if offset < end else b""
        thrift = Compact(raw)
        try:
            return _page_header(thrift), thrift.at
        except CutOffError:
            if len(raw) < step:
                raise
    raise BadThriftError("a page header of more than 16 MiB")


def _page_header(thrift: Compact) -> _PageHeader:
    header = _PageHeader()
    for number, kind in thrift.fields():
        if number == 1:
            header.kind = thrift.integer(kind)
        elif number == 2:
            header.room = thrift.integer(kind)
        elif number == 3:
            header.packed = thrift.integer(kind)
        elif (number, header.kind) in ((5, _DATA), (8, _DATA_V2)) and kind == STRUCT:
            _data_page_header(thrift, header, 2 if number == 5 else 4)
        else:
            thrift.skip(kind)
    return header


def _data_page_header(thrift: Compact, header: _PageHeader, encoding: int) -> None:
    for number, kind in thrift.fields():
        if number == 1:
            header.values = thrift.integer(kind)
        elif number == encoding:
            header.encoding = thrift.integer(kind)
        else:
            thrift.skip(kind)


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


@dataclass
class ParquetTable(SchemaTable):
    """An open file with a valid footer."""

    footer: Footer
    metadata: pq.FileMetaData

    def batches(self, index: int, column: str | None = None) -> Iterator[pa.RecordBatch | str]:
        """Yields the row group's rows in batches, of this column or all, and where reading fails a final reason."""
        plan = plan_row_group(self.raw, self.footer, index, self.limits, column)
        self.multiplies = not isinstance(plan, str) and bool(plan.shared)
        return iter((plan,)) if isinstance(plan, str) else self._planned(index, plan, column)

    def _planned(self, index: int, plan: RowGroupPlan, column: str | None) -> Iterator[pa.RecordBatch | str]:
        columns, left = None if column is None else [column], plan.rows
        if not left:
            return
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
                yield batch.slice(0, left)
                left -= batch.num_rows
                if left <= 0:
                    return
        except FAULTS as error:
            yield self.stream.fault(f"row group {index}", error)


def open_table(stream: BinaryIO, size: int, limits: ReadLimits) -> "ParquetTable | str":
    """Opens the table, or says why its footer cannot be read."""
    tail = read_range(stream, max(0, size - 8), 8)
    if size < 12 or tail[4:] not in (b"PAR1", b"PARE"):
        return "no Parquet footer at the end of the file"
    if tail[4:] == b"PARE":
        return "the footer is encrypted"
    length = int.from_bytes(tail[:4], "little")
    if length > size - 12:
        return f"the footer claims {length} bytes of a file of {size}"
    if length > FOOTER_HEADERS * limits.max_header_bytes:
        return OverLimit(f"the footer is {length} bytes, the limit is {FOOTER_HEADERS * limits.max_header_bytes}")
    watched = Watched(stream)
    try:
        footer = parse_footer(read_range(stream, size - 8 - length, length))
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
    except FAULTS as error:
        return watched.fault("the footer", error)
    starts, rows = [group.start for group in footer.groups], [group.rows for group in footer.groups]
    return ParquetTable(stream, watched, schema, starts, rows, limits, False, footer, metadata)


ParquetReader = partial(TableReader, open_table, "parquet", "row group")
