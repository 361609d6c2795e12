"""Read a list of addresses: one a line, or a column of a CSV, JSON lines or Parquet file, plain, gzip or zstd.

Whatever the bytes, a line becomes a text, in which an address is looked for later: UTF-8, UTF-16 with a mark, or
else Latin-1. Only empty lines are nothing. A line may be endless: what is read of it is bounded.
"""

import codecs
import csv
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, Final

import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import zstandard

from winnow.filters.web.rights.host_files import inflated
from winnow.pipelines.store.location import open_location
from winnow.schemas.errors import SourceError
from winnow.schemas.problems import suggestion

MAX_LINE: Final = 1 << 16  # bytes of a line that are read; `canonical_url` refuses longer addresses
BATCH: Final = 16_384

_PACKED: Final = (".gz", ".zst", ".zstd")
_PARQUET: Final = b"PAR1"
_SHOWN: Final = 20  # columns in a message


def read_addresses(file: str, column: str, base: Path | None = None) -> Iterator[list[str]]:
    """The lines of a list, in order, many at a time; one that is too long is cut, and still too long.

    Args:
        file: A path, or an address that `open_location` knows.
        column: Of a table, the column that has the addresses.
        base: The folder that a path is relative to.

    Raises:
        SourceError: The file is not there, cannot be read, or lacks the column.
    """
    folder, _, name = file.rpartition("/")
    objects = open_location(folder or ("/" if file.startswith("/") else "."), base)
    try:
        with objects.open(name) as stream:
            if stream.read(4) == _PARQUET:
                yield from _of_parquet(file, stream, column)
                return
            stream.seek(0)
            yield from _batches(_texts(file, name, stream, column))
    except IsADirectoryError:
        raise SourceError(f"{file}: is a folder; expected the file of a list of addresses") from None
    except FileNotFoundError:
        raise SourceError(f"{file}: there is no such list of addresses") from None
    except (OSError, EOFError, zlib.error, zstandard.ZstdError, pa.ArrowException) as error:
        raise SourceError(f"{file}: cannot be read as a list of addresses: {error}") from None


def _batches(texts: Iterator[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    for text in texts:
        batch.append(text)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _of_parquet(file: str, stream: BinaryIO, column: str) -> Iterator[list[str]]:
    table = pq.ParquetFile(stream)
    if column not in table.schema_arrow.names:
        raise _no_column(file, column, table.schema_arrow.names)
    for batch in table.iter_batches(BATCH, columns=[column]):
        values = batch.column(0)
        if not pa.types.is_string(values.type):
            try:
                values = values.cast(pa.string())
            except pa.ArrowInvalid:  # bytes in another encoding
                yield [decoded(bytes(value)) for value in values.drop_null().to_pylist()]
                continue
        yield values.filter(pc.fill_null(pc.not_equal(pc.utf8_trim_whitespace(values), ""), False)).to_pylist()


def _texts(file: str, name: str, stream: BinaryIO, column: str) -> Iterator[str]:
    bare = name.lower()
    for ending in _PACKED:
        bare = bare.removesuffix(ending)
    lines = _lines(stream)
    if bare.endswith((".csv", ".tsv")):
        yield from _of_table(file, lines, column, "\t" if bare.endswith(".tsv") else ",")
    elif bare.endswith((".jsonl", ".ndjson", ".json")):
        yield from _of_json_lines(file, lines, column)
    else:
        yield from (text for text in map(decoded, lines) if text.strip())


def _of_table(file: str, lines: Iterator[bytes], column: str, delimiter: str) -> Iterator[str]:
    csv.field_size_limit(1 << 24)
    rows = csv.reader((decoded(line).replace("\0", "") + "\n" for line in lines), delimiter=delimiter)
    header = next(rows, [])
    if column not in header:
        raise _no_column(file, column, header)
    place = header.index(column)
    try:
        for row in rows:
            if row:  # a row without the column is an address that is none
                yield row[place] if place < len(row) else ""
    except csv.Error as error:
        raise SourceError(f"{file}:{rows.line_num}: {error}") from None


def _of_json_lines(file: str, lines: Iterator[bytes], column: str) -> Iterator[str]:
    is_first = True
    for line in lines:
        if not line.strip():
            continue
        try:
            row = orjson.loads(line)
        except orjson.JSONDecodeError:
            row = decoded(line)  # of no use as an address, and told as such
        if isinstance(row, Mapping):
            if is_first and column not in row:
                raise _no_column(file, column, list(row))
            row = row.get(column, "")
        is_first = False
        yield row if isinstance(row, str) else decoded(orjson.dumps(row))


def _no_column(file: str, column: str, names: list[str]) -> SourceError:
    shown = ", ".join(names[:_SHOWN]) or "none"
    return SourceError(
        f"{file}: no column {column!r}{suggestion(column, names)}; it has {shown}; say `column:` beside the list's file"
    )


def _lines(stream: BinaryIO) -> Iterator[bytes]:
    """The lines of a file without their ends; of a long one its beginning, one byte longer than any may be."""
    rest = bytearray()
    for piece in _with_newlines(_utf8(inflated(stream))):
        first, *others = piece.split(b"\n")
        rest += first[: MAX_LINE + 1 - len(rest)] if len(rest) <= MAX_LINE else b""
        for other in others:
            yield bytes(rest)
            rest = bytearray(other[: MAX_LINE + 1])
    yield bytes(rest)


def _with_newlines(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The pieces with each end of a line, whichever system's, as a newline: a carriage return is of no address."""
    held = b""
    for piece in pieces:
        whole = held + piece
        held = b"\r" if whole.endswith(b"\r") else b""  # a newline may follow
        yield whole.removesuffix(b"\r").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    yield held


def _utf8(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The pieces of a file, those of UTF-16 as UTF-8, without a byte order mark."""
    first = next(pieces, b"")
    if first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        decoder = codecs.getincrementaldecoder("utf-16")("replace")
        yield decoder.decode(first).encode()
        for piece in pieces:
            yield decoder.decode(piece).encode()
        return
    yield first.removeprefix(codecs.BOM_UTF8)
    yield from pieces


def decoded(line: bytes) -> str:
    """A line as text, whatever it is; one that was cut has more characters than an address may have."""
    if len(line) > MAX_LINE:
        return line.decode("latin-1")
    try:
        return line.decode()
    except UnicodeDecodeError:
        return line.decode("latin-1")
