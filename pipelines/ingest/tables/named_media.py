"""Finds the media files that table rows name, without reading them whole."""

from contextlib import closing
from dataclasses import dataclass
from typing import Final

from winnow.pipelines.ingest.files import HEAD_BYTES, read_range
from winnow.pipelines.ingest.planning.etag import content_etag
from winnow.pipelines.ingest.records import Record, Unreadable
from winnow.pipelines.store.facade import ObjectStore

_NOT_THERE: Final = (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)
"""Permanent failures; any other error fails the task, which is then retried."""


@dataclass(frozen=True, slots=True)
class NamedFile:
    """A file that exists."""

    path: str  # from the source's root
    size: int
    etag: str
    head: bytes  # its first bytes, for sniffing


def find_named(objects: ObjectStore, record: Record) -> NamedFile | Unreadable:
    """Finds the media file that a record names, or says why there is none.

    Raises:
        OSError: The file cannot be reached, perhaps temporarily.
    """
    assert record.names is not None
    try:
        stream = objects.open(record.names)
    except _NOT_THERE as error:
        return _missing(record, error.strerror or "not there")
    with closing(stream):
        size = stream.seek(0, 2)
        if not size:
            return _missing(record, "empty")
        return NamedFile(record.names, size, content_etag(stream, size), read_range(stream, 0, min(size, HEAD_BYTES)))


def _missing(record: Record, why: str) -> Unreadable:
    return Unreadable(record.span, "missing_media", f"{record.names}: {why}"[:200], record.key)
