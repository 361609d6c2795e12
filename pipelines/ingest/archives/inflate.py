"""Decompresses gzip and zstd files of any number of members, block by block, in constant memory.

A member that is damaged, cut off, or larger than the limits ends the stream: all bytes before the damage are
returned, then one `Damage` that covers the file from that member to its end. isal and zstandard
inflate. Members are walked here because Python's `gzip` raises on damage without returning the bytes already read and
without saying where the member began.
"""

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final, Literal, Protocol, TypeAlias, TypeVar, cast

import zstandard
from isal import isal_zlib

from winnow.pipelines.decoding.file_bytes import read_range
from winnow.pipelines.ingest.records import ReadLimits

Codec: TypeAlias = Literal["gz", "zst"]
Marker = TypeVar("Marker")

BLOCK_BYTES: Final = 1 << 20

_READ_BYTES: Final = 256 << 10
_OUTPUT_BYTES: Final = 1 << 20
_GZIP_SLICE: Final = 64 << 10
# A zstd block of 4 bytes may hold 128 KiB, and the decoder returns a whole slice's output at once: at most 16 MiB.
_ZSTD_SLICE: Final = 512

# isal's stub declares its exception class as if it were an instance.
_FAULTS: Final = (zlib.error, cast(type[Exception], isal_zlib.error), zstandard.ZstdError)


@dataclass(frozen=True, slots=True)
class MemberStart:
    """A member begins at this byte of the file; the blocks that follow are its content."""

    offset: int


@dataclass(frozen=True, slots=True)
class Damage:
    """Why the stream ends early, and the range of the file that could not be read."""

    offset: int
    length: int
    reason: str
    detail: str


def codec_of(head: bytes) -> Codec | None:
    """Detects a file's compression from its first bytes."""
    if head[:2] == b"\x1f\x8b":
        return "gz"
    if head[:4] == b"\x28\xb5\x2f\xfd" or skippable(head):
        return "zst"
    return None


def inflated(stream: BinaryIO, size: int, codec: Codec, limits: ReadLimits) -> Iterator[bytes | Damage]:
    """Yields decompressed blocks of about 1 MiB in order and, if the file is damaged, a final `Damage`."""
    pieces = (piece for piece in _pieces(_Input(stream, size), codec, limits) if not isinstance(piece, MemberStart))
    return _in_blocks(pieces)


def inflated_members(
    stream: BinaryIO, size: int, codec: Codec, limits: ReadLimits, start: int
) -> Iterator[bytes | MemberStart | Damage]:
    """Yields the same from the member that begins at `start`, with the beginning of each member before its blocks."""
    source = _Input(stream, size)
    source.seek(start)
    return _in_blocks(_pieces(source, codec, limits))


def _in_blocks(pieces: Iterable[bytes | Marker]) -> Iterator[bytes | Marker]:
    """Joins pieces to blocks of about 1 MiB; anything else ends the block before it."""
    pending: list[bytes] = []
    held = 0
    for piece in pieces:
        if not isinstance(piece, bytes):
            yield from [b"".join(pending)] if pending else []
            pending, held = [], 0
            yield piece
            continue
        pending.append(piece)
        held += len(piece)
        if held >= BLOCK_BYTES:
            yield b"".join(pending)
            pending, held = [], 0
    if pending:
        yield b"".join(pending)


class _Input:
    """The compressed file, read in large steps and consumed in small ones."""

    def __init__(self, stream: BinaryIO, size: int) -> None:
        self._stream = stream
        self.size = size
        self._buffer = b""
        self._base = 0
        self._at = 0

    @property
    def offset(self) -> int:
        return self._base + self._at

    def seek(self, offset: int) -> None:
        self._buffer, self._base, self._at = b"", offset, 0

    def take(self, count: int) -> bytes:
        """Up to `count` bytes; none only at the end."""
        if self._at >= len(self._buffer):
            self.seek(self.offset)
            self._buffer = read_range(self._stream, self._base, min(_READ_BYTES, self.size - self._base))
        piece = self._buffer[self._at : self._at + count]
        self._at += len(piece)
        return piece

    def give_back(self, count: int) -> None:
        """Returns the last bytes of the last `take` to the input."""
        self._at -= count

    def peek(self, count: int) -> bytes:
        """The next `count` bytes, fewer only at the end."""
        if len(self._buffer) - self._at < count:
            offset = self.offset
            self.seek(offset)
            self._buffer = read_range(self._stream, offset, min(_READ_BYTES, self.size - offset))
        return self._buffer[self._at : self._at + count]


class _Decoder(Protocol):
    """Inflates one member."""

    slice_bytes: int

    @property
    def ended(self) -> bool: ...

    @property
    def unused(self) -> bytes: ...

    def feed(self, piece: bytes) -> Iterator[bytes]: ...


class _Gzip:
    slice_bytes = _GZIP_SLICE

    def __init__(self, exact: bool) -> None:
        # zlib returns every byte before a fault; isal is faster but reads ahead.
        self._member = zlib.decompressobj(31) if exact else isal_zlib.decompressobj(31)

    @property
    def ended(self) -> bool:
        return bool(self._member.eof)

    @property
    def unused(self) -> bytes:
        return bytes(self._member.unused_data)

    def feed(self, piece: bytes) -> Iterator[bytes]:
        while not self._member.eof:
            block = self._member.decompress(piece, _OUTPUT_BYTES)
            if block:
                yield block
            piece = self._member.unconsumed_tail
            if not piece and len(block) < _OUTPUT_BYTES:
                return


