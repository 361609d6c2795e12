"""Reads the bytes of media again from where ingest found them.

A file that is missing, has changed or cannot be read is no error here: the caller gets the reason.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc

from winnow.filters.image.decode.containers import Bytes, InMemoryBytes
from winnow.filters.image.decode.stills import TOO_LARGE
from winnow.pipelines.binding.sources import bind_media, media_root, read_limits
from winnow.pipelines.decoding.file_bytes import FileBytes, read_range
from winnow.pipelines.ingest.archives.large_bodies import OpenBody, open_body
from winnow.pipelines.ingest.etag import content_etag
from winnow.pipelines.ingest.files import FILE, FilesReader
from winnow.pipelines.ingest.formats import container_reader, format_of_container, media_place
from winnow.pipelines.ingest.formats.source_format import OpenFile
from winnow.pipelines.ingest.planning.context import IngestSource
from winnow.pipelines.ingest.records import Reader, ReadLimits, Record
from winnow.pipelines.ingest.tables.cells import Cells
from winnow.schemas.errors import SourceError
from winnow.schemas.recipe import Recipe
from winnow.schemas.records import FilePart
from winnow.schemas.rows.samples import MISSING_MEDIUM, UNAVAILABLE

FILE_MISSING = "the file is gone"
FILE_CHANGED = "the file has changed"
NOT_FOUND = "no record where there was one"
HELD_TOO_LARGE = "larger than max_body_bytes"
BROKEN_OFF = "its coding breaks off, or it unpacks to more than max_member_bytes"
UNREADABLE = "the file cannot be read"

_COPY_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Unavailable:
    """Why a medium is unavailable."""

    file: str
    reason: str
    status: str = UNAVAILABLE  # in layers


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
            return bind_media(recipe, recipe.source(name))
        except SourceError:
            return None

    roots = {source.name: media_root(recipe, source) for source in recipe.sources}
    return MediaSources({name: bound(name) for name in roots}, read_limits(recipe), roots)


def referred_bytes(items: pa.StructArray) -> pa.Int64Array:
    """The length of each item's bytes; of one that was not measured, of the range that it lies in."""
    return pc.coalesce(pc.struct_field(items, "bytes"), pc.struct_field(items, ["ref", "length"]))


def _lies_plain(reference: Mapping[str, Any]) -> bool:
    """Whether a medium's bytes are an unencoded range of its file."""
    return media_place(reference["container"]) == "plain"


def status_of_other(mime: str, other: str) -> str:
    """The status of an item of another type: `other`, or that it was not there when its row was read."""
    return UNAVAILABLE if mime == MISSING_MEDIUM else other


