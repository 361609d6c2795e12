"""The events that every reader yields: records, dropped ranges, unreadable ranges, and what a part covered.

A reader walks one part of one file and yields events in file order. Together the ranges of its events tile
that part: each byte (or row) belongs to exactly one range, so nothing can be lost silently (law 3).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import BinaryIO, Protocol, TypeAlias

from winnow.schemas.identity import Json
from winnow.schemas.records import FilePart
from winnow.schemas.rows.samples import Unit


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """Caps on what a reader takes into memory or walks through (laws 8 and 9)."""

    max_body_bytes: int = 64 << 20  # a larger body is not loaded: text is quarantined, media are referenced
    max_header_bytes: int = 1 << 20
    max_member_bytes: int = 16 << 30  # a compressed member that inflates to more is a bomb
    max_window_bytes: int = 128 << 20  # the largest zstd window; `zstd --long` uses this much
    batch_bytes: int = 8 << 20  # the most that a columnar reader decodes at once


@dataclass(frozen=True, slots=True)
class Span:
    """The range of the file that an event covers. `member` distinguishes records that share one range."""

    offset: int
    length: int
    unit: Unit = "bytes"
    member: int = 0


@dataclass(frozen=True, slots=True)
class Caption:
    """A text that the source gives for media."""

    text: str
    origin: str = "source"  # a column; of a tar "txt" or "json:caption": the member, and the key in it
    language: str | None = None  # as the source says it


@dataclass(frozen=True, slots=True)
class LargeBody:
    """Where a body that is too large to hold lies among the bytes of its archive, or of its inflated member."""

    start: int
    length: int
    codings: tuple[str, ...] = ()  # that its header names, the outermost first; tried, not believed
    cut: bool = False  # its record says that it was cut off, so that a broken end is expected


@dataclass(slots=True)
class Record:
    """A possible sample: a captured response, a converted text, a line, a table row, a file."""

    span: Span
    key: str | None  # None: the format has no keys, so the ordinal in the file is used
    container: str  # "warc", "warc.gz", "warc.zst", "arc", "arc.gz", "jsonl", "jsonl.gz", "parquet", "file" …
    url: str | None = None
    fetched_at: datetime | None = None
    fetched_with: str | None = None
    declared_mime: str | None = None  # as declared by the server or the source: a hint, not a fact
    declared_charset: str | None = None
    body: bytes | None = None  # the payload, content- and transfer-decoded; None when only `text` is given or too large
    body_bytes: int = 0  # the payload's length, also when the body is not loaded
    head: bytes = b""  # the first bytes of a body that is not loaded, for sniffing
    large: LargeBody | None = None  # of an archive: where such a body can be read, piece by piece
    text: str | None = None  # where the source itself provides text
    captions: tuple[Caption, ...] = ()  # of its media
    items: "tuple[Record, ...]" = ()  # its media; the key of each is its member's name or its column
    names: str | None = None  # of an item that is a file of its own: its path from the source's root
    beside: tuple[str, ...] = ()  # of an archive: ids of records that it names as belonging to it
    referrers: tuple[str, ...] = ()  # addresses at which records beside it say that its own was found
    hops: str | None = None  # the kinds of links that led there from a seed, such as LE
    metadata: dict[str, Json] = field(default_factory=dict)
    flaw: "Unreadable | None" = None  # of an item: why it is not a medium
    clip: dict[str, Json] | None = None  # the medium of a row that is a part of a video of another store


@dataclass(frozen=True, slots=True)
class Referral:
    """What a record that is no capture says of where a capture's address was found."""

    ids: tuple[str, ...]  # its own, then those of the records that it names
    url: str | None  # what it is about
    referrers: tuple[str, ...] = ()
    hops: str | None = None


@dataclass(frozen=True, slots=True)
class Dropped:
    """A range without content, by a rule of the format; the reason is from `DROP_REASONS`."""

    span: Span
    reason: str
    referral: Referral | None = None  # kept with the capture that it is about


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A range that should have content but cannot be read; the reason is from `QUARANTINE_REASONS`."""

    span: Span
    reason: str
    detail: str = ""  # deterministic, one line, at most 200 characters
    key: str | None = None
    is_over_limit: bool = False  # whether it could be read under larger limits; for what is larger than a record


class OverLimit(str):
    """Why a footer, page, row group or batch is not read under these limits; it may be intact."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Covered:
    """The bytes of the file that a part read, where its ranges do not say so; of neighbouring parts they must meet."""

    first: int
    last: int


Event: TypeAlias = Record | Dropped | Unreadable

DROP_REASONS = {
    "not_content": "a request, metadata or other record without captured content; a directory; the header of a CSV",
    "revisit": "a capture that only points at an earlier one with the same payload",
    "http_status": "a response whose status the source does not accept",
    "described": "a row of a table beside media that describes one of them, which is a sample of its own",
    "empty": "a record without payload, or a blank line",
    "padding": "bytes between records that the format allows",
    "no_clips": "a row of another store without a video, or whose video has no shot that is long enough",
}

QUARANTINE_REASONS = {
    "corrupt_member": "a compressed member that does not inflate, or whose checksum is wrong",
    "truncated": "the file ends inside the record",
    "bad_header": "the record's header cannot be parsed, or an HTTP response has no status",
    "bad_member": "a member of a tar that is a link, a device or sparse, leads outside, or is in its sample twice",
    "bad_length": "the record's declared length does not match its bytes",
    "bad_encoding": "the payload's content or transfer encoding cannot be undone",
    "too_large": "larger than the limit for its kind",
    "bomb": "inflates past the limit for a compressed member",
    "bad_json": "not a JSON object",
    "bad_csv": "a row of CSV with a quote that is not closed, or with more fields than the header",
    "bad_utf8": "not UTF-8 where UTF-8 is the format",
    "wrong_type": "a value that is not of the declared type",
    "missing_text": "the text column is absent or null",
    "missing_key": "the key column is absent or null",
    "missing_media": "a row or a sample has no usable medium and no text",
    "corrupt_table": "a Parquet footer, row group or page, or an Arrow stream or batch, that cannot be read",
    "duplicate_id": "a second sample with the same source, file and key",
    "no_record": "not the record that an archive's index says is there",
    "known_harm": "a medium is on a list of known harm",
    "killed_worker": "its worker died on it three times",
    "reader_failed": "winnow, or a library that it reads with, failed on it, which is a fault of theirs",
}


def repeated_key(key: str | None, remedy: str) -> str:
    """What is wrong with a record whose key another one of its file has, and what may be done."""
    return f"key {key!r:.120} appears before in this file{remedy}"


class Reader(Protocol):
    """Reads one part of an open file. The same part of the same bytes always gives the same events."""

    def __call__(self, stream: BinaryIO, part: FilePart, limits: ReadLimits) -> Iterator[Event | Covered]:
        """Yields events in file order; their ranges tile what begins in the part."""
