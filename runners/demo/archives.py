"""Writes WARC, WET and ARC bytes, with the planted damage.

The writer is small and sets every header, identifier and date itself. Every record is its own gzip member or zstd
frame, as in published crawls. The compressed bytes depend on the installed zlib and zstd; the contents do not.
"""

import base64
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal, TypeAlias
from urllib.parse import urlsplit

import zstandard

from winnow.runners.demo.captures import Capture, gzip_member, http_response, record_id

Wrapping: TypeAlias = Literal["plain", "gzip", "zstd"]
Damage: TypeAlias = Literal["corrupt_member", "truncated_end", "short_length", "long_length", "bad_header"]

_START = datetime(2023, 11, 5, 6, 0, tzinfo=UTC)
_ZSTD_LEVEL = 12


@dataclass(frozen=True, slots=True)
class Record:
    """A WARC record: its headers in order (without Content-Length) and its block."""

    headers: tuple[tuple[str, str], ...]
    block: bytes
    damage: Damage | None = None

    def to_bytes(self) -> bytes:
        """The record as in an uncompressed archive."""
        length = len(self.block) + {"short_length": -40, "long_length": 4_000}.get(self.damage or "", 0)
        lines = ["WARC/1.0", *(f"{name}: {value}" for name, value in self.headers), f"Content-Length: {length}"]
        if self.damage == "bad_header":
            lines = ["WARC/1.0", "this line has no colon", "Content-Length: many"]
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + self.block + b"\r\n\r\n"


def fetched_at(ordinal: int) -> datetime:
    """When a capture was made: one every seven seconds."""
    return _START + timedelta(seconds=7 * ordinal)


def warc(name: str, captures: Sequence[tuple[int, Capture, Damage | None]], wrapping: Wrapping, *, full: bool) -> bytes:
    """An archive of captures, each with its ordinal in the crawl; `full` adds request and metadata records."""
    records = [_warcinfo(name)]
    for ordinal, capture, damage in captures:
        records += _exchange(ordinal, capture, damage) if full else [response(ordinal, capture, damage)]
    return b"".join(wrap(record, wrapping) for record in records)


def wet(name: str, captures: Iterable[tuple[int, Capture]]) -> bytes:
    """An archive of conversion records: the text of captures, as Common Crawl's WET files have them."""
    records = [_warcinfo(name)]
    for ordinal, capture in captures:
        block = f"{capture.truth.title}\n{capture.truth.text}\n".encode()
        records.append(
            Record(
                (
                    ("WARC-Type", "conversion"),
                    ("WARC-Target-URI", capture.url),
                    ("WARC-Date", _stamp(ordinal)),
                    ("WARC-Record-ID", record_id("conversion", capture.url)),
                    ("WARC-Refers-To", capture.record_id),
                    ("WARC-Block-Digest", _digest(block)),
                    ("WARC-Identified-Content-Language", capture.truth.language),
                    ("Content-Type", "text/plain"),
                ),
                block,
            )
        )
    return b"".join(wrap(record, "gzip") for record in records)


def arc(name: str, captures: Iterable[tuple[int, Capture]]) -> bytes:
    """An ARC 1 archive, one gzip member per record."""
    fields = b"1 0 Example Archive\nURL IP-address Archive-date Content-type Archive-length\n"
    members = [b"filedesc://%s 0.0.0.0 %s text/plain %d\n%s\n" % (name.encode(), _compact(0), len(fields), fields)]
    for ordinal, capture in captures:
        block = http_response(capture)
        mime = (capture.content_type or "unknown").partition(";")[0]
        head = f"{capture.url} 192.0.2.7 {_compact(ordinal).decode()} {mime} {len(block)}\n"
        members.append(head.encode() + block + b"\n")
    return b"".join(gzip_member(member) for member in members)


