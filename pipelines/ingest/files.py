"""Reads folders of HTML or plain text: each file is one record, identified by its path."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import BinaryIO, Final

from winnow.pipelines.decoding.file_bytes import read_range
from winnow.pipelines.ingest.records import Dropped, Event, ReadLimits, Record, Span
from winnow.schemas.errors import SourceError
from winnow.schemas.records import FilePart

FILE: Final = "file"  # not really a container: a file is one record
NOT_THERE: Final = (FileNotFoundError, IsADirectoryError, NotADirectoryError)
HEAD_BYTES: Final = 4096  # kept of a body that is too large to hold, for sniffing

# A fixed table instead of the machine's own: a file's type may not depend on where it is read.
_MIME_BY_SUFFIX: Final = {
    ".html": "text/html",
    ".htm": "text/html",
    ".xhtml": "application/xhtml+xml",
    ".xml": "application/xml",
    ".txt": "text/plain",
    ".text": "text/plain",
    ".md": "text/markdown",
}


@dataclass(frozen=True, slots=True)
class FilesReader:
    """Yields the whole file as one record with key `file`; an empty file is dropped.

    `beside`: suffixes of files that describe others and are no records.
    """

    beside: tuple[str, ...] = ()

    def __call__(self, stream: BinaryIO, part: FilePart, limits: ReadLimits) -> Iterator[Event]:
        """Yields one event from the part in which the file begins."""
        refuse_changed(stream, part)
        if not holds_start(part):
            return
        span = Span(0, part.size)
        if part.size == 0:
            yield Dropped(span, "empty")
            return
        if PurePosixPath(part.path).suffix.lower() in self.beside:
            yield Dropped(span, "not_content")
            return
        held = part.size <= limits.max_body_bytes
        raw = read_range(stream, 0, part.size if held else HEAD_BYTES)
        yield Record(
            span=span,
            key="file",
            container=FILE,
            declared_mime=_MIME_BY_SUFFIX.get(PurePosixPath(part.path).suffix.lower()),
            body=raw if held else None,
            body_bytes=part.size,
            head=b"" if held else raw,
        )


def holds_start(part: FilePart) -> bool:
    """Whether the part holds the file's first byte, or the file is empty; this part reports on the file as a whole."""
    return part.start == 0 and (part.end > 0 or part.size == 0)


def refuse_changed(stream: BinaryIO, part: FilePart) -> None:
    """Refuses a file whose size differs from its listing: its ranges would describe other bytes."""
    size = stream.seek(0, 2)
    if size != part.size:
        raise SourceError(
            f"{part.path}: the file has {size} bytes, but had {part.size} when it was listed; "
            "run again with --replace to ingest the new content"
        )
