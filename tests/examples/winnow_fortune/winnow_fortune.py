"""Fortune files: texts, each of which a line of one percent sign ends."""

import re
from collections.abc import Iterator
from typing import BinaryIO

from winnow.pipelines.decoding.file_bytes import read_range
from winnow.pipelines.ingest.files import holds_start, refuse_changed
from winnow.pipelines.ingest.formats.source_format import SourceFormat
from winnow.pipelines.ingest.records import Dropped, Event, ReadLimits, Record, Span, Unreadable
from winnow.schemas.records import FilePart


def read(stream: BinaryIO, part: FilePart, limits: ReadLimits) -> Iterator[Event]:
    """One event per text; the line that ends it is a part of its range."""
    refuse_changed(stream, part)
    if not holds_start(part):
        return
    if part.size > limits.max_body_bytes:
        yield Unreadable(Span(0, part.size), "too_large", f"{part.size} bytes, the limit is {limits.max_body_bytes}")
        return
    offset = 0
    for piece in re.split(rb"(?m)(?<=^%\n)", read_range(stream, 0, part.size)):
        span = Span(offset, len(piece))
        offset += len(piece)
        try:
            text = piece.removesuffix(b"%\n").decode()
        except UnicodeDecodeError as error:
            yield Unreadable(span, "bad_utf8", f"byte {error.start} of the text")
            continue
        if text.strip():
            yield Record(span, None, "fortune", text=text)
        elif piece:
            yield Dropped(span, "empty")


def count(stream: BinaryIO) -> int:
    """The lines that end texts, and a last text without one."""
    stream.seek(0)
    *lines, last = stream.read().split(b"\n")
    return lines.count(b"%") + (last != b"" or lines[-1:] not in ([], [b"%"]))


FORMAT = SourceFormat(
    name="fortune",
    version=1,
    called="a fortune file",
    content="fortune",
    endings=r"\.fortunes?",
    reader=lambda _: read,
    split="nowhere",
    count=count,
    is_text=True,
)
