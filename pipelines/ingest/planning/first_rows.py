"""Reads the first rows of new files as their tasks will, and refuses a source most of which would be quarantined.

A key that many rows share, or a column that is null in each, fits every schema: only rows show it.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from winnow.pipelines.ingest.boundary import is_for_its_task
from winnow.pipelines.ingest.formats import container_reader, format_of
from winnow.pipelines.ingest.planning.context import IngestSource
from winnow.pipelines.ingest.planning.sampling import even_places
from winnow.pipelines.ingest.records import Covered, Event, ReadLimits, Record, Unreadable
from winnow.pipelines.ingest.sections import SAMPLE_LIMITS, section, until_enough
from winnow.pipelines.store.concurrency import map_objects
from winnow.pipelines.store.facade import ObjectInfo
from winnow.schemas.problems import one_line, shown
from winnow.schemas.records import FilePart

MOST_FILES: Final = 16  # of a source
MOST_ROWS: Final = 256  # of a file
WHOLE_BYTES: Final = 8 << 20  # of a file that is certainly read to its end, if it has no more rows
FEWEST_KEYS: Final = 3  # two rows of one key may be a mistake in the rows
_BEYOND: Final = frozenset({"too_large", "bomb"})


@dataclass(slots=True)
class FirstRows:
    """What became of a file's first rows."""

    path: str
    kept: int = 0
    unknown: int = 0  # beyond what a sample reads
    reasons: Counter[str] = field(default_factory=Counter)
    detail: str = ""  # of the first row that cannot be read
    keys: Counter[str] = field(default_factory=Counter)
    is_all: bool = False  # the file has no other rows

    @property
    def count(self) -> int:
        """How many rows were read."""
        return self.kept + self.unknown + self.reasons.total()


def is_beyond_sample(event: Unreadable) -> bool:
    """Whether a task may read what a sample does not: a sample takes smaller records, pages and batches."""
    return event.is_over_limit or event.reason in _BEYOND


def check_first_rows(source: IngestSource, files: Sequence[ObjectInfo], *, are_all: bool) -> list[str]:
    """What is wrong with the key or the rows of a source, by a sample of its new files.

    `files`: those that no task reads yet, by path; `are_all`: whether the source has no other files.
    """
    wanted = [info for info in files if info.size]
    if len(wanted) > MOST_FILES:
        wanted = list(dict.fromkeys(info for info, _ in even_places(wanted, MOST_FILES)))
    looked_at = map_objects(source.objects, lambda info: _read(source, info), wanted)
    found = [one for one in looked_at if one is not None and one.count]
    if source.columns.key is not None and (wrong := _repeated_key(source, source.columns.key, found)):
        return [wrong]
    if not are_all or len(found) < len(wanted) or any(one.kept or one.unknown for one in found):
        return []
    is_whole = len(wanted) == len([info for info in files if info.size]) and all(one.is_all for one in found)
    reasons = sum((one.reasons for one in found), Counter[str]())
    if not reasons or not (is_whole or all(format_of(source.format, one.path).has_columns for one in found)):
        return []
    counted = ", ".join(f"{reason} {count:,}" for reason, count in reasons.most_common())
    rows = "every record" if is_whole else f"each of the first {reasons.total():,} rows of {_files(found)}"
    first = next(one for one in found if one.reasons)
    return [
        f"{source.named}: {rows} would be quarantined ({counted}): {one_line(first.path)}: {first.detail}; correct "
        "the recipe or the files" + ("" if is_whole else _UNLESS)
    ]


_UNLESS: Final = ", or set 'on_schema_mismatch: quarantine'"


def _repeated_key(source: IngestSource, column: str, found: Sequence[FirstRows]) -> str:
    """Why a column is no key: half of the rows or more repeat one of their file. Else empty."""
    keyed = [one for one in found if one.keys.total() >= FEWEST_KEYS]
    total = sum(one.keys.total() for one in keyed)
    repeated = sum(one.keys.total() - len(one.keys) for one in keyed)
    if not keyed or 2 * repeated < total:
        return ""
    worst = max(keyed, key=lambda one: one.keys.total() - len(one.keys))
    ((value, times),) = worst.keys.most_common(1)
    return (
        f"{source.named}.key: {column!r} is no key: {repeated:,} of the first {total:,} rows of {_files(keyed)} repeat "
        f"that of a row before them ({shown(value)} is in {times:,} rows of {one_line(worst.path)}), and would be "
        f"quarantined; name a column that differs in each row, or leave 'key' out{_UNLESS}"
    )


def _files(found: Sequence[FirstRows]) -> str:
    return one_line(found[0].path) if len(found) == 1 else f"{len(found)} files"


def _read(source: IngestSource, info: ObjectInfo) -> FirstRows | None:
    """The first rows of a file; None if it cannot be read, which its task will report."""
    first = FirstRows(info.path)
    is_table = format_of(source.format, info.path).has_columns
    if not is_table and info.size > WHOLE_BYTES:
        first.unknown = 1  # the first records of a large archive decide nothing
        return first
    try:
        taken = 0
        for event in first_events(source, info, SAMPLE_LIMITS, MOST_ROWS):
            taken += 1
            if isinstance(event, Record):
                first.kept += 1
            elif isinstance(event, Unreadable) and is_beyond_sample(event):
                first.unknown += 1
            elif isinstance(event, Unreadable):
                first.reasons[event.reason] += 1
                first.detail = first.detail or f"{event.reason}{f' ({event.detail})' if event.detail else ''}"
            if is_table and isinstance(event, Record | Unreadable) and event.key is not None:
                first.keys[event.key] += 1
        first.is_all = taken < MOST_ROWS and info.size <= WHOLE_BYTES
    except Exception as error:
        if not is_for_its_task(error):
            raise
        return None
    return first


def first_events(
    source: IngestSource, info: ObjectInfo, limits: ReadLimits, most: int
) -> Iterator[Record | Event | Covered]:
    """The first records of a file and what lies between them, until `most` are read or the limits are reached.

    FileNotFoundError if the file is gone; SourceError if it cannot be read.
    """
    with closing(source.objects.open(info.path)) as opened:
        reader = container_reader(source.format, info.path, source.columns)
        part = FilePart(info.path, info.size, 0, info.size)
        yield from until_enough(islice(reader(section(opened, 0, info.size), part, limits), most))
