"""Bytes of a medium that lies in an open file, read range by range: a video is never whole in memory."""

from typing import BinaryIO, Final

from winnow.pipelines.ingest.files import read_range

__all__ = ["FileBytes"]

_WINDOW: Final = 1 << 16


class FileBytes:
    """A range of an open file, read a window at a time: what is asked for are a few bytes at once, near each other.

    Args:
        stream: The file, which stays open.
        size: The length of the range.
        start: Where it begins.
    """

    def __init__(self, stream: BinaryIO, size: int, start: int = 0) -> None:
        self._stream, self._start = stream, start
        self._held, self._held_at = b"", 0
        self.size = size

    def at(self, offset: int, count: int) -> bytes:
        """Some of them; fewer only at the end."""
        begin = offset - self._held_at
        if begin < 0 or begin + count > len(self._held):
            window = min(max(count, _WINDOW), max(self.size - offset, 0))
            self._held = read_range(self._stream, self._start + offset, window) if window else b""
            self._held_at, begin = offset, 0
        return self._held[begin : begin + count]
