"""Finds and measures the media files that table rows name."""

import posixpath
from contextlib import closing
from dataclasses import dataclass
from typing import Final

from winnow.filters.video.decode.opening import VideoLimits
from winnow.filters.web.sniff import DetectedType, sniff
from winnow.pipelines.decoding.file_bytes import read_range
from winnow.pipelines.decoding.probe import Probe, probe_file
from winnow.pipelines.ingest.etag import content_etag
from winnow.pipelines.ingest.files import HEAD_BYTES, NOT_THERE
from winnow.pipelines.ingest.records import Record
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.local import LocalStore
from winnow.schemas.rows.samples import EMPTY_MEDIUM

_REMEMBERED: Final = 64


@dataclass(frozen=True, slots=True)
class NamedFile:
    """A file that exists."""

    path: str  # from the source's root
    size: int
    etag: str
    kind: DetectedType
    probe: Probe
    flaw: str = ""  # why it is no medium


class NamedFiles:
    """Files of a source; remembers some, since rows that name the same one, each with a caption, lie together."""

    def __init__(self, objects: ObjectStore, videos: VideoLimits | None = None) -> None:
        self._objects, self._videos = objects, videos
        self._held: dict[str, NamedFile] = {}

    def find(self, record: Record) -> dict[str, NamedFile | str]:
        """The files that a record's items name, by name, or why one is missing; OSError if one cannot be reached."""
        found: dict[str, NamedFile | str] = {}
        for item in record.items:
            if item.names is None or item.names in found:
                continue
            found[item.names] = self._held.get(item.names) or self._read(item.names)
        files = {name: file for name, file in found.items() if isinstance(file, NamedFile)}
        self._held = {**self._held, **files} if len(self._held) < _REMEMBERED else files or self._held
        return found

    def _read(self, named: str) -> NamedFile | str:
        path = self._below_root(named)
        if path is None:
            return ": expected a path below the source's root"
        try:
            stream = self._objects.open(path)
        except (*NOT_THERE, PermissionError) as error:  # any other fails the task, which is then retried
            return f": {error.strerror or 'not there'}"
        with closing(stream):
            size = stream.seek(0, 2)
            etag = content_etag(stream, size)
            if not size:
                return NamedFile(path, 0, etag, DetectedType(EMPTY_MEDIUM, "other"), Probe(0), ": empty")
            kind = sniff(read_range(stream, 0, min(size, HEAD_BYTES)), None, None)
            probe = probe_file(stream, size, kind.mime, videos=self._videos)
            return NamedFile(path, size, etag, kind, probe, f" is {kind.mime}" if kind.modality == "text" else "")

    def _below_root(self, named: str) -> str | None:
        """The path from the root; an absolute one is of this machine, as some writers of data sets leave them."""
        if not named.startswith("/"):
            return named
        root = posixpath.abspath(self._objects.root) if isinstance(self._objects, LocalStore) else ""
        return named.removeprefix(f"{root}/") if root and named.startswith(f"{root}/") else None
