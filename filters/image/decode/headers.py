"""Read the width and height of an image from its header, without a decoder and without its pixels.

A header is a claim: nothing here is allocated by it. Every look is a few bytes, at most `MOST_LOOKS` of them, so a
file of any size and content costs about the same. A size is that of the stored pixels: an orientation in EXIF data or a
rotation in HEIF is not applied.
"""

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Protocol

MOST_LOOKS: Final = 4096  # segments, boxes or entries; a photograph has some dozens
MOST_SIDE: Final = (1 << 31) - 1

_SOF: Final = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}  # tables and an extension lie between the frames
_BARE: Final = frozenset((0x01, *range(0xD0, 0xD9)))  # markers without a segment
_FULL_BOX: Final = 4  # bytes of version and flags before the content of some boxes


class Bytes(Protocol):
    """Random access to a file's bytes."""

    @property
    def size(self) -> int:
        """How many there are."""
        ...

    def at(self, offset: int, count: int) -> bytes:
        """Some of them; fewer only at the end."""
        ...


@dataclass(frozen=True, slots=True)
class HeldBytes:
    """Bytes in memory."""

    content: bytes

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self.content)

    def at(self, offset: int, count: int) -> bytes:
        """Some of them."""
        return self.content[offset : offset + count]


@dataclass(frozen=True, slots=True)
class ImageSize:
    """Sides in pixels, as stored."""

    width: int
    height: int


class _UnreadableError(Exception):
    """The header is not what its format demands."""


def image_size(image: Bytes, mime: str) -> ImageSize | None:
    """What the header of an image of this sniffed type says; None if it says nothing that can be true."""
    read = _READERS.get(mime)
    if read is None:
        return None
    try:
        width, height = read(image)
    except (_UnreadableError, struct.error):
        return None
    return ImageSize(width, height) if 0 < width <= MOST_SIDE and 0 < height <= MOST_SIDE else None


def _unpack(layout: str, image: Bytes, offset: int) -> tuple[int, ...]:
    return struct.unpack(layout, image.at(offset, struct.calcsize(layout)))


def _png(image: Bytes) -> tuple[int, int]:
    if image.at(12, 4) != b"IHDR":
        raise _UnreadableError
    width, height = _unpack(">II", image, 16)
    return width, height


def _gif(image: Bytes) -> tuple[int, int]:
    width, height = _unpack("<HH", image, 6)
    return width, height


def _jpeg(image: Bytes) -> tuple[int, int]:
    """That of the first frame; a height of 0, to be told after the scan, is none."""
    at = 2
    for _ in range(MOST_LOOKS):
        escape, marker = _unpack("BB", image, at)
        if escape != 0xFF:
            break
        if marker == 0xFF:  # padding
            at += 1
        elif marker in _BARE:
            at += 2
        elif marker in _SOF:
            height, width = _unpack(">HH", image, at + 5)
            return width, height
        elif marker in (0xD9, 0xDA):  # the end, or pixels without a frame
            break
        else:
            (length,) = _unpack(">H", image, at + 2)
            if length < 2:
                break
            at += 2 + length
    raise _UnreadableError


def _webp(image: Bytes) -> tuple[int, int]:
    kind = image.at(12, 4)
    if kind == b"VP8X":
        low_width, high_width, low_height, high_height = _unpack("<HBHB", image, 24)
        return (high_width << 16 | low_width) + 1, (high_height << 16 | low_height) + 1
    if kind == b"VP8L" and image.at(20, 1) == b"\x2f":
        (bits,) = _unpack("<I", image, 21)
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8 " and image.at(23, 3) == b"\x9d\x01\x2a":
        width, height = _unpack("<HH", image, 26)
        return width & 0x3FFF, height & 0x3FFF
    raise _UnreadableError


def _bitmap(image: Bytes) -> tuple[int, int]:
    (length,) = _unpack("<I", image, 14)
    if length == 12:
        width, height = _unpack("<HH", image, 18)
    else:
        width, height = _unpack("<ii", image, 18)
    return width, abs(height)  # rows from the top have a negative height


def _icon(image: Bytes) -> tuple[int, int]:
    """The largest picture of an icon."""
    (count,) = _unpack("<H", image, 4)
    sides = [_unpack("BB", image, 6 + 16 * index) for index in range(min(count, MOST_LOOKS))]
    return max(((width or 256, height or 256) for width, height in sides), default=(0, 0))


def _tiff(image: Bytes) -> tuple[int, int]:
    """That of the first directory, of a classic or a big TIFF."""
    order = "<" if image.at(0, 2) == b"II" else ">"
    (version,) = _unpack(f"{order}H", image, 2)
    if version == 43:
        (at,) = _unpack(f"{order}Q", image, 8)
        (count,) = _unpack(f"{order}Q", image, at)
        at, step, value = at + 8, 20, 12
    else:
        (at,) = _unpack(f"{order}I", image, 4)
        (count,) = _unpack(f"{order}H", image, at)
        at, step, value = at + 2, 12, 8
    sides: dict[int, int] = {}
    for index in range(min(count, MOST_LOOKS)):
        tag, kind = _unpack(f"{order}HH", image, at + index * step)
        if tag in (256, 257) and kind in _TIFF_NUMBERS:
            (sides[tag],) = _unpack(order + _TIFF_NUMBERS[kind], image, at + index * step + value)
    return sides.get(256, 0), sides.get(257, 0)


_TIFF_NUMBERS: Final = {1: "B", 3: "H", 4: "I", 16: "Q"}


def _photoshop(image: Bytes) -> tuple[int, int]:
    height, width = _unpack(">II", image, 14)
    return width, height


def _jpeg_2000(image: Bytes) -> tuple[int, int]:
    for start, _ in _boxes(image, (b"jp2h", b"ihdr"), 0):
        height, width = _unpack(">II", image, start)
        return width, height
    raise _UnreadableError


def _heif(image: Bytes) -> tuple[int, int]:
    """The largest of the picture's parts: thumbnails and tiles are smaller than what they belong to."""
    found = [
        _unpack(">II", image, start + _FULL_BOX)
        for start, _ in _boxes(image, (b"meta", b"iprp", b"ipco", b"ispe"), _FULL_BOX)
    ]
    width, height = max(found, key=lambda sides: sides[0] * sides[1], default=(0, 0))
    return width, height


def _boxes(image: Bytes, path: tuple[bytes, ...], skipped: int) -> Iterator[tuple[int, int]]:
    """The content, from and to, of all boxes of ISO base media under a path; `skipped` bytes begin the first on it."""
    stack = [(0, image.size, 0)]
    looks = 0
    while stack:
        at, end, depth = stack.pop()
        while at + 8 <= end:
            looks += 1
            if looks > MOST_LOOKS:
                raise _UnreadableError
            size, kind = struct.unpack(">I4s", image.at(at, 8))
            start = at + 8
            if size == 1:
                (size,) = _unpack(">Q", image, start)
                start += 8
            stop = end if size == 0 else at + size
            if stop < start or stop > end:
                break
            if kind == path[depth]:
                if depth == len(path) - 1:
                    yield start, stop
                else:
                    stack.append((start + (skipped if depth == 0 else 0), stop, depth + 1))
            at = stop


_READERS: Final[dict[str, Callable[[Bytes], tuple[int, int]]]] = {
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
