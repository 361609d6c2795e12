"""Walks an archive of records in any format and compression: the part that the WARC and ARC readers share.

Every byte of a part is in the range of exactly one member or, in a plain file, of exactly one record. A record
must be consistent from its header to the mark after its block. Where one is not, reading resumes at the next
position where a record verifiably begins, and the bytes between are reported, never skipped.

Parts: a record that verifiably begins in [start, end) belongs to that part, together with everything up to the next
such beginning. So a file gives the same events however it is cut into parts.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import BinaryIO, Final, Generic, Protocol, TypeVar

from winnow.pipelines.ingest.archives.flows import FileFlow, Flow, HeldFlow, StreamFlow
from winnow.pipelines.ingest.archives.members import GZIP_MAGIC, PROBE_BYTES, GzipMembers, Member, Members
from winnow.pipelines.ingest.archives.zstd_members import ZstdMembers, is_zstd
from winnow.pipelines.ingest.records import Dropped, Event, ReadLimits, Span, Unreadable
from winnow.schemas.records import FilePart

HEAD_BYTES: Final = 4096  # kept of a body that is too large to hold, for sniffing
SNIFF_BYTES: Final = 4 << 20  # how far into a damaged file to look for its compression
CLOSING_BYTES: Final = 40  # a mark, and the first line of the record after it
_BEGINNING_BYTES: Final = 2048  # nearly every header is shorter
_PADDING: Final = b"\r\n\x00"


@dataclass(slots=True)
class Head:
    """A parsed record header: its length and the length of its block."""

    header_bytes: int
    length: int


@dataclass(frozen=True, slots=True)
class Fault:
    """Why something is not a record header."""

    reason: str
    detail: str


@dataclass(slots=True)
class Block:
    """A record's block: `content[start : start + length]`, or only its beginning when it is too large to hold."""

    content: bytes
    start: int
    length: int
    held: bool
    at: int  # where it begins in the file, or in its inflated member


H = TypeVar("H", bound=Head)


class Grammar(Protocol[H]):
    """What distinguishes one archive format from another."""

    name: str
    mark: bytes  # ends a record's header, and again its block
    sync: bytes  # in a damaged stream, look for a record after each of these
    sync_skip: int  # how many bytes of `sync` precede the record

    def opens(self, first: bytes) -> bool:
        """Whether these may be the first bytes of a file or member of this format."""

    def parse(self, header: bytes) -> H | Fault:
        """Parses a header that ends with the mark."""

    def starts(self, first: bytes) -> bool:
        """Whether these bytes, possibly cut off by the end of the file, may begin a header."""

    def flaw(self, beginning: bytes) -> str:
        """What the first bytes show to be wrong with the header that begins with them; empty if nothing."""

    def nests(self, header: bytes) -> bool:
        """Whether another header begins inside this one."""

    def closing(self, after: bytes) -> int:
        """How many of the bytes after a block still belong to its record; -1 if no block ends before them.

        Args:
            after: `CLOSING_BYTES` bytes; fewer only where the file or member ends.
        """

    def key(self, head: H) -> str | None:
        """The record's own key, used to report a record that cannot be read."""

    def event(self, head: H, block: Block, span: Span, container: str, limits: ReadLimits) -> Event:
        """Converts a consistent record into an event."""


class _End(Enum):
    """What the end of a flow says about a record that runs into it."""

    PROVED = 1  # the member is complete and its checksum right: a longer record declares a wrong length
    OPEN = 2  # a plain file: a longer record was cut off
    CUT = 3  # the member was cut off: even a record that seems complete has no valid checksum


def read_archive(stream: BinaryIO, part: FilePart, limits: ReadLimits, grammar: Grammar[H]) -> Iterator[Event]:
    """Yields the events of one part of an archive file, in file order."""
    flow = FileFlow(stream, part.size)
    end = min(part.end, flow.size)
    if part.start >= end:
        return
    compression = _compression(flow, grammar, limits)
    if compression in ("gz", "zst"):
        members = (GzipMembers if compression == "gz" else ZstdMembers)(flow, grammar.opens, limits)
        yield from _read_members(members, flow, part.start, end, f"{grammar.name}.{compression}", limits, grammar)
    elif compression == "plain":
        walk = _Walk(flow, grammar, limits, grammar.name, lambda start, stop: Span(start, stop - start), _End.OPEN)
        at = walk.next_start(part.start, end) if part.start > 0 else 0
        yield from walk.events(at, end)
    elif part.start == 0:
        yield _unclaimed(flow, 0, flow.size, Unreadable(Span(0, flow.size), "bad_header", "no record begins here"))


def _compression(flow: FileFlow, grammar: Grammar[H], limits: ReadLimits) -> str | None:
    """Detects the compression by magic bytes or, where they are damaged, by the first verifiable record of any kind."""
    first = flow.peek(0, PROBE_BYTES)
    if first.startswith(GZIP_MAGIC):
        return "gz"
    if is_zstd(first):
        return "zst"
    if grammar.opens(first):
        return "plain"
    limit = min(flow.size, SNIFF_BYTES)
    plain = _Walk(flow, grammar, limits, "", lambda start, stop: Span(start, stop - start), _End.OPEN)
    starts = {
        "gz": GzipMembers(flow, grammar.opens, limits).next_start(0, limit),
        "zst": ZstdMembers(flow, grammar.opens, limits).next_start(0, limit),
        "plain": plain.next_start(0, limit),
    }
    found = [(at, kind) for kind, at in starts.items() if at >= 0]
    return min(found)[1] if found else None


