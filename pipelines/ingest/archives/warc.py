"""Reads WARC and WET files: plain, gzip or zstd, one or many records per member (ISO 28500, versions 0.17 to 1.1).

Headers are parsed here because a record's declared length must be checked before its bytes are believed, and most
records of a crawl (requests, metadata) need nothing more. FastWARC, which the tests compare with, stops at the
first damaged member and takes about three times as long per header.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from typing import BinaryIO, Final

from winnow.pipelines.ingest.archives.archive import HEAD_BYTES, Block, Fault, Head, read_archive
from winnow.pipelines.ingest.archives.chunks import CHUNKED
from winnow.pipelines.ingest.archives.http import (
    Fields,
    HttpHead,
    Payload,
    content_type,
    decode_field,
    decode_payload,
    header_fields,
    parse_http,
    safe_text,
)
from winnow.pipelines.ingest.archives.opt_out import of_headers
from winnow.pipelines.ingest.archives.referrers import found_by_crawler, referrers_of_request, take_page_info
from winnow.pipelines.ingest.records import Dropped, Event, LargeBody, ReadLimits, Record, Referral, Span, Unreadable
from winnow.schemas.identity import Json
from winnow.schemas.records import FilePart
from winnow.schemas.rows.opt_out import KEY
from winnow.schemas.rows.referrers import PAGE_INFO

_WANTED: Final = frozenset(
    b"warc-type warc-record-id warc-date warc-target-uri warc-concurrent-to warc-refers-to warc-truncated "
    b"warc-identified-payload-type warc-identified-content-language content-length content-type".split()
)
_VERSION: Final = re.compile(rb"WARC/\d{1,3}\.\d{1,3}[ \t]{0,8}\r?\n")
_VERSION_CUT: Final = re.compile(rb"W(A(R(C(/(\d{1,3}(\.(\d{1,3}([ \t]{0,8}\r?)?)?)?)?)?)?)?)?")
_VERSION_BYTES: Final = 32
_DATE: Final = re.compile(
    r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?)?)?)?\s*(Z|[+-]\d\d:?\d\d)?"
)
_USUAL_DATE: Final = re.compile(rb"\d{4}-\d\d-\d\dT[01]\d:\d\d:\d\dZ|\d{4}-\d\d-\d\dT2[0-3]:\d\d:\d\dZ")
_BARE_LINES: Final = "its lines end with LF alone, WARC's end with CRLF; get the file as its crawler wrote it"
_MAX_LENGTH_DIGITS: Final = 18
_MOST_LINKS: Final = 8  # to records that stand beside one
_CAPTURES: Final = frozenset((b"response", b"resource", b"conversion"))
_OF_CRAWLER: Final = "metadata:"  # wget stores its arguments, its log and the list of its records under such names
_NOTED: Final = (
    (b"warc-truncated", "warc_truncated"),
    (b"warc-identified-payload-type", "warc_identified_payload_type"),
    (b"warc-identified-content-language", "warc_identified_content_language"),
)


@dataclass(slots=True)
class WarcHead(Head):
    """A WARC record's header."""

    kind: bytes
    fields: Fields

    def first(self, name: bytes) -> bytes | None:
        """The first value of a field; further values, which the standard forbids, are ignored."""
        values = self.fields.get(name)
        return values[0] if values else None


