"""The lines of a stream, and of a file compressed as one member or many (gzip members, zstd frames) with their places.

The place of a line in the member at the file's first byte is its offset in the decompressed stream. A later member can
be found without decompressing those before it, so a line that begins in one has that member's offset and its number
among the member's lines, from 1. The number counts line ends, so a member may begin inside a line.

Therefore such a file can be read in parts that give the same lines as the whole. A part begins with the first member
that is found in it. It has every line that begins in its members after their first byte, and the line that begins with
the first byte after them: whether a member begins a line cannot be known without reading the one before. Should two
parts find different members, then what they say that they covered does not fit, and the file is read whole.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import BinaryIO, NamedTuple

from winnow.pipelines.ingest.archives.flows import FileFlow
from winnow.pipelines.ingest.archives.inflate import Codec, Damage, MemberStart, inflated_members
from winnow.pipelines.ingest.archives.members import MANY_TRIES, GzipMembers, Members
from winnow.pipelines.ingest.archives.zstd_members import ZstdMembers
from winnow.pipelines.ingest.files import holds_start
from winnow.pipelines.ingest.records import Covered, ReadLimits, Span
from winnow.schemas.records import FilePart


class Line(NamedTuple):
    """A line of a stream: its range with the terminator, and its bytes without; None if it exceeds the limit."""

    offset: int
    length: int
    content: bytes | None
    terminated: bool


@dataclass(frozen=True, slots=True)
class PlacedLine:
    """A line and its place in the file; `cut` if the stream ends inside it, at damage."""

    line: Line
    span: Span
    cut: bool


def split_lines(blocks: Iterable[bytes], offset: int, max_bytes: int) -> Iterator[Line]:
    """Splits a stream of blocks into lines, the first at `offset`; a line over the limit is not loaded."""
    held: list[bytes] = []
    held_bytes = 0
    for block in blocks:
        lines = block.split(b"\n")
        rest = lines.pop()
        if lines:
            if held_bytes:
                size = held_bytes + len(lines[0])
                yield Line(offset, size + 1, b"".join([*held, lines[0]]) if size <= max_bytes else None, True)
                offset += size + 1
            for content in islice(lines, 1 if held_bytes else 0, None):
                size = len(content)
                yield Line(offset, size + 1, content if size <= max_bytes else None, True)
                offset += size + 1
            held, held_bytes = [], 0
        held_bytes += len(rest)
        if held_bytes > max_bytes:
            held.clear()
        elif rest:
            held.append(rest)
    if held_bytes:
        yield Line(offset, held_bytes, b"".join(held) if held_bytes <= max_bytes else None, False)


def compressed_lines(
    stream: BinaryIO, part: FilePart, codec: Codec, limits: ReadLimits
) -> Iterator[PlacedLine | Damage | Covered]:
    """Yields the lines of a part; then the damage that ends the file, if any, and what of it the part covered."""
    start = 0 if holds_start(part) else -1
    if part.start > 0:
        start = next_member(stream, part.size, codec, limits, part.start, part.end)
    if start < 0:
        return
    walk = _Walk(inflated_members(stream, part.size, codec, limits, start), part)
    for line in split_lines(walk.blocks(), 0, limits.max_body_bytes):
        if line.offset > walk.boundary and walk.damage is None:  # no part begins where damage is near
            break
        span = walk.span(line)
        if start == 0 or line.offset > 0:
            yield PlacedLine(line, span, cut=walk.damage is not None and not line.terminated)
    if walk.damage is not None:
        yield walk.damage
    if not part.whole:
        yield Covered(start, part.size if walk.damage is not None else walk.stop)


def next_member(
    stream: BinaryIO, size: int, codec: Codec, limits: ReadLimits, at: int, limit: int, tries: int = MANY_TRIES
) -> int:
    """The first position in [at, limit) where a member with text begins, or -1; gives up after `tries` members
    without."""
    flow = FileFlow(stream, size)
    members: Members = (GzipMembers if codec == "gz" else ZstdMembers)(flow, _may_be_text, limits)
    return members.next_start(at, min(limit, size), tries)


def _may_be_text(head: bytes) -> bool:
    return b"\0" not in head


class _Begun(NamedTuple):
    """A member: where it begins in the part's stream and in the file, and how many lines ended before it."""

    at: int
    offset: int
    lines: int


class _Walk:
    """The decompressed bytes of a part's members and of what follows them, and where each member begins."""

    def __init__(self, pieces: Iterator[bytes | MemberStart | Damage], part: FilePart) -> None:
        self._pieces = pieces
        self._end = part.end
        self._begun: deque[_Begun] = deque()
        self._at = 0  # in the part's stream
        self._lines = 0  # lines that were placed
        self.boundary = 1 << 63  # where in the stream the first member of the next part begins
        self.stop = part.size  # and where in the file
        self.damage: Damage | None = None

    def blocks(self) -> Iterator[bytes]:
        """Yields the blocks. All lines of a block are placed before the next is asked for."""
        for piece in self._pieces:
            if isinstance(piece, bytes):
                self._at += len(piece)
                yield piece
            elif isinstance(piece, Damage):
                self.damage = piece
            else:
                self._begun.append(_Begun(self._at, piece.offset, self._lines))
                if piece.offset >= self._end and self.stop > piece.offset:
                    self.boundary, self.stop = self._at, piece.offset

    def span(self, line: Line) -> Span:
        """The place of the next line."""
        while len(self._begun) > 1 and self._begun[1].at <= line.offset:
            self._begun.popleft()
        member = self._begun[0]
        number = self._lines - member.lines + 1
        self._lines += 1
        if member.offset == 0:
            return Span(line.offset, line.length, "stream")
        return Span(member.offset, line.length, "member", number)
