"""Estimates how many rows, and how much text, a byte of a source's files holds, from a few megabytes of them.

A compressed page of HTML holds a sixteenth of its size in text, a compressed page of a book four times its size, so
sizes alone do not say how many shards a file fills. The windows that are read lie evenly over all bytes of a batch in
the order of paths, so the estimate depends on the files alone, not on the machine or the order of a listing.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import accumulate, islice
from typing import BinaryIO, Final

from winnow.pipelines.decoding.file_bytes import read_range
from winnow.pipelines.ingest.archives.inflate import codec_of
from winnow.pipelines.ingest.boundary import is_for_its_task
from winnow.pipelines.ingest.formats import container_reader, format_of
from winnow.pipelines.ingest.formats.source_format import OpenFile, SourceFormat, compression_of
from winnow.pipelines.ingest.planning.context import IngestSource
from winnow.pipelines.ingest.records import Record
from winnow.pipelines.ingest.rows import Row, row_of, text_bytes
from winnow.pipelines.ingest.sections import SAMPLE_LIMITS, EnoughError, section, until_enough
from winnow.pipelines.ingest.tables.lines import next_member
from winnow.pipelines.store.concurrency import map_objects
from winnow.pipelines.store.facade import ObjectInfo
from winnow.schemas.records import FilePart

WINDOW_BYTES: Final = 1 << 20
FEWEST_WINDOWS, MOST_WINDOWS = 8, 64
BYTES_PER_WINDOW: Final = 64 << 20  # of the batch: at most a sixty-fourth of it is read
SEARCH_BYTES: Final = 8 << 20  # how far from a window's place a later member of a compressed file is looked for

_HELD_BYTES: Final = 8 << 20
_GROUP_ROWS: Final = 512  # of one row group
_TRIES: Final = 64  # beginnings of members that turn out to be none; chance gives one in 16 MiB


@dataclass(frozen=True, slots=True)
class Density:
    """What a byte of a file holds, and how much text the pieces do that a file can be cut into."""

    rows: float
    text: float
    piece: float = 0.0  # bytes of text of a row group or a compressed member; those of other files are small


@dataclass(frozen=True, slots=True)
class _Window:
    """What was found at a place in a file; `has_members` if a later member of a compressed file was."""

    kind: str
    density: Density
    has_members: bool


@dataclass(frozen=True)
class Densities:
    """The density of each kind of a source's files, and which kinds of compressed lines have several members."""

    found: Mapping[str, Density] = field(default_factory=dict)
    with_members: frozenset[str] = frozenset()

    def of(self, format_name: str, path: str) -> Density:
        """That of a file; of a kind that no window met, which is a small part of the batch, every byte is text."""
        return self.found.get(_kind(format_name, path), Density(0.0, 1.0))

    def rows(self, format_name: str, info: ObjectInfo) -> float:
        """About how many rows a file has."""
        of = format_of(format_name, info.path)
        return 1 if of.is_one_record else info.size * self.of(format_name, info.path).rows

    def is_splittable(self, format_name: str, path: str) -> bool:
        """Whether parts of a file can be read separately."""
        split = format_of(format_name, path).split_by_name(path)
        return _kind(format_name, path) in self.with_members if split == "members" else split != "nowhere"


