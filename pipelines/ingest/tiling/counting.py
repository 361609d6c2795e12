"""Counts the contents of a file independently of the readers, to detect a row that they skip (law 3).

Lines are the newlines of a stream that zlib and zstandard's own file readers decompress; rows come from reading the
footer again. `check_ranges` then proves that the claimed ranges tile the whole file.
"""

import struct
import zlib
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

from winnow.pipelines.decoding.file_bytes import read_range
from winnow.pipelines.ingest.archives.inflate import Codec, codec_of, refusal, skippable
from winnow.pipelines.ingest.records import ReadLimits, Span
from winnow.pipelines.ingest.sections import section
from winnow.pipelines.ingest.tables.footer import parse_footer
from winnow.pipelines.ingest.tables.thrift import BadThriftError

MAX_FINDINGS: Final = 10

_STEP: Final = 1 << 20
_ARROW_ROWS: Final = 3  # the kind of messages that are batches of rows
_GZIP_STEP: Final = 32 << 10  # the bytes after a member are copied each time one ends


@dataclass(frozen=True, slots=True)
class MemberCount:
    """A gzip member or zstd frame: where it begins, and the lines that end and the bytes before it."""

    offset: int
    lines: int
    bytes: int  # decompressed


@dataclass(frozen=True, slots=True)
class StreamCount:
    """The lines and bytes of a stream; an incomplete count ends where the compressed file is damaged."""

    lines: int
    bytes: int  # decompressed
    complete: bool
    codec: Codec | None = field(default=None, compare=False)  # of a compressed file
    members: tuple[MemberCount, ...] = field(default=(), compare=False)  # none in a plain file


def count_jsonl(stream: BinaryIO, limits: ReadLimits | None = None) -> StreamCount:
    """Counts the lines and bytes of a plain, gzip or zstd file, including a last line without a newline.

    What a file is, and which headers are refused, is said once, for the reader too: that is no count.
    """
    limits = limits or ReadLimits()
    codec = codec_of(read_range(stream, 0, 8))
    stream.seek(0)
    lines = size = 0
    last = b"\n"
    complete = True
    members: list[MemberCount] = []
    blocks: Iterator[bytes | int]
    if codec is None:
        blocks = iter(lambda: stream.read(_STEP), b"")
    else:
        blocks = _gunzipped(stream, limits) if codec == "gz" else _unzstd(stream, limits)
    try:
        for block in blocks:
            if isinstance(block, int):
                members.append(MemberCount(block, lines, size))
                continue
            lines += block.count(b"\n")
            size += len(block)
            last = block[-1:] or last
    except (zlib.error, zstandard.ZstdError, EOFError):
        complete = False
    return StreamCount(lines + (last != b"\n"), size, complete, codec, tuple(members))


def count_parquet(stream: BinaryIO) -> int | None:
    """The number of rows in a Parquet footer; None if it is unreadable or contradicts itself."""
    size = stream.seek(0, 2)
    tail = read_range(stream, max(0, size - 8), 8)
    length = int.from_bytes(tail[:4], "little") + 8
    if not 12 <= length <= size - 4 or tail[4:] != b"PAR1":
        return None
    footer = b"PAR1" + read_range(stream, size - length, length)  # read beforehand: a failed read is not damage
    try:
        parse_footer(footer[4:-8])  # only to protect pyarrow from footers that crash it; not used for the count
        metadata = pq.read_metadata(pa.BufferReader(footer))
        rows: int = metadata.num_rows
        groups = [metadata.row_group(index).num_rows for index in range(metadata.num_row_groups)]
    except (pa.ArrowException, BadThriftError, OSError, ValueError):
        return None
    return rows if sum(groups) == rows and min(groups, default=0) >= 0 else None


def count_arrow(stream: BinaryIO) -> int | None:
    """The number of rows in the batches of an Arrow stream or file; None if it cannot be walked to its end."""
    size = stream.seek(0, 2)
    in_file = read_range(stream, 0, 6) == b"ARROW1"
    if in_file and (size < 24 or read_range(stream, size - 6, 6) != b"ARROW1"):
        return None
    at, rows = 8 if in_file else 0, 0
    try:
        while at < size:
            prefix = read_range(stream, at, 8)
            at += 8 if prefix[:4] == b"\xff" * 4 else 4
            (length,) = struct.unpack("<i", prefix[4:] if prefix[:4] == b"\xff" * 4 else prefix[:4])
            if length == 0:
                break
            if not 0 < length <= size - at:
                return None
            kind, body, found = _arrow_message(read_range(stream, at, length))
            at += length + body
            rows += found if kind == _ARROW_ROWS else 0
            if body < 0 or found < 0 or at > size:
                return None
    except (struct.error, IndexError):
        return None
    return rows


def _arrow_message(raw: bytes) -> tuple[int, int, int]:
    """The kind of a message, the bytes of its body, and its rows: fields 1, 3, and 0 of field 2 (`Message.fbs`)."""

    def place(table: int, index: int) -> int:
        fields = table - struct.unpack_from("<i", raw, table)[0]
        slot = fields + 4 + 2 * index
        if fields < 0 or slot >= fields + struct.unpack_from("<H", raw, fields)[0]:
            return 0
        (offset,) = struct.unpack_from("<H", raw, slot)
        return table + offset if offset else 0

    def number(at: int, kind: str) -> int:
        return int(struct.unpack_from(kind, raw, at)[0]) if at else 0

    (message,) = struct.unpack_from("<I", raw)
    kind, body, header = number(place(message, 1), "<B"), number(place(message, 3), "<q"), place(message, 2)
    return kind, body, number(place(header + number(header, "<I"), 0), "<q") if kind == _ARROW_ROWS else 0


