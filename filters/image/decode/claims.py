"""Checks a picture file's claims before any pixel is decoded: frames, metadata, and that the file is whole.

A decoder stops after the first frame, so it does not notice that a later frame or the end marker is missing. What
cannot be determined within a limited number of reads is not held against a file.
"""

import zlib
from dataclasses import dataclass
from typing import Final

from winnow.filters.image.decode.containers import (
    Bytes,
    CutError,
    InMemoryBytes,
    Part,
    UnreadableError,
    Walk,
    boxes_at,
    gif_blocks,
    jpeg_segments,
    png_chunks,
    riff_chunks,
    tiff_entries,
    tiff_following,
    tiff_start,
    tiff_values,
)
from winnow.filters.image.decode.frames import MOST_BLOCKS, counted_frames
from winnow.filters.image.decode.heif_items import items

_EXIF_SEGMENT, _EXIF = b"\xe1", b"Exif\0\0"
_ICC_SEGMENT, _ICC = b"\xe2", b"ICC_PROFILE\0"
_ICC_TAG: Final = 34675
_MOST_HELD_BLOCKS: Final = 1 << 20  # reads from memory are cheap: about 0.2 s for all of them
_PLACES: Final = {273: 279, 324: 325}  # TIFF tags: positions of strips or tiles, and their lengths


@dataclass(frozen=True, slots=True)
class MetadataSizes:
    """The unpacked bytes of a file's EXIF data and colour profile."""

    exif: int = 0
    icc: int = 0


def frames_within(image: InMemoryBytes, mime: str, most: int) -> bool:
    """Whether a file has at most this many frames or pages, as far as they can be counted."""
    try:
        return all(frames <= most for frames in counted_frames(image, mime, _MOST_HELD_BLOCKS))
    except UnreadableError:
        return True


def metadata_sizes(image: Bytes, mime: str, most: int) -> MetadataSizes:
    """The size of the metadata that decoders load; compressed ones are unpacked to just above `most`."""
    walk = Walk(image)
    exif = icc = 0
    try:
        if mime == "image/jpeg":
            for part in jpeg_segments(walk):
                if part.kind == _EXIF_SEGMENT:
                    exif += part.size if _begins(walk, part, _EXIF) else 0
                elif part.kind == _ICC_SEGMENT:
                    icc += part.size if _begins(walk, part, _ICC) else 0
        elif mime == "image/png":
            for part in png_chunks(walk):
                exif += part.size if part.kind == b"eXIf" else 0
                icc += _unpacked(walk, part, most) if part.kind == b"iCCP" else 0
        elif mime == "image/webp":
            for part in riff_chunks(walk):
                exif += part.size if part.kind == b"EXIF" else 0
                icc += part.size if part.kind == b"ICCP" else 0
        elif mime == "image/tiff":
            icc = sum(part.size for tag, part in tiff_entries(walk, tiff_start(walk)) if tag == _ICC_TAG)
        elif mime == "image/avif":
            icc = sum(part.size for part in boxes_at(walk, b"meta", b"iprp", b"ipco", b"colr"))
            exif = sum(part.size for kind, part in items(walk) if kind == b"Exif")
    except UnreadableError:  # left to the decoder
        pass
    return MetadataSizes(exif, icc)


def _begins(walk: Walk, part: Part, prefix: bytes) -> bool:
    return part.size >= len(prefix) and walk.at(part.start, len(prefix)) == prefix


def _unpacked(walk: Walk, part: Part, most: int) -> int:
    """The unpacked size of a profile, which follows its name."""
    _, _, packed = walk.at(part.start, part.size).partition(b"\0")
    try:
        return len(zlib.decompressobj().decompress(packed[1:], most + 1))
    except zlib.error:
        return 0


def is_cut(image: Bytes, mime: str) -> bool:
    """Whether a file ends before its declared end."""
    if mime == "image/jpeg":
        return False  # the decoder detects it
    walk = Walk(image, MOST_BLOCKS)
    try:
        if mime == "image/png":
            kinds = {kind for kind, start, size in png_chunks(walk) if kind != b"IEND" or walk.at(start + size, 4)}
            return not {b"IDAT", b"IEND"} <= kinds  # without IDAT, an animation's next frame would be shown
        if mime == "image/gif":
            end = 0
            for block in gif_blocks(walk):
                end = block.start + block.size
            return end >= walk.size
        if mime == "image/webp":
            (length,) = walk.unpack("<I", 4)
            return 8 + length > walk.size
        if mime == "image/bmp":
            (length,) = walk.unpack("<I", 2)  # 0 if the writer left it out
            return length > walk.size
        if mime == "image/tiff":
            return _pages_are_cut(walk)
    except CutError:
        return True
    except UnreadableError:
        return False
    return False


def _pages_are_cut(walk: Walk) -> bool:
    """Whether a page after the first (which is decoded) lacks pixels or values of its tags."""
    at, seen = tiff_start(walk), set[int]()
    while at and at not in seen:
        seen.add(at)
        if len(seen) > 1 and _page_end(walk, at) > walk.size:
            return True
        at = tiff_following(walk, at)
    return False


def _page_end(walk: Walk, at: int) -> int:
    """The end of the last value, strip or tile of a page."""
    entries = dict(tiff_entries(walk, at))
    end = max((part.start + part.size for part in entries.values()), default=0)
    for place, length in _PLACES.items():
        if place in entries and length in entries:
            found = zip(tiff_values(walk, entries[place]), tiff_values(walk, entries[length]), strict=False)
            end = max(end, max((start + size for start, size in found), default=0))
    return end
