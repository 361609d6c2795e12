"""Proves, from the file alone, that a reader's claimed ranges make up the file (law 3).

No code is shared with the readers: `zlib` inflates, and a separate parser only finds where records
begin and end. A reader that skips a record and extends its neighbour's range is caught, because an extended range
contains more records than claimed, or bytes that belong to none.
"""

import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import BinaryIO, Final

import zstandard

from winnow.pipelines.ingest.records import ReadLimits
from winnow.pipelines.ingest.tiling.claims import MAX_FINDINGS, Claim

_READ_BYTES: Final = 256 << 10
_INFLATED_BYTES: Final = 1 << 20
_ZSTD_READ_BYTES: Final = 1 << 10  # a block of 4 bytes inflates to at most 128 KiB
_NOT_PADDING: Final = re.compile(rb"[^\r\n\x00]")
_LINE_ENDS: Final = re.compile(rb"\r\n\r?|\r")
_FOLD: Final = re.compile(rb"\n[ \t]")
_ZSTD_FRAME: Final = b"\x28\xb5\x2f\xfd"
_DICTIONARY_FRAME: Final = b"\x5d\x2a\x4d\x18"


class _RangeError(Exception):
    """The range's content does not match the claim."""


def check_tiling(stream: BinaryIO, claims: Iterable[Claim], limits: ReadLimits) -> list[str]:
    """Lists what is wrong with the claims on an archive file, one line per finding, in file order; empty if they are
    proved.

    `stream` is seekable; `limits` are those under which the file was read.
    """
    findings: list[str] = []
    found = 0
    for finding in _findings(stream, claims, limits):
        found += 1
        if found <= MAX_FINDINGS:
            findings.append(finding)
    if found > MAX_FINDINGS:
        findings.append(f"and {found - MAX_FINDINGS} more")
    return findings


def _findings(stream: BinaryIO, claims: Iterable[Claim], limits: ReadLimits) -> Iterator[str]:
    size = stream.seek(0, 2)
    auditor = _Auditor(stream, limits)
    at = 0
    ordered = sorted(claims, key=lambda claim: (claim.span.offset, claim.span.length, claim.span.member))
    for (offset, length), group in groupby(ordered, key=lambda claim: (claim.span.offset, claim.span.length)):
        sharing = list(group)
        place = f"bytes {offset} to {offset + length}"
        if offset > at:
            yield f"bytes {at} to {offset} are claimed by nothing"
        elif offset < at:
            yield f"{place}: overlaps what was claimed up to {at}"
        if offset < 0 or length <= 0 or offset + length > size:
            yield f"{place}: outside this file of {size} bytes"
        elif any(claim.span.member != member for member, claim in enumerate(sharing)):
            yield f"{place}: the {len(sharing)} claims that share it are not numbered consecutively from 0"
        elif all(claim.readable for claim in sharing):
            try:
                auditor.check(offset, length, len(sharing))
            except _RangeError as wrong:
                yield f"{place}: {wrong}"
        at = max(at, offset + length)
    if at < size:
        yield f"bytes {at} to {size} are claimed by nothing"


class _Auditor:
    """Checks single ranges of one file."""

    def __init__(self, stream: BinaryIO, limits: ReadLimits) -> None:
        self._stream = stream
        self._limits = limits
        self._zstd: zstandard.ZstdDecompressor | None = None

    def check(self, offset: int, length: int, claimed: int) -> None:
        """Checks that the range is whole members, one record or padding, and holds as much as claimed."""
        first = self._first(offset, min(length, 4))
        if first.startswith(b"\x1f\x8b"):
            inflated = _inflate_gzip(self._pieces(offset, length, _READ_BYTES))
        elif first == _ZSTD_FRAME or _is_skippable(first):
            inflated = self._inflate_zstd(offset, length)
        elif claimed > 1:
            raise _RangeError(f"{claimed} records are claimed for one range of a plain file")
        else:
            inflated = self._pieces(offset, length, _READ_BYTES)
        walk = _RecordCount(self._limits.max_header_bytes)
        for piece in inflated:
            walk.feed(piece)
        walk.finish()
        # One claim accounts for an empty member.
        if max(walk.records + walk.paddings, 1) != claimed:
            held = f"{walk.records} records and {walk.paddings} stretches of padding"
            raise _RangeError(f"holds {held}, but {claimed} are claimed")

    def _first(self, offset: int, count: int) -> bytes:
        self._stream.seek(offset)
        return self._stream.read(count)

    def _pieces(self, offset: int, length: int, step: int) -> Iterator[bytes]:
        while length > 0:
            self._stream.seek(offset)
            piece = self._stream.read(min(length, step))
            if not piece:
                raise _RangeError("the file ends before the range does")
            yield piece
            offset += len(piece)
            length -= len(piece)

    def _inflate_zstd(self, offset: int, length: int) -> Iterator[bytes]:
        """Inflates the frames of a range, which must end where it ends."""
        if self._zstd is None:
            self._zstd = _zstd_decompressor(self._stream, self._limits.max_window_bytes)
        stop = offset + length
        while offset < stop:
            first = self._first(offset, 8)
            if _is_skippable(first):
                offset += 8 + int.from_bytes(first[4:8], "little")
                continue
            try:
                frame = self._zstd.decompressobj()
                for piece in self._pieces(offset, stop - offset, _ZSTD_READ_BYTES):
                    yield frame.decompress(piece)
                    offset += len(piece) - len(frame.unused_data)
                    if frame.eof:
                        break
            except zstandard.ZstdError:
                raise _RangeError("a zstd frame does not inflate") from None
            if not frame.eof:
                raise _RangeError("the range ends inside a zstd frame")
        if offset != stop:
            raise _RangeError("the range ends inside a skippable frame")


