"""Reads a remote object as a file: windows of bytes, prefetched for a reader that goes forward.

Parquet reads a footer, then scattered column chunks; archives are read from front to back. A seek fetches
what was asked for and little more; each sequential read doubles the prefetched range, in several concurrent
requests. Memory is bounded whatever the reader does.
"""

import io
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import BinaryIO

LEAST_BYTES = 256 << 10  # smallest request: a round trip costs about as much as these bytes
WINDOW_BYTES = 4 << 20  # largest request
AHEAD_BYTES = 16 << 20  # most bytes per reader, being fetched or not yet read
BUFFER_BYTES = 64 << 10


@dataclass(slots=True)
class _Window:
    start: int
    stop: int
    content: Future[bytes]


class RangedReader(io.RawIOBase):
    """A seekable reader over a function that fetches the bytes of a range."""

    def __init__(self, fetch: Callable[[int, int], bytes], size: int, head: bytes, executor: Executor) -> None:
        """`head` is the part of the object that is already known."""
        self._fetch = fetch
        self._size = size
        self._head = head
        self._executor = executor
        self._position = 0
        self._windows: deque[_Window] = deque()
        self._step = LEAST_BYTES
        self._asked = len(head)  # the end of the last request

    def readable(self) -> bool:
        """True."""
        return True

    def seekable(self) -> bool:
        """True."""
        return True

    def tell(self) -> int:
        """The position of the next byte."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Moves the position; fetches nothing until the next read."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        if base + offset < 0:
            raise ValueError(f"negative seek position {base + offset}")
        self._position = base + offset
        return self._position

    def readinto(self, target: memoryview) -> int:  # type: ignore[override]  # what io passes is one
        """Fills the buffer from at most one window."""
        wanted = min(len(target), self._size - self._position)
        if wanted <= 0:
            return 0
        if self._position < len(self._head):
            piece = memoryview(self._head)[self._position : self._position + wanted]
        else:
            window = self._window(wanted)
            content = memoryview(window.content.result())
            piece = content[self._position - window.start :][:wanted]
        target[: len(piece)] = piece
        self._position += len(piece)
        return len(piece)

    def close(self) -> None:
        """Releases prefetched bytes."""
        self._forget()
        super().close()

    def _window(self, wanted: int) -> _Window:
        """The window with the current position; starts fetching the following ones."""
        while self._windows and self._windows[0].stop <= self._position:
            self._windows.popleft()
            self._step = min(2 * self._step, AHEAD_BYTES)
        if not self._windows or self._position < self._windows[0].start:
            if self._position != self._asked:
                self._step = LEAST_BYTES
            self._forget()
            self._asked = self._position
        needed = self._position + min(wanted + BUFFER_BYTES, AHEAD_BYTES)  # plus what the buffer itself reads ahead
        if self._asked < needed or self._asked - self._position <= self._step // 2:  # prefers few, large requests
            self._extend(min(max(needed, self._position + self._step), self._size))
        return self._windows[0]

    def _extend(self, stop: int) -> None:
        while self._asked < stop:
            start, self._asked = self._asked, min(self._asked + WINDOW_BYTES, stop)
            self._windows.append(_Window(start, self._asked, self._executor.submit(self._fetch, start, self._asked)))

    def _forget(self) -> None:
        for window in self._windows:
            window.content.cancel()
        self._windows.clear()


def buffered(reader: RangedReader) -> BinaryIO:
    """Wraps the reader in a buffer, so that many small reads do not each send a request."""
    return io.BufferedReader(reader, BUFFER_BYTES)
