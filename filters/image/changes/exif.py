"""The few facts of EXIF data that may be kept, written as a small block of EXIF of their own."""

import struct
from typing import Final

from winnow.filters.image.decode.containers import (
    TIFF_TEXT,
    HeldBytes,
    UnreadableError,
    Walk,
    tiff_entries,
    tiff_numbers,
    tiff_start,
)

__all__ = ["kept_exif"]

_ORIENTATION: Final = 0x0112
_ARTIST: Final = 0x013B
_COPYRIGHT: Final = 0x8298
_SHORT: Final = 3
_ASCII: Final = 2
_MOST_TEXT: Final = 1 << 14  # bytes of one notice


def kept_exif(data: bytes, *, orientation: bool, copyright_: bool) -> bytes | None:
    """EXIF data, without their `Exif` mark, with the wanted facts only; None where there are none.

    Args:
        data: The old ones, laid out as a TIFF file, without their mark.
        orientation: Keep how the picture is turned.
        copyright_: Keep the copyright notice and the artist's name.
    """
    walk = Walk(HeldBytes(data))
    entries: list[tuple[int, int, bytes]] = []
    if orientation and 2 <= (turned := _orientation(walk)) <= 8:
        entries.append((_ORIENTATION, _SHORT, struct.pack(">HH", turned, 0)))
    if copyright_:
        entries.extend((tag, _ASCII, text) for tag, text in sorted(_notices(walk).items()))
    return _written(entries) if entries else None


def _orientation(walk: Walk) -> int:
    """How the picture is turned, as whoever decodes it reads it: the number itself, however many are announced."""
    try:
        return tiff_numbers(walk, tiff_start(walk), (_ORIENTATION,)).get(_ORIENTATION, 1)
    except UnreadableError:
        return 1


def _notices(walk: Walk) -> dict[int, bytes]:
    """The artist's name and the notice, as far as they come before the end of the data."""
    found: dict[int, bytes] = {}
    try:
        for tag, part in tiff_entries(walk, tiff_start(walk)):
            is_whole = part.start + part.size <= walk.size
            if tag in (_ARTIST, _COPYRIGHT) and part.kind == TIFF_TEXT and 0 < part.size <= _MOST_TEXT and is_whole:
                found.setdefault(tag, walk.at(part.start, part.size))
    except UnreadableError:
        return found
    return found


def _written(entries: list[tuple[int, int, bytes]]) -> bytes:
    head = b"MM\0*" + struct.pack(">IH", 8, len(entries))
    behind = len(head) + 12 * len(entries) + 4
    table, values = b"", b""
    for tag, kind, value in entries:
        count = 1 if kind == _SHORT else len(value)
        if len(value) <= 4:
            table += struct.pack(">HHI", tag, kind, count) + value.ljust(4, b"\0")
            continue
        table += struct.pack(">HHII", tag, kind, count, behind + len(values))
        values += value + b"\0" * (len(value) & 1)
    return head + table + bytes(4) + values