class WarcGrammar:
    """WARC: a header ends with an empty line, and a block with two line ends."""

    name = "warc"
    mark = b"\r\n\r\n"
    sync = b"WARC/"
    sync_skip = 0

    def opens(self, first: bytes) -> bool:
        """Whether these may be the first bytes of a file or member of this format."""
        return first.lstrip(b"\r\n").startswith(b"WARC/")

    def starts(self, first: bytes) -> bool:
        """Whether these bytes may begin a header."""
        return bool(_VERSION.match(first)) or (len(first) < _VERSION_BYTES and bool(_VERSION_CUT.fullmatch(first)))

    def flaw(self, beginning: bytes) -> str:
        """Whether the lines of a header, and so of its file, end with LF alone."""
        version = _VERSION.match(beginning)
        if version is None or version.group().endswith(b"\r\n"):
            return ""
        bare, proper = beginning.find(b"\n\n"), beginning.find(self.mark)
        return "" if bare < 0 or 0 <= proper < bare else _BARE_LINES

    def nests(self, header: bytes) -> bool:
        """Whether another header begins inside this one."""
        return _VERSION.search(header, 5) is not None

    def closing(self, after: bytes) -> int:
        """Two line ends; a part of them, or neither, where the file or member ends or a record begins at once."""
        if after.startswith(self.mark):
            return len(self.mark)
        count = max(count for count in range(len(self.mark)) if after.startswith(self.mark[:count]))
        return count if count == len(after) or _VERSION.match(after, count) else -1

    def parse(self, header: bytes) -> WarcHead | Fault:
        """Parses a header; only the type and the length are required."""
        if not _VERSION.match(header):
            return Fault("bad_header", "no WARC version line")
        fields = header_fields(header, _WANTED)
        kinds, lengths = fields.get(b"warc-type"), fields.get(b"content-length")
        if not kinds:
            return Fault("bad_header", "no WARC-Type")
        if not lengths or not lengths[0].isdigit() or len(lengths[0]) > _MAX_LENGTH_DIGITS:
            return Fault("bad_header", "Content-Length is not a number" if lengths else "no Content-Length")
        return WarcHead(len(header), int(lengths[0]), kinds[0].lower(), fields)

    def key(self, head: WarcHead) -> str | None:
        """The WARC-Record-ID, without its brackets."""
        raw = head.first(b"warc-record-id")
        return safe_text(raw.strip(b"<> \t")) or None if raw else None

    def event(self, head: WarcHead, block: Block, span: Span, container: str, limits: ReadLimits) -> Event:
        """A record for captured content; revisits, requests and the like are dropped."""
        kind = head.kind
        if kind not in _CAPTURES:
            referral = self._referral(head, block) if kind in (b"request", b"metadata") else None
            return Dropped(span, "revisit" if kind == b"revisit" else "not_content", referral)
        mime, charset = content_type(head.first(b"content-type") or b"")
        record = Record(
            span=span,
            key=self.key(head),
            container=container,
            url=_url_of(head),
            fetched_at=parse_date(head.first(b"warc-date")),
            beside=_linked(head),
            metadata={"warc_type": kind.decode("ascii")},
        )
        for name, label in _NOTED:
            if name in head.fields:
                record.metadata[label] = decode_field(head.fields[name][0])
        stores_http = mime == "application/http" or is_of_web(record.url)
        if kind == b"response" and (stores_http or block.content.startswith(b"HTTP/", block.start)):
            return http_event(record, block, limits, b"warc-truncated" in head.fields)
        if mime == "text/dns" or (kind == b"resource" and (record.url or "").startswith(_OF_CRAWLER)):
            return Dropped(span, "not_content")
        record.declared_mime, record.declared_charset = mime, charset
        if kind == b"resource" and record.url is not None and record.url.startswith(PAGE_INFO):
            take_page_info(record, block)
        return plain_event(record, block, limits, is_text=kind == b"conversion" and mime in (None, "text/plain"))

    def _referral(self, head: WarcHead, block: Block) -> Referral | None:
        """Where a request or a crawler's note says that an address was found."""
        start, stop = block.start, block.start + block.length
        if head.kind == b"request":
            referrers, hops = referrers_of_request(block.content, start, stop, _url_of(head)), None
        elif content_type(head.first(b"content-type") or b"")[0] == "application/warc-fields":
            referrers, hops = found_by_crawler(block.content, start, stop)
        else:
            return None
        if not referrers and hops is None:
            return None
        return Referral((self.key(head) or "", *_linked(head)), _url_of(head), referrers, hops)


def _url_of(head: WarcHead) -> str | None:
    return safe_text((head.first(b"warc-target-uri") or b"").strip(b"<> \t")) or None


def _linked(head: WarcHead) -> tuple[str, ...]:
    """The ids of other records that a record names as belonging to it."""
    named = [*head.fields.get(b"warc-concurrent-to", ()), *head.fields.get(b"warc-refers-to", ())]
    return tuple(safe_text(raw.strip(b"<> \t")) for raw in named[:_MOST_LINKS])


def read_warc(stream: BinaryIO, part: FilePart, limits: ReadLimits) -> Iterator[Event]:
    """Yields the events of one part of a WARC or WET file, in file order."""
    return read_archive(stream, part, limits, WarcGrammar())