def _read_members(
    members: Members, flow: FileFlow, start: int, end: int, container: str, limits: ReadLimits, grammar: Grammar[H]
) -> Iterator[Event]:
    at = members.next_start(start, end) if start > 0 else 0
    while 0 <= at < flow.size:
        if at >= end and members.begins(at):
            return
        member = members.read(at)
        if member.fault is None:
            head = _only_record(member, grammar, limits)
            if head is not None and member.content is not None:
                block = Block(member.content, head.header_bytes, head.length, True, head.header_bytes)
                yield grammar.event(head, block, Span(at, member.length), container, limits)
            else:
                yield from _member_events(members, member, at, member.length, container, limits, grammar, _End.PROVED)
            at += member.length
            continue
        stop = members.next_start(at + 1, flow.size)
        if stop < 0 and member.fault == "truncated":
            yield from _member_events(members, member, at, flow.size - at, container, limits, grammar, _End.CUT)
            return
        stop = flow.size if stop < 0 else stop
        reason = "corrupt_member" if member.fault == "truncated" else member.fault
        yield _unclaimed(flow, at, stop, Unreadable(Span(at, stop - at), reason, member.detail))
        at = stop


def _only_record(member: Member, grammar: Grammar[H], limits: ReadLimits) -> H | None:
    """The head of a member's only consistent record: the case for nearly every member of a crawl."""
    content, mark = member.content, grammar.mark
    if content is None or len(content) > limits.max_body_bytes or not content.endswith(mark):
        return None
    stop = content.find(mark, 0, limits.max_header_bytes)
    if stop < 0:
        return None
    head = grammar.parse(content[: stop + len(mark)])
    if isinstance(head, Fault) or head.header_bytes + head.length + len(mark) != len(content):
        return None
    return head


def _member_events(
    members: Members,
    member: Member,
    offset: int,
    length: int,
    container: str,
    limits: ReadLimits,
    grammar: Grammar[H],
    end: _End,
) -> Iterator[Event]:
    """Yields the records of a member that has none or several, or that is too large to hold at once."""
    ordinal = -1

    def span(_start: int, _stop: int) -> Span:
        nonlocal ordinal
        ordinal += 1
        return Span(offset, length, "bytes", ordinal)

    flow = members.inflated(member) if member.content is None else HeldFlow(member.content)
    if flow.size and not grammar.opens(flow.peek(0, PROBE_BYTES)):
        # No part may begin here and no later search may find a record here, so none is taken from here.
        found = Unreadable(span(0, 0), "bad_header", "the member does not begin with a record")
        yield _unclaimed(flow, 0, flow.size, found)
        return
    yield from _Walk(flow, grammar, limits, container, span, end).events(0, flow.size)
    if ordinal < 0:
        empty = span(0, 0)
        yield Dropped(empty, "padding") if end is _End.PROVED else Unreadable(empty, "truncated", member.detail)


