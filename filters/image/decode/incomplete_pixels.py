"""Detects files that are whole as containers but lack some of the pixels that their header declares.

- A writer that was stopped and then closed its file leaves fewer pixels. Decoders silently show the rest as black.
- libtiff silently ends a strip of fax codes where its bytes end, so the remaining rows show old memory, perhaps of
  another picture. Decoded twice in memory with different fillings (`filled_memory`), such rows differ.
- A download that preallocated its file and was interrupted leaves zeros for pixels. The file has its full length, or
  its container declares none. Decoders of WebP and AVIF read the zeros as codes and show grey, or repeat a block.
"""

import ctypes
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from winnow.filters.image.decode.containers import (
    Bytes,
    Part,
    UnreadableError,
    Walk,
    png_chunks,
    riff_chunks,
    tiff_entries,
    tiff_numbers,
    tiff_start,
    tiff_values,
)
from winnow.filters.image.decode.frames import MOST_BLOCKS
from winnow.filters.image.decode.heif_items import CODED, items
from winnow.filters.image.decode.scans import ends

_CHANNELS: Final = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}  # by PNG's types of colour
_PASSES: Final = (  # of Adam7: first column and row, and the steps between
    (0, 0, 8, 8),
    (4, 0, 8, 8),
    (0, 4, 4, 8),
    (2, 0, 4, 4),
    (0, 2, 2, 4),
    (1, 0, 2, 2),
    (0, 1, 1, 2),
)
_PIECE: Final = 1 << 18

_WIDTH, _HEIGHT, _SAMPLES, _ROWS, _PLANES = 256, 257, 277, 278, 284  # tags of TIFF
_STRIPS, _TILES, _TILE_WIDTH, _TILE_HEIGHT = 273, 324, 322, 323
_COMPRESSION, _JPEG = 259, 7  # each strip is a stream of its own; not so for the older kind, 6
_DEFLATE: Final = (8, 32946)
_LENGTHS: Final = {_STRIPS: 279, _TILES: 325}
_HEADER: Final = 8  # bytes
_APART: Final = 2  # each channel in separate strips
_SIZES: Final = {b"B": 1, b"H": 2, b"I": 4, b"Q": 8}  # of whole numbers, by their layout
_SPARE: Final = 8  # bytes; decoders of whole WebP files fail without any of the last four
_ZEROS: Final = bytes(32)  # libaom's AVIF has at most 6 zeros in a row, even for flat pictures, and none at its end
_CODED: Final = (b"VP8 ", b"VP8L")
_FRAME, _FRAME_HEADER = b"ANMF", 16
FILLINGS: Final = (0x55, 0xAA)
_PERTURB: Final = -6  # M_PERTURB of glibc's mallopt
_FAX: Final = frozenset((2, 3, 4))


def lacks_rows(image: Bytes) -> bool:
    """Whether the compressed pixels of a PNG end before its last row; unpacks them piece by piece."""
    walk = Walk(image, MOST_BLOCKS)
    try:
        missing = _png_bytes(walk)
        unpacker = zlib.decompressobj()
        for kind, start, size in png_chunks(walk):
            if kind != b"IDAT":
                continue
            packed = walk.at(start, size)
            while packed and missing > 0 and not unpacker.eof:
                missing -= len(unpacker.decompress(packed, _PIECE))
                packed = unpacker.unconsumed_tail
            if missing <= 0 or unpacker.eof:
                break
    except (UnreadableError, zlib.error):  # left to the decoder
        return False
    return missing > 0


