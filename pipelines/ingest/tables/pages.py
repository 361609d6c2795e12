"""Walks the page headers of a Parquet column chunk, to know the cost of decoding it in advance.

A footer's sizes are only claims, while a decoder allocates what each page's header says: a kilobyte of
file can ask for gigabytes. pyarrow does not expose page headers, so they are read here: parquet-format's `PageHeader`.
"""

from dataclasses import dataclass
from typing import BinaryIO, Final

from winnow.pipelines.decoding.file_bytes import read_range
from winnow.pipelines.ingest.tables.footer import Chunk
from winnow.pipelines.ingest.tables.thrift import STRUCT, BadThriftError, Compact, CutOffError

MAX_RATIO: Final = 16  # text compresses to between a quarter and a tenth

_HEADER_STEPS: Final = (1 << 10, 64 << 10, 16 << 20)  # most headers are tiny; statistics can make them large

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
class _Header:
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
            header, length = _read_header(stream, offset, chunk.end)
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


def _read_header(stream: BinaryIO, offset: int, end: int) -> tuple[_Header, int]:
    """Reads the header at `offset`; returns it and its length."""
    for step in _HEADER_STEPS:
        raw = read_range(stream, offset, min(step, end - offset)) if offset < end else b""
        thrift = Compact(raw)
        try:
            return _header(thrift), thrift.at
        except CutOffError:
            if len(raw) < step:
                raise
    raise BadThriftError("a page header of more than 16 MiB")


def _header(thrift: Compact) -> _Header:
    header = _Header()
    for number, kind in thrift.fields():
        if number == 1:
            header.kind = thrift.integer(kind)
        elif number == 2:
            header.room = thrift.integer(kind)
        elif number == 3:
            header.packed = thrift.integer(kind)
        elif (number, header.kind) in ((5, _DATA), (8, _DATA_V2)) and kind == STRUCT:
            _data_header(thrift, header, 2 if number == 5 else 4)
        else:
            thrift.skip(kind)
    return header


def _data_header(thrift: Compact, header: _Header, encoding: int) -> None:
    for number, kind in thrift.fields():
        if number == 1:
            header.values = thrift.integer(kind)
        elif number == encoding:
            header.encoding = thrift.integer(kind)
        else:
            thrift.skip(kind)
