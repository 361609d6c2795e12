"""Reading an object over a network as a file: windows of bytes, fetched ahead of a reader that goes forward.

Parquet reads a footer, then chunks of columns here and there; archives are read from front to back. A jump fetches
what was asked for and little more; each read that follows on doubles how far ahead is fetched, in several requests at
once. The bytes held are bounded whatever the reader does.
"""

import io
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import BinaryIO

LEAST_BYTES = 256 << 10  # of a request: the round trip costs as much as these bytes do
WINDOW_BYTES = 4 << 20  # the most of one request
AHEAD_BYTES = 16 << 20  # the most that is held for one reader, being fetched or not yet read
BUFFER_BYTES = 64 << 10


@dataclass(slots=True)
class _Window:
    start: int
    stop: int
    content: Future[bytes]


class RangedReader(io.RawIOBase):
    """A seekable reader over a function that fetches the bytes of a range."""

    def __init__(self, fetch: Callable[[int, int], bytes], size: int, head: bytes, executor: Executor) -> None:
        """`head` is what is known of the object's beginning already."""
        self._fetch = fetch
        self._size = size
        self._head = head
        self._executor = executor
        self._position = 0
        self._windows: deque[_Window] = deque()
        self._step = LEAST_BYTES
        self._asked = len(head)  # the end of what was asked for last

    def readable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """It is."""
        return True

    def tell(self) -> int:
        """Where the next byte is read."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go elsewhere; nothing is fetched before it is read."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        if base + offset < 0:
            raise ValueError(f"negative seek position {base + offset}")
        self._position = base + offset
        return self._position

    def readinto(self, target: memoryview) -> int:  # type: ignore[override]  # what io passes is one
        """Fill the buffer as far as one window goes."""
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
        """Let go of what was fetched ahead."""
        self._forget()
        super().close()

    def _window(self, wanted: int) -> _Window:
        """The window that holds the position; what follows it is on its way when it returns."""
        while self._windows and self._windows[0].stop <= self._position:
            self._windows.popleft()
            self._step = min(2 * self._step, AHEAD_BYTES)
        if not self._windows or self._position < self._windows[0].start:
            if self._position != self._asked:
                self._step = LEAST_BYTES
            self._forget()
            self._asked = self._position
        needed = self._position + min(wanted + BUFFER_BYTES, AHEAD_BYTES)  # the buffer asks for its own fill as well
        if self._asked < needed or self._asked - self._position <= self._step // 2:  # few requests, and large ones
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
    """The reader with all that files can do, and without a request for each of many small reads."""
    return io.BufferedReader(reader, BUFFER_BYTES)