def _png_bytes(walk: Walk) -> int:
    """The bytes of all rows, each with the byte that names its filter."""
    width, height, depth, colours, _, _, interlaced = walk.unpack(">IIBBBBB", 16)
    bits = depth * _CHANNELS.get(colours, 0)
    total = 0
    for left, top, across, down in _PASSES if interlaced else ((0, 0, 1, 1),):
        columns, rows = -(-(width - left) // across), -(-(height - top) // down)
        if columns > 0 and rows > 0:
            total += rows * (1 + -(-columns * bits // 8))
    return total


def lacks_strips(image: Bytes) -> bool:
    """Whether the first page of a TIFF, the one that is decoded, has fewer strips or tiles than its size needs.

    A strip whose position lies within the file's header is missing: such sparse files are shown as black.
    """
    walk = Walk(image)
    try:
        at = tiff_start(walk)
        told = tiff_numbers(walk, at, (_WIDTH, _HEIGHT, _SAMPLES, _ROWS, _PLANES, _TILE_WIDTH, _TILE_HEIGHT))
        parts = {tag: part for tag, part in tiff_entries(walk, at) if tag in (_STRIPS, _TILES) and part.kind in _SIZES}
        width, height = told.get(_WIDTH, 0), told.get(_HEIGHT, 0)
        planes = told.get(_SAMPLES, 1) if told.get(_PLANES) == _APART else 1
        if _TILES in parts:
            across, down = told.get(_TILE_WIDTH, 0), told.get(_TILE_HEIGHT, 0)
            needed = -(-width // across) * -(-height // down) if across and down else 0
            found = parts[_TILES]
        elif _STRIPS in parts:
            rows = told.get(_ROWS, 0) or height
            needed, found = -(-height // rows) if rows else 0, parts[_STRIPS]
        else:
            return False
        if found.size // _SIZES[found.kind] < needed * planes:
            return True
        return any(place < _HEADER for place in tiff_values(walk, found)[: needed * planes])
    except UnreadableError:
        return False


def lacks_ends(image: Bytes) -> bool:
    """Whether a JPEG strip or tile in the first page of a TIFF stops before its end; the rest would be grey."""
    return not all(ends(image.at(*one)) for one in _coded_parts(image, (_JPEG,)))


def lacks_checks(image: Bytes) -> bool:
    """Whether a deflate-compressed strip or tile of the first page of a TIFF is damaged.

    libtiff stops at the last pixel and ignores the checksum after it, so zeros in place of codes are shown. Call this
    after decoding, which raises if a part has too few pixels.
    """
    return not all(_unpacks(image.at(*one)) for one in _coded_parts(image, _DEFLATE))


def _unpacks(packed: bytes) -> bool:
    """Whether all of it unpacks to what its checksum demands, piece by piece."""
    unpacker = zlib.decompressobj()
    try:
        while packed and not unpacker.eof:
            unpacker.decompress(packed, _PIECE)
            packed = unpacker.unconsumed_tail
    except zlib.error:
        return False
    return unpacker.eof


def _coded_parts(image: Bytes, compressions: tuple[int, ...]) -> set[tuple[int, int]]:
    """The positions and lengths of the strips or tiles of the first page of a TIFF in one of these codings."""
    walk = Walk(image)
    places: set[tuple[int, int]] = set()
    try:
        at = tiff_start(walk)
        if tiff_numbers(walk, at, (_COMPRESSION,)).get(_COMPRESSION) not in compressions:
            return places
        entries = dict(tiff_entries(walk, at))
        for place, length in _LENGTHS.items():
            if place in entries and length in entries and not places:
                starts, sizes = tiff_values(walk, entries[place]), tiff_values(walk, entries[length])
                places = {one for one in zip(starts, sizes, strict=False) if one[1]}
    except UnreadableError:
        return set()
    return places if sum(size for _, size in places) <= walk.size else set()  # else they overlap: unbounded work


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


def may_leave_rows(image: Bytes, mime: str) -> bool:
    """Whether a picture's decoder may leave rows unwritten: a TIFF of fax codes."""
    if mime != "image/tiff":
        return False
    walk = Walk(image)
    try:
        return tiff_numbers(walk, tiff_start(walk), (_COMPRESSION,)).get(_COMPRESSION) in _FAX
    except UnreadableError:
        return False


@contextmanager
def filled_memory(byte: int) -> Iterator[None]:
    """A context in which newly allocated memory is filled; without effect if the C library does not support it."""
    option = getattr(ctypes.CDLL(None), "mallopt", None)
    if option is None:
        yield
        return
    option(_PERTURB, byte)
    try:
        yield
    finally:
        option(_PERTURB, 0)
