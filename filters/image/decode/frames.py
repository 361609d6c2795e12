"""How many frames or pages the file of an image has, from its blocks, without decoding any.

A file may be made to be walked for ever: after `MOST_BLOCKS` blocks the count is unknown. So it is for a file that is
cut within a block, and for sequences of AVIF and HEIF, whose frames are in a track as those of a video.
"""

from collections.abc import Callable
from typing import Final

from winnow.filters.image.decode.containers import (
    Bytes,
    UnreadableError,
    Walk,
    png_chunks,
    riff_chunks,
    tiff_following,
    tiff_start,
)

__all__ = ["MOST_BLOCKS", "image_frames"]

MOST_BLOCKS: Final = 1 << 16  # a GIF of 16 MiB has as many

_ANIMATED: Final = 0x02  # flag of a WebP's VP8X chunk
_EXTENSION, _IMAGE, _END = 0x21, 0x2C, 0x3B  # of a GIF


def image_frames(image: Bytes, mime: str) -> int | None:
    """The frames of an image of this sniffed type, 1 for a still; None if they cannot be counted."""
    count = _COUNTS.get(mime)
    if count is None:
        return None
    try:
        return count(Walk(image, MOST_BLOCKS))
    except UnreadableError:
        return None


def _one(_walk: Walk) -> int:
    return 1


def _png(walk: Walk) -> int:
    """What `acTL` says, which stands before the pixels of an animation."""
    for kind, start, _ in png_chunks(walk):
        if kind == b"acTL":
            (frames,) = walk.unpack(">I", start)
            return max(frames, 1)
        if kind in (b"IDAT", b"IEND"):
            return 1
    raise UnreadableError


def _gif(walk: Walk) -> int:
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
            raise UnreadableError
    return frames


def _after_colours(walk: Walk, flags_at: int, at: int) -> int:
    """The place after a table of colours, if the flags announce one."""
    (flags,) = walk.at(flags_at, 1)
    return at + (3 << (flags & 7) + 1 if flags & 0x80 else 0)


def _after_blocks(walk: Walk, at: int) -> int:
    """The place after a chain of blocks, each with its length before it."""
    while True:
        (length,) = walk.at(at, 1)
        at += 1 + length
        if not length:
            return at


def _webp(walk: Walk) -> int:
    if walk.at(12, 4) != b"VP8X" or not walk.at(20, 1)[0] & _ANIMATED:
        return 1
    return sum(kind == b"ANMF" for kind, _, _ in riff_chunks(walk))


def _tiff(walk: Walk) -> int:
    """Its directories, each of which points to the next."""
    at = tiff_start(walk)
    seen: set[int] = set()
    while at:
        if at in seen:
            raise UnreadableError
        seen.add(at)
        at = tiff_following(walk, at)
    return len(seen)


def _heif(walk: Walk) -> int:
    """One, unless its brand is that of a sequence."""
    if walk.at(8, 4) in (b"avis", b"msf1", b"hevc", b"hevx"):
        raise UnreadableError
    return 1


_COUNTS: Final[dict[str, Callable[[Walk], int]]] = {
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
