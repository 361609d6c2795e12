"""CDXJ files: lines of captures with their places, made into an index in the columns of Common Crawl's.

    is,example)/ 20261001120000 {"url": "https://example.is/", "mime": "text/html", "status": "200", "digest": "…",
                                 "length": "3042", "offset": "1297", "filename": "crawl-data/…/….warc.gz"}

Lines of JSON alone, as servers of such indexes answer, are read as well.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from winnow.filters.web.rights.host_files import inflated
from winnow.filters.web.urls import registered_domain
from winnow.pipelines.fetch.archives.index import Reads
from winnow.pipelines.fetch.archives.places import open_file
from winnow.schemas.errors import SourceError
from winnow.schemas.problems import shown

COLUMNS: Final = pa.schema(
    [
        pa.field("url_surtkey", pa.string()),
        pa.field("url", pa.string()),
        pa.field("url_host_registered_domain", pa.string()),
        pa.field("fetch_time", pa.timestamp("us")),
        pa.field("fetch_status", pa.int16()),
        pa.field("content_digest", pa.string()),
        pa.field("content_mime_type", pa.string()),
        pa.field("content_mime_detected", pa.string()),
        pa.field("content_charset", pa.string()),
        pa.field("content_languages", pa.string()),
        pa.field("content_truncated", pa.string()),
        pa.field("warc_filename", pa.string()),
        pa.field("warc_record_offset", pa.int64()),
        pa.field("warc_record_length", pa.int64()),
    ]
)
MAX_LINE: Final = 1 << 20
_HEADER: Final = b"!"  # a line that says which form the file has
_ROWS: Final = 65_536
_DIGITS: Final = 18  # of a number that a column holds
_TEXTS: Final = {
    "content_digest": "digest",
    "content_mime_type": "mime",
    "content_mime_detected": "mime-detected",
    "content_charset": "charset",
    "content_languages": "languages",
    "content_truncated": "truncated",
}
_EXPECTED: Final = (
    'lines such as is,example)/ 20261001120000 {"url": "…", "filename": "…", "offset": "…", "length": "…"}'
)


def index_of_cdxj(file: str, folder: Path) -> Reads:
    """Writes a file's captures as an index of one Parquet file into a folder; SourceError at a line that is none."""
    reads = Reads()
    objects, name = open_file(file)
    try:
        with objects.open(name) as stream, pq.ParquetWriter(folder / "captures.parquet", COLUMNS) as writer:
            held: list[dict[str, Any]] = []
            for number, line in _lines(file, inflated(stream)):
                held.append(_row(file, number, line))
                if len(held) == _ROWS:
                    writer.write_table(pa.Table.from_pylist(held, schema=COLUMNS))
                    held = []
            writer.write_table(pa.Table.from_pylist(held, schema=COLUMNS))
            reads.add(stream.tell())
        if not pq.read_metadata(folder / "captures.parquet").num_rows:
            raise SourceError(f"{file}: holds no capture; expected {_EXPECTED}")
    except FileNotFoundError:
        raise SourceError(f"{file}: there is no such file") from None
    except (OSError, EOFError, ValueError, OverflowError, pa.ArrowException) as error:
        raise SourceError(f"{file}: {error}; expected {_EXPECTED}") from None
    return reads


def _lines(file: str, pieces: Iterator[bytes]) -> Iterator[tuple[int, bytes]]:
    """The lines of captures, with their numbers."""
    number, rest = 1, bytearray()
    for piece in pieces:
        first, *others = piece.split(b"\n")
        rest += first
        for other in others:
            if _is_capture(rest):
                yield number, bytes(rest)
            number, rest = number + 1, bytearray(other)
        if len(rest) > MAX_LINE:
            raise SourceError(f"{file}:{number}: longer than {MAX_LINE} bytes; expected {_EXPECTED}")
    if _is_capture(rest):
        yield number, bytes(rest)


def _is_capture(line: bytearray) -> bool:
    return bool(line.strip()) and not line.startswith(_HEADER)


def _row(file: str, number: int, line: bytes) -> dict[str, Any]:
    key, brace, rest = line.partition(b"{")
    try:
        found = orjson.loads(brace + rest)
        return _captured(found, *key.decode().split()[:2])
    except (KeyError, TypeError, ValueError) as error:
        why = f"no {error.args[0]!r}" if isinstance(error, KeyError) else "no capture"
        raise SourceError(
            f"{file}:{number}: {why} in {shown(line.decode('utf-8', 'replace'))}; expected {_EXPECTED}"
        ) from None


def _captured(found: Mapping[str, Any], key: str | None = None, moment: str | None = None) -> dict[str, Any]:
    """A line's capture; KeyError with the name of what is missing or none of its address and its place."""
    url = _text(found, "url")
    status = str(found.get("status") or "")
    row = {column: None if (text := found.get(name)) is None else str(text) for column, name in _TEXTS.items()}
    return row | {
        "url_surtkey": key or str(found.get("urlkey", "")),
        "url": url,
        "url_host_registered_domain": registered_domain(url),
        "fetch_time": _moment(str(moment or found.get("timestamp") or "")),
        "fetch_status": int(status) if status.isdigit() and len(status) < 4 else None,
        "warc_filename": _text(found, "filename"),
        "warc_record_offset": _bytes(found, "offset", 0),
        "warc_record_length": _bytes(found, "length", 1),
    }


def _text(found: Mapping[str, Any], name: str) -> str:
    value = found[name]
    if not value or not isinstance(value, str):
        raise KeyError(name)
    return value


def _bytes(found: Mapping[str, Any], name: str, least: int) -> int:
    """A count of bytes, which servers write as text."""
    written = str(found[name])
    if not written.isdecimal() or len(written) > _DIGITS or int(written) < least:
        raise KeyError(name)
    return int(written)


def _moment(text: str) -> datetime | None:
    """A time of 14 digits; None if it is none."""
    try:
        return datetime.strptime(text[:14], "%Y%m%d%H%M%S")
    except ValueError:
        return None
