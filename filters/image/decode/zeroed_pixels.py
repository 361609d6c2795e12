"""Detects coded pixels overwritten with zeros: a download that preallocated its file and was interrupted.

Such a file has its full length, or its container declares no length, so nothing else reveals it. Decoders of WebP and
AVIF read the zeros as codes and show grey, or repeat the last block.
"""

import struct
from typing import Final

from winnow.filters.image.decode.containers import Bytes, Part, UnreadableError, Walk, riff_chunks
from winnow.filters.image.decode.frames import MOST_BLOCKS
from winnow.filters.image.metadata.heif_items import CODED, items

_SPARE: Final = 8  # bytes; decoders of whole WebP files fail without any of the last four
_ZEROS: Final = bytes(32)  # libaom's AVIF has at most 6 zeros in a row, even for flat pictures, and none at its end
_CODED: Final = (b"VP8 ", b"VP8L")
_FRAME, _FRAME_HEADER = b"ANMF", 16


def has_zeroed_items(image: Bytes) -> bool:
    """Whether a coded picture of an AVIF file contains a run of zeros that no encoder writes."""
    walk = Walk(image, MOST_BLOCKS)
    try:
        return any(_ZEROS in image.at(part.start, part.size) for kind, part in items(walk) if kind == CODED)
    except UnreadableError:  # left to the decoder
        return False


def webp_without_end(image: Bytes) -> bytes | None:
    """The first picture of a WebP file without its last bytes, which a whole file cannot be decoded without.

    None if it has no run of zeros, as nearly all pictures. The length of a run proves nothing: flat pictures have
    thousands of zeros. But zeros are short codes, so a decoder needs fewer of them than there are.
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
