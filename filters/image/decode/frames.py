"""How many frames or pages the file of an image has, from its blocks, without decoding any.

A file may be made to be walked for ever: after `MOST_BLOCKS` blocks the count is unknown. So it is for a file that is
cut within a block. The frames of sequences of AVIF and HEIF are in a track as those of a video.
"""

from collections import deque
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import Final

from winnow.filters.image.decode.containers import (
    Bytes,
    UnreadableError,
    Walk,
    boxes_at,
    gif_blocks,
    png_chunks,
    riff_chunks,
    tiff_following,
    tiff_start,
)

__all__ = ["MOST_BLOCKS", "MOST_FRAMES", "counted_frames", "image_frames"]

MOST_FRAMES: Final = (1 << 31) - 1  # what a format can count, and a column can hold
MOST_BLOCKS: Final = 1 << 16  # a GIF of 16 MiB has as many

_ANIMATED: Final = 0x02  # flag of a WebP's VP8X chunk


def image_frames(image: Bytes, mime: str) -> int | None:
    """The frames of an image of this sniffed type, 1 for a still; None if they cannot be counted or be so many."""
    try:
        last = deque(counted_frames(image, mime), maxlen=1)
    except UnreadableError:
        return None
    return last[0] if last and last[0] <= MOST_FRAMES else None


def counted_frames(image: Bytes, mime: str, most_blocks: int = MOST_BLOCKS) -> Iterator[int]:
    """Yields the frames that were counted so far; nothing for types whose frames are not counted.

    Raises:
        UnreadableError: There may be more, but they cannot be counted.
    """
    count = _COUNTS.get(mime)
    return iter(()) if count is None else count(Walk(image, most_blocks))


def _one(_walk: Walk) -> Iterator[int]:
    yield 1


def _png(walk: Walk) -> Iterator[int]:
    """What `acTL` says, which stands before the pixels of an animation."""
    for kind, start, _ in png_chunks(walk):
        if kind == b"acTL":
            (frames,) = walk.unpack(">I", start)
            yield max(frames, 1)
            return
        if kind in (b"IDAT", b"IEND"):
            yield 1
            return
    raise UnreadableError


def _gif(walk: Walk) -> Iterator[int]:
    yield from accumulate((part.kind == b"," for part in gif_blocks(walk)), initial=0)


def _webp(walk: Walk) -> Iterator[int]:
    if walk.at(12, 4) != b"VP8X" or not walk.at(20, 1)[0] & _ANIMATED:
        yield 1
    else:
        yield from accumulate((kind == b"ANMF" for kind, _, _ in riff_chunks(walk)), initial=0)


def _tiff(walk: Walk) -> Iterator[int]:
    """Its directories, each of which points to the next."""
    at = tiff_start(walk)
    seen: set[int] = set()
    yield 0
    while at:
        if at in seen:
            raise UnreadableError
        seen.add(at)
        yield len(seen)
        at = tiff_following(walk, at)


def _heif(walk: Walk) -> Iterator[int]:
    """One, unless its brand is that of a sequence: then the samples of its track of pictures."""
    if walk.at(8, 4) not in (b"avis", b"msf1", b"hevc", b"hevx"):
        yield 1
        return
    for track in boxes_at(walk, b"moov", b"trak"):
        inside = walk.within(track)
        kinds = [inside.at(start + 8, 4) for _, start, _ in boxes_at(inside, b"mdia", b"hdlr")]
        if kinds == [b"pict"]:
            for _, start, _ in boxes_at(inside, b"mdia", b"minf", b"stbl", b"stsz"):
                (frames,) = inside.unpack(">I", start + 8)
                yield max(frames, 1)
                return
    raise UnreadableError


_COUNTS: Final[dict[str, Callable[[Walk], Iterator[int]]]] = {
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
