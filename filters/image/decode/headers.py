"""Read the width and height of an image from its header, without a decoder and without its pixels.

A header is a claim: nothing here is allocated by it. A size is that of the stored pixels: an orientation in EXIF data
or a rotation in HEIF is not applied.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from winnow.filters.image.decode.containers import (
    FRAME_MARKERS,
    Bytes,
    UnreadableError,
    Walk,
    boxes_at,
    jpeg_segments,
    tiff_numbers,
    tiff_start,
)

MOST_SIDE: Final = (1 << 31) - 1

_FULL_BOX: Final = 4  # bytes of version and flags before the content of some boxes
_WIDTH, _HEIGHT = 256, 257  # tags of TIFF


@dataclass(frozen=True, slots=True)
class ImageSize:
    """Sides in pixels, as stored."""

    width: int
    height: int


def image_size(image: Bytes, mime: str) -> ImageSize | None:
    """What the header of an image of this sniffed type says; None if it says nothing that can be true."""
    read = _READERS.get(mime)
    if read is None:
        return None
    try:
        width, height = read(Walk(image))
    except UnreadableError:
        return None
    return ImageSize(width, height) if 0 < width <= MOST_SIDE and 0 < height <= MOST_SIDE else None


def _png(walk: Walk) -> tuple[int, int]:
    if walk.at(12, 4) != b"IHDR":
        raise UnreadableError
    width, height = walk.unpack(">II", 16)
    return width, height


def _gif(walk: Walk) -> tuple[int, int]:
    width, height = walk.unpack("<HH", 6)
    return width, height


def _jpeg(walk: Walk) -> tuple[int, int]:
    """That of the first frame; a height of 0, to be told after the scan, is none."""
    for marker, start, _ in jpeg_segments(walk):
        if marker[0] in FRAME_MARKERS:
            height, width = walk.unpack(">HH", start + 1)
            return width, height
    raise UnreadableError


def _webp(walk: Walk) -> tuple[int, int]:
    kind = walk.at(12, 4)
    if kind == b"VP8X":
        low_width, high_width, low_height, high_height = walk.unpack("<HBHB", 24)
        return (high_width << 16 | low_width) + 1, (high_height << 16 | low_height) + 1
    if kind == b"VP8L" and walk.at(20, 1) == b"\x2f":
        (bits,) = walk.unpack("<I", 21)
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8 " and walk.at(23, 3) == b"\x9d\x01\x2a":
        width, height = walk.unpack("<HH", 26)
        return width & 0x3FFF, height & 0x3FFF
    raise UnreadableError


def _bitmap(walk: Walk) -> tuple[int, int]:
    (length,) = walk.unpack("<I", 14)
    if length == 12:
        width, height = walk.unpack("<HH", 18)
    else:
        width, height = walk.unpack("<ii", 18)
    return width, abs(height)  # rows from the top have a negative height


def _icon(walk: Walk) -> tuple[int, int]:
    """The largest picture of an icon."""
    (count,) = walk.unpack("<H", 4)
    sides = [walk.unpack("BB", 6 + 16 * index) for index in range(count)]
    return max(((width or 256, height or 256) for width, height in sides), default=(0, 0))


def _tiff(walk: Walk) -> tuple[int, int]:
    """That of the first directory, of a classic or a big TIFF."""
    sides = tiff_numbers(walk, tiff_start(walk), (_WIDTH, _HEIGHT))
    return sides.get(_WIDTH, 0), sides.get(_HEIGHT, 0)


def _photoshop(walk: Walk) -> tuple[int, int]:
    height, width = walk.unpack(">II", 14)
    return width, height


def _jpeg_2000(walk: Walk) -> tuple[int, int]:
    for _, start, _ in boxes_at(walk, b"jp2h", b"ihdr"):
        height, width = walk.unpack(">II", start)
        return width, height
    raise UnreadableError


def _heif(walk: Walk) -> tuple[int, int]:
    """The largest of the picture's parts: thumbnails and tiles are smaller than what they belong to."""
    found = [
        walk.unpack(">II", start + _FULL_BOX) for _, start, _ in boxes_at(walk, b"meta", b"iprp", b"ipco", b"ispe")
    ]
    width, height = max(found, key=lambda sides: sides[0] * sides[1], default=(0, 0))
    return width, height


_READERS: Final[dict[str, Callable[[Walk], tuple[int, int]]]] = {
    "image/png": _png,
    "image/jpeg": _jpeg,
    "image/gif": _gif,
    "image/webp": _webp,
    "image/bmp": _bitmap,
    "image/tiff": _tiff,
    "image/vnd.microsoft.icon": _icon,
    "image/vnd.adobe.photoshop": _photoshop,
    "image/jp2": _jpeg_2000,
    "image/avif": _heif,
    "image/heic": _heif,
    "image/heif": _heif,
}
