"""Which way up a picture is stored, as its EXIF data say, and how it is turned upright."""

import struct
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from winnow.filters.image.decode.headers import Bytes, HeldBytes

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


def orientation_of(image: Bytes, mime: str) -> int:
    """EXIF's number, from 1 to 8; 1 where there is none or it makes no sense."""
    try:
        data = _exif(image, mime)
        found = 1 if data is None else _orientation(data)
    except struct.error:
        return 1
    return found if 1 <= found <= 8 else 1


def exif_orientation(data: bytes) -> int:
    """EXIF's number in EXIF data, from 1 to 8; 1 where there is none or it makes no sense."""
    try:
        found = _orientation(HeldBytes(data.removeprefix(_EXIF)))
    except struct.error:
        return 1
    return found if 1 <= found <= 8 else 1


@dataclass(frozen=True, slots=True)
class _Part:
    """A range of a file's bytes."""

    whole: Bytes
    start: int
    size: int

    def at(self, offset: int, count: int) -> bytes:
        """Some of them."""
        return self.whole.at(self.start + offset, max(min(count, self.size - offset), 0))


def _exif(image: Bytes, mime: str) -> Bytes | None:
    """The EXIF data of a file, which are laid out as a TIFF file."""
    if mime == "image/jpeg":
        return _of_jpeg(image)
    if mime == "image/png":
        return _of_chunks(image, 8, b"eXIf", ">I4s", 4)
    if mime == "image/webp":
        return _of_chunks(image, 12, b"EXIF", "<4sI", 0)
    return image if mime == "image/tiff" else None


def _of_jpeg(image: Bytes) -> Bytes | None:
    at = 2
    for _ in range(_MOST_LOOKS):
        escape, marker, length = struct.unpack(">BBH", image.at(at, 4))
        if escape != 0xFF or marker in (0xD9, 0xDA) or length < 2:
            return None
        if marker == 0xE1 and image.at(at + 4, len(_EXIF)) == _EXIF:
            return _Part(image, at + 4 + len(_EXIF), length - 2 - len(_EXIF))
        at += 2 + length
    return None


def _of_chunks(image: Bytes, at: int, name: bytes, layout: str, trailer: int) -> Bytes | None:
    """The content of a chunk of PNG, which has a checksum behind it, or of RIFF, padded to an even length."""
    for _ in range(_MOST_LOOKS):
        if at + 8 > image.size:
            return None
        one, other = struct.unpack(layout, image.at(at, 8))
        found, length = (other, one) if trailer else (one, other)
        if found == name:
            prefix = len(_EXIF) if image.at(at + 8, len(_EXIF)) == _EXIF else 0
            return _Part(image, at + 8 + prefix, length - prefix)
        at += 8 + length + trailer + (0 if trailer else length & 1)
    return None


def _orientation(data: Bytes) -> int:
    order = {b"II": "<", b"MM": ">"}.get(data.at(0, 2))
    if order is None:
        return 1
    (at,) = struct.unpack(f"{order}I", data.at(4, 4))
    (count,) = struct.unpack(f"{order}H", data.at(at, 2))
    for entry in range(min(count, _MOST_LOOKS)):
        tag, kind, _, found = struct.unpack(f"{order}HHIH", data.at(at + 2 + 12 * entry, 10))
        if tag == _ORIENTATION and kind == _SHORT:
            return int(found)
    return 1
