"""Splits a compressed archive into its members, each with its exact compressed range and a verified checksum.

A reader that trusts the stream stops at the first damaged member. Because members are split first, a damaged one
only loses itself: reading resumes at the next position where a member verifiably begins.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias, cast

from isal import igzip_lib, isal_zlib

from winnow.pipelines.ingest.archives.flows import CHUNK_BYTES, FileFlow, Flow, StreamFlow
from winnow.pipelines.ingest.archives.inflate import has_reserved_flags
from winnow.pipelines.ingest.records import ReadLimits

Fault: TypeAlias = Literal["corrupt_member", "truncated", "bomb", "bad_header"]
Opens: TypeAlias = Callable[[bytes], bool]
"""Whether the first inflated bytes of a member are the beginning of a record."""

HELD_BYTES = 16 << 20  # a member that inflates to more is verified in one pass and read in a second
PROBE_BYTES = 16 << 10  # how far a possible start of a member is inflated to verify it
MANY_TRIES = 1 << 62  # a reader of a file searches to its end
GZIP_WINDOW = 31  # wbits: a gzip header and trailer, the checksum verified
INFLATE_ERROR: type[Exception] = cast(type[Exception], igzip_lib.IsalError)  # its stub calls it an instance
GZIP_MAGIC = b"\x1f\x8b\x08"


@dataclass(slots=True)
class Member:
    """One compressed member: its position, and its content or what is wrong with it."""

    offset: int
    length: int
    size: int = 0  # inflated bytes
    content: bytes | None = None  # the inflated bytes, unless they exceed the limit for holding them
    fault: Fault | None = None
    detail: str = ""


class Members(ABC):
    """The members of one compressed file."""

    magic: ClassVar[bytes]

    def __init__(self, flow: FileFlow, opens: Opens, limits: ReadLimits) -> None:
        self._flow = flow
        self._opens = opens
        self._held = min(HELD_BYTES, limits.max_body_bytes)
        self._most = limits.max_member_bytes

    @abstractmethod
    def read(self, at: int) -> Member:
        """Inflates the member at this position to its end, which proves its length and checksum."""

    @abstractmethod
    def begins(self, at: int) -> bool:
        """Whether a member begins here and its first bytes begin a record."""

    @abstractmethod
    def inflated(self, member: Member) -> Flow:
        """The inflated bytes of a member that is not held in memory, or that was cut off."""

    def next_start(self, at: int, limit: int, tries: int = MANY_TRIES) -> int:
        """The first position in [at, limit) where `begins` holds, or -1; tests at most `tries` positions."""
        hit = self._flow.find(self.magic, at, limit)
        while hit >= 0 and not self.begins(hit):
            tries -= 1
            hit = self._flow.find(self.magic, hit + 1, limit) if tries else -1
        return hit

    def _no_member(self, at: int, first: bytes) -> Member:
        """The member to report where none begins: one that was cut off, or something else."""
        if self.magic.startswith(first):
            return Member(at, 0, fault="truncated", detail="the file ends inside a member")
        return Member(at, 0, fault="bad_header", detail="no compressed member begins here")

    def _inflate(self, at: int, chunks: Iterator[bytes]) -> Member:
        """Takes the chunks of a member to their end; holds its content up to the limit."""
        parts: list[bytes] | None = []
        size = 0
        for chunk in chunks:
            size += len(chunk)
            if size > self._most:
                return Member(at, 0, size, fault="bomb", detail=f"the member inflates to more than {self._most} bytes")
            if parts is not None:
                parts.append(chunk)
                if size > self._held:
                    parts = None
        return Member(at, 0, size, None if parts is None else b"".join(parts))


class GzipMembers(Members):
    """The members of a gzip file."""

    magic = GZIP_MAGIC

    def __init__(self, flow: FileFlow, opens: Opens, limits: ReadLimits) -> None:
        super().__init__(flow, opens, limits)
        self._guess = 16 << 10  # how many bytes to offer at once: the inflater copies what is left over

    def read(self, at: int) -> Member:
        """Reads the member at this position."""
        flow = self._flow
        index = flow.load(at, self._guess)
        offered = flow.buffer[index : index + self._guess]
        if not offered.startswith(GZIP_MAGIC):
            return self._no_member(at, offered[:3])
        if has_reserved_flags(offered):
            return Member(at, 0, fault="corrupt_member", detail="the gzip header has reserved flags set")
        inflater = isal_zlib.decompressobj(GZIP_WINDOW)
        try:
            content: bytes = inflater.decompress(offered, self._held)
        except INFLATE_ERROR:
            return Member(at, 0, fault="corrupt_member", detail="the gzip member does not inflate")
        if inflater.eof:
            length = len(offered) - len(inflater.unused_data)
            # Grow at once, shrink slowly: requests and pages alternate, and too small a guess means inflating again.
            self._guess = min(max(self._guess - (self._guess >> 6), length + (length >> 2), 4096), 128 << 10)
            return Member(at, length, len(content), content)
        self._guess = min(2 * self._guess, 128 << 10)
        return self._long(at)

    def begins(self, at: int) -> bool:
        """Whether a record's first bytes inflate from here."""
        offered = self._flow.peek(at, PROBE_BYTES)
        if not offered.startswith(GZIP_MAGIC) or has_reserved_flags(offered):
            return False
        try:
            head: bytes = isal_zlib.decompressobj(GZIP_WINDOW).decompress(offered, PROBE_BYTES)
        except INFLATE_ERROR:
            return False
        return self._opens(head)

    def inflated(self, member: Member) -> Flow:
        """Inflates the member's bytes again."""
        return StreamFlow(lambda: self._chunks(_Progress(member.offset)), member.size)

    def _long(self, at: int) -> Member:
        """Reads a member that needs more than one offer."""
        progress = _Progress(at)
        member = self._inflate(at, self._chunks(progress))
        if progress.fault is not None:
            member.fault, member.detail = progress.fault, progress.detail
        elif member.fault is None:
            member.length = progress.at - at
        return member

    def _chunks(self, progress: "_Progress") -> Iterator[bytes]:
        """Inflates one member in pieces of at most a chunk, never empty; `progress` records the position reached."""
        flow = self._flow
        inflater = isal_zlib.decompressobj(GZIP_WINDOW)
        while True:
            offered = flow.peek(progress.at, 64 << 10)
            try:
                chunk: bytes = inflater.decompress(offered, CHUNK_BYTES)
            except INFLATE_ERROR:
                progress.fault, progress.detail = "corrupt_member", "the gzip member does not inflate"
                return
            progress.at += len(offered) - len(inflater.unconsumed_tail) - len(inflater.unused_data)
            if chunk:
                yield chunk
            if inflater.eof:
                return
            if not offered and not chunk:
                progress.fault, progress.detail = "truncated", "the file ends inside a gzip member"
                return


@dataclass(slots=True)
class _Progress:
    """The position that an inflation has reached in the file, and what stopped it."""

    at: int
    fault: Fault | None = None
    detail: str = ""
