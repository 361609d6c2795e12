"""Reads ARC files, versions 1 and 2: the Internet Archive's format before WARC, plain or gzip.

A record is one line of fields, the block, and a line end. In version 1 the line is `URL IP date type length`; version
2 puts the result code, checksum, location, offset and file name before the length. URLs in the wild hold spaces, so
the line is read from its right.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import BinaryIO, Final

from winnow.pipelines.ingest.archives.archive import Block, Fault, Head, read_archive
from winnow.pipelines.ingest.archives.http import content_type, safe_text
from winnow.pipelines.ingest.archives.warc import http_event, is_of_web, plain_event
from winnow.pipelines.ingest.records import Dropped, Event, ReadLimits, Record, Span
from winnow.schemas.records import FilePart

_MIME: Final = rb"[^ ]{0,255}+(?:(?<=;) {1,4}+[^ ]{1,255}+){0,4}"  # a space is part of it only after a semicolon
# Possessive, and bounded where a field may repeat, so that matching stays linear in the line's length.
_V2: Final = re.compile(
    rb"(?P<url>[A-Za-z][\w+.\-]{0,30}:[^\r\n]*) (?P<ip>[^ ]{1,64}) (?P<date>\d{8,17}) (?P<mime>" + _MIME + rb")"
    rb" (?P<status>\d{1,3}|-) [^ ]{1,255} [^ ]{1,8192} \d{1,18} [^ ]{1,1024} (?P<length>\d{1,18})\r?\n"
)
_V1: Final = re.compile(
    rb"(?P<url>[A-Za-z][\w+.\-]{0,30}:[^\r\n]*) (?P<ip>[^ ]{1,64}) (?P<date>\d{8,17}) (?P<mime>" + _MIME + rb")"
    rb" (?P<length>\d{1,18})\r?\n"
)
_SCHEME: Final = re.compile(rb"[A-Za-z][\w+.\-]{0,30}:")
_SCHEME_CUT: Final = re.compile(rb"[A-Za-z][\w+.\-]{0,15}")
_STATUS_LINE: Final = re.compile(rb"(?:HTTP|ICY)[/ ]", re.IGNORECASE)  # also of one that nobody can read
_NOT_CONTENT: Final = (b"filedesc:", b"dns:")


@dataclass(slots=True)
class ArcHead(Head):
    """An ARC record's line."""

    url: bytes
    date: bytes
    mime: bytes
    status: int | None  # of version 2


class ArcGrammar:
    """ARC: a header is one line, and a line end follows the block."""

    name = "arc"
    mark = b"\n"
    sync = b"\n"
    sync_skip = 1

    def opens(self, first: bytes) -> bool:
        """Whether these may be the first bytes of a file or member of this format."""
        line, end, _ = first.lstrip(b"\r\n").partition(b"\n")
        return bool(end) and isinstance(self.parse(line + end), ArcHead)

    def starts(self, first: bytes) -> bool:
        """Whether these bytes may begin a header."""
        return bool(_SCHEME.match(first) or _SCHEME_CUT.fullmatch(first))

    def flaw(self, beginning: bytes) -> str:
        """Nothing that its line would not show."""
        del beginning
        return ""

    def nests(self, header: bytes) -> bool:
        """Never: a header is one line."""
        del header
        return False

    def closing(self, after: bytes) -> int:
        """A line end, which the specification counts as part of the next record: the last block may lack it."""
        return len(self.mark) if after.startswith(self.mark) else 0 if not after else -1

    def parse(self, header: bytes) -> ArcHead | Fault:
        """A line of version 2 or 1."""
        found = _V2.fullmatch(header) or _V1.fullmatch(header)
        if found is None:
            return Fault("bad_header", "not a line of `URL IP date type length`")
        code = found.groupdict().get("status", b"-")
        status = None if code == b"-" else int(code)
        return ArcHead(len(header), int(found["length"]), found["url"], found["date"], found["mime"], status)

    def key(self, head: ArcHead) -> str | None:
        """ARC records have no key of their own."""
        del head
        return None

    def event(self, head: ArcHead, block: Block, span: Span, container: str, limits: ReadLimits) -> Event:
        """A record for captured content; the file's own description and DNS look-ups are dropped."""
        if head.url.lower().startswith(_NOT_CONTENT):
            return Dropped(span, "not_content")
        mime, charset = content_type(head.mime)
        record = Record(
            span=span,
            key=None,
            container=container,
            url=safe_text(head.url.strip()) or None,
            fetched_at=_date(head.date),
            declared_mime=None if mime == "no-type" else mime,
            declared_charset=charset,
        )
        if head.status is not None:
            record.metadata["http_status"] = head.status
        if _STATUS_LINE.match(block.content, block.start) or (head.status is None and is_of_web(record.url)):
            return http_event(record, block, limits, False)
        return plain_event(record, block, limits, is_text=False)


def read_arc(stream: BinaryIO, part: FilePart, limits: ReadLimits) -> Iterator[Event]:
    """Yields the events of one part of an ARC file, in file order."""
    return read_archive(stream, part, limits, ArcGrammar())


def _date(raw: bytes) -> datetime | None:
    digits = raw.decode("ascii")[:14].ljust(14, "0")
    try:
        return datetime.strptime(digits, "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return None
