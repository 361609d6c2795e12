"""Removes metadata from the file of a picture, and leaves every byte of its pixels as it is.

What decoders need for the same pixels stays: JPEG's tables and Adobe's mark of the colours, PNG's transparency, gamma
and frames, WebP's and GIF's frames. All else goes unless it is to be kept: EXIF, XMP, IPTC, comments, thumbnails,
provenance, unknown blocks, and whatever lies behind the end of the picture. Where `copyright` or `orientation` is
kept without `exif`, new EXIF data hold these facts alone.
"""

import struct
import zlib
from collections.abc import Callable, Iterator
from typing import Final

from winnow.filters.image.changes.exif import kept_exif
from winnow.filters.image.changes.options import Kept

__all__ = ["UNSTRIPPED", "UnstrippedError", "strip"]

UNSTRIPPED: Final = "unstripped"
"""Why a picture is left out whose metadata cannot be removed: its type, or a damaged file."""

_EXIF: Final = b"Exif\0\0"
_XMP: Final = b"http://ns.adobe.com/xap/1.0/\0"
_MORE_XMP: Final = b"http://ns.adobe.com/xmp/extension/\0"
_ICC: Final = b"ICC_PROFILE\0"
_IPTC: Final = b"Photoshop 3.0\0"
_JPEG_END: Final = b"\xff\xd9"
_JFIF_LENGTH: Final = 16  # of a JFIF segment without a thumbnail


class UnstrippedError(Exception):
    """Metadata cannot be removed, for this reason."""


def strip(content: bytes, mime: str, keep: frozenset[Kept]) -> bytes:
    """The file of a picture without metadata.

    Args:
        content: The whole file.
        mime: Its sniffed type.
        keep: What stays.

    Raises:
        UnstrippedError: The type is not known to be free of metadata, or the file is damaged.
    """
    write = _WRITERS.get(mime)
    if write is None:
        raise UnstrippedError(f"metadata of {mime} cannot be removed without encoding it anew")
    try:
        return b"".join(write(content, keep))
    except (struct.error, IndexError):
        raise UnstrippedError("the file ends early or is damaged") from None


def _exif(data: bytes, keep: frozenset[Kept]) -> bytes | None:
    """EXIF data, without their mark, as far as they are kept."""
    if "exif" in keep:
        return data
    return kept_exif(data, orientation="orientation" in keep, copyright_="copyright" in keep)


def _jpeg(content: bytes, keep: frozenset[Kept]) -> Iterator[bytes]:
    if content[:2] != b"\xff\xd8":
        raise UnstrippedError("the file does not begin as a JPEG")
    yield content[:2]
    at = 2
    while True:
        escape, marker = content[at], content[at + 1]
        if escape != 0xFF:
            raise UnstrippedError("a segment of the JPEG does not begin with its mark")
        if marker == 0xFF:  # padding
            at += 1
            continue
        if marker == 0x01 or 0xD0 <= marker <= 0xD7:  # without a segment, and without meaning here
            at += 2
            continue
        if marker == 0xD9:
            yield _JPEG_END
            return
        (length,) = struct.unpack_from(">H", content, at + 2)
        end = at + 2 + length
        if length < 2 or end > len(content):
            raise UnstrippedError("a segment of the JPEG is longer than its file")
        yield _segment(marker, content[at + 4 : end], keep)
        at = end
        if marker == 0xDA:
            end = _after_scan(content, at)
            yield content[at:end]
            at = end


def _after_scan(content: bytes, at: int) -> int:
    """Where the compressed pixels end: at the next marker that is not part of them."""
    while True:
        at = content.find(b"\xff", at)
        if at < 0 or at + 1 >= len(content):
            raise UnstrippedError("the JPEG has no end")
        if content[at + 1] != 0 and not 0xD0 <= content[at + 1] <= 0xD7 and content[at + 1] != 0xFF:
            return at
        at += 1 if content[at + 1] == 0xFF else 2


def _segment(marker: int, body: bytes, keep: frozenset[Kept]) -> bytes:
    """A segment as far as it is kept."""
    if marker == 0xE0:
        # A JFIF segment says how the picture is laid out; behind that it may have a thumbnail, as JFXX segments do.
        kept = body[: _JFIF_LENGTH - 4] + b"\0\0" if body.startswith(b"JFIF\0") and len(body) >= 14 else None
    elif marker == 0xE1 and body.startswith(_EXIF):
        exif = _exif(body[len(_EXIF) :], keep)
        kept = None if exif is None else _EXIF + exif
    elif marker == 0xE1 and body.startswith((_XMP, _MORE_XMP)):
        kept = body if "xmp" in keep else None
    elif marker == 0xE2 and body.startswith(_ICC):
        kept = body if "icc" in keep else None
    elif marker == 0xED and body.startswith(_IPTC):
        kept = body if "iptc" in keep else None
    elif marker == 0xEE and body.startswith(b"Adobe"):
        kept = body  # says whether the colours are YCbCr, YCCK or neither
    elif marker == 0xFE:
        kept = body if "comments" in keep else None
    else:
        kept = None if 0xE0 <= marker <= 0xEF else body
    return b"" if kept is None else struct.pack(">BBH", 0xFF, marker, len(kept) + 2) + kept


_PNG_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_PNG_PIXELS: Final = frozenset(  # critical chunks, and those that say what colour a value is
    (b"IHDR", b"PLTE", b"IDAT", b"IEND", b"tRNS", b"gAMA", b"cHRM", b"sRGB", b"cICP", b"mDCV", b"cLLI", b"sBIT")
) | {b"acTL", b"fcTL", b"fdAT", b"pHYs"}
_PNG_XMP: Final = b"XML:com.adobe.xmp\0"
_PNG_NOTICES: Final = (b"Copyright\0", b"Author\0")


