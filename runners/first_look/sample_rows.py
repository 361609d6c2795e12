"""Reads some rows of a source from places that lie evenly over all its bytes, in bounded time and memory."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import groupby, islice
from typing import BinaryIO, Final

from winnow.pipelines.ingest.archives.inflate import codec_of
from winnow.pipelines.ingest.boundary import failure, is_of_content
from winnow.pipelines.ingest.files import read_range
from winnow.pipelines.ingest.planning.context import IngestSource
from winnow.pipelines.ingest.planning.etag import content_etag
from winnow.pipelines.ingest.planning.formats import container_reader, kind_of
from winnow.pipelines.ingest.planning.sampling import even_places, section, until_enough
from winnow.pipelines.ingest.records import Dropped, FilePart, Record, Unreadable
from winnow.pipelines.ingest.row_maker import RowMaker
from winnow.pipelines.ingest.rows import Row
from winnow.pipelines.ingest.tables.arrow import row_batches
from winnow.pipelines.ingest.tables.parquet import row_groups
from winnow.pipelines.store.facade import ObjectInfo
from winnow.runners.first_look.guesses import LIMITS
from winnow.schemas.errors import SourceError

PLACES: Final = 24
WINDOW_BYTES: Final = 1 << 20
MOST_HELD: Final = 16 << 20  # of the text of one source


@dataclass
class SampledRows:
    """What was read of a source."""

    rows: list[Row] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    quarantined: Counter[str] = field(default_factory=Counter)
    unreadable: dict[str, str] = field(default_factory=dict)  # files, each with what is wrong with it

    @property
    def records(self) -> int:
        """All records that were met."""
        return len(self.rows) + self.dropped.total() + self.quarantined.total()


def sample_rows(source: IngestSource, files: Sequence[ObjectInfo], most: int) -> SampledRows:
    """Reads at most about so many rows of these files, which are sorted by path."""
    found = SampledRows()
    places = list(_places(files))
    each = max(1, -(-most // max(1, len(places))))
    maker = RowMaker(source, LIMITS, reads_large=False)
    held = 0
    for info, of_file in groupby(places, lambda place: place[0]):
        try:
            with closing(source.objects.open(info.path)) as opened:
                etag = content_etag(opened, info.size)
                for _, place in of_file:
                    if held > MOST_HELD:
                        return found
                    for event in _window(source, opened, info, place, each):
                        outcome = maker.row(event, info.path, etag) if isinstance(event, Record) else event
                        held += _count(found, outcome)
        except FileNotFoundError:
            found.unreadable[info.path] = "the file is gone"
        except SourceError as error:
            found.unreadable[info.path] = str(error).removeprefix(f"{info.path}: ")
        except Exception as error:
            if not is_of_content(error):
                raise
            found.unreadable[info.path] = f"winnow failed on it, please report it: {failure(error)}"
    return found


def _count(found: SampledRows, outcome: Row | Dropped | Unreadable) -> int:
    """Counts what became of a record; returns how much memory it keeps."""
    if isinstance(outcome, Row):
        found.rows.append(outcome)
        return outcome.held
    (found.dropped if isinstance(outcome, Dropped) else found.quarantined)[outcome.reason] += 1
    return 0


def _places(files: Sequence[ObjectInfo]) -> Iterator[tuple[ObjectInfo, int]]:
    """Places in files, evenly over all bytes; each file's place only once where files are small."""
    if sum(info.size for info in files) <= WINDOW_BYTES * PLACES // 4 and len(files) <= PLACES * 4:
        yield from ((info, 0) for info in files)
        return
    before: tuple[str, int] | None = None
    for info, offset in even_places(files, PLACES):
        start = 0 if info.size <= WINDOW_BYTES else offset
        if (info.path, start) != before:
            yield info, start
        before = (info.path, start)


def _window(
    source: IngestSource, opened: BinaryIO, info: ObjectInfo, place: int, most: int
) -> Iterator[Record | Dropped | Unreadable]:
    """The first events from a place of a file on; of compressed lines and of CSV from the beginning on."""
    kind = kind_of(source.format, info.path)
    stream = section(opened, 0, info.size)
    if kind in ("parquet", "arrow"):
        groups = (row_groups if kind == "parquet" else row_batches)(stream, info.size, LIMITS)
        start = max((first for first, _ in groups if first <= place), default=groups[0][0] if groups else 0)
        part = FilePart(info.path, info.size, start, start + 1)
    elif kind == "csv" or (kind == "jsonl" and codec_of(read_range(stream, 0, 8)) is not None):
        size = min(info.size, WINDOW_BYTES)
        stream, part = section(opened, 0, size), FilePart(info.path, size, 0, size)
    elif kind == "file":
        part = FilePart(info.path, info.size, 0, info.size)
    else:
        start = max(0, min(place, info.size - WINDOW_BYTES))
        part = FilePart(info.path, info.size, start, min(info.size, start + WINDOW_BYTES))
    reader = container_reader(source.format, info.path, source.columns, checked=False)
    events = until_enough(reader(stream, part, LIMITS))
    yield from islice((one for one in events if isinstance(one, Record | Dropped | Unreadable)), most)
