"""Reads JSON lines, plain or compressed with gzip or zstd, one row per line.

A file can be read in parts: a line of a plain file belongs to the part that contains its first byte, for compressed
files see `lines.py`; one that is a single member is read by the part that starts at 0. If an object
repeats a key, the last value wins. A lone surrogate becomes U+FFFD, and NaN, Infinity and numbers beyond a
double become null; both are counted in the row's metadata. An integer beyond 64 bits becomes a double.
"""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import BinaryIO, Final

import orjson

from winnow.pipelines.decoding.file_bytes import read_range
from winnow.pipelines.ingest.archives.inflate import BLOCK_BYTES, Codec, Damage, codec_of
from winnow.pipelines.ingest.files import refuse_changed
from winnow.pipelines.ingest.records import Covered, Dropped, ReadLimits, Span, Unreadable
from winnow.pipelines.ingest.tables.columns import NON_FINITE_NUMBERS, REPLACED_SURROGATES
from winnow.pipelines.ingest.tables.lines import Line, compressed_lines, split_lines
from winnow.pipelines.ingest.tables.plain_rows import ParsedRow, RowsReader, foreign_file
from winnow.schemas.identity import Json
from winnow.schemas.records import FilePart

MAX_DEPTH: Final = 200  # of nested arrays and objects; JSON writers stop at 254
MAX_VALUES: Final = 4 << 20  # commas and brackets in one line: a parsed value takes up to 80 bytes

_BOM: Final = b"\xef\xbb\xbf"
_FOREIGN: Final = {
    b"BZh": "bzip2",
    b"\xfd7zXZ\0": "xz",
    b"PK\x03\x04": "zip",
    b"\x04\x22\x4d\x18": "lz4",
    b"PAR1": "Parquet",
}


def foreign_format(stream: BinaryIO) -> str | None:
    """The format of a file that has no lines, by its first bytes; None if it may have some."""
    head = read_range(stream, 0, 8)
    return next((name for magic, name in _FOREIGN.items() if head.startswith(magic)), None)


def parse_lines(
    stream: BinaryIO, part: FilePart, limits: ReadLimits
) -> Iterator[ParsedRow | Dropped | Unreadable | Covered]:
    """The lines that begin in a part, blank ones included."""
    refuse_changed(stream, part)
    if (name := foreign_format(stream)) is not None:
        holds = f"the file is {name}, expected JSON lines, plain or compressed with gzip or zstd"
        raise foreign_file(part.path, holds, "convert it or remove it from the source")
    codec = codec_of(read_range(stream, 0, 8))
    if codec is None:
        yield from _plain(stream, part, limits)
    else:
        yield from _compressed(stream, part, codec, limits)


JsonlReader = partial(RowsReader, parse_lines, "bad_json", True)


def _plain(stream: BinaryIO, part: FilePart, limits: ReadLimits) -> Iterator[ParsedRow | Dropped | Unreadable]:
    start = _first_line(stream, part)
    if start is None:
        return
    for line in split_lines(blocks(stream, start, part.size), start, limits.max_body_bytes):
        if line.offset >= part.end:
            return
        yield _row(line, Span(line.offset, line.length), "jsonl", limits)


def _compressed(
    stream: BinaryIO, part: FilePart, codec: Codec, limits: ReadLimits
) -> Iterator[ParsedRow | Dropped | Unreadable | Covered]:
    for found in compressed_lines(stream, part, codec, limits):
        if isinstance(found, Covered):
            yield found
        elif isinstance(found, Damage):
            yield Unreadable(Span(found.offset, found.length), found.reason, found.detail)
        elif found.cut:
            yield Unreadable(found.span, "truncated", "the stream ends inside the line")
        else:
            yield _row(found.line, found.span, f"jsonl.{codec}", limits)


