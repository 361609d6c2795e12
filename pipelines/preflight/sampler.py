"""Reads the first records of files as their tasks will, once for all checks that look at them, in bounded memory."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Final

from winnow.pipelines.ingest.boundary import is_for_its_task, unless_it_fails
from winnow.pipelines.ingest.formats import container_reader
from winnow.pipelines.ingest.planning.context import IngestSource
from winnow.pipelines.ingest.planning.sampling import even_places
from winnow.pipelines.ingest.records import Covered, Dropped, Event, ReadLimits, Record, Unreadable
from winnow.pipelines.ingest.rows import Row, row_of
from winnow.pipelines.ingest.sections import section, until_enough
from winnow.pipelines.store.facade import ObjectInfo
from winnow.schemas.records import FilePart

WHOLE_BYTES: Final = 8 << 20  # of a file that is certainly read to its end, if it has no more records than are read
MOST_RECORDS: Final = 1024  # of a file
MOST_HELD: Final = 64 << 20  # of the records that are kept for the next check; others are read again
_LIMITS: Final = ReadLimits(max_body_bytes=WHOLE_BYTES, max_member_bytes=64 << 20)
_BEYOND: Final = frozenset({"too_large", "bomb"})


@dataclass(frozen=True)
class Sampled:
    """One of the first records of a file, or what lies between them."""

    event: Event | Covered
    path: str
    source: IngestSource

    @cached_property
    def row(self) -> Row | Dropped | Unreadable | Covered:
        """The row that it becomes, or why it becomes none."""
        one = self.event
        return unless_it_fails(one, row_of, one, self.path, "", self.source.rows) if isinstance(one, Record) else one


class Sampler:
    """Reads the first records of the files of sources."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], list[Sampled | None]] = {}
        self._ended: set[tuple[str, str]] = set()  # files of which all is kept
        self._held = 0

    def first(self, source: IngestSource, info: ObjectInfo, most: int) -> Iterator[Sampled | None]:
        """At most so many; None after those of a file that cannot be read on, which its task will report."""
        key = source.rows.name, info.path
        kept = self._kept.setdefault(key, [])
        taken = min(most, len(kept))
        yield from kept[:taken]
        if taken == most or key in self._ended:
            return
        for one in islice(_read(source, info, most), taken, None):
            held = 0 if one is None else held_bytes(one.event)
            if taken == len(kept) and self._held + held <= MOST_HELD:
                kept.append(one)
                self._held += held
            taken += 1
            yield one
        if taken == len(kept) < most:
            self._ended.add(key)


def _read(source: IngestSource, info: ObjectInfo, most: int) -> Iterator[Sampled | None]:
    try:
        with closing(source.objects.open(info.path)) as opened:
            reader = container_reader(source.format, info.path, source.columns)
            part = FilePart(info.path, info.size, 0, info.size)
            for event in until_enough(islice(reader(section(opened, 0, info.size), part, _LIMITS), most)):
                yield Sampled(event, info.path, source)
    except Exception as error:
        if not is_for_its_task(error):
            raise
        yield None


def even_files(files: Sequence[ObjectInfo], most: int) -> list[ObjectInfo]:
    """At most so many of the files that are not empty, even over all bytes."""
    wanted = [info for info in files if info.size]
    if len(wanted) <= most:
        return wanted
    return list(dict.fromkeys(info for info, _ in even_places(wanted, most)))


def is_beyond_sample(one: Unreadable) -> bool:
    """Whether a task may read what a sample does not: a sample takes smaller records, pages and batches."""
    return one.is_over_limit or one.reason in _BEYOND


def held_bytes(one: Event | Covered) -> int:
    """The bytes that it keeps in memory, about."""
    if not isinstance(one, Record):
        return 0
    return len(one.text or "") + len(one.body or b"") + sum(len(item.body or b"") for item in one.items)