class _Walk(Generic[H]):
    """Walks the records of a flow of inflated or plain bytes, one after another."""

    def __init__(
        self,
        flow: Flow,
        grammar: Grammar[H],
        limits: ReadLimits,
        container: str,
        span: Callable[[int, int], Span],
        end: _End,
    ) -> None:
        self._flow = flow
        self._grammar = grammar
        self._limits = limits
        self._container = container
        self._span = span
        self._end = end
        self._searched = (0, 0)  # no mark begins in this range; if one was found, it is at the range's end
        self._mark_found = False
        self._hold = limits.max_body_bytes + limits.max_header_bytes  # the largest block that is loaded

    def head(self, at: int) -> H | Fault:
        """The header that begins at this position."""
        stop = self._header_end(at)
        if isinstance(stop, Fault):
            return stop
        header = self._flow.peek(at, stop - at)
        if self._grammar.nests(header):  # else many unterminated headers would each be parsed up to the next
            return Fault("bad_header", "another header begins inside the header")
        return self._grammar.parse(header)

    def _header_end(self, at: int) -> int | Fault:
        """Where the header that begins here ends, after its mark.

        The searched range is remembered; else many false beginnings before one mark would search the same bytes.
        """
        flow, mark = self._flow, self._grammar.mark
        index = flow.load(at, 64)
        first = flow.buffer[index : index + _BEGINNING_BYTES]
        if not self._grammar.starts(first[:64]):
            return Fault("bad_header", "no record begins here")
        if flaw := self._grammar.flaw(first):
            return Fault("bad_header", flaw)
        most = self._limits.max_header_bytes
        if not self._searched[0] <= at <= self._searched[1]:
            self._searched, self._mark_found = (at, at), False
        for count in (_BEGINNING_BYTES, most):
            if self._mark_found or self._searched[1] >= at + most:
                break
            index = flow.load(at, count)
            start = index + self._searched[1] - at
            hit = flow.buffer.find(mark, start, index + most)
            self._mark_found = hit >= 0
            searched = at + min(len(flow.buffer) - index, most) - len(mark) + 1
            self._searched = (self._searched[0], at + hit - index if hit >= 0 else max(self._searched[1], searched))
        stop = self._searched[1] + len(mark)
        if self._mark_found and stop <= at + most:
            return stop
        cut = at + most >= flow.size
        detail = "the header does not end" if cut else f"the header does not end within {most} bytes"
        return Fault("truncated" if cut else "bad_header", detail)

    def next_start(self, at: int, limit: int) -> int:
        """The first position in [at, limit) where a record verifiably begins, or -1."""
        sync, skip = self._grammar.sync, self._grammar.sync_skip
        hit = self._flow.find(sync, max(0, at - skip), limit - skip)
        while hit >= 0 and not self.begins(hit + skip):
            hit = self._flow.find(sync, hit + 1, limit - skip)
        return hit + skip if hit >= 0 else -1

    def begins(self, at: int) -> bool:
        """Whether a consistent record begins here; every part that searches for its first record uses this test."""
        # The header alone is not enough: a page may quote one, but has no block of that length after it.
        flow, grammar = self._flow, self._grammar
        before = at - grammar.sync_skip
        if at > 0 and (before < 0 or flow.peek(before, len(grammar.sync)) != grammar.sync):
            return False
        head = self.head(at)
        if isinstance(head, Fault):
            return False
        stop = at + head.header_bytes + head.length
        if stop > flow.size:
            return False
        if isinstance(flow, StreamFlow):
            if head.length > self._hold:
                return True  # checking would mean inflating the member again
            flow.load(at, stop + CLOSING_BYTES - at)
        return grammar.closing(flow.probe(stop, CLOSING_BYTES)) >= 0

    def events(self, at: int, end: int) -> Iterator[Event]:
        """Yields what begins in [at, end), and all that follows up to the next verified beginning."""
        flow = self._flow
        while 0 <= at < flow.size:
            if at >= end and self.begins(at):
                return
            head = self.head(at)
            stop, outcome = (-1, head) if isinstance(head, Fault) else self._record(at, head)
            if isinstance(outcome, Fault):
                if stop < 0 and flow.reaches(at + 1):
                    stop = self.next_start(at + 1, flow.size)
                outcome = self._fault(at, stop, outcome, None if isinstance(head, Fault) else head)
            yield outcome
            at = flow.size if stop < 0 else stop

    def _record(self, at: int, head: H) -> tuple[int, Event | Fault]:
        """Where the record ends and the event it becomes; -1 where its end is unknown."""
        flow, grammar, limits = self._flow, self._grammar, self._limits
        start = at + head.header_bytes
        stop = start + head.length
        if stop > flow.size:
            missing = stop - flow.size
            if self._end is _End.PROVED:
                return -1, Fault("bad_length", f"the header declares {missing} bytes more than there are")
            return -1, Fault("truncated", f"{missing} bytes are missing")
        held = head.length <= self._hold
        if held:
            flow.load(at, stop + CLOSING_BYTES - at)
            after = flow.peek(stop, CLOSING_BYTES)
        else:
            front = flow.peek(start, min(head.length, limits.max_header_bytes + HEAD_BYTES))
            after = flow.probe(stop, CLOSING_BYTES)
        closing = grammar.closing(after)
        if closing < 0:
            return -1, Fault("bad_length", "the block does not end where the header says")
        stop += closing
        if self._end is _End.CUT and stop >= flow.size:
            return flow.size, Fault("truncated", "the file ends before the checksum")
        if held:
            index = flow.load(start, head.length)
            block = Block(flow.buffer[index : index + head.length], 0, head.length, True, start)
        else:
            block = Block(front, 0, head.length, False, start)
        return stop, grammar.event(head, block, self._span(at, stop), self._container, limits)

    def _fault(self, at: int, stop: int, fault: Fault, head: H | None) -> Event:
        flow = self._flow
        reached = flow.size if stop < 0 else stop
        reason, detail = fault.reason, fault.detail
        if self._end is _End.CUT and reached >= flow.size:
            reason, detail = "truncated", "the file ends inside the record"
        elif reason == "truncated" and (stop >= 0 or self._end is _End.PROVED):
            reason = "bad_header" if head is None else "bad_length"
        key = None if head is None else self._grammar.key(head)
        found = Unreadable(self._span(at, reached), reason, detail, key)
        return found if head is not None or reason == "truncated" else _unclaimed(flow, at, reached, found)


def _unclaimed(flow: Flow, at: int, stop: int, found: Unreadable) -> Event:
    """A range where no record begins: padding if it holds only line ends and zeros."""
    if not flow.reaches(at):
        return found
    while at < stop:
        piece = flow.peek(at, min(stop - at, 64 << 10))
        if not piece or piece.strip(_PADDING):
            return found
        at += len(piece)
    return Dropped(found.span, "padding")
