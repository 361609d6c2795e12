"""Writes small archives of every kind for tests: the same records always give the same bytes."""

import gzip
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

import zstandard

Kind: TypeAlias = Literal["warc", "warc.gz", "warc.zst", "warc.gz-one", "warc.zst-one", "arc", "arc.gz"]

KINDS: tuple[Kind, ...] = ("warc", "warc.gz", "warc.zst", "warc.gz-one", "warc.zst-one", "arc", "arc.gz")
DATE = "2024-05-01T12:00:00Z"


@dataclass(frozen=True, slots=True)
class Capture:
    """One record of an archive; a response by default."""

    url: str
    body: bytes = b"<p>hello</p>"
    mime: str = "text/html; charset=utf-8"
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    kind: str = "response"
    key: str | None = None
    date: str = DATE
    fields: dict[str, str] = field(default_factory=dict)  # more WARC fields, or other values for the usual ones


def http_block(capture: Capture) -> bytes:
    """The HTTP response that a crawler would have stored."""
    lines = [f"HTTP/1.1 {capture.status} OK", f"Content-Type: {capture.mime}"]
    lines += [f"{name}: {value}" for name, value in capture.headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + capture.body


def warc_record(capture: Capture, ordinal: int = 0) -> bytes:
    """A WARC record, uncompressed."""
    block = http_block(capture) if capture.kind in ("response", "revisit") else capture.body
    mime = "application/http; msgtype=response" if capture.kind in ("response", "revisit") else capture.mime
    fields = {
        "WARC-Type": capture.kind,
        "WARC-Record-ID": f"<{capture.key or f'urn:uuid:00000000-0000-4000-8000-{ordinal:012d}'}>",
        "WARC-Date": capture.date,
        "WARC-Target-URI": capture.url,
        "Content-Type": mime,
        "Content-Length": str(len(block)),
        **capture.fields,
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return b"WARC/1.1\r\n" + head.encode("utf-8", "surrogateescape") + b"\r\n" + block + b"\r\n\r\n"


def arc_record(capture: Capture) -> bytes:
    """An ARC record of version 1, uncompressed."""
    block = http_block(capture) if capture.url.startswith("http") else capture.body
    date = "".join(filter(str.isdigit, capture.date))[:14]
    mime = capture.mime.partition(";")[0]
    return f"{capture.url} 192.0.2.1 {date} {mime} {len(block)}\n".encode() + block + b"\n"


def arc_description(name: str = "test.arc") -> bytes:
    """The record that every ARC file begins with."""
    block = b"1 0 Test\nURL IP-address Archive-date Content-type Archive-length\n"
    return f"filedesc://{name} 0.0.0.0 20240501120000 text/plain {len(block)}\n".encode() + block + b"\n"


def gzip_member(content: bytes) -> bytes:
    """One gzip member."""
    return gzip.compress(content, 6, mtime=0)


def zstd_frame(content: bytes, dictionary: zstandard.ZstdCompressionDict | None = None) -> bytes:
    """One zstd frame with a checksum."""
    return zstandard.ZstdCompressor(write_checksum=True, dict_data=dictionary).compress(content)


def pieces(captures: Sequence[Capture], kind: Kind) -> list[bytes]:
    """The members, or plain records, that the file of this kind consists of."""
    if kind.startswith("arc"):
        records = [arc_description(), *map(arc_record, captures)]
    else:
        records = [warc_record(capture, ordinal) for ordinal, capture in enumerate(captures)]
    if kind.endswith("-one"):
        records = [b"".join(records)]
    if ".gz" in kind:
        return [gzip_member(record) for record in records]
    return [zstd_frame(record) for record in records] if ".zst" in kind else records


def write_warc(path: Path, captures: Sequence[Capture], kind: Kind = "warc.gz") -> Path:
    """Write an archive of any kind; `-one` puts all records into one member."""
    path.write_bytes(b"".join(pieces(captures, kind)))
    return path
