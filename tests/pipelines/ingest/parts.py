"""What tests of the line, table and file readers share: read in parts, and look at the ranges that come out."""

import io
from collections.abc import Iterable, Sequence
from itertools import pairwise

from winnow.pipelines.ingest.records import Covered, Event, Reader, ReadLimits, Record, Unreadable
from winnow.schemas.records import FilePart

LIMITS = ReadLimits()


def read(
    reader: Reader, raw: bytes, cuts: Sequence[int] = (), limits: ReadLimits = LIMITS, path: str = "file"
) -> list[Event]:
    """The events of all parts in order; `cuts` are the places where the file is divided."""
    bounds = [0, *sorted(min(cut, len(raw)) for cut in cuts), len(raw)]
    return [
        event
        for start, end in pairwise(bounds)
        for event in reader(io.BytesIO(raw), FilePart(path, len(raw), start, end), limits)
        if not isinstance(event, Covered)
    ]


def texts(events: Iterable[Event]) -> list[str | None]:
    """The texts of the records among the events."""
    return [event.text for event in events if isinstance(event, Record)]


def reasons(events: Iterable[Event]) -> list[str]:
    """Why the unreadable ones among the events are."""
    return [event.reason for event in events if isinstance(event, Unreadable)]


def ranges(events: Iterable[Event], unit: str) -> list[tuple[int, int]]:
    """The ranges of the events that count in this unit, as start and end."""
    return [(e.span.offset, e.span.offset + e.span.length) for e in events if e.span.unit == unit]


def assert_tiles(events: Iterable[Event], unit: str, total: int) -> None:
    """The ranges in this unit follow one another from 0 to the total."""
    at = 0
    for start, end in ranges(events, unit):
        assert start == at
        assert end > start
        at = end
    assert at == total
