"""The bytes of media, read again where they were found when the sample was ingested.

A file that is gone, has changed or cannot be read costs the samples that refer to it, and each is counted; it never
ends an export.
"""

import hashlib
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.pipelines.ingest.binding import bind_source
from winnow.pipelines.ingest.context import IngestSource
from winnow.pipelines.ingest.etag import content_etag
from winnow.pipelines.ingest.formats import container_reader
from winnow.pipelines.ingest.records import FilePart, Reader, ReadLimits, Record
from winnow.schemas.draws import MIXED
from winnow.schemas.errors import SourceError
from winnow.schemas.recipe import Recipe

MEDIA_GONE = "media_gone"

FILE_GONE = "the file is gone"
FILE_CHANGED = "the file has changed"
NOT_FOUND = "no record where there was one"
TOO_LARGE = "larger than max_body_bytes"
UNREADABLE = "the file cannot be read"


@dataclass(frozen=True, slots=True)
class Gone:
    """Why a medium is not there."""

    file: str
    reason: str


@dataclass(frozen=True)
class MediaSources:
    """Where media are read: the sources of the recipe, None where one is not there any more. Picklable."""

    sources: Mapping[str, IngestSource | None]
    limits: ReadLimits


def media_sources(recipe: Recipe) -> MediaSources:
    """The sources of a recipe, as they are found now."""

    def bound(name: str) -> IngestSource | None:
        try:
            return bind_source(recipe, recipe.source(name))
        except SourceError:
            return None

    limits = ReadLimits(
        recipe.limits.max_body_bytes,
        recipe.limits.max_header_bytes,
        recipe.limits.max_member_bytes,
        batch_bytes=recipe.limits.batch_bytes,
    )
    return MediaSources({source.name: bound(source.name) for source in recipe.sources}, limits)


def wants_media(config: object) -> bool:
    """Whether a format's options ask for the bytes of media."""
    return getattr(config, "media", False) not in (False, None, "none")


def fetch_media(
    media: MediaSources, source: str, references: pa.Array, which: NDArray[np.int64]
) -> tuple[pa.Array, list[Gone | None]]:
    """The media of some rows of a source, which may repeat, and of each row why it lacks one.

    Media are read in the order of their places, each once for all copies of its sample.
    """
    unique, back = np.unique(which, return_inverse=True)
    # Row by row: each is a read of a file.
    referred = {row: references[row].as_py() for row in unique.tolist()}
    found: dict[int, list[dict[str, object]]] = {}
    gone: dict[int, Gone] = {}

    def place(row: int) -> list[tuple[str, int]]:
        return [(one["ref"]["path"], one["ref"]["offset"]) for one in referred[row]]

    with closing(MediaFinder(media, source)) as finder:
        for row in sorted(referred, key=place):
            held = [finder.find(one) for one in referred[row]]
            lacking = [one for one in held if isinstance(one, Gone)]
            found[row] = [one for one in held if not isinstance(one, Gone)] if not lacking else []
            if lacking:
                gone[row] = lacking[0]
    rows = unique[back].tolist()
    return pa.array([found[row] for row in rows], MIXED.field("media").type), [gone.get(row) for row in rows]


class MediaFinder:
    """Reads media of one source; keeps the file of the last one open, so ask for those of a file together."""

    def __init__(self, media: MediaSources, source: str) -> None:
        self._source = media.sources.get(source)
        self._limits = media.limits
        self._path = ""
        self._stream: BinaryIO | None = None
        self._reader: Reader | None = None
        self._size = 0
        self._etag = ""
        self._gone: Gone | None = None

    def find(self, medium: Mapping[str, Any]) -> dict[str, object] | Gone:
        """What a reference (`winnow.schemas.samples.MEDIA`) refers to, as `winnow.schemas.draws.MEDIUM`."""
        reference = medium["ref"]
        path = reference["path"]
        self._open(path)
        if self._gone is not None:
            return self._gone
        if reference["etag"] is not None and reference["etag"] != self._etag:
            return Gone(path, FILE_CHANGED)
        try:
            body = self._body(path, reference["offset"], int(reference["member"] or 0))
        except (OSError, SourceError):
            return Gone(path, UNREADABLE)
        if body is None:
            return Gone(path, NOT_FOUND)
        if not body:
            return Gone(path, TOO_LARGE)
        digest = hashlib.sha256(body).hexdigest()
        if medium["sha256"] not in (None, digest):
            return Gone(path, FILE_CHANGED)
        return {"mime": medium["mime"], "sha256": digest, "bytes": body}

    def close(self) -> None:
        """Close the open file."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def _body(self, path: str, offset: int, member: int) -> bytes | None:
        """The record's payload; None where there is no such record, empty where it is too large to be held."""
        assert self._reader is not None
        assert self._stream is not None
        for event in self._reader(self._stream, FilePart(path, self._size, offset, offset + 1), self._limits):
            if isinstance(event, Record) and event.span.offset == offset and event.span.member == member:
                return event.body or b""
        return None

    def _open(self, path: str) -> None:
        if path == self._path:
            return
        self.close()
        self._path, self._gone = path, None
        if self._source is None:
            self._gone = Gone(path, FILE_GONE)
            return
        try:
            self._stream = self._source.objects.open(path)
            self._size = self._stream.seek(0, 2)
            self._etag = content_etag(self._stream, self._size)
        except FileNotFoundError:
            self._gone = Gone(path, FILE_GONE)
        except OSError:
            self._gone = Gone(path, UNREADABLE)
        self._reader = container_reader(self._source.format, path, self._source.columns)
