"""What the archive tests share: read bytes as a file, and look at the events in short."""

import io
from collections.abc import Sequence

from winnow.pipelines.ingest.archives.arc import read_arc
from winnow.pipelines.ingest.archives.warc import read_warc
from winnow.pipelines.ingest.records import Dropped, Event, ReadLimits, Record
from winnow.pipelines.ingest.tiling.archives import check_tiling
from winnow.pipelines.ingest.tiling.claims import Claim
from winnow.schemas.records import FilePart

LIMITS = ReadLimits()


def read(
    raw: bytes, start: int = 0, end: int | None = None, *, limits: ReadLimits = LIMITS, arc: bool = False
) -> list[Event]:
    """The events of a part of a file with these bytes."""
    part = FilePart("file", len(raw), start, len(raw) if end is None else end)
    return list((read_arc if arc else read_warc)(io.BytesIO(raw), part, limits))


def outline(events: Sequence[Event]) -> list[str]:
    """One word an event: the last part of a record's URL, or the reason."""
    return [(event.url or "?").rsplit("/", 1)[-1] if isinstance(event, Record) else event.reason for event in events]


def assert_tiles(raw: bytes, events: Sequence[Event]) -> None:
    """The ranges cover the file once, members of a shared range numbered from 0."""
    at, last, member = 0, None, 0
    for event in events:
        span = event.span
        if last == (span.offset, span.length):
            member += 1
        else:
            assert span.offset == at
            at, last, member = span.offset + span.length, (span.offset, span.length), 0
        assert span.length > 0
        assert span.member == member
    assert at == len(raw)


def claims(events: Sequence[Event]) -> list[Claim]:
    """What the events claim, for the audit."""
    return [Claim(event.span, isinstance(event, Record | Dropped)) for event in events]


def audit(raw: bytes, events: Sequence[Event]) -> list[str]:
    """What the independent walker finds wrong."""
    return check_tiling(io.BytesIO(raw), claims(events), LIMITS)