def check_ranges(total: int, spans: Iterable[Span]) -> list[str]:
    """Lists the gaps and overlaps of ranges that should tile [0, total): at most ten, and a count of the rest.

    Records that share one range, distinguished by `member`, count as one; the order of the spans does not matter.
    """
    starts, lengths, members = array("q"), array("q"), array("q")
    for span in spans:
        starts.append(span.offset)
        lengths.append(span.length)
        members.append(span.member)
    findings = list(_untiled(total, np.array(starts), np.array(lengths), np.array(members)))
    if len(findings) > MAX_FINDINGS:
        return [*findings[:MAX_FINDINGS], f"and {len(findings) - MAX_FINDINGS} more"]
    return findings


def check_lines(counted: StreamCount, spans: Iterable[Span]) -> list[str]:
    """Says where the claimed lines of a compressed file differ from its lines, if they do.

    A line that begins in a member after the file's first byte is claimed by that member and its number there.
    """
    if not any(member.offset for member in counted.members):
        return check_ranges(counted.bytes, spans)
    ordered = sorted(spans, key=lambda span: (span.unit == "member", span.offset, span.member))
    at = index = 0
    for number, span in enumerate(ordered):
        while index + 1 < len(counted.members) and counted.members[index + 1].bytes <= at:
            index += 1
        member = counted.members[index]
        expected = Span(at, span.length, "stream")
        if member.offset:
            expected = Span(member.offset, span.length, "member", number - member.lines + 1)
        if span != expected:
            return [f"line {number + 1} is claimed as {_place(span)}, but it is {_place(expected)}"]
        at += span.length
    return [] if at == counted.bytes else [f"lines of {at} bytes are claimed, but the file has {counted.bytes}"]


def _place(span: Span) -> str:
    if span.unit == "member":
        return f"number {span.member} of the member at byte {span.offset}"
    return f"the one at {span.offset} of the stream"


def _untiled(
    total: int,
    starts: "np.ndarray[tuple[int], np.dtype[np.int64]]",
    lengths: "np.ndarray[tuple[int], np.dtype[np.int64]]",
    members: "np.ndarray[tuple[int], np.dtype[np.int64]]",
) -> Iterator[str]:
    if not len(starts):
        if total:
            yield f"nothing answers for [0, {total})"
        return
    order = np.lexsort((members, lengths, starts))
    starts, lengths, members = starts[order], lengths[order], members[order]
    again = (starts[1:] == starts[:-1]) & (lengths[1:] == lengths[:-1])
    for index in np.flatnonzero(again & (members[1:] == members[:-1]))[: MAX_FINDINGS + 1].tolist():
        if lengths[index]:
            yield f"[{starts[index]}, {starts[index] + lengths[index]}) is claimed twice"
    first = np.concatenate(([True], ~again))
    starts, ends = starts[first], (starts + lengths)[first]
    reached = np.concatenate(([0], np.maximum.accumulate(ends)))
    starts = np.append(starts, total)
    for index in np.flatnonzero(starts != reached).tolist():
        start, so_far = int(starts[index]), int(reached[index])
        if start > so_far:
            yield f"nothing answers for [{so_far}, {start})"
        elif index == len(starts) - 1:
            yield f"[{start}, {so_far}) is claimed past the end at {total}"
        else:
            yield f"[{start}, {min(so_far, int(ends[index]))}) is claimed by more than one range"


def _gunzipped(stream: BinaryIO, limits: ReadLimits) -> Iterator[bytes | int]:
    """Yields the blocks of each member after its offset."""
    raw = b""
    while raw := raw or stream.read(_GZIP_STEP):
        if raw[:1] == b"\0":  # padding between members
            raw = raw.lstrip(b"\0")
            continue
        if len(raw) < 18:
            raw += stream.read(18 - len(raw))
        if refusal(raw[:18], "gz", limits) is not None:
            raise EOFError
        yield stream.tell() - len(raw)
        member = zlib.decompressobj(31)
        size = 0
        while not member.eof:
            if not raw:
                raise EOFError
            block = member.decompress(raw, _STEP)
            size += len(block)
            if size > limits.max_member_bytes:
                raise EOFError
            yield block
            raw = member.unconsumed_tail or (b"" if member.eof else stream.read(_GZIP_STEP))
        raw = member.unused_data


def _unzstd(stream: BinaryIO, limits: ReadLimits) -> Iterator[bytes | int]:
    """Yields the blocks of each frame after its offset."""
    decompressor = zstandard.ZstdDecompressor(max_window_size=limits.max_window_bytes)
    start = 0
    while head := read_range(stream, start, 18):
        if skippable(head):
            end = start + 8 + int.from_bytes(head[4:8], "little")
        elif refusal(head, "zst", limits) is not None:
            raise EOFError
        else:
            end = _frame_end(stream, start, head)
            yield start
            size = 0
            # Alone, because the decompressor would read on into the next.
            with decompressor.stream_reader(section(stream, start, end, end)) as frame:
                while block := frame.read(_STEP):
                    size += len(block)
                    if size > limits.max_member_bytes:
                        raise EOFError
                    yield block
        if end > stream.seek(0, 2):  # the file reader accepts a cut-off frame as complete
            raise EOFError
        start = end


def _frame_end(stream: BinaryIO, start: int, head: bytes) -> int:
    """Where a frame ends, from its block headers alone (RFC 8878, 3.1.1)."""
    checksum = zstandard.get_frame_parameters(head).has_checksum
    at = start + zstandard.frame_header_size(head)
    last = False
    while not last:
        raw = read_range(stream, at, 3)
        if len(raw) < 3:
            return at + 3
        block = int.from_bytes(raw, "little")
        last = bool(block & 1)
        at += 3 + (1 if block >> 1 & 3 == 1 else block >> 3)  # a run-length block stores only one byte
    return at + 4 * checksum
