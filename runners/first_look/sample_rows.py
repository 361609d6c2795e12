"""Reads some rows of a source, spread over its files and over their bytes, in bounded time and memory.

Where a place inside a file can be read, rows lie at places even over all bytes. A table of lines that is compressed as
one stream, or is CSV, is read from its beginning on, up to a limit, and rows are taken from all over what was read; how
much that was is said. What a limit of this reading cuts off is never called unreadable.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import chain, groupby, islice, takewhile
from typing import BinaryIO, Final, TypeAlias

from winnow.pipelines.decoding.file_bytes import read_range
from winnow.pipelines.ingest.archives.inflate import Codec, codec_of
from winnow.pipelines.ingest.boundary import failure, is_of_content
from winnow.pipelines.ingest.etag import content_etag
from winnow.pipelines.ingest.formats import container_reader, format_of
from winnow.pipelines.ingest.formats.source_format import OpenFile
from winnow.pipelines.ingest.planning.context import IngestSource
from winnow.pipelines.ingest.planning.sampling import SEARCH_BYTES, even_places
from winnow.pipelines.ingest.records import Covered, Dropped, ReadLimits, Record, Unreadable
from winnow.pipelines.ingest.row_maker import RowMaker
from winnow.pipelines.ingest.rows import Row
from winnow.pipelines.ingest.sections import section, until_enough
from winnow.pipelines.ingest.tables.lines import next_member
from winnow.pipelines.preflight.sampler import held_bytes
from winnow.pipelines.store.facade import ObjectInfo
from winnow.runners.first_look.guesses import LIMITS
from winnow.schemas.errors import SourceError
from winnow.schemas.records import FilePart

Met: TypeAlias = Record | Dropped | Unreadable

PLACES: Final = 24  # even over all bytes
FILES: Final = 96  # and files even over the list of all
WINDOW_BYTES: Final = 1 << 20
MOST_HELD: Final = 16 << 20  # of the text of one source
STREAM_BYTES: Final = 64 << 20  # of all files together that can only be read from their beginning
INFLATED_BYTES: Final = 256 << 20  # which these may become
_SKIPPED: Final = 200_000  # rows that are read of a row group or member that several places fall into
_TRIES: Final = 64  # beginnings of compressed members that turn out to be none
_STREAM_LIMITS: Final = ReadLimits(max_body_bytes=LIMITS.max_body_bytes, max_member_bytes=2 * INFLATED_BYTES)
_OUR_LIMITS: Final = frozenset({"too_large", "bomb"})  # ingest's are larger


@dataclass
class SampledRows:
    """What was read of a source."""

    rows: list[Row] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    quarantined: Counter[str] = field(default_factory=Counter)
    unreadable: dict[str, str] = field(default_factory=dict)  # files, each with what is wrong with it
    read_of: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Files that were read from their beginning, not to their end: the bytes that were, and all."""
    large: int = 0  # records that are too large for a look, not for ingest

    @property
    def records(self) -> int:
        """All records that were met."""
        return len(self.rows) + self.dropped.total() + self.quarantined.total()


def sample_rows(source: IngestSource, files: Sequence[ObjectInfo], most: int) -> SampledRows:
    """Reads at most about so many rows of these files, which are sorted by path."""
    found = SampledRows()
    maker = RowMaker(source, LIMITS, reads_large=False)
    held = 0
    for info, etag, event in sampled_events(source, files, most, found):
        try:
            outcome = maker.row(event, info.path, etag) if isinstance(event, Record) else event
        except (FileNotFoundError, SourceError) as error:  # of what lies beside it
            found.unreadable[info.path] = str(error).removeprefix(f"{info.path}: ")
            continue
        if isinstance(outcome, Row):
            found.rows.append(outcome)
            held += outcome.held
        elif isinstance(outcome, Dropped):
            found.dropped[outcome.reason] += 1
        elif outcome.is_over_limit or outcome.reason in _OUR_LIMITS:
            found.large += 1
        else:
            found.quarantined[outcome.reason] += 1
        if held > MOST_HELD:
            break
    return found


