"""Whether a file's coded pixels were overwritten with zeros: what a download leaves that made room and was cut off.

The end of such a file is in its place, or its container announces no end, so nothing else tells. Decoders of WebP and
AVIF take the zeros for codes and show grey, or the last block again and again.
"""

import struct
from typing import Final

from winnow.filters.image.decode.containers import Bytes, Part, UnreadableError, Walk, riff_chunks
from winnow.filters.image.decode.frames import MOST_BLOCKS
from winnow.filters.image.metadata.heif_items import CODED, items

__all__ = ["has_zeroed_items", "webp_without_end"]

_SPARE: Final = 8  # bytes; decoders of whole WebP files miss each of the last four
_ZEROS: Final = bytes(32)  # AVIF of libaom has at most 6 in a row, even of flat pictures, and none at its end
_CODED: Final = (b"VP8 ", b"VP8L")
_FRAME, _FRAME_HEADER = b"ANMF", 16


def has_zeroed_items(image: Bytes) -> bool:
    """Whether a coded picture of an AVIF file has a run of zeros that no encoder writes."""
    walk = Walk(image, MOST_BLOCKS)
    try:
        return any(_ZEROS in image.at(part.start, part.size) for kind, part in items(walk) if kind == CODED)
    except UnreadableError:  # the decoder's to judge
        return False


def webp_without_end(image: Bytes) -> bytes | None:
    """The first picture of a WebP file as a file without its last bytes, which no decoder may be able to read.

    None where it has no zeros in a row, as all but flat pictures. No length of such a run tells: whole ones of flat
    pictures have thousands. But zeros are short codes, so a decoder needs fewer of them than there are.
    """
    walk = Walk(image, MOST_BLOCKS)
    try:
        part = _first_coded(walk)
    except UnreadableError:
        return None
    coded = image.at(part.start, part.size) if part else b""
    if part is None or bytes(_SPARE) not in coded or len(coded) <= 2 * _SPARE:
        return None
    rest = coded[:-_SPARE]
    padded = rest + bytes(len(rest) & 1)
    return struct.pack("<4sI4s4sI", b"RIFF", 12 + len(padded), b"WEBP", part.kind, len(rest)) + padded


def _first_coded(walk: Walk) -> Part | None:
    """The codes of a still picture, or of an animation's first frame."""
    for part in riff_chunks(walk):
        if part.kind in _CODED:
            return part
        if part.kind == _FRAME:
            at, end = part.start + _FRAME_HEADER, part.start + part.size
            while at + 8 <= end:
                kind, size = struct.unpack("<4sI", walk.at(at, 8))
                if kind in _CODED:
                    return Part(kind, at + 8, size)
                at += 8 + size + (size & 1)
    return None