def sample_densities(source: IngestSource, files: Sequence[ObjectInfo]) -> Densities:
    """Reads windows of these files, which are sorted by path."""
    total = sum(info.size for info in files)
    count = max(FEWEST_WINDOWS, min(MOST_WINDOWS, total // BYTES_PER_WINDOW)) if total else 0
    sampler = _Sampler(source)
    windows = [
        window
        for window in map_objects(source.objects, sampler.window_at, even_places(files, count))
        if window is not None
    ]
    found = {}
    for kind in sorted({window.kind for window in windows}):
        mine = [window.density for window in windows if window.kind == kind]
        sums = (sum(one.rows for one in mine), sum(one.text for one in mine), sum(one.piece for one in mine))
        found[kind] = Density(*(total / len(mine) for total in sums))
    return Densities(found, frozenset(window.kind for window in windows if window.has_members))


def even_places(files: Sequence[ObjectInfo], count: int) -> Iterator[tuple[ObjectInfo, int]]:
    """Yields `count` places that lie evenly over all bytes of some files: each a file, and an offset there."""
    ends = list(accumulate(info.size for info in files))
    for number in range(count if ends and ends[-1] else 0):
        place = (2 * number + 1) * ends[-1] // (2 * count)
        index = bisect_right(ends, place)
        yield files[index], place - (ends[index] - files[index].size)


def _kind(format_name: str, path: str) -> str:
    """The kind of a file with its compression: files of one kind are taken to be alike."""
    return f"{format_of(format_name, path).container} {compression_of(path)}"


class _Sampler:
    """Reads windows of the files of a source."""

    def __init__(self, source: IngestSource) -> None:
        self._source = source
        self._beginnings: dict[str, Density] = {}  # of compressed lines, where no other place can be read

    def window_at(self, found: tuple[ObjectInfo, int]) -> _Window | None:
        """What is found at a place of a file; None if it cannot be read, which its task will report."""
        info, place = found
        of = format_of(self._source.format, info.path)
        has_members = False
        try:
            with closing(self._source.objects.open(info.path)) as opened:
                stream = section(opened, 0, info.size)
                split = of.split_of(stream)
                if split == "groups":
                    density = self._of_table(of, stream, info, place)
                elif of.is_one_record:
                    density = self._of_part(stream, FilePart(info.path, info.size, 0, info.size))
                elif split == "nowhere":
                    density = self._of_lines(stream, info, 0)
                elif split == "members" and (codec := codec_of(read_range(stream, 0, 8))) is not None:
                    start = next_member(stream, info.size, codec, SAMPLE_LIMITS, place, place + SEARCH_BYTES, _TRIES)
                    has_members = start > 0
                    density = self._of_lines(stream, info, max(0, start))
                    if has_members:
                        end = next_member(
                            stream, info.size, codec, SAMPLE_LIMITS, start + 1, start + SEARCH_BYTES, _TRIES
                        )
                        length = (end if end > 0 else min(info.size, start + SEARCH_BYTES)) - start
                        density = replace(density, piece=length * density.text)
                else:
                    start = max(0, min(place, info.size - WINDOW_BYTES))
                    end = min(info.size, start + WINDOW_BYTES)
                    density = self._of_part(stream, FilePart(info.path, info.size, start, end))
        except EnoughError:
            return None
        except Exception as error:
            if not is_for_its_task(error):
                raise
            return None
        return _Window(_kind(self._source.format, info.path), density, has_members)

    def _of_table(self, of: SourceFormat, stream: BinaryIO, info: ObjectInfo, place: int) -> Density:
        """The footer says how many rows a table has; a few of one row group say how much text these hold."""
        groups = of.groups(OpenFile(stream, info.path, info.size, SAMPLE_LIMITS))
        if not groups:
            return Density(0.0, 0.0)
        start, held = max((group for group in groups if group[0] <= place), default=groups[0])
        rows, text = self._measure(stream, FilePart(info.path, info.size, start, start + 1), _GROUP_ROWS)
        density = sum(rows for _, rows in groups) / info.size
        of_row = text / max(1, rows)
        return Density(density, density * of_row, held * of_row)

    def _of_lines(self, stream: BinaryIO, info: ObjectInfo, start: int) -> Density:
        """Of compressed lines from the beginning of a member on; those of a file that is one member only once."""
        if start == 0 and info.path in self._beginnings:
            return self._beginnings[info.path]
        size = min(info.size - start, WINDOW_BYTES)
        density = self._of_part(section(stream, start, start + size), FilePart(info.path, size, 0, size))
        if start == 0:
            self._beginnings[info.path] = density
        return density

    def _of_part(self, stream: BinaryIO, part: FilePart) -> Density:
        rows, text = self._measure(stream, part)
        return Density(rows / (part.end - part.start), text / (part.end - part.start))

    def _measure(self, stream: BinaryIO, part: FilePart, most: int | None = None) -> tuple[int, int]:
        """The number of rows of a part, and their bytes of text; reads at most `most` events."""
        count = text = held = 0
        rows: list[Row] = []
        reader = container_reader(self._source.format, part.path, self._source.columns)
        for event in until_enough(islice(reader(stream, part, SAMPLE_LIMITS), most)):
            if not isinstance(event, Record):
                continue
            if any(item.names is not None for item in event.items):  # files beside the table need not be opened
                count += 1
                text += sum(
                    len(said.encode()) for said in (event.text or "", *(caption.text for caption in event.captions))
                )
                continue
            row = row_of(event, part.path, "", self._source.rows)
            if isinstance(row, Row):
                rows.append(row)
                held += row.held
            if held >= _HELD_BYTES:
                count, text = count + len(rows), text + sum(text_bytes(rows))
                rows, held = [], 0
        return count + len(rows), text + sum(text_bytes(rows))
