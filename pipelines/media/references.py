"""Reads the bytes of media again from where they were found during ingest.

If a file is missing, has changed or cannot be read, the samples that refer to it are left out and counted; it never
fails an export.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.pipelines.binding.sources import bind_source, read_limits
from winnow.pipelines.ingest.archives.tar import TAR
from winnow.pipelines.ingest.files import FILE, FilesReader, read_range
from winnow.pipelines.ingest.planning.context import IngestSource
from winnow.pipelines.ingest.planning.etag import content_etag
from winnow.pipelines.ingest.planning.formats import container_reader
from winnow.pipelines.ingest.records import FilePart, Reader, ReadLimits, Record
from winnow.pipelines.ingest.tables.cells import Cells, open_cells
from winnow.pipelines.ingest.tables.media_values import CELLS
from winnow.schemas.errors import SourceError
from winnow.schemas.recipe import Recipe
from winnow.schemas.rows.draws import MIXED

MEDIA_GONE = "media_gone"

FILE_MISSING = "the file is gone"
FILE_CHANGED = "the file has changed"
NOT_FOUND = "no record where there was one"
TOO_LARGE = "larger than max_body_bytes"
UNREADABLE = "the file cannot be read"


@dataclass(frozen=True, slots=True)
class Unavailable:
    """Why a medium is unavailable."""

    file: str
    reason: str


@dataclass(frozen=True)
class MediaSources:
    """Where media are read: the sources of the recipe, None for one that no longer exists. Picklable."""

    sources: Mapping[str, IngestSource | None]
    limits: ReadLimits
    roots: Mapping[str, str] = field(default_factory=dict)  # of each source, existing or not


def media_sources(recipe: Recipe) -> MediaSources:
    """The sources of a recipe, in their current state."""

    def bound(name: str) -> IngestSource | None:
        try:
            return bind_source(recipe, recipe.source(name))
        except SourceError:
            return None

    roots = {source.name: recipe.located(source.root) for source in recipe.sources}
    return MediaSources({name: bound(name) for name in roots}, read_limits(recipe), roots)


def sums_of_lists(media: pa.ListArray, field: Sequence[str]) -> NDArray[np.int64]:
    """For each row, the sum of a field of its media: numbers, or lengths of bytes."""
    values = pc.struct_field(media.flatten(), list(field))
    if pa.types.is_large_binary(values.type):
        values = pc.binary_length(values)
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(values.to_numpy(zero_copy_only=False), dtype=np.int64)])
    counts = pc.list_value_length(media).to_numpy(zero_copy_only=False)
    ends = np.cumsum(counts, dtype=np.int64)
    sums: NDArray[np.int64] = before[ends] - before[ends - counts]
    return sums


def wants_media(config: object) -> bool:
    """Whether a format's options ask for media bytes."""
    return getattr(config, "media", False) not in (False, None, "none")


@dataclass(frozen=True, slots=True)
class Fetched:
    """The media of consecutive rows, and for each row why it lacks one."""

    rows: slice
    media: pa.Array
    gone: tuple[Unavailable | None, ...]


def fetch_media(
    media: MediaSources, source: str, references: pa.Array, which: NDArray[np.int64], max_bytes: int
) -> Iterator[Fetched]:
    """Reads the media of a source's rows in order; a part ends with the row that reaches the byte limit.

    Consecutive repeats of a row are read once.
    """
    found: list[list[dict[str, Any]]] = []
    gone: list[Unavailable | None] = []
    held, first = 0, 0

    def fetched(end: int) -> Fetched:
        return Fetched(slice(first, end), pa.array(found, MIXED.field("media").type), tuple(gone))

    with closing(MediaFinder(media, source)) as finder:
        before = -1
        for at, row in enumerate(which.tolist()):  # each reads a file
            if row != before:
                of_row, lacking = _media_of(finder, references[row].as_py())
                before = row
            found.append(of_row)
            gone.append(lacking)
            held += sum(len(one["bytes"]) for one in of_row)
            if held > max_bytes:
                yield fetched(at + 1)
                found, gone, held, first = [], [], 0, at + 1
    if found:
        yield fetched(len(which))


