"""Finds the messages of an Arrow IPC stream or file, and the cost of decoding each, before Arrow decodes it.

A stream is a sequence of messages: a schema, dictionaries, batches of rows. A file (such as Feather) is a stream
between two marks, with a footer that is not needed here. Messages are flatbuffers (arrow's `Message.fbs`); Arrow checks
them when it reads them, but trusts the claimed size of compressed buffers.
"""

import struct
from dataclasses import dataclass, field
from typing import BinaryIO, Final

from winnow.pipelines.decoding.file_bytes import read_range
from winnow.pipelines.ingest.records import ReadLimits

FILE_MARK: Final = b"ARROW1"
SCHEMA, DICTIONARY, ROWS = 1, 2, 3  # kinds of messages
METADATA_HEADERS: Final = 16  # a message's description may be this many times as long as another format's header
MOST_DICTIONARIES: Final = 1024

_CONTINUES: Final = b"\xff\xff\xff\xff"


class BadMessageError(ValueError):
    """A message that is invalid."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message, and where it lies."""

    kind: int
    start: int
    body: int  # where its buffers begin
    end: int
    rows: int = 0
    values: int = 0  # the most in any column or list
    buffers: tuple[tuple[int, int], ...] = ()  # places in the body
    compressed: bool = False


@dataclass(slots=True)
class Messages:
    """What a whole stream consists of."""

    schema: Message | None = None
    dictionaries: list[Message] = field(default_factory=list)
    batches: list[Message] = field(default_factory=list)


def is_file(stream: BinaryIO, size: int) -> bool:
    """Whether it begins as an IPC file; BadMessageError if it does but does not end as one."""
    if read_range(stream, 0, 8)[:6] != FILE_MARK:
        return False
    if size < 24 or read_range(stream, size - 6, 6) != FILE_MARK:
        raise BadMessageError("the file ends before its footer")
    return True


def walk_messages(stream: BinaryIO, size: int, limits: ReadLimits) -> Messages:
    """Lists the messages of a stream or file; BadMessageError if one cannot be read, so that the next cannot be
    found."""
    found = Messages()
    at = 8 if is_file(stream, size) else 0
    while at < size:
        message = read_message(stream, at, size, limits)
        if message is None:
            break
        at = message.end
        if message.kind == SCHEMA and found.schema is None:
            found.schema = message
        elif found.schema is None or message.kind == SCHEMA:
            raise BadMessageError("the stream does not begin with its one schema")
        elif message.kind == DICTIONARY:
            found.dictionaries.append(message)
        elif message.kind == ROWS:
            found.batches.append(message)
        else:
            raise BadMessageError(f"a message of kind {message.kind} at {message.start}")
    if found.schema is None:
        raise BadMessageError("no schema")
    held = sum(dictionary.end - dictionary.start for dictionary in found.dictionaries)
    if len(found.dictionaries) > MOST_DICTIONARIES or held > limits.max_body_bytes:
        raise BadMessageError(f"{len(found.dictionaries)} dictionaries of {held} bytes")
    return found


def read_message(stream: BinaryIO, at: int, size: int, limits: ReadLimits) -> Message | None:
    """Reads the description of the message at a place; None at the end of the stream. BadMessageError if it is invalid
    or reaches beyond the file."""
    prefix = read_range(stream, at, 8)
    start = at + 8
    if prefix[:4] != _CONTINUES:  # as Arrow wrote them before 0.15
        prefix, start = _CONTINUES + prefix[:4], at + 4
    if len(prefix) < 8:
        raise BadMessageError(f"the file ends inside the message at {at}")
    length = int.from_bytes(prefix[4:], "little", signed=True)
    if length == 0:
        return None
    if length < 0 or length > METADATA_HEADERS * limits.max_header_bytes:
        raise BadMessageError(f"the message at {at} declares {length} bytes of description")
    raw = read_range(stream, start, length)
    try:
        table = _Table.root(raw)
        kind, body_bytes = table.number(1, "B"), table.number(3, "q")
        header = table.table(2)
        rows = header.table(1) if kind == DICTIONARY else header
        message = Message(kind, at, start + length, start + length + body_bytes)
        if kind in (DICTIONARY, ROWS):
            nodes = rows.pairs(1)
            count = rows.number(0, "q")
            buffers = tuple(rows.pairs(2))
            compressed = rows.has(3)
            most = max([count, *(length for length, _ in nodes)])
            message = Message(kind, at, message.body, message.end, count, most, buffers, compressed)
    except (struct.error, IndexError, RecursionError) as error:
        raise BadMessageError(f"the message at {at} is damaged") from error
    if body_bytes < 0 or message.end > size or message.rows < 0:
        raise BadMessageError(f"the message at {at} reaches beyond the file")
    return message


def inflated_bytes(stream: BinaryIO, message: Message) -> int:
    """The decompressed size of a message's buffers."""
    total = 0
    for offset, length in message.buffers:
        if length <= 0 or offset < 0 or message.body + offset + length > message.end:
            total += max(0, length)  # Arrow refuses it
            continue
        claim = read_range(stream, message.body + offset, 8) if message.compressed else b""
        total += max(length, int.from_bytes(claim, "little", signed=True))
    return total


@dataclass(frozen=True, slots=True)
class _Table:
    """A table of a flatbuffer. Every access may raise `struct.error` or IndexError."""

    raw: bytes
    at: int

    @classmethod
    def root(cls, raw: bytes) -> "_Table":
        return cls(raw, _unsigned(raw, 0))

    def number(self, index: int, kind: str) -> int:
        """A field that is a number; 0 if absent."""
        place = self._place(index)
        return 0 if place == 0 else int(struct.unpack_from(f"<{kind}", self.raw, place)[0])

    def has(self, index: int) -> bool:
        """Whether it has the field."""
        return self._place(index) != 0

    def table(self, index: int) -> "_Table":
        """A field that is a table."""
        place = self._place(index)
        if place == 0:
            raise IndexError
        return _Table(self.raw, place + _unsigned(self.raw, place))

    def pairs(self, index: int) -> list[tuple[int, int]]:
        """A field that is a vector of two integers each; empty if absent."""
        place = self._place(index)
        if place == 0:
            return []
        start = place + _unsigned(self.raw, place)
        end = start + 4 + 16 * _unsigned(self.raw, start)
        if end > len(self.raw):
            raise IndexError
        return list(struct.iter_unpack("<qq", self.raw[start + 4 : end]))

    def _place(self, index: int) -> int:
        fields = self.at - int(struct.unpack_from("<i", self.raw, self.at)[0])
        if fields < 0 or self.at < 0:
            raise IndexError
        if 4 + 2 * index >= int(struct.unpack_from("<H", self.raw, fields)[0]):
            return 0
        offset = int(struct.unpack_from("<H", self.raw, fields + 4 + 2 * index)[0])
        return self.at + offset if offset else 0


def _unsigned(raw: bytes, place: int) -> int:
    return int(struct.unpack_from("<I", raw, place)[0])