def response(ordinal: int, capture: Capture, damage: Damage | None = None) -> Record:
    """The response (or revisit) record of a capture."""
    block = http_response(capture)
    headers = [
        ("WARC-Type", "revisit" if capture.revisit_of else "response"),
        ("WARC-Target-URI", capture.url),
        ("WARC-Date", _stamp(ordinal)),
        ("WARC-Record-ID", capture.record_id),
        ("WARC-IP-Address", "192.0.2.7"),
        ("WARC-Payload-Digest", _digest(capture.payload())),
        ("WARC-Block-Digest", _digest(block)),
        ("Content-Type", "application/http; msgtype=response"),
    ]
    if capture.cut:
        headers.append(("WARC-Truncated", capture.cut))
    if capture.revisit_of:
        headers.append(("WARC-Profile", "http://netpreserve.org/warc/1.0/revisit/identical-payload-digest"))
        headers.append(("WARC-Refers-To-Target-URI", capture.revisit_of))
    return Record(tuple(headers), block, damage)


def wrap(record: Record, wrapping: Wrapping) -> bytes:
    """The record as one gzip member, one zstd frame, or uncompressed, with its damage applied."""
    raw = record.to_bytes()
    if wrapping == "gzip":
        raw = gzip_member(raw)
    elif wrapping == "zstd":
        raw = zstandard.ZstdCompressor(level=_ZSTD_LEVEL, write_checksum=True).compress(raw)
    if record.damage == "corrupt_member":
        middle = len(raw) // 2
        raw = raw[:middle] + bytes(byte ^ 0x5A for byte in raw[middle : middle + 24]) + raw[middle + 24 :]
    elif record.damage == "truncated_end":
        raw = raw[: len(raw) * 2 // 3]
    return raw


def _exchange(ordinal: int, capture: Capture, damage: Damage | None) -> list[Record]:
    """Request, response and metadata, as crawlers write them."""
    parts = urlsplit(capture.url)
    path = parts.path + (f"?{parts.query}" if parts.query else "")
    request = f"GET {path or '/'} HTTP/1.1\r\nHost: {parts.netloc}\r\nUser-Agent: examplebot/1.0\r\nAccept: */*\r\n\r\n".encode()
    metadata = f"fetchTimeMs: {20 + ordinal % 400}\r\n".encode()
    about = (
        ("WARC-Target-URI", capture.url),
        ("WARC-Date", _stamp(ordinal)),
        ("WARC-Concurrent-To", capture.record_id),
    )
    return [
        Record(
            (
                ("WARC-Type", "request"),
                *about,
                ("WARC-Record-ID", record_id("request", capture.url, capture.truth.case)),
                ("Content-Type", "application/http; msgtype=request"),
            ),
            request,
        ),
        response(ordinal, capture, damage),
        Record(
            (
                ("WARC-Type", "metadata"),
                *about,
                ("WARC-Record-ID", record_id("metadata", capture.url, capture.truth.case)),
                ("Content-Type", "application/warc-fields"),
            ),
            metadata,
        ),
    ]


def _warcinfo(name: str) -> Record:
    block = b"software: winnow demo crawl\r\nformat: WARC File Format 1.0\r\nisPartOf: winnow-demo\r\nrobots: obey\r\n"
    return Record(
        (
            ("WARC-Type", "warcinfo"),
            ("WARC-Date", _stamp(0)),
            ("WARC-Record-ID", record_id("warcinfo", name)),
            ("WARC-Filename", name),
            ("Content-Type", "application/warc-fields"),
        ),
        block,
    )


def _stamp(ordinal: int) -> str:
    return fetched_at(ordinal).strftime("%Y-%m-%dT%H:%M:%SZ")


def _compact(ordinal: int) -> bytes:
    return fetched_at(ordinal).strftime("%Y%m%d%H%M%S").encode()


def _digest(raw: bytes) -> str:
    return "sha1:" + base64.b32encode(hashlib.sha1(raw, usedforsecurity=False).digest()).decode()
