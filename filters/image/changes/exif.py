"""The few facts of EXIF data that may be kept, written as a small block of EXIF of their own."""

import struct
from typing import Final

__all__ = ["kept_exif"]

_ORIENTATION: Final = 0x0112
_ARTIST: Final = 0x013B
_COPYRIGHT: Final = 0x8298
_SHORT: Final = 3
_ASCII: Final = 2
_MOST_ENTRIES: Final = 4096
_MOST_TEXT: Final = 1 << 14  # bytes of one notice


def kept_exif(data: bytes, *, orientation: bool, copyright_: bool) -> bytes | None:
    """EXIF data, without their `Exif` mark, with the wanted facts only; None where there are none.

    Args:
        data: The old ones, laid out as a TIFF file, without their mark.
        orientation: Keep how the picture is turned.
        copyright_: Keep the copyright notice and the artist's name.
    """
    try:
        found = _entries(data)
    except struct.error:
        return None
    entries: list[tuple[int, int, bytes]] = []
    turned = found.get(_ORIENTATION)
    if orientation and isinstance(turned, int) and 2 <= turned <= 8:
        entries.append((_ORIENTATION, _SHORT, struct.pack(">HH", turned, 0)))
    if copyright_:
        texts = ((tag, found.get(tag)) for tag in (_ARTIST, _COPYRIGHT))
        entries.extend((tag, _ASCII, text) for tag, text in texts if isinstance(text, bytes))
    return _written(entries) if entries else None


def _entries(data: bytes) -> dict[int, int | bytes]:
    """The wanted values of the first directory."""
    order = {b"II": "<", b"MM": ">"}.get(data[:2])
    if order is None:
        return {}
    (at,) = struct.unpack_from(f"{order}I", data, 4)
    (count,) = struct.unpack_from(f"{order}H", data, at)
    found: dict[int, int | bytes] = {}
    for entry in range(min(count, _MOST_ENTRIES)):
        begin = at + 2 + 12 * entry
        tag, kind, length = struct.unpack_from(f"{order}HHI", data, begin)
        if tag == _ORIENTATION and kind == _SHORT and tag not in found:
            (found[tag],) = struct.unpack_from(f"{order}H", data, begin + 8)
        elif tag in (_ARTIST, _COPYRIGHT) and kind == _ASCII and 0 < length <= _MOST_TEXT and tag not in found:
            start = begin + 8
            if length > 4:
                (start,) = struct.unpack_from(f"{order}I", data, start)
            if start + length <= len(data):
                found[tag] = data[start : start + length]
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
