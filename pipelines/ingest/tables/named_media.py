"""Finds and measures the media files that table rows name."""

from contextlib import closing
from dataclasses import dataclass
from typing import Final

from winnow.filters.web.sniff import Sniffed, sniff
from winnow.pipelines.ingest.files import HEAD_BYTES, read_range
from winnow.pipelines.ingest.planning.etag import content_etag
from winnow.pipelines.ingest.records import Record, Unreadable
from winnow.pipelines.media.probe import Probe, probe_file
from winnow.pipelines.store.facade import ObjectStore

_NOT_THERE: Final = (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)
"""Permanent failures; any other error fails the task, which is then retried."""


@dataclass(frozen=True, slots=True)
class NamedFile:
    """A file that exists."""

    path: str  # from the source's root
    size: int
    etag: str
    kind: Sniffed
    probe: Probe


class NamedFiles:
    """Files of a source; remembers the last, since rows that name the same one, each with a caption, lie together."""

    def __init__(self, objects: ObjectStore) -> None:
        self._objects = objects
        self._last: NamedFile | None = None

    def find(self, record: Record) -> NamedFile | Unreadable:
        """The media file that a record names, or why there is none.

        Raises:
            OSError: The file cannot be reached, perhaps temporarily.
        """
        assert record.names is not None
        if self._last is not None and self._last.path == record.names:
            return self._last
        found = self._read(record.names)
        if isinstance(found, str):
            return Unreadable(record.span, "missing_media", f"{record.names}{found}"[:200], record.key)
        self._last = found
        return found

    def _read(self, path: str) -> NamedFile | str:
        try:
            stream = self._objects.open(path)
        except _NOT_THERE as error:
            return f": {error.strerror or 'not there'}"
        with closing(stream):
            size = stream.seek(0, 2)
            if not size:
                return ": empty"
            kind = sniff(read_range(stream, 0, min(size, HEAD_BYTES)), None, None)
            if kind.modality == "text":
                return f" is {kind.mime}"
            return NamedFile(path, size, content_etag(stream, size), kind, probe_file(stream, size, kind.mime))