def sampled_events(
    source: IngestSource, files: Sequence[ObjectInfo], most: int, found: SampledRows
) -> Iterator[tuple[ObjectInfo, str, Met]]:
    """About so many events from all over these files, each with its file and that file's etag.

    Adds to `found` which files cannot be opened, and of which only a part is read.
    """
    places = _places(source, files, most)
    each = max(1, -(-most // max(1, len(places))))
    by_file = [(info, [offset for _, offset in of_file]) for info, of_file in groupby(places, lambda place: place[0])]
    for info, offsets in by_file:
        try:
            with closing(source.objects.open(info.path)) as opened:
                etag = content_etag(opened, info.size)
                window = _Window(source, opened, info, each * len(offsets), 1 / len(by_file))
                for event in window.events(offsets):
                    yield info, etag, event
                if window.read is not None:
                    found.read_of[info.path] = (window.read, info.size)
        except FileNotFoundError:
            found.unreadable[info.path] = "the file is gone"
        except SourceError as error:
            found.unreadable[info.path] = str(error).removeprefix(f"{info.path}: ")
        except Exception as error:
            if not is_of_content(error):
                raise
            found.unreadable[info.path] = f"winnow failed on it, please report it: {failure(error)}"


def _places(source: IngestSource, files: Sequence[ObjectInfo], most: int) -> list[tuple[ObjectInfo, int]]:
    """Places even over all bytes, and the beginnings of files that are even over the list of all."""
    if files and all(format_of(source.format, info.path).is_one_record for info in files):  # each is a row
        return [(info, 0) for info in _even(files, most)]
    numbers = {info.path: number for number, info in enumerate(files)}
    chosen = {(numbers[info.path], 0 if info.size <= WINDOW_BYTES else at) for info, at in even_places(files, PLACES)}
    seen = {number for number, _ in chosen}
    chosen |= {(numbers[info.path], 0) for info in _even(files, min(FILES, most)) if numbers[info.path] not in seen}
    return [(files[number], offset) for number, offset in sorted(chosen)]


def _even(files: Sequence[ObjectInfo], most: int) -> list[ObjectInfo]:
    count = min(most, len(files))
    return [files[(2 * number + 1) * len(files) // (2 * count)] for number in range(count)]


@dataclass
class _Window:
    """What is read of a file: about so many events, of the bytes that are for all files a share."""

    source: IngestSource
    opened: BinaryIO
    info: ObjectInfo
    most: int
    share: float
    read: int | None = None  # the bytes of it that were read from its beginning on, if it goes on

    def events(self, offsets: Sequence[int]) -> Iterator[Met]:
        """Yields events from these places."""
        of, size = format_of(self.source.format, self.info.path), self.info.size
        split = of.split_of(self.opened)
        codec = codec_of(read_range(self.opened, 0, 8)) if split == "members" else None
        starts: list[int] = []
        length = 1  # of a part, which begins with the first piece in it
        if split == "groups":
            firsts = [first for first, _ in of.groups(OpenFile(self._section(), self.info.path, size, LIMITS))] or [0]
            starts = [max((first for first in firsts if first <= at), default=firsts[0]) for at in offsets]
        elif codec is not None:
            starts = [0, *(self._member(codec, at) for at in offsets if at > 0)]
        elif of.is_one_record:
            starts, length = [0], size
        elif split == "anywhere":
            starts, length = [*offsets], WINDOW_BYTES
        starts = sorted({start for start in starts if start >= 0})
        if not starts or (codec is not None and len(starts) == 1):
            yield from self._from_beginning()
            return
        each = -(-self.most // len(starts))
        crowded = length == 1 and len(starts) < len(offsets)  # several places in one row group or member
        for start, following in zip(starts, [*starts[1:], size], strict=True):
            end = min(max(start + 1, following), start + length)  # no row is read from two places
            events = self._read(self._section(), start, min(size, end), LIMITS)
            if codec is not None and start > 0:
                first = next(events, None)
                if first is None or isinstance(first, Unreadable):
                    continue  # no member begins here, but bytes that look like the beginning of one
                events = chain([first], events)
            yield from _thinned(islice(events, _SKIPPED), each) if crowded else islice(events, each)

    def _section(self, most: int = WINDOW_BYTES * 64) -> BinaryIO:
        return section(self.opened, 0, self.info.size, most)

    def _member(self, codec: Codec, at: int) -> int:
        """Where compressed lines can be read from this place on, or soon after; -1 if nowhere."""
        return next_member(self._section(), self.info.size, codec, LIMITS, at, at + SEARCH_BYTES, _TRIES)

    def _read(self, stream: BinaryIO, start: int, end: int, limits: ReadLimits) -> Iterator[Met]:
        reader = container_reader(self.source.format, self.info.path, self.source.columns, checked=False)
        events = until_enough(reader(stream, FilePart(self.info.path, self.info.size, start, end), limits))
        return (event for event in events if not isinstance(event, Covered))

    def _from_beginning(self) -> Iterator[Met]:
        """Events from all over what may be read of the file."""
        limit = max(4 * WINDOW_BYTES, round(STREAM_BYTES * self.share))
        inflated = max(4 * WINDOW_BYTES, round(INFLATED_BYTES * self.share))
        stream = self._section(limit)
        events = self._read(stream, 0, self.info.size, _STREAM_LIMITS)
        taken = _thinned(takewhile(lambda event: event.span.offset <= inflated, events), self.most)
        if stream.tell() + WINDOW_BYTES > limit or next(events, None) is not None:
            self.read = min(stream.tell(), self.info.size)
        yield from taken


def _thinned(events: Iterable[Met], most: int) -> list[Met]:
    """At most so many of the events, from all over them."""
    kept: list[Met] = []
    step, held = 1, 0
    for number, event in enumerate(events):
        if number % step == 0:
            kept.append(event)
            held += held_bytes(event)
        if len(kept) >= 2 * most or (held > MOST_HELD and len(kept) > 1):
            del kept[1::2]
            step, held = 2 * step, sum(map(held_bytes, kept))
    count = min(most, len(kept))
    return [kept[number * len(kept) // count] for number in range(count)]
