"""Whether a file that is whole as a container holds fewer pixels than its header says.

A writer that was stopped and then closed its file leaves one. Decoders show what is missing as black, and say nothing.
"""

import zlib
from typing import Final

from winnow.filters.image.decode.containers import (
    Bytes,
    UnreadableError,
    Walk,
    png_chunks,
    tiff_entries,
    tiff_numbers,
    tiff_start,
    tiff_values,
)
from winnow.filters.image.decode.frames import MOST_BLOCKS
from winnow.filters.image.decode.scans import ends

__all__ = ["lacks_checks", "lacks_ends", "lacks_rows", "lacks_strips"]

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
_COMPRESSION, _JPEG = 259, 7  # each strip a stream of its own; not so that of the older kind, 6
_DEFLATE: Final = (8, 32946)
_LENGTHS: Final = {_STRIPS: 279, _TILES: 325}
_HEADER: Final = 8  # bytes
_APART: Final = 2  # each channel in strips of its own
_SIZES: Final = {b"B": 1, b"H": 2, b"I": 4, b"Q": 8}  # of whole numbers, by their layout


def lacks_rows(image: Bytes) -> bool:
    """Whether the packed pixels of a PNG end before its last row: they are unpacked for this, a piece at a time."""
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
    except (UnreadableError, zlib.error):  # the decoder's to judge
        return False
    return missing > 0


def _png_bytes(walk: Walk) -> int:
    """How many bytes all rows have, each with the byte that names its filter."""
    width, height, depth, colours, _, _, interlaced = walk.unpack(">IIBBBBB", 16)
    bits = depth * _CHANNELS.get(colours, 0)
    total = 0
    for left, top, across, down in _PASSES if interlaced else ((0, 0, 1, 1),):
        columns, rows = -(-(width - left) // across), -(-(height - top) // down)
        if columns > 0 and rows > 0:
            total += rows * (1 + -(-columns * bits // 8))
    return total


def lacks_strips(image: Bytes) -> bool:
    """Whether the first page of a TIFF, which is decoded, has fewer strips or tiles than its sides need.

    One of which the place is within the file's header is not there: such files are called sparse, and shown as black.
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
    """Whether a strip or tile of JPEG in the first page of a TIFF stops before its end; the rest would be grey."""
    return not all(ends(image.at(*one)) for one in _coded_parts(image, (_JPEG,)))


def lacks_checks(image: Bytes) -> bool:
    """Whether a strip or tile of the first page of a TIFF that is packed with deflate is not whole.

    libtiff stops at the last pixel and does not look at the sum behind it, so zeros in place of codes are shown. To be
    asked after decoding, which ends with an error where a part has not the pixels it needs.
    """
    return not all(_unpacks(image.at(*one)) for one in _coded_parts(image, _DEFLATE))


def _unpacks(packed: bytes) -> bool:
    """Whether all of it unpacks to what its sum says, a piece at a time."""
    unpacker = zlib.decompressobj()
    try:
        while packed and not unpacker.eof:
            unpacker.decompress(packed, _PIECE)
            packed = unpacker.unconsumed_tail
    except zlib.error:
        return False
    return unpacker.eof


def _coded_parts(image: Bytes, compressions: tuple[int, ...]) -> set[tuple[int, int]]:
    """The places and lengths of the strips or tiles of the first page of a TIFF, if it has one of these codings."""
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
    return places if sum(size for _, size in places) <= walk.size else set()  # they overlap, and would cost any time
