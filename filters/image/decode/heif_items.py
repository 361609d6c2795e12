"""The items of AVIF and HEIF files that are metadata or coded pictures: their kind, and where their bytes are.

The box `iinf` names each item's kind and `iloc` its place. Only items stored in one piece within the file are found;
encoders write them that way.
"""

from collections.abc import Iterator
from typing import Final

from winnow.filters.image.decode.containers import Part, Walk, boxes, boxes_at

CODED: Final = b"av01"


def items(walk: Walk) -> Iterator[tuple[bytes, Part]]:
    """Each item's kind, `CODED`, `Exif` or its MIME type, and its place."""
    places = dict(_places(walk))
    for whole in boxes_at(walk, b"meta", b"iinf"):
        (version,) = walk.unpack("B", whole.start)
        first = 6 if version == 0 else 8  # version, flags and a count
        for entry in boxes(walk, whole.start + first, whole.size - first):
            if entry.kind != b"infe":
                continue
            number, kind = _named(walk, entry)
            if kind and number in places:
                yield kind, places[number]


def _named(walk: Walk, entry: Part) -> tuple[int, bytes]:
    """An item's number and kind; no kind where it is none of these."""
    (version,) = walk.unpack("B", entry.start)
    if version not in (2, 3):
        return 0, b""
    size, layout = (2, ">H") if version == 2 else (4, ">I")
    (number,) = walk.unpack(layout, entry.start + 4)
    at = entry.start + 4 + size + 2
    kind = walk.at(at, 4)
    if kind in (CODED, b"Exif"):
        return number, kind
    if kind != b"mime":
        return number, b""
    rest = walk.at(at + 4, max(min(entry.start + entry.size - at - 4, 256), 0))
    return number, rest.split(b"\0")[1] if rest.count(b"\0") else b""


def _places(walk: Walk) -> Iterator[tuple[int, Part]]:
    """The items that lie in one piece in the file, by number."""
    for box in boxes_at(walk, b"meta", b"iloc"):
        version, *_, sizes, more = walk.unpack("BBBBBB", box.start)
        offset_size, length_size, base_size, index_size = sizes >> 4, sizes & 15, more >> 4, more & 15
        wide = version == 2
        at = box.start + 6

        def number(size: int) -> int:
            nonlocal at
            at += size
            return int.from_bytes(walk.at(at - size, size), "big") if size else 0

        for _ in range(number(4 if wide else 2)):
            item = number(4 if wide else 2)
            method = number(2) & 15 if version else 0
            number(2)  # where the data are: 0 for this file
            base = number(base_size)
            pieces = number(2)
            for _ in range(pieces):
                if version:
                    number(index_size)
                offset, length = number(offset_size), number(length_size)
                if method == 0 and pieces == 1:
                    yield item, Part(b"", base + offset, length)
