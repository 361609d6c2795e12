"""Stretches of files as files of their own, with a limit on the bytes read."""

from collections.abc import Iterator
from typing import BinaryIO, Final, TypeVar, cast

from winnow.pipelines.decoding.file_bytes import read_range
from winnow.pipelines.ingest.records import ReadLimits

T = TypeVar("T")

_MOST_READ: Final = 64 << 20  # bytes of one window
# A window may be hostile, and the one who plans has other work.
SAMPLE_LIMITS: Final = ReadLimits(max_body_bytes=4 << 20, max_member_bytes=64 << 20)


class EnoughError(BaseException):  # a BaseException, so that no reader's boundary takes it for a reader's error
    """More than the window's limit was requested: a record is huge, or the data are garbage."""


def until_enough(events: Iterator[T]) -> Iterator[T]:
    """The events of a section until it reaches its limit."""
    try:
        yield from events
    except EnoughError:
        return


def section(stream: BinaryIO, start: int, end: int, most: int = _MOST_READ) -> BinaryIO:
    """A stretch of a file as a file of its own, to be read by `until_enough`."""
    return cast(BinaryIO, _Section(stream, start, end, most))


class _Section:
    """A stretch of a file as a file of its own, with a limit on the bytes read."""

    def __init__(self, stream: BinaryIO, start: int, end: int, most: int) -> None:
        self._stream = stream
        self._start = start
        self._size = end - start
        self._at = 0
        self._left = most

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = (0, self._at, self._size)[whence] + offset
        return self._at

    def tell(self) -> int:
        return self._at

    def read(self, count: int) -> bytes:
        piece = read_range(self._stream, self._start + self._at, max(0, min(count, self._size - self._at)))
        self._at += len(piece)
        self._left -= len(piece)
        if self._left < 0:
            raise EnoughError
        return piece
