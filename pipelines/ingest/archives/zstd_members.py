"""The members of a .warc.zst file: zstd frames, after an optional dictionary (the IIPC's WARC/Zstandard draft).

A frame's extent is found by walking its block headers, so it is exact without inflating. Each block
inflates to at most 128 KiB, so the memory for a step is known in advance. This is done here because `zstandard`
does not expose zstd's own search for the end of a frame (`ZSTD_findFrameCompressedSize`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

import zstandard

from winnow.pipelines.ingest.archives.flows import CHUNK_BYTES, FileFlow, Flow, StreamFlow
from winnow.pipelines.ingest.archives.inflate import skippable
from winnow.pipelines.ingest.archives.members import PROBE_BYTES, Fault, Member, Members, Opens
from winnow.pipelines.ingest.records import ReadLimits

ZSTD_MAGIC: Final = b"\x28\xb5\x2f\xfd"
DICTIONARY_MAGIC: Final = b"\x5d\x2a\x4d\x18"  # the skippable frame 0x184D2A5D
MAX_DICTIONARY_BYTES: Final = 16 << 20
MAX_BLOCK_BYTES: Final = 128 << 10
_HEADER_BYTES: Final = 18
_EMPTY_FRAME: Final = b"\x28\xb5\x2f\xfd\x20\x00\x01\x00\x00"
PROBE_BLOCKS: Final = 4


def is_zstd(first: bytes) -> bool:
    """Whether these are the first bytes of a zstd file: of a frame or of a skippable one."""
    return first.startswith(ZSTD_MAGIC) or skippable(first)


class ZstdMembers(Members):
    """The frames of a zstd file."""

    magic = ZSTD_MAGIC

    def __init__(self, flow: FileFlow, opens: Opens, limits: ReadLimits) -> None:
        super().__init__(flow, opens, limits)
        dictionary = _dictionary(flow, limits.max_window_bytes)
        self._whole = _decompressor(dictionary, limits.max_window_bytes)
        self._streaming = _decompressor(
            dictionary, limits.max_window_bytes
        )  # the other object is in use while `_whole` reads other frames

    def read(self, at: int) -> Member:
        """Reads the frame at this position."""
        flow = self._flow
        first = flow.peek(at, 8)
        if skippable(first):
            length = 8 + int.from_bytes(first[4:8], "little")
            if len(first) < 8 or at + length > flow.size:
                return Member(at, 0, fault="truncated", detail="the file ends inside a skippable frame")
            return Member(at, length, 0, b"")
        if not first.startswith(ZSTD_MAGIC):
            return self._no_member(at, first[:4])
        frame = _walk(flow, at)
        if frame.fault == "corrupt_member":
            return Member(at, 0, fault=frame.fault, detail="a zstd frame whose blocks cannot be told apart")
        if frame.fault is None and frame.bound <= self._held:
            try:
                content: bytes = self._whole.decompress(flow.peek(at, frame.length), max_output_size=frame.bound)
            except zstandard.ZstdError:
                return Member(at, 0, fault="corrupt_member", detail="the zstd frame does not inflate")
            return Member(at, frame.length, len(content), content)
        return self._long(at, frame)

    def begins(self, at: int) -> bool:
        """Whether a record's first bytes inflate from here."""
        if not self._flow.peek(at, 4).startswith(ZSTD_MAGIC):
            return False
        frame = _Frame(at)
        for _ in islice(_block_ends(self._flow, frame), PROBE_BLOCKS):  # the first may be empty
            pass
        offered = self._flow.peek(at, frame.walked - at)
        if not offered:
            return False
        try:
            with self._whole.stream_reader(offered, read_size=len(offered)) as reader:
                head: bytes = reader.read(PROBE_BYTES)
        except zstandard.ZstdError:
            return False
        return self._opens(head)

    def inflated(self, member: Member) -> Flow:
        """Inflates the frame's bytes again."""
        return StreamFlow(lambda: self._chunks(_Frame(member.offset)), member.size)

    def _long(self, at: int, frame: "_Frame") -> Member:
        member = self._inflate(at, self._chunks(frame))
        if member.fault is None and frame.fault is None:
            member.length = frame.length
        elif member.fault is None:
            cut = frame.fault == "truncated"
            member.fault = frame.fault
            member.detail = "the file ends inside a zstd frame" if cut else "the zstd frame does not inflate"
        return member

    def _chunks(self, frame: "_Frame") -> Iterator[bytes]:
        """Inflates the blocks of a frame, a few at a time, and never returns an empty chunk."""
        flow = self._flow
        inflater = self._streaming.decompressobj()
        step = CHUNK_BYTES // MAX_BLOCK_BYTES
        at = start = frame.offset
        frame.fault = None
        blocks = 0
        for stop in _block_ends(flow, frame):
            blocks += 1
            last = frame.length and start + frame.length == stop
            if blocks % step and not last:
                continue
            chunk = self._feed(inflater, frame, at, stop)
            if chunk is None:
                return
            at = stop
            if chunk:
                yield chunk
        yield from self._ending(inflater, frame, at)

    def _ending(self, inflater: "zstandard.ZstdDecompressionObj", frame: "_Frame", at: int) -> Iterator[bytes]:
        """Inflates the complete blocks before the point where a frame was cut off; a finished frame must say so."""
        if frame.fault == "truncated":
            chunk = self._feed(inflater, frame, at, frame.walked)
            if chunk:
                yield chunk
        elif frame.fault is None and not inflater.eof:
            frame.fault = "corrupt_member"

    def _feed(self, inflater: "zstandard.ZstdDecompressionObj", frame: "_Frame", start: int, stop: int) -> bytes | None:
        parts = []
        try:
            while start < stop:  # blocks are at most 128 KiB and steps are few, except in a frame of tiny blocks
                offered = self._flow.peek(start, min(stop - start, CHUNK_BYTES))
                parts.append(inflater.decompress(offered))
                start += len(offered)
                if not offered:
                    break
        except zstandard.ZstdError:
            frame.fault = "corrupt_member"
            return None
        return b"".join(parts)


