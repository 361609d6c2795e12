"""How many frames or pages the file of an image has, from its blocks, without decoding any.

A file may be made to be walked for ever: after `MOST_BLOCKS` blocks the count is unknown. So it is for a file that is
cut within a block, and for sequences of AVIF and HEIF, whose frames are in a track as those of a video.
"""

import struct
from collections.abc import Callable
from typing import Final

from winnow.filters.image.decode.headers import Bytes

__all__ = ["MOST_BLOCKS", "image_frames"]

MOST_BLOCKS: Final = 1 << 16  # a GIF of 16 MiB has as many
_WINDOW: Final = 1 << 16

_ANIMATED: Final = 0x02  # flag of a WebP's VP8X chunk
_EXTENSION, _IMAGE, _END = 0x21, 0x2C, 0x3B  # of a GIF


class _UncountedError(Exception):
    """The file ends early, is not of its format, or has too many blocks."""


def image_frames(image: Bytes, mime: str) -> int | None:
    """The frames of an image of this sniffed type, 1 for a still; None if they cannot be counted."""
    count = _COUNTS.get(mime)
    if count is None:
        return None
    try:
        return count(_Walk(image))
    except (_UncountedError, struct.error):
        return None


class _Walk:
    """Reads a file in windows, since its blocks are small, and counts the looks."""

    def __init__(self, image: Bytes) -> None:
        self._image = image
        self._start, self._held = 0, b""
        self._looks = 0
        self.size = image.size

    def at(self, offset: int, count: int) -> bytes:
        """A few bytes; all of them, or the walk ends."""
        self._looks += 1
        if self._looks > MOST_BLOCKS:
            raise _UncountedError
        begin = offset - self._start
        if begin < 0 or begin + count > len(self._held):
            self._start, begin = offset, 0
            self._held = self._image.at(offset, _WINDOW)
        found = self._held[begin : begin + count]
        if len(found) < count:
            raise _UncountedError
        return found

    def unpack(self, layout: str, offset: int) -> tuple[int, ...]:
        """Numbers at a place."""
        return struct.unpack(layout, self.at(offset, struct.calcsize(layout)))


def _one(_walk: _Walk) -> int:
    return 1


def _png(walk: _Walk) -> int:
    """What `acTL` says, which stands before the pixels of an animation."""
    at = 8
    while True:
        length, kind = struct.unpack(">I4s", walk.at(at, 8))
        if kind == b"acTL":
            (frames,) = walk.unpack(">I", at + 8)
            return max(frames, 1)
        if kind in (b"IDAT", b"IEND"):
            return 1
        at += 12 + length


def _gif(walk: _Walk) -> int:
    at = _after_colours(walk, 10, 13)
    frames = 0
    while at < walk.size:  # a file may lack its end
        (kind,) = walk.at(at, 1)
        if kind == _END:
            break
        if kind == _EXTENSION:
            at = _after_blocks(walk, at + 2)
        elif kind == _IMAGE:
            at = _after_blocks(walk, _after_colours(walk, at + 9, at + 10) + 1)
            frames += 1
        else:
            raise _UncountedError
    return frames


def _after_colours(walk: _Walk, flags_at: int, at: int) -> int:
    """The place after a table of colours, if the flags announce one."""
    (flags,) = walk.at(flags_at, 1)
    return at + (3 << (flags & 7) + 1 if flags & 0x80 else 0)


def _after_blocks(walk: _Walk, at: int) -> int:
    """The place after a chain of blocks, each with its length before it."""
    while True:
        (length,) = walk.at(at, 1)
        at += 1 + length
        if not length:
            return at


def _webp(walk: _Walk) -> int:
    if walk.at(12, 4) != b"VP8X" or not walk.at(20, 1)[0] & _ANIMATED:
        return 1
    (length,) = walk.unpack("<I", 4)
    at, frames = 12, 0
    while at + 8 <= min(walk.size, 8 + length):
        kind, size = struct.unpack("<4sI", walk.at(at, 8))
        frames += kind == b"ANMF"
        at += 8 + size + (size & 1)
    if at > walk.size:
        raise _UncountedError
    return frames


def _tiff(walk: _Walk) -> int:
    """Its directories, each of which points to the next."""
    order = "<" if walk.at(0, 2) == b"II" else ">"
    (version,) = walk.unpack(f"{order}H", 2)
    pointer, number, entry, first = ("Q", "Q", 20, 8) if version == 43 else ("I", "H", 12, 4)
    (at,) = walk.unpack(order + pointer, first)
    seen: set[int] = set()
    while at:
        if at in seen:
            raise _UncountedError
        seen.add(at)
        (entries,) = walk.unpack(order + number, at)
        (at,) = walk.unpack(order + pointer, at + struct.calcsize(f"={number}") + entries * entry)
    return len(seen)


def _heif(walk: _Walk) -> int:
    """One, unless its brand is that of a sequence."""
    if walk.at(8, 4) in (b"avis", b"msf1", b"hevc", b"hevx"):
        raise _UncountedError
    return 1


_COUNTS: Final[dict[str, Callable[[_Walk], int]]] = {
    "image/jpeg": _one,
    "image/bmp": _one,
    "image/jp2": _one,
    "image/png": _png,
    "image/gif": _gif,
    "image/webp": _webp,
    "image/tiff": _tiff,
    "image/avif": _heif,
    "image/heic": _heif,
    "image/heif": _heif,
}
