"""A sliding window over bytes in memory, in a file or from a decompressor.

Archive readers only use positions; a flow keeps no more in memory than a reader asks for at once.
"""

from collections.abc import Callable, Iterator
from typing import BinaryIO

CHUNK_BYTES = 1 << 20
MAX_REWINDS = 16  # each inflates the member again, and a hostile member could ask for millions


class Flow:
    """Bytes addressed by position, with a window of them in memory.

    `buffer` holds the bytes from position `base` on. `size` is the total number of bytes; it shrinks when a file
    turns out to be shorter than listed.
    """

    __slots__ = ("base", "buffer", "size")

    def __init__(self, buffer: bytes, size: int) -> None:
        self.buffer = buffer
        self.base = 0
        self.size = size

    def load(self, at: int, count: int) -> int:
        """Loads the bytes [at, at + count) into the buffer, as far as they exist; returns the index of `at` in it."""
        index = at - self.base
        if index >= 0 and (index + count <= len(self.buffer) or self.base + len(self.buffer) >= self.size):
            return index
        self._refill(at, count)
        return at - self.base

    def peek(self, at: int, count: int) -> bytes:
        """The bytes [at, at + count), fewer only where the flow ends."""
        index = self.load(at, count)
        return self.buffer[index : index + count]

    def probe(self, at: int, count: int) -> bytes:
        """A few bytes far ahead, if possible without moving the window."""
        return self.peek(at, count)

    def find(self, literal: bytes, at: int, limit: int) -> int:
        """The first position in [at, limit) where the literal begins, or -1."""
        reach = len(literal) - 1
        while at < limit and at < self.size:
            index = self.load(at, reach + 1)
            hit = self.buffer.find(literal, index, limit - self.base + reach)
            if hit >= 0:
                return self.base + hit
            loaded = self.base + len(self.buffer)
            if loaded >= self.size:
                return -1
            at = max(at + 1, loaded - reach)
        return -1

    def reaches(self, at: int) -> bool:
        """Whether the position can still be read."""
        return at >= 0

    def _refill(self, at: int, count: int) -> None:
        """Moves the window to hold [at, at + count); does nothing for a flow that holds everything."""


class HeldFlow(Flow):
    """Bytes that are already in memory."""

    __slots__ = ()

    def __init__(self, content: bytes) -> None:
        super().__init__(content, len(content))


class FileFlow(Flow):
    """A seekable file; going back costs one seek."""

    __slots__ = ("_position", "_stream")

    def __init__(self, stream: BinaryIO, size: int) -> None:
        super().__init__(b"", min(size, stream.seek(0, 2)))
        self._stream = stream
        self._position = -1

    def probe(self, at: int, count: int) -> bytes:
        """A few bytes far ahead, by a separate read."""
        index = at - self.base
        if index >= 0 and index + count <= len(self.buffer):
            return self.buffer[index : index + count]
        return self._read(at, min(count, self.size - at))

    def _refill(self, at: int, count: int) -> None:
        end = self.base + len(self.buffer)
        kept = self.buffer[at - self.base :] if self.base <= at < end else b""
        # At least half of what is kept; otherwise many small steps over a large window would each copy it.
        wanted = max(count - len(kept), CHUNK_BYTES, len(kept) // 2)
        fresh = self._read(at + len(kept), min(wanted, self.size - at - len(kept)))
        self.base = at
        self.buffer = kept + fresh if kept else fresh
        if len(kept) + len(fresh) < count:
            self.size = min(self.size, at + len(self.buffer))

    def _read(self, at: int, count: int) -> bytes:
        if count <= 0:
            return b""
        if self._position != at:
            self._stream.seek(at)
        parts = []
        while count > 0 and (part := self._stream.read(count)):
            parts.append(part)
            count -= len(part)
            at += len(part)
        self._position = at
        return parts[0] if len(parts) == 1 else b"".join(parts)


class StreamFlow(Flow):
    """Decompressed bytes, read forward; going back starts again, at most `MAX_REWINDS` times."""

    __slots__ = ("_chunks", "_open", "_rewinds")

    def __init__(self, reopen: Callable[[], Iterator[bytes]], size: int) -> None:
        super().__init__(b"", size)
        self._open = reopen
        self._chunks = reopen()
        self._rewinds = 0

    def reaches(self, at: int) -> bool:
        """Whether the position is ahead or can still be reached by starting again."""
        return at >= self.base or self._rewinds < MAX_REWINDS

    def _refill(self, at: int, count: int) -> None:
        if at < self.base:
            self._rewinds += 1
            self._chunks, self.base, self.buffer = self._open(), 0, b""
        while self.base + len(self.buffer) <= at:
            self.base += len(self.buffer)
            self.buffer = next(self._chunks, b"")
            if not self.buffer:
                self.size = min(self.size, self.base)
                return
        kept = self.buffer[at - self.base :]
        have, parts = len(kept), [kept]
        wanted = max(count, have + have // 2)
        while have < wanted and (chunk := next(self._chunks, b"")):
            parts.append(chunk)
            have += len(chunk)
        self.base = at
        self.buffer = b"".join(parts)
        if have < count:
            self.size = min(self.size, at + have)