@dataclass(slots=True)
class _Frame:
    """The result of walking a frame's blocks: where it ends, and how much it can hold."""

    offset: int
    length: int = 0
    bound: int = 0  # inflated bytes, at most
    walked: int = 0  # where the last complete block ends
    fault: Fault | None = None


def _walk(flow: Flow, at: int) -> _Frame:
    frame = _Frame(at)
    blocks = sum(1 for _ in _block_ends(flow, frame))
    most = max(blocks, 1) * MAX_BLOCK_BYTES
    if frame.bound > most and frame.fault is None:
        frame.fault = "corrupt_member"  # declares more than its blocks can hold; trusting it would allocate that much
    frame.bound = frame.bound or most
    return frame


def _block_ends(flow: Flow, frame: _Frame) -> Iterator[int]:
    """Yields the file positions where a frame's blocks end, the last with the checksum (RFC 8878, section 3.1.1)."""
    header = flow.peek(frame.offset, _HEADER_BYTES)
    if len(header) < 6:
        frame.fault = "truncated"
        return
    descriptor = header[4]
    single = descriptor >> 5 & 1
    dictionary_bytes = (0, 1, 2, 4)[descriptor & 3]
    size_bytes = (single, 2, 4, 8)[descriptor >> 6]
    length = 5 + (1 - single) + dictionary_bytes + size_bytes
    if size_bytes and len(header) >= length:
        frame.bound = int.from_bytes(header[length - size_bytes : length], "little") + 256 * (size_bytes == 2)
    at = frame.walked = frame.offset + length
    while True:
        block = flow.peek(at, 3)
        if len(block) < 3:
            frame.fault = "truncated"
            return
        value = block[0] | block[1] << 8 | block[2] << 16
        kind, size = value >> 1 & 3, value >> 3
        if kind == 3 or size > MAX_BLOCK_BYTES:
            frame.fault = "corrupt_member"
            return
        at += 3 + (1 if kind == 1 else size)
        if value & 1:
            at += 4 * (descriptor >> 2 & 1)
        if at > flow.size:
            frame.fault = "truncated"
            return
        frame.walked = at
        if value & 1:
            frame.length = at - frame.offset
            yield at
            return
        yield at


def _dictionary(flow: FileFlow, max_window_bytes: int) -> "zstandard.ZstdCompressionDict | None":
    first = flow.peek(0, 8)
    if not first.startswith(DICTIONARY_MAGIC) or len(first) < 8:
        return None
    content = flow.peek(8, min(int.from_bytes(first[4:], "little"), MAX_DICTIONARY_BYTES))
    try:
        if content.startswith(ZSTD_MAGIC):
            with _decompressor(None, max_window_bytes).stream_reader(content) as reader:
                content = reader.read(MAX_DICTIONARY_BYTES)
        dictionary = zstandard.ZstdCompressionDict(content)
        _decompressor(dictionary, max_window_bytes).decompress(
            _EMPTY_FRAME
        )  # a damaged dictionary fails at its first use
    except zstandard.ZstdError:
        return None  # frames that need it then fail to inflate and are quarantined one by one
    return dictionary


def _decompressor(
    dictionary: "zstandard.ZstdCompressionDict | None", max_window_bytes: int
) -> "zstandard.ZstdDecompressor":
    return zstandard.ZstdDecompressor(dict_data=dictionary, max_window_size=max_window_bytes)