class _Zstd:
    slice_bytes = _ZSTD_SLICE

    def __init__(self, max_window_bytes: int) -> None:
        self._frame = zstandard.ZstdDecompressor(max_window_size=max_window_bytes).decompressobj(write_size=64 << 10)

    @property
    def ended(self) -> bool:
        return bool(self._frame.eof)

    @property
    def unused(self) -> bytes:
        return bytes(self._frame.unused_data)

    def feed(self, piece: bytes) -> Iterator[bytes]:
        block = self._frame.decompress(piece)
        for at in range(0, len(block), _OUTPUT_BYTES):
            yield block[at : at + _OUTPUT_BYTES]


def _open(codec: Codec, limits: ReadLimits, exact: bool = False) -> _Decoder:
    return _Gzip(exact) if codec == "gz" else _Zstd(limits.max_window_bytes)


def _pieces(source: _Input, codec: Codec, limits: ReadLimits) -> Iterator[bytes | MemberStart | Damage]:
    while source.offset < source.size:
        start = source.offset
        head = source.peek(18)
        if codec == "gz" and head[:1] == b"\0" and start > 0:
            source.take(len(head) - len(head.lstrip(b"\0")))  # tar and tape pad with zeros between members
            continue
        if codec == "zst" and skippable(head) and len(head) >= 8:
            source.seek(start + 8 + int.from_bytes(head[4:8], "little"))
            if source.offset > source.size:
                yield Damage(start, source.size - start, "truncated", f"a skippable frame at byte {start} is cut off")
            continue
        refused = refusal(head, codec, limits)
        if refused is not None:
            reason, why = refused
            yield Damage(start, source.size - start, reason, f"member at byte {start}: {why}")
            return
        yield MemberStart(start)
        produced = 0
        decoder = _open(codec, limits)
        damage: Damage | None = None
        while not decoder.ended and damage is None:
            before = source.offset
            piece = source.take(decoder.slice_bytes)
            if not piece:
                damage = _damage(source, start, "truncated", f"the file ends inside the member, {produced} bytes out")
                break
            try:
                for block in decoder.feed(piece):
                    produced += len(block)
                    if produced > limits.max_member_bytes:
                        why = f"inflates past the limit of {limits.max_member_bytes} bytes"
                        damage = _damage(source, start, "bomb", why)
                        yield block[: limits.max_member_bytes - produced]
                        break
                    yield block
            except _FAULTS:
                for block in _salvage(source, codec, limits, start, before, produced):
                    produced += len(block)
                    yield block
                why = f"does not inflate past byte {before}, {produced} bytes out"
                damage = _damage(source, start, "corrupt_member", why)
        if damage is not None:
            yield damage
            return
        source.give_back(len(decoder.unused))


def _salvage(
    source: _Input, codec: Codec, limits: ReadLimits, start: int, fault: int, produced: int
) -> Iterator[bytes]:
    """Recovers a faulty slice's output: inflates the member again, the slice byte by byte, past what was returned."""
    decoder = _open(codec, limits, exact=True)
    source.seek(start)
    seen = 0
    try:
        while source.offset < source.size and not decoder.ended:
            near = source.offset >= fault
            for block in decoder.feed(source.take(1 if near else min(decoder.slice_bytes, fault - source.offset))):
                fresh = block[max(0, produced - seen) :]
                seen += len(block)
                if fresh and seen <= limits.max_member_bytes:
                    yield fresh
    except _FAULTS:
        return


def _damage(source: _Input, start: int, reason: str, why: str) -> Damage:
    return Damage(start, source.size - start, reason, f"member at byte {start}: {why}")


def has_reserved_flags(head: bytes) -> bool:
    """Whether a gzip header sets flags that RFC 1952 reserves, which must be refused; isal ignores them."""
    return len(head) > 3 and head[3] & 0xE0 != 0


def skippable(head: bytes) -> bool:
    """Whether a skippable zstd frame begins with these bytes."""
    return len(head) >= 4 and head[0] & 0xF0 == 0x50 and head[1:4] == b"\x2a\x4d\x18"


def refusal(head: bytes, codec: Codec, limits: ReadLimits) -> tuple[str, str] | None:
    """Why the first 18 bytes of a member are refused, or None; the one rule for readers and the audit."""
    if codec == "gz":
        if head[:2] != b"\x1f\x8b"[: len(head)]:
            return "corrupt_member", "no gzip member begins here"
        return ("corrupt_member", "the gzip header has reserved flags set") if has_reserved_flags(head) else None
    if head[:4] != b"\x28\xb5\x2f\xfd"[: len(head)]:
        return "corrupt_member", "no zstd frame begins here"
    try:
        window = zstandard.get_frame_parameters(head).window_size
    except zstandard.ZstdError:
        return ("truncated", "the file ends inside the header") if len(head) < 18 else ("corrupt_member", "bad header")
    if window > limits.max_window_bytes:
        return "too_large", f"needs a window of {window} bytes, the limit is {limits.max_window_bytes}"
    return None
