"""A medium in an open file, read range by range: a video is never whole in memory."""

from typing import BinaryIO, Final

__all__ = ["FileBytes", "read_range"]

_WINDOW: Final = 1 << 16


def read_range(stream: BinaryIO, offset: int, length: int) -> bytes:
    """Reads the bytes of a range, however few the stream returns per call; fewer only at the end of the file."""
    stream.seek(offset)
    pieces: list[bytes] = []
    while length > 0:
        piece = stream.read(length)
        if not piece:
            break
        pieces.append(piece)
        length -= len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


class FileBytes:
    """A range of an open file, read in windows, as requests are small and close to each other."""

    def __init__(self, stream: BinaryIO, size: int, start: int = 0) -> None:
        self._stream, self._start = stream, start
        self._held, self._held_at = b"", 0
        self.size = size

    def at(self, offset: int, count: int) -> bytes:
        """Some bytes; fewer only at the end."""
        begin = offset - self._held_at
        if begin < 0 or begin + count > len(self._held):
            window = min(max(count, _WINDOW), max(self.size - offset, 0))
            self._held = read_range(self._stream, self._start + offset, window) if window else b""
            self._held_at, begin = offset, 0
        return self._held[begin : begin + count]