class MediaFinder:
    """Reads media of one source; keeps the last file open, so group requests by file."""

    def __init__(self, media: MediaSources, source: str) -> None:
        self._source = media.sources.get(source)
        self._limits = media.limits
        self._path = ""
        self._stream: BinaryIO | None = None
        self._reader: Reader | None = None
        self._cells: Cells | None = None
        self._large: Record | None = None  # what `find` did not hold
        self._body_open: OpenBody | None = None
        self._body_of: tuple[object, ...] | None = None  # the place of the open body
        self._size = 0
        self._etag = ""
        self._gone: Unavailable | None = None
        self._failure: OSError | None = None  # why opening the file failed

    def find(self, medium: Mapping[str, Any]) -> dict[str, Any] | Unavailable:
        """The bytes that a reference (`winnow.schemas.rows.samples.MEDIA`) leads to, with their type and hash."""
        reference = medium["ref"]
        path = reference["path"]
        self._large = None
        if (gone := self._unchanged(reference)) is not None:
            return gone
        try:
            body = self._body(path, reference)
        except (OSError, SourceError):
            return Unavailable(path, UNREADABLE)
        if body is None:
            return Unavailable(path, NOT_FOUND)
        if not body:
            return Unavailable(path, HELD_TOO_LARGE, TOO_LARGE)
        digest = hashlib.sha256(body).hexdigest()
        if medium["sha256"] not in (None, digest):
            return Unavailable(path, FILE_CHANGED)
        return {"mime": medium["mime"], "sha256": digest, "bytes": body}

    def open(self, medium: Mapping[str, Any]) -> Bytes | Unavailable:
        """A medium of any size, of which ranges are read until another one is asked for.

        One that lies plain in its file is known by the file's etag alone: its hash would take all its bytes.
        """
        reference = medium["ref"]
        if not _lies_plain(reference):
            return self._open_record(medium)
        if (gone := self._unchanged(reference)) is not None:
            return gone
        if reference["offset"] + reference["length"] > self._size:
            return Unavailable(reference["path"], FILE_CHANGED)
        assert self._stream is not None
        return FileBytes(self._stream, reference["length"], reference["offset"])

    def _open_record(self, medium: Mapping[str, Any]) -> Bytes | Unavailable:
        """A record of an archive, or a cell. A large body that was unpacked stays so until another is asked for."""
        reference = medium["ref"]
        path, place = reference["path"], tuple(reference[name] for name in ("path", "offset", "member"))
        if self._body_open is not None and self._body_of == place:
            return self._body_open.content
        found = self.find(medium)
        if not isinstance(found, Unavailable):
            return InMemoryBytes(found["bytes"])
        if self._large is None:
            return found
        try:
            body = self._opened(path, self._large)
        except OSError:
            return Unavailable(path, UNREADABLE)
        if body is None:
            return Unavailable(path, BROKEN_OFF)
        self._body_open, self._body_of = body, place
        if body.sha256 is not None and medium["sha256"] not in (None, body.sha256):
            self._close_body()
            return Unavailable(path, FILE_CHANGED)
        return body.content

    def should_copy(self, medium: Mapping[str, Any], most: int) -> bool:
        """Whether a medium is copied in pieces, being larger than this: a table's cell is one value."""
        size: int = medium["bytes"] or medium["ref"]["length"]
        return size > min(most, self._limits.max_body_bytes) and media_place(medium["ref"]["container"]) != "cells"

    def copy_to(self, medium: Mapping[str, Any], out: BinaryIO) -> Unavailable | None:
        """Copies a medium of any size, in little memory; if it returns a reason, what it has written is worthless."""
        reference = medium["ref"]
        path, offset = reference["path"], 0
        content = self.open(medium)
        if isinstance(content, Unavailable):
            return content
        state = hashlib.sha256()
        while offset < content.size:
            try:
                piece = content.at(offset, min(content.size - offset, _COPY_BYTES))
            except OSError:
                return Unavailable(path, UNREADABLE)
            if not piece:
                return Unavailable(path, NOT_FOUND)
            state.update(piece)
            out.write(piece)
            offset += len(piece)
        return Unavailable(path, FILE_CHANGED) if medium["sha256"] not in (None, state.hexdigest()) else None

    def _unchanged(self, reference: Mapping[str, Any]) -> Unavailable | None:
        """Opens the file of a reference, unless it has changed: then the reason."""
        self._open(reference["path"], reference["container"])
        if self._gone is not None:
            return self._gone
        if reference["etag"] is not None and reference["etag"] != self._etag:
            return Unavailable(reference["path"], FILE_CHANGED)
        return None

    def close(self) -> None:
        """Closes the open file."""
        self._close_body()
        if self._stream is not None:
            self._stream.close()
            self._stream = self._cells = None

    def _close_body(self) -> None:
        if self._body_open is not None:
            self._body_open.close()
        self._body_open = self._body_of = None

    def _opened(self, path: str, record: Record) -> OpenBody | None:
        """A large body of the open file."""
        del path
        assert self._stream is not None
        return open_body(self._stream, self._size, record, self._limits)

    def _body(self, path: str, reference: Mapping[str, Any]) -> bytes | None:
        """The record's payload; None if there is no such record, empty if it is too large to hold."""
        assert self._reader is not None
        assert self._stream is not None
        self._close_body()
        offset = reference["offset"]
        of = format_of_container(reference["container"])
        if of is not None and of.media == "cells":
            if self._cells is None:
                self._cells = of.cells(OpenFile(self._stream, path, self._size, self._limits))
            raw = None if self._cells is None else self._cells.find(offset, reference["member"] or "")
            return b"" if raw is not None and len(raw) > self._limits.max_body_bytes else raw
        if _lies_plain(reference) and reference["container"] != FILE:
            fits = reference["length"] <= self._limits.max_body_bytes
            return read_range(self._stream, offset, reference["length"]) if fits else b""
        member = int(reference["member"] or 0)
        for event in self._reader(self._stream, FilePart(path, self._size, offset, offset + 1), self._limits):
            if isinstance(event, Record) and event.span.offset == offset and event.span.member == member:
                self._large = event if event.body is None and event.large is not None else None
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
        # A file that a row names is read as a file, whichever format the source's tables have.
        whole = container == FILE
        self._reader = FilesReader() if whole else container_reader(self._source.format, path, self._source.columns)