def _inflate_gzip(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Inflates the members of a range, which must end where it ends."""
    member = zlib.decompressobj(31)
    fresh = True
    for piece in pieces:
        rest = piece
        while rest:
            if member.eof:
                member, fresh = zlib.decompressobj(31), True
            try:
                out = member.decompress(rest, _INFLATED_BYTES)
            except zlib.error:
                raise _RangeError("a gzip member does not inflate") from None
            fresh = False
            yield out
            rest = member.unused_data if member.eof else member.unconsumed_tail
    while not member.eof and (out := _flush(member)):
        yield out
    if fresh or not member.eof:
        raise _RangeError("the range ends inside a gzip member")


def _flush(member: "zlib._Decompress") -> bytes:
    try:
        return member.decompress(b"", _INFLATED_BYTES)
    except zlib.error:
        raise _RangeError("a gzip member does not inflate") from None


class _RecordCount:
    """Counts records in pieces of bytes, holding no more than one header."""

    def __init__(self, max_header_bytes: int) -> None:
        self.records = 0
        self.paddings = 0
        self._max_header_bytes = max_header_bytes
        self._in_padding = False
        self._state: Callable[[], bool] = self._between
        self._held = b""
        self._at = 0  # the position in `_held` up to which bytes are parsed
        self._searched = 0  # bytes of an unfinished header already searched for its end
        self._block = 0  # remaining bytes of the block
        self._mark = b"\r\n\r\n"

    def feed(self, piece: bytes) -> None:
        """Consumes the next bytes."""
        self._held = self._held[self._at :] + piece
        self._at = 0
        while self._state():
            pass

    def finish(self) -> None:
        """Ends the input."""
        rest = len(self._held) - self._at
        if self._state == self._in_mark and self._mark.startswith(self._held[self._at :]):
            return  # the last record may lack its line ends
        if self._state != self._between or rest:
            raise _RangeError("it ends inside a record")

    def _between(self) -> bool:
        found = _NOT_PADDING.search(self._held, self._at)
        at = found.start() if found else len(self._held)
        if at > self._at and not self._in_padding:
            self.paddings += 1
            self._in_padding = True
        self._at = at
        if found is None:
            return False
        self._in_padding = False
        self._searched = 0
        self._state = self._in_header
        return True

    def _in_header(self) -> bool:
        if len(self._held) < self._at + 5:
            return False
        self._mark = b"\r\n\r\n" if self._held.startswith(b"WARC/", self._at) else b"\n"
        end = self._held.find(self._mark, self._at + self._searched)
        if end < 0:
            self._searched = max(0, len(self._held) - self._at - 3)
            if self._searched > self._max_header_bytes:
                raise _RangeError("a record's header does not end")
            return False
        header = self._held[self._at : end]
        self._block = _warc_length(header) if len(self._mark) == 4 else _arc_length(header)
        self._at = end + len(self._mark)
        self.records += 1
        self._state = self._in_block
        return True

    def _in_block(self) -> bool:
        passed = min(self._block, len(self._held) - self._at)
        self._block -= passed
        self._at += passed
        if self._block:
            return False
        self._state = self._in_mark
        return True

    def _in_mark(self) -> bool:
        if len(self._held) < self._at + len(self._mark):
            return False
        if not self._held.startswith(self._mark, self._at):
            line_ends = _LINE_ENDS.match(self._held, self._at)
            after = self._at if line_ends is None else line_ends.end()
            if len(self._held) < after + 5:
                return False
            if self._mark == b"\n" or not self._held.startswith(b"WARC/", after):
                raise _RangeError("a record's length is not that of its block")
            self._at = after  # another record begins at once, without the line ends between
        else:
            self._at += len(self._mark)
        self._state = self._between
        return True


def _warc_length(header: bytes) -> int:
    for line in _FOLD.sub(b" ", header).split(b"\n")[1:]:
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            return _number(value.strip())
    raise _RangeError("a record without a length")


def _arc_length(header: bytes) -> int:
    fields = header.rstrip(b"\r").split(b" ")
    if len(fields) < 5 or b":" not in fields[0]:
        raise _RangeError("bytes that are not a record")
    return _number(fields[-1])


def _number(raw: bytes) -> int:
    if not raw.isdigit() or len(raw) > 18:
        raise _RangeError("a record's length is not a number")
    return int(raw)


def _is_skippable(first: bytes) -> bool:
    return len(first) >= 4 and 0x184D2A50 <= int.from_bytes(first[:4], "little") <= 0x184D2A5F


def _zstd_decompressor(stream: BinaryIO, max_window_bytes: int) -> "zstandard.ZstdDecompressor":
    stream.seek(0)
    first = stream.read(8)
    if not first.startswith(_DICTIONARY_FRAME):
        return zstandard.ZstdDecompressor(max_window_size=max_window_bytes)
    raw = stream.read(min(int.from_bytes(first[4:8], "little"), 16 << 20))
    if raw.startswith(_ZSTD_FRAME):
        with zstandard.ZstdDecompressor().stream_reader(raw) as reader:
            raw = reader.read(16 << 20)
    return zstandard.ZstdDecompressor(dict_data=zstandard.ZstdCompressionDict(raw), max_window_size=max_window_bytes)
