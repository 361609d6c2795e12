"""Reads CSV and TSV tables (RFC 4180) with a header: one event per row, as Python's `csv` parses them.

A field is a text or, if it is empty, null. A quote that nothing closes within `max_body_bytes` costs its line, and the
next line begins a row again. A file is read as a whole, since nothing tells whether a line end is inside quotes.
"""

import csv
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from functools import partial
from typing import BinaryIO, Final

from winnow.pipelines.decoding.file_bytes import read_range
from winnow.pipelines.ingest.archives.inflate import codec_of
from winnow.pipelines.ingest.files import holds_start, refuse_changed
from winnow.pipelines.ingest.records import Dropped, ReadLimits, Span, Unreadable
from winnow.pipelines.ingest.tables.jsonl import MAX_VALUES, blocks
from winnow.pipelines.ingest.tables.lines import Line, split_lines
from winnow.pipelines.ingest.tables.plain_rows import ParsedRow, RowsReader, foreign_file
from winnow.schemas.errors import SourceError
from winnow.schemas.identity import Json
from winnow.schemas.records import FilePart

_BOM: Final = b"\xef\xbb\xbf"
_UTF_16: Final = (b"\xff\xfe", b"\xfe\xff")


def delimiter_of(path: str, header: bytes) -> str:
    """What separates the fields of a file: tabs by its name, else semicolons if its first line has only these."""
    if path.lower().endswith(".tsv"):
        return "\t"
    return ";" if b";" in header and b"," not in header else ","


class _UnclosedError(Exception):
    """A row is longer than a row may be, or the file ends inside quotes."""


class _Lines:
    """The lines of a file as `csv` takes them; those of the current row can be given back."""

    def __init__(self, lines: Iterator[Line], limits: ReadLimits) -> None:
        self._lines = lines
        self._returned: deque[Line] = deque()
        self._limit = limits.max_body_bytes
        self.taken: list[Line] = []
        self._held = 0

    def __iter__(self) -> "_Lines":
        return self

    def __next__(self) -> str:
        line = self._returned.popleft() if self._returned else next(self._lines, None)
        if line is None:
            if self.taken:
                raise _UnclosedError
            raise StopIteration
        self.taken.append(line)
        self._held += line.length
        if line.content is None or (self._held > self._limit and len(self.taken) > 1):
            raise _UnclosedError
        content = line.content.removeprefix(_BOM) if line.offset == 0 else line.content
        return content.decode("latin-1") + "\n"

    def end_row(self, keep: int | None = None) -> tuple[list[Line], Span]:
        """Ends a row with the first `keep` of the lines taken, and gives back the others; returns the row's lines
        and range."""
        keep = len(self.taken) if keep is None else keep
        lines, rest = self.taken[:keep], self.taken[keep:]
        self._returned.extendleft(reversed(rest))
        self.taken, self._held = [], 0
        end = lines[-1].offset + lines[-1].length
        return lines, Span(lines[0].offset, end - lines[0].offset)


def parse_rows(
    stream: BinaryIO, part: FilePart, limits: ReadLimits, checked: bool = False
) -> Iterator[ParsedRow | Dropped | Unreadable]:
    """The rows of a file and its header, for the part that has its first byte.

    SourceError if it is compressed, or if `checked` and its header names a column twice.
    """
    refuse_changed(stream, part)
    if not holds_start(part):
        return
    head = read_range(stream, 0, 1 << 16)
    if codec_of(head[:8]) is not None:
        raise foreign_file(part.path, "the file is compressed, expected plain CSV", "decompress it")
    if head.startswith(_UTF_16):
        yield Unreadable(Span(0, part.size), "bad_utf8", "the file is UTF-16; save it as UTF-8")
        return
    delimiter = delimiter_of(part.path, head.partition(b"\n")[0])
    csv.field_size_limit(max(csv.field_size_limit(), limits.max_body_bytes))
    lines = _Lines(split_lines(blocks(stream, 0, part.size), 0, limits.max_body_bytes), limits)
    names: list[str] | None = None
    for fields, span in _parsed(lines, delimiter, limits):
        if isinstance(fields, Unreadable):
            yield fields
        elif not any(fields):
            yield Dropped(span, "empty")
        elif names is None:
            try:
                names = [name.encode("latin-1").decode("utf-8").strip() for name in fields]
            except UnicodeDecodeError as error:
                yield Unreadable(Span(0, part.size), "bad_utf8", f"byte {error.start} of a column's name")
                return
            if twice := next((name for name, times in Counter(names).items() if name and times > 1), None):
                fault = f"the header has two columns {twice!r}"[:200]
                if checked:
                    raise SourceError(f"{part.path}: {fault}")
                yield Unreadable(Span(0, part.size), "bad_csv", fault)
                return
            yield Dropped(span, "not_content")
        elif any(fields[len(names) :]):
            yield Unreadable(span, "bad_csv", f"{len(fields)} fields, the header has {len(names)}")
        else:
            yield _decoded(names, fields, span)


CsvReader = partial(RowsReader, parse_rows, "bad_csv", False)


def _parsed(lines: _Lines, delimiter: str, limits: ReadLimits) -> Iterator[tuple[list[str] | Unreadable, Span]]:
    """Yields the fields of each row, or why they cannot be separated, with its range."""
    reader = csv.reader(lines, delimiter=delimiter)
    while True:
        try:
            fields = next(reader, None)
        except (_UnclosedError, csv.Error) as error:
            reader = csv.reader(lines, delimiter=delimiter)
            unclosed = isinstance(error, _UnclosedError)
            (first, *_), span = lines.end_row(1 if unclosed else None)
            if first.content is None:
                detail = f"a line of {first.length} bytes, the limit is {limits.max_body_bytes} bytes"
                yield Unreadable(span, "too_large", detail), span
            else:
                detail = "a quote is not closed" if unclosed else str(error)
                yield Unreadable(span, "bad_csv", detail[:200]), span
            continue
        if fields is None:
            return
        _, span = lines.end_row()
        if len(fields) > MAX_VALUES:
            yield Unreadable(span, "too_large", f"a row of more than {MAX_VALUES} fields"), span
        else:
            yield fields, span


def _decoded(names: Sequence[str], fields: Sequence[str], span: Span) -> ParsedRow | Unreadable:
    values: dict[str, Json] = {}
    for name, value in zip(names, fields, strict=False):
        try:
            values[name] = value if value.isascii() else value.encode("latin-1").decode("utf-8")
        except UnicodeDecodeError as error:
            return Unreadable(span, "bad_utf8", f"column {name!r}: byte {error.start}"[:200])
    return ParsedRow(values, span, "csv")