def http_event(record: Record, block: Block, limits: ReadLimits, truncated: bool) -> Event:
    """Fills a record from a stored HTTP response."""
    stop = block.start + (block.length if block.held else len(block.content))
    head = parse_http(block.content, block.start, stop, limits.max_header_bytes)
    if head is None:
        return Unreadable(
            record.span, "bad_header", "no HTTP response begins here or its header does not end", record.key
        )
    size = block.length - (head.stop - block.start)
    if size == 0:
        return Dropped(record.span, "empty")
    if head.status is None:
        line = decode_field(block.content[block.start : block.start + 40].partition(b"\n")[0].strip())
        return Unreadable(record.span, "bad_header", f"a response without a status: {line!a}", record.key)
    metadata: dict[str, Json] = record.metadata
    metadata["http_status"] = head.status
    language = head.text(b"content-language")
    if language is not None:
        metadata["content_language"] = language
    metadata[KEY] = of_headers(head.fields)
    types = head.fields.get(b"content-type")
    if types:
        record.declared_mime, record.declared_charset = content_type(types[0])
    coded = b"content-encoding" in head.fields or b"transfer-encoding" in head.fields
    if not block.held or size > limits.max_body_bytes:
        beginning = block.content[head.stop : stop if coded else min(stop, head.stop + HEAD_BYTES)]
        record.body_bytes, record.head = size, beginning[:HEAD_BYTES]
        if not coded:
            record.large = _large_body(head, block, size, truncated)
            return record
        payload = decode_payload(head, beginning, HEAD_BYTES, True)
        if isinstance(payload, str):
            return record
        record.head = (payload.head if payload.body is None else payload.body)[:HEAD_BYTES]
        record.large = _large_body(head, block, size, truncated)
        _note_codings(metadata, payload)
        return record
    stored = block.content[head.stop : stop]
    if not coded:
        record.body, record.body_bytes = stored, size
        return record
    payload = decode_payload(head, stored, limits.max_body_bytes, truncated)
    if isinstance(payload, str):
        return Unreadable(record.span, "bad_encoding", payload, record.key)
    _note_codings(metadata, payload)
    if payload.body is None:
        record.body_bytes, record.head = limits.max_body_bytes + 1, payload.head  # the exact size is not determined
        record.large = _large_body(head, block, size, truncated)
        return record
    if not payload.body:
        return Dropped(record.span, "empty")
    record.body, record.body_bytes = payload.body, len(payload.body)
    return record


def _large_body(head: HttpHead, block: Block, size: int, truncated: bool) -> LargeBody | None:
    """Where the payload can be read again; None if it was coded in a way that is undone in memory alone."""
    codings = (*reversed(head.codings(b"transfer-encoding")), *reversed(head.codings(b"content-encoding")))
    place = block.at + head.stop - block.start
    return None if CHUNKED in codings[1:] else LargeBody(place, size, codings, truncated)


def _note_codings(metadata: dict[str, Json], payload: Payload) -> None:
    if payload.codings_removed:
        metadata["content_encoding"] = payload.codings_removed
    if payload.ignored:
        metadata["content_encoding_ignored"] = payload.ignored


def is_of_web(url: str | None) -> bool:
    """Whether what was fetched from here is an HTTP response; nothing else is known of a record without an address."""
    return url is None or url.lower().startswith(("http:", "https:"))


def plain_event(record: Record, block: Block, limits: ReadLimits, *, is_text: bool) -> Event:
    """Fills a record whose block is the payload itself."""
    if block.length == 0:
        return Dropped(record.span, "empty")
    record.body_bytes = block.length
    if not block.held or block.length > limits.max_body_bytes:
        record.head = block.content[block.start : block.start + min(block.length, HEAD_BYTES)]
        record.large = LargeBody(block.at, block.length)
        return record
    body = block.content[block.start : block.start + block.length]
    if not is_text:
        record.body = body
        return record
    try:
        record.text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        return Unreadable(record.span, "bad_utf8", f"byte {error.start} of the text is not UTF-8", record.key)
    return record


def parse_date(raw: bytes | None) -> datetime | None:
    """Parses a WARC-Date of any precision into UTC; None if it is invalid."""
    if raw is None or len(raw) > 40:
        return None
    if _USUAL_DATE.fullmatch(raw):
        try:
            return datetime.fromisoformat(raw.decode("ascii"))
        except ValueError:
            return None
    found = _DATE.fullmatch(decode_field(raw))
    if found is None or not found.group().isascii():
        return None
    year, month, day, hour, minute, second, fraction, zone = found.groups()
    offset = timedelta(0)
    if zone and zone != "Z":
        digits = zone[1:].replace(":", "")
        offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:])) * (-1 if zone[0] == "-" else 1)
    try:
        moment = datetime(
            int(year), int(month or 1), int(day or 1), int(hour or 0), int(minute or 0), int(second or 0),
            int((fraction or "0").ljust(6, "0")[:6]), timezone(offset) if offset else UTC,
        )  # fmt: skip
        return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