def _png(content: bytes, keep: frozenset[Kept]) -> Iterator[bytes]:
    if not content.startswith(_PNG_SIGNATURE):
        raise UnstrippedError("the file does not begin as a PNG")
    yield _PNG_SIGNATURE
    at = len(_PNG_SIGNATURE)
    while True:
        length, kind = struct.unpack_from(">I4s", content, at)
        end = at + 12 + length
        if end > len(content):
            raise UnstrippedError("a chunk of the PNG is longer than its file")
        if kind == b"eXIf":
            if (exif := _exif(content[at + 8 : end - 4], keep)) is not None:
                yield _png_chunk(kind, exif)
        elif kind in _PNG_PIXELS or _png_kept(kind, content[at + 8 : end - 4], keep):
            yield content[at:end]
        if kind == b"IEND":
            return
        at = end


def _png_kept(kind: bytes, body: bytes, keep: frozenset[Kept]) -> bool:
    if kind == b"iCCP":
        return "icc" in keep
    if kind == b"iTXt" and body.startswith(_PNG_XMP):
        return "xmp" in keep
    if kind in (b"tEXt", b"zTXt", b"iTXt"):
        return "comments" in keep or ("copyright" in keep and body.startswith(_PNG_NOTICES))
    return False


def _png_chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


_WEBP_PIXELS: Final = frozenset((b"VP8 ", b"VP8L", b"ALPH", b"ANIM", b"ANMF"))
_WEBP_FLAGS: Final = {b"ICCP": 0x20, b"EXIF": 0x08, b"XMP ": 0x04}


def _webp(content: bytes, keep: frozenset[Kept]) -> Iterator[bytes]:
    mark, size, form = struct.unpack_from("<4sI4s", content, 0)
    if mark != b"RIFF" or form != b"WEBP" or 8 + size > len(content) + (size & 1):
        raise UnstrippedError("the file is not a whole WebP")
    kept: list[tuple[bytes, bytes]] = []
    at, stop = 12, min(8 + size, len(content))
    while at < stop:
        kind, length = struct.unpack_from("<4sI", content, at)
        if at + 8 + length > stop:
            raise UnstrippedError("a chunk of the WebP is longer than its file")
        body = content[at + 8 : at + 8 + length]
        if kind == b"EXIF":
            exif = _exif(body.removeprefix(_EXIF), keep)
            kept += [] if exif is None else [(kind, exif)]
        elif (
            kind in _WEBP_PIXELS
            or kind == b"VP8X"
            or (kind == b"ICCP" and "icc" in keep)
            or (kind == b"XMP " and "xmp" in keep)
        ):
            kept.append((kind, body))
        at += 8 + length + (length & 1)
    there = {kind for kind, _ in kept}
    written = b"".join(_webp_chunk(kind, _webp_flags(body, there) if kind == b"VP8X" else body) for kind, body in kept)
    yield struct.pack("<4sI4s", b"RIFF", len(written) + 4, b"WEBP") + written


def _webp_flags(body: bytes, there: set[bytes]) -> bytes:
    """The header, which says what metadata there are."""
    flags = body[0]
    for kind, flag in _WEBP_FLAGS.items():
        flags = flags | flag if kind in there else flags & ~flag
    return bytes([flags]) + body[1:]


def _webp_chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack("<4sI", kind, len(body)) + body + b"\0" * (len(body) & 1)


_GIF_LOOPS: Final = (b"NETSCAPE2.0", b"ANIMEXTS1.0")
_GIF_ICC: Final = b"ICCRGBG1012"
_GIF_XMP: Final = b"XMP DataXMP"


def _gif(content: bytes, keep: frozenset[Kept]) -> Iterator[bytes]:
    if content[:4] != b"GIF8":
        raise UnstrippedError("the file does not begin as a GIF")
    at = _after_colours(content, 10, 13)
    yield content[:at]
    while True:
        kind = content[at]
        if kind == 0x3B:
            yield b"\x3b"
            return
        if kind == 0x2C:
            end = _after_blocks(content, _after_colours(content, at + 9, at + 10) + 1)
            yield content[at:end]
        elif kind == 0x21:
            end = _after_blocks(content, at + 2)
            if _gif_kept(content[at + 1], content[at + 3 : at + 14], keep):
                yield content[at:end]
        else:
            raise UnstrippedError("a block of the GIF is of no known kind")
        at = end


def _gif_kept(label: int, name: bytes, keep: frozenset[Kept]) -> bool:
    if label == 0xFE:
        return "comments" in keep
    if label == 0xFF:
        return name in _GIF_LOOPS or (name == _GIF_ICC and "icc" in keep) or (name == _GIF_XMP and "xmp" in keep)
    return label == 0xF9  # how the next frame is shown


def _after_colours(content: bytes, flags: int, at: int) -> int:
    """Behind the table of colours that the flags announce."""
    return at + (3 << (content[flags] & 7) + 1 if content[flags] & 0x80 else 0)


def _after_blocks(content: bytes, at: int) -> int:
    """Behind a run of blocks, which an empty one ends."""
    while length := content[at]:
        at += 1 + length
    return at + 1


_WRITERS: Final[dict[str, Callable[[bytes, frozenset[Kept]], Iterator[bytes]]]] = {
    "image/jpeg": _jpeg,
    "image/png": _png,
    "image/webp": _webp,
    "image/gif": _gif,
}
