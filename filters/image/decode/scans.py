"""The scans of a JPEG stream: how many there are, whether they send every coefficient in full, and where they end.

A progressive file sends its pixels many times over, each time finer. One that lacks the later scans and is closed
nevertheless decodes without a word, only coarser; so does a strip of TIFF of which the end is missing, with grey.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from winnow.filters.image.decode.containers import (
    FRAME_MARKERS,
    HeldBytes,
    UnreadableError,
    Walk,
    jpeg_segments,
)

_SCAN: Final = b"\xff\xda"
_SEQUENTIAL: Final = (b"\xc0", b"\xc1")
_PROGRESSIVE: Final = (b"\xc2",)
_UNCHECKED: Final = {  # kinds of frames
    **dict.fromkeys(
        (b"\xc9", b"\xca", b"\xcb", b"\xcd", b"\xce", b"\xcf"), "arithmetic coding, whose end cannot be told"
    ),
    b"\xf7": "JPEG-LS",
}
_MARKER: Final = re.compile(rb"\xff[\x02-\xcf\xd8-\xfe]")  # within pixels, others are data and places to start again
_ALONE: Final = frozenset((0xD8, 0xD9))  # begin and end
_END: Final = 0xD9
_MOST_SEGMENTS: Final = 4096
_COEFFICIENTS: Final = 64
_UNSENT: Final = 16  # more bits than a coefficient may lack


class Scans(NamedTuple):
    """How often a decoder goes over all pixels, at most, and whether some coefficients are not sent in full."""

    number: int = 0
    lack: bool = False


def scans_of(image: HeldBytes, mime: str) -> Scans:
    """The scans of a JPEG file; metadata may hold a picture with scans of its own, which are counted, too.

    A sequential file whose first scan has every component has no other: decoders refuse a second.
    """
    if mime != "image/jpeg":
        return Scans()
    walk, frame, end = Walk(image), None, 2
    try:
        for part in jpeg_segments(walk):
            frame = part if part.kind[0] in FRAME_MARKERS else frame
            end = part.start + part.size
        if frame is not None and frame.kind in (*_SEQUENTIAL, *_PROGRESSIVE):
            (components,) = walk.unpack("B", frame.start + 5)
            head = walk.at(end, 5)  # the marker, a length, the number of components
            if frame.kind in _SEQUENTIAL and head.startswith(_SCAN) and head[4] == components:
                return Scans(1)
            described = walk.at(frame.start + 6, 3 * components)
            lack = _lack(image.content, end, described[::3], frame.kind in _PROGRESSIVE)
            return Scans(image.content.count(_SCAN), lack)
    except UnreadableError:
        pass
    return Scans(image.content.count(_SCAN))


def unchecked_coding(image: HeldBytes) -> str | None:
    """The coding of a JPEG file with segments, if it is none that browsers show.

    The decoder of arithmetic codes fills up what is missing and does not say so.
    """
    parts = image.segments.parts if image.segments else ()
    return next((_UNCHECKED[part.kind] for part in parts if part.kind in _UNCHECKED), None)


def ends(content: bytes) -> bool:
    """Whether a JPEG stream has a mark of its end behind its first scan; what stands behind that is not looked at."""
    seen = False
    for number, (marker, _) in enumerate(_segments(content, 2)):
        if number >= _MOST_SEGMENTS:
            return True
        seen = seen or marker == _SCAN[1]
        if marker == _END:
            return seen
    return False


def _lack(content: bytes, at: int, components: bytes, progressive: bool) -> bool:
    """Whether some bits of some component's coefficients are in no scan, of a stream with a mark of its end."""
    missing = {one: bytearray([_UNSENT]) * _COEFFICIENTS for one in components}
    for number, (marker, body) in enumerate(_segments(content, at)):
        if number >= _MOST_SEGMENTS:
            return False
        if marker == _END:
            return any(any(bits) for bits in missing.values())
        if marker != _SCAN[1]:
            continue
        count = body[0] if body else 0
        if len(body) != 4 + 2 * count:
            return False
        first, last, bits = body[-3:] if progressive else (0, _COEFFICIENTS - 1, 0)
        for one in body[1 : 1 + 2 * count : 2]:
            if one not in missing or not first <= last < _COEFFICIENTS:
                return False
            missing[one][first : last + 1] = bytes([bits & 15]) * (last + 1 - first)
    return False  # the decoder's to judge


def _segments(content: bytes, at: int) -> Iterator[tuple[int, bytes]]:
    """The marker and the content of each segment from a place on; pixels between them are passed over."""
    while (found := _MARKER.search(content, at)) is not None:
        marker, at = content[found.end() - 1], found.end()
        if marker in _ALONE:
            yield marker, b""
            continue
        length = int.from_bytes(content[at : at + 2])
        yield marker, content[at + 2 : at + max(length, 2)]
        at += max(length, 2)