def _media_of(
    finder: "MediaFinder", referred: Sequence[Mapping[str, Any]]
) -> tuple[list[dict[str, Any]], Unavailable | None]:
    """All media of a row, or none of them and the reason."""
    found: list[dict[str, Any]] = []
    for one in referred:
        held = finder.find(one)
        if isinstance(held, Unavailable):
            return [], held
        found.append(held)
    return found, None


class MediaFinder:
    """Reads media of one source; keeps the last file open, so group requests by file."""

    def __init__(self, media: MediaSources, source: str) -> None:
        self._source = media.sources.get(source)
        self._limits = media.limits
        self._path = ""
        self._stream: BinaryIO | None = None
        self._reader: Reader | None = None
        self._cells: Cells | None = None
        self._size = 0
        self._etag = ""
        self._gone: Unavailable | None = None
        self._failure: OSError | None = None  # why opening the file failed

    def find(self, medium: Mapping[str, Any]) -> dict[str, Any] | Unavailable:
        """Resolves a reference (`winnow.schemas.rows.samples.MEDIA`) to a `winnow.schemas.rows.draws.MEDIUM`."""
        reference = medium["ref"]
        path = reference["path"]
        self._open(path, reference["container"])
        if self._gone is not None:
            return self._gone
        if reference["etag"] is not None and reference["etag"] != self._etag:
            return Unavailable(path, FILE_CHANGED)
        try:
            body = self._body(path, reference)
        except (OSError, SourceError):
            return Unavailable(path, UNREADABLE)
        if body is None:
            return Unavailable(path, NOT_FOUND)
        if not body:
            return Unavailable(path, TOO_LARGE)
        digest = hashlib.sha256(body).hexdigest()
        if medium["sha256"] not in (None, digest):
            return Unavailable(path, FILE_CHANGED)
        return {"mime": medium["mime"], "sha256": digest, "bytes": body}

    def close(self) -> None:
        """Closes the open file."""
        if self._stream is not None:
            self._stream.close()
            self._stream = self._cells = None

    def _body(self, path: str, reference: Mapping[str, Any]) -> bytes | None:
        """The record's payload; None if there is no such record, empty if it is too large to hold."""
        assert self._reader is not None
        assert self._stream is not None
        offset = reference["offset"]
        if reference["container"] in CELLS:
            if self._cells is None:
                self._cells = open_cells(reference["container"], self._stream, self._size, self._limits)
            raw = None if self._cells is None else self._cells.find(offset, reference["member"] or "")
            return b"" if raw is not None and len(raw) > self._limits.max_body_bytes else raw
        if reference["container"] == TAR:  # the bytes lie plain
            fits = reference["length"] <= self._limits.max_body_bytes
            return read_range(self._stream, offset, reference["length"]) if fits else b""
        member = int(reference["member"] or 0)
        for event in self._reader(self._stream, FilePart(path, self._size, offset, offset + 1), self._limits):
            if isinstance(event, Record) and event.span.offset == offset and event.span.member == member:
                return event.body or b""
        return None

    def _open(self, path: str, container: str) -> None:
        if path == self._path:
            return
        self.close()
        self._path, self._gone, self._failure = path, None, None
        if self._source is None:
            self._gone = Unavailable(path, FILE_MISSING)
            return
        try:
            self._stream = self._source.objects.open(path)
            self._size = self._stream.seek(0, 2)
            self._etag = content_etag(self._stream, self._size)
        except OSError as error:
            self._gone = Unavailable(path, FILE_MISSING if isinstance(error, FileNotFoundError) else UNREADABLE)
            self._failure = error
        # A file that a row names is read as a file, whatever the format of the source's tables.
        whole = container == FILE
        self._reader = FilesReader() if whole else container_reader(self._source.format, path, self._source.columns)
