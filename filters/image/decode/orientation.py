"""Which way up a picture is stored, as its EXIF data say, and how it is turned upright."""

import struct
from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["exif_orientation", "orientation_of", "upright"]

_ORIENTATION: Final = 274
_SHORT: Final = 3
_MOST_LOOKS: Final = 4096  # segments, chunks or entries
_EXIF: Final = b"Exif\0\0"


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


def orientation_of(content: bytes, mime: str) -> int:
    """EXIF's number, from 1 to 8; 1 where there is none or it makes no sense."""
    try:
        data = _exif(content, mime)
        found = 1 if data is None else _orientation(data)
    except (struct.error, IndexError):
        return 1
    return found if 1 <= found <= 8 else 1


def exif_orientation(data: bytes) -> int:
    """EXIF's number in EXIF data, from 1 to 8; 1 where there is none or it makes no sense."""
    try:
        found = _orientation(memoryview(data.removeprefix(_EXIF)))
    except struct.error:
        return 1
    return found if 1 <= found <= 8 else 1


def _exif(content: bytes, mime: str) -> memoryview | None:
    """The EXIF data of a file, which are laid out as a TIFF file."""
    view = memoryview(content)
    if mime == "image/jpeg":
        return _of_jpeg(view)
    if mime == "image/png":
        return _of_chunks(view, 8, b"eXIf", ">I4s", 4)
    if mime == "image/webp":
        return _of_chunks(view, 12, b"EXIF", "<4sI", 0)
    return view if mime == "image/tiff" else None


def _of_jpeg(view: memoryview) -> memoryview | None:
    at = 2
    for _ in range(_MOST_LOOKS):
        escape, marker, length = struct.unpack_from(">BBH", view, at)
        if escape != 0xFF or marker in (0xD9, 0xDA) or length < 2:
            return None
        if marker == 0xE1 and bytes(view[at + 4 : at + 4 + len(_EXIF)]) == _EXIF:
            return view[at + 4 + len(_EXIF) : at + 2 + length]
        at += 2 + length
    return None


def _of_chunks(view: memoryview, at: int, name: bytes, layout: str, trailer: int) -> memoryview | None:
    """The content of a chunk of PNG, which has a checksum behind it, or of RIFF, padded to an even length."""
    for _ in range(_MOST_LOOKS):
        if at + 8 > len(view):
            return None
        one, other = struct.unpack_from(layout, view, at)
        found, length = (other, one) if trailer else (one, other)
        if found == name:
            content = view[at + 8 : at + 8 + length]
            return content[len(_EXIF) :] if bytes(content[: len(_EXIF)]) == _EXIF else content
        at += 8 + length + trailer + (0 if trailer else length & 1)
    return None


def _orientation(data: memoryview) -> int:
    order = {b"II": "<", b"MM": ">"}.get(bytes(data[:2]))
    if order is None:
        return 1
    (at,) = struct.unpack_from(f"{order}I", data, 4)
    (count,) = struct.unpack_from(f"{order}H", data, at)
    for entry in range(min(count, _MOST_LOOKS)):
        tag, kind = struct.unpack_from(f"{order}HH", data, at + 2 + 12 * entry)
        if tag == _ORIENTATION and kind == _SHORT:
            (found,) = struct.unpack_from(f"{order}H", data, at + 10 + 12 * entry)
            return int(found)
    return 1
