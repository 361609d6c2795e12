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
    gif_blocks,
    png_chunks,
    riff_chunks,
    tiff_following,
    tiff_start,
)

__all__ = ["MOST_BLOCKS", "image_frames"]

MOST_BLOCKS: Final = 1 << 16  # a GIF of 16 MiB has as many

_ANIMATED: Final = 0x02  # flag of a WebP's VP8X chunk


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
    return sum(part.kind == b"," for part in gif_blocks(walk))


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