def _row(line: Line, span: Span, container: str, limits: ReadLimits) -> ParsedRow | Dropped | Unreadable:
    content = line.content
    if content is None:
        detail = f"a line of {line.length} bytes, the limit is {limits.max_body_bytes} bytes"
        return Unreadable(span, "too_large", detail)
    if line.offset == 0:
        content = content.removeprefix(_BOM)
    if not content or content.isspace():
        return Dropped(span, "empty")
    parsed = parse_row(content)
    if isinstance(parsed, Fault):
        return Unreadable(span, parsed.reason, parsed.detail)
    return ParsedRow(parsed, span, container)


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a line is not a row."""

    reason: str
    detail: str


def parse_row(content: bytes) -> dict[str, Json] | Fault:
    """Parses a line as an object that can be written as JSON again."""
    size = len(content)
    brackets = content.count(b"[") + content.count(b"{")
    if size > MAX_VALUES and brackets + content.count(b",") > MAX_VALUES:
        return Fault("too_large", f"a line of more than {MAX_VALUES} values")
    try:
        row = orjson.loads(content)
    except orjson.JSONDecodeError:
        return _parse_leniently(content)
    if brackets > MAX_DEPTH and _too_deep(row):
        return Fault("bad_json", f"nests deeper than {MAX_DEPTH}")
    return row if isinstance(row, dict) else _not_an_object(row)


def _parse_leniently(content: bytes) -> dict[str, Json] | Fault:
    """Parses what orjson refuses: lone surrogates, NaN, Infinity, numbers beyond a double."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        return Fault("bad_utf8", f"byte {error.start} of the line")
    cleaning = _Cleaning()
    try:
        row = json.loads(
            text, parse_constant=cleaning.constant, parse_float=cleaning.number, parse_int=cleaning.integer
        )
    except json.JSONDecodeError as error:
        return Fault("bad_json", f"{error.msg.removesuffix(' at')} at character {error.pos} of the line"[:200])
    except RecursionError:
        return Fault("bad_json", f"nests deeper than {MAX_DEPTH}")
    if _too_deep(row):
        return Fault("bad_json", f"nests deeper than {MAX_DEPTH}")
    if not isinstance(row, dict):
        return _not_an_object(row)
    cleaned = {cleaning.string(name): cleaning.value(value) for name, value in row.items()}
    if cleaning.surrogates:
        cleaned[REPLACED_SURROGATES] = cleaning.surrogates
    if cleaning.non_finite:
        cleaned[NON_FINITE_NUMBERS] = cleaning.non_finite
    return cleaned


class _Cleaning:
    """Replaces parsed values that JSON cannot hold, and counts the replacements."""

    def __init__(self) -> None:
        self.surrogates = 0
        self.non_finite = 0

    def constant(self, _name: str) -> None:
        self.non_finite += 1

    def number(self, digits: str) -> float | None:
        value = float(digits)
        if math.isfinite(value):
            return value
        self.non_finite += 1
        return None

    def integer(self, digits: str) -> int | float | None:
        if len(digits) <= 20:
            value = int(digits)
            if -(1 << 63) <= value < 1 << 64:
                return value
        return self.number(digits)

    def string(self, text: str) -> str:
        lone = sum("\ud800" <= character <= "\udfff" for character in text) if not _encodes(text) else 0
        if not lone:
            return text
        self.surrogates += lone
        return "".join("\ufffd" if "\ud800" <= character <= "\udfff" else character for character in text)

    def value(self, value: Json) -> Json:
        """Cleans every string inside the value, to at most `MAX_DEPTH`."""
        if isinstance(value, str):
            return self.string(value)
        if isinstance(value, dict):
            return {self.string(name): self.value(inner) for name, inner in value.items()}
        if isinstance(value, list):
            return [self.value(inner) for inner in value]
        return value


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _too_deep(value: Json) -> bool:
    level: list[Json] = [value]
    for _ in range(MAX_DEPTH):
        inner: list[Json] = []
        for item in level:
            if isinstance(item, dict):
                inner.extend(one for one in item.values() if isinstance(one, dict | list))
            elif isinstance(item, list):
                inner.extend(one for one in item if isinstance(one, dict | list))
        if not inner:
            return False
        level = inner
    return True


def _not_an_object(value: Json) -> Fault:
    kind = "null" if value is None else "array" if isinstance(value, list) else type(value).__name__
    return Fault("bad_json", f"holds a JSON {kind}, expected an object")


def _first_line(stream: BinaryIO, part: FilePart) -> int | None:
    """The offset of the first line that begins in the part, or None."""
    if part.start == 0:
        return 0 if part.end > 0 else None
    offset = part.start - 1  # a line begins at `start` if the previous byte ends one
    while offset < part.end - 1:
        block = read_range(stream, offset, min(BLOCK_BYTES, part.end - 1 - offset))
        if not block:
            return None
        found = block.find(b"\n")
        if found >= 0:
            return offset + found + 1
        offset += len(block)
    return None


def blocks(stream: BinaryIO, offset: int, size: int) -> Iterator[bytes]:
    """The bytes of a file from an offset on."""
    while offset < size:
        block = read_range(stream, offset, min(BLOCK_BYTES, size - offset))
        if not block:
            return
        offset += len(block)
        yield block
