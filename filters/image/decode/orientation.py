"""Which way up a picture is stored, as its EXIF data or its container say, and how it is turned upright."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from winnow.filters.image.decode.containers import (
    Bytes,
    Part,
    UnreadableError,
    Walk,
    boxes,
    boxes_at,
    jpeg_segments,
    png_chunks,
    riff_chunks,
    tiff_numbers,
    tiff_start,
)

_ORIENTATION: Final = 274
_EXIF: Final = b"Exif\0\0"
_EXIF_SEGMENT: Final = b"\xe1"
_EXIF_CHUNKS: Final = (b"eXIf", b"EXIF")
_TURNS: Final = {  # EXIF's number by quarter turns to the left, and then the axis of a mirror in HEIF
    (0, None): 1,
    (0, 0): 4,
    (0, 1): 2,
    (1, None): 8,
    (1, 0): 5,
    (1, 1): 7,
    (2, None): 3,
    (2, 0): 2,
    (2, 1): 4,
    (3, None): 6,
    (3, 0): 7,
    (3, 1): 5,
}


def upright(pixels: NDArray[np.uint8], orientation: int) -> NDArray[np.uint8]:
    """The picture as it is to be seen.

    Args:
        pixels: As stored.
        orientation: EXIF's number, from 1 for upright to 8.
    """
    if orientation > 4:
        pixels = pixels.transpose(1, 0, 2)
    if orientation in (2, 3, 6, 7):
        pixels = pixels[:, ::-1]
    if orientation in (3, 4, 7, 8):
        pixels = pixels[::-1]
    return np.ascontiguousarray(pixels)


def orientation_of(image: Bytes, mime: str) -> int:
    """EXIF's number, from 1 to 8; 1 where there is none or it makes no sense. Boxes of AVIF and HEIF outrank EXIF."""
    walk = Walk(image)
    try:
        if mime in ("image/avif", "image/heic", "image/heif"):
            return _of_boxes(walk)
        part = exif_part(walk, mime)
        if part is None:
            return 1
        data = walk.within(part)
        found = tiff_numbers(data, tiff_start(data), (_ORIENTATION,)).get(_ORIENTATION, 1)
    except UnreadableError:
        return 1
    return found if 1 <= found <= 8 else 1


def exif_part(walk: Walk, mime: str) -> Part | None:
    """Where a file of JPEG, PNG, WebP or TIFF has EXIF data, which are laid out as a TIFF file."""
    if mime == "image/tiff":
        return Part(b"", 0, walk.size)
    if mime == "image/jpeg":
        for kind, start, size in jpeg_segments(walk):
            if kind == _EXIF_SEGMENT and size >= len(_EXIF) and walk.at(start, len(_EXIF)) == _EXIF:
                return Part(kind, start + len(_EXIF), size - len(_EXIF))
    elif mime in ("image/png", "image/webp"):
        for kind, start, size in png_chunks(walk) if mime == "image/png" else riff_chunks(walk):
            if kind in _EXIF_CHUNKS:
                prefix = len(_EXIF) if size >= len(_EXIF) and walk.at(start, len(_EXIF)) == _EXIF else 0
                return Part(kind, start + prefix, size - prefix)
    return None


def _of_boxes(walk: Walk) -> int:
    """The turn and the mirror that are properties of the primary item."""
    properties = next(boxes_at(walk, b"meta", b"iprp", b"ipco"), None)
    associations = next(boxes_at(walk, b"meta", b"iprp", b"ipma"), None)
    primary = next(boxes_at(walk, b"meta", b"pitm"), None)
    if properties is None or associations is None or primary is None:
        return 1
    (version,) = walk.unpack("B", primary.start)
    (item,) = walk.unpack(">I" if version else ">H", primary.start + 4)
    listed = list(boxes(walk, properties.start, properties.size))
    turns, axis = 0, None
    for index in _associated(walk, associations, item):
        if not 0 < index <= len(listed):
            continue
        kind, start, _ = listed[index - 1]
        if kind == b"irot":
            turns = walk.at(start, 1)[0] & 3
        elif kind == b"imir":
            axis = walk.at(start, 1)[0] & 1
    return _TURNS[turns, axis]


def _associated(walk: Walk, associations: Part, item: int) -> list[int]:
    """The numbers of the properties of an item, from 1."""
    version, flags = walk.unpack(">BxxB", associations.start)
    at = associations.start + 8
    (count,) = walk.unpack(">I", at - 4)
    number, wide = (">I" if version else ">H"), bool(flags & 1)
    for _ in range(count):
        (found,) = walk.unpack(number, at)
        at += 4 if version else 2
        (length,) = walk.unpack("B", at)
        at += 1
        if found == item:
            stored = walk.unpack(f">{length}{'H' if wide else 'B'}", at)
            return [one & (0x7FFF if wide else 0x7F) for one in stored]
        at += length * (2 if wide else 1)
    return []
