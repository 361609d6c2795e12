"""Finds the blocks of metadata in an image file: EXIF, IPTC, XMP and C2PA, where each format stores them.

A block that claims more bytes than its limit is not read, nor is anything after a cut.
"""

import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from winnow.filters.image.decode.containers import (
    InMemoryBytes,
    Part,
    UnreadableError,
    Walk,
    boxes,
    gif_blocks,
    jpeg_segments,
    png_chunks,
    riff_chunks,
    tiff_entries,
    tiff_start,
)
from winnow.filters.image.decode.heif_items import items
from winnow.filters.image.decode.orientation import exif_part
from winnow.filters.image.metadata.iptc import iptc_of_resources

_XMP_SEGMENT: Final = b"http://ns.adobe.com/xap/1.0/\0"
_XMP_EXTENSION: Final = b"http://ns.adobe.com/xmp/extension/\0"
_EXTENSION_HEADER: Final = 40  # an id, the whole length, this part's offset
_PHOTOSHOP_SEGMENT: Final = b"Photoshop 3.0\0"
_XMP_KEYWORD: Final = b"XML:com.adobe.xmp\0"
_XMP_TAG, _IPTC_TAG, _PHOTOSHOP_TAG, _C2PA_TAG = 700, 33723, 34377, 52545
_C2PA_BOX: Final = bytes.fromhex("d8fec3d61b0e483c92975828877ec481")
_MANIFEST: Final = b"manifest\0"
_XMP_TYPE: Final = b"application/rdf+xml"
_MOST_PACKETS: Final = 4  # of XMP; a file should have one
_GIF_APPLICATION: Final = b"!\xff"
_GIF_XMP: Final = b"\x0bXMP DataXMP"
_GIF_C2PA: Final = b"\x0bC2PA_GIF\1\0\0"
_GIF_TRAILER: Final = 258  # bytes after the XMP of a GIF, which lead a reader of blocks to the end of the block


@dataclass(frozen=True, slots=True)
class BlockLimits:
    """How many bytes of one block of metadata are read."""

    max_bytes: int = 1 << 20
    max_manifest_bytes: int = 16 << 20  # of C2PA


@dataclass(slots=True)
class Blocks:
    """The blocks of a file; None for those that it does not have."""

    exif: bytes | None = None
    iptc: bytes | None = None
    c2pa: bytes | None = None
    xmp: list[bytes] = field(default_factory=list)
    complete: bool = True  # False if a block was too long, or the file is cut or damaged


def blocks_of(content: bytes, mime: str, limits: BlockLimits) -> Blocks:
    """The blocks of a file of one of the `READ` types; of a damaged file, those before the damage."""
    blocks = Blocks()
    file = _File(content, limits)
    try:
        _FINDERS[mime](file, blocks)
    except (UnreadableError, struct.error):
        file.complete = False
    blocks.complete = file.complete
    return blocks


class _File:
    """A file in memory, read in parts of limited size."""

    def __init__(self, content: bytes, limits: BlockLimits) -> None:
        self._content = content
        self.limits = limits
        self.walk = Walk(InMemoryBytes(content))
        self.complete = True

    def block(self, part: Part, skipped: int = 0) -> bytes | None:
        """A part's content without its first `skipped` bytes; None if it is too long or cut."""
        return self._read(part, skipped, self.limits.max_bytes)

    def manifest(self, part: Part, skipped: int = 0) -> bytes | None:
        """As `block`, with the limit of manifests."""
        return self._read(part, skipped, self.limits.max_manifest_bytes)

    def starts(self, part: Part, prefix: bytes) -> bool:
        """Whether a part begins with this prefix."""
        return part.size >= len(prefix) and self._content.startswith(prefix, part.start)

    def _read(self, part: Part, skipped: int, most: int) -> bytes | None:
        size = part.size - skipped
        if not 0 <= size <= most or part.start + part.size > len(self._content):
            self.complete = False
            return None
        return self._content[part.start + skipped : part.start + part.size]


def _add(packets: list[bytes], packet: bytes | None) -> None:
    if packet and len(packets) < _MOST_PACKETS:
        packets.append(packet)


def _exif(file: _File, mime: str) -> bytes | None:
    """EXIF data, which have the layout of a TIFF file; for a TIFF file, its first bytes."""
    part = exif_part(file.walk, mime)
    return None if part is None else file.block(part._replace(size=min(part.size, file.limits.max_bytes)))


def _jpeg(file: _File, blocks: Blocks) -> None:
    extension: dict[int, bytes] = {}
    resources: list[bytes] = []
    boxes_found: list[bytes] = []
    try:
        for part in jpeg_segments(file.walk):
            if part.kind == b"\xe1" and file.starts(part, _XMP_SEGMENT):
                _add(blocks.xmp, file.block(part, len(_XMP_SEGMENT)))
            elif part.kind == b"\xe1" and file.starts(part, _XMP_EXTENSION):
                held = file.block(part, len(_XMP_EXTENSION)) or b""
                if len(held) > _EXTENSION_HEADER:
                    extension[struct.unpack(">I", held[36:40])[0]] = held[_EXTENSION_HEADER:]
            elif part.kind == b"\xed" and file.starts(part, _PHOTOSHOP_SEGMENT):
                resources.append(file.block(part, len(_PHOTOSHOP_SEGMENT)) or b"")
            elif part.kind == b"\xeb" and file.starts(part, b"JP"):
                boxes_found.append(file.block(part, 2) or b"")
    finally:
        blocks.exif = _exif(file, "image/jpeg")
        blocks.iptc = iptc_of_resources(b"".join(resources)[: file.limits.max_bytes])
        blocks.c2pa = _joined_boxes(boxes_found, file.limits.max_manifest_bytes)
        if extension and sum(map(len, extension.values())) <= file.limits.max_bytes:
            _add(blocks.xmp, b"".join(held for _, held in sorted(extension.items())))


def _joined_boxes(found: list[bytes], most: int) -> bytes | None:
    """The box that is spread over several segments, each with its number and a copy of the box's header."""
    parts: dict[int, list[tuple[int, bytes]]] = {}
    for held in found:
        if len(held) >= 14:
            number, sequence = struct.unpack(">HI", held[:6])
            parts.setdefault(number, []).append((sequence, held[6:]))
    stores = []
    for _, pieces in sorted(parts.items()):
        ordered = [held for _, held in sorted(pieces, key=lambda piece: piece[0])]
        joined = ordered[0] + b"".join(held[8:] for held in ordered[1:])
        if joined[4:8] == b"jumb" and len(joined) <= most:
            stores.append(joined)
    return b"".join(stores) or None


def _png(file: _File, blocks: Blocks) -> None:
    blocks.exif = _exif(file, "image/png")
    for part in png_chunks(file.walk):
        if part.kind == b"iTXt" and file.starts(part, _XMP_KEYWORD):
            _add(blocks.xmp, _international_text(file.block(part, len(_XMP_KEYWORD)), file.limits.max_bytes))
        elif part.kind == b"caBX":
            blocks.c2pa = blocks.c2pa or file.manifest(part)


def _international_text(held: bytes | None, most: int) -> bytes | None:
    """The text of an iTXt chunk, which comes after two flags, a language and a translated keyword."""
    if held is None or len(held) < 4:
        return None
    text = held[2:].split(b"\0", 2)
    if len(text) < 3:
        return None
    return _inflated(text[2], most) if held[0] else text[2]


def _inflated(held: bytes, most: int) -> bytes | None:
    """Text compressed by zlib; None if it is too long or damaged."""
    inflating = zlib.decompressobj()
    try:
        text = inflating.decompress(held, most)
    except zlib.error:
        return None
    return None if inflating.unconsumed_tail else text


def _webp(file: _File, blocks: Blocks) -> None:
    blocks.exif = _exif(file, "image/webp")
    for part in riff_chunks(file.walk):
        if part.kind == b"XMP ":
            _add(blocks.xmp, file.block(part))
        elif part.kind == b"C2PA":
            blocks.c2pa = blocks.c2pa or file.manifest(part)


def _tiff(file: _File, blocks: Blocks) -> None:
    blocks.exif = _exif(file, "image/tiff")
    for tag, part in tiff_entries(file.walk, tiff_start(file.walk)):
        if tag == _XMP_TAG:
            _add(blocks.xmp, file.block(part))
        elif tag == _IPTC_TAG:
            blocks.iptc = blocks.iptc or file.block(part)
        elif tag == _PHOTOSHOP_TAG:
            blocks.iptc = blocks.iptc or iptc_of_resources(file.block(part) or b"")
        elif tag == _C2PA_TAG:
            blocks.c2pa = file.manifest(part)


def _gif(file: _File, blocks: Blocks) -> None:
    for part in gif_blocks(file.walk):
        if part.kind != _GIF_APPLICATION:
            continue
        body = Part(part.kind, part.start + len(_GIF_XMP), part.size - len(_GIF_XMP))
        if file.starts(part, _GIF_XMP):  # the lengths of its blocks are its own text; a trailer ends them
            _add(blocks.xmp, file.block(body._replace(size=body.size - _GIF_TRAILER)))
        elif file.starts(part, _GIF_C2PA):
            held = file.manifest(body)
            blocks.c2pa = blocks.c2pa or (None if held is None else _joined_blocks(held))


def _joined_blocks(held: bytes) -> bytes:
    """The content of blocks that each start with their length."""
    pieces, at = [], 0
    while at < len(held) and held[at]:
        pieces.append(held[at + 1 : at + 1 + held[at]])
        at += 1 + held[at]
    return b"".join(pieces)


def _heif(file: _File, blocks: Blocks) -> None:
    for part in boxes(file.walk):
        if part.kind == b"uuid" and file.starts(part, _C2PA_BOX):
            held = file.manifest(part, len(_C2PA_BOX) + 4) or b""  # the store comes after a purpose and an offset
            if held.startswith(_MANIFEST):
                blocks.c2pa = blocks.c2pa or held[len(_MANIFEST) + 8 :]
    for kind, place in items(file.walk):
        if kind == b"Exif":
            held = file.block(place) or b""
            skipped = 4 + int.from_bytes(held[:4], "big")  # the offset of the data
            blocks.exif = blocks.exif or held[skipped:] or None
        elif kind == _XMP_TYPE:
            _add(blocks.xmp, file.block(place))


_FINDERS: Final[dict[str, Callable[[_File, Blocks], None]]] = {
    "image/jpeg": _jpeg,
    "image/png": _png,
    "image/webp": _webp,
    "image/tiff": _tiff,
    "image/gif": _gif,
    "image/avif": _heif,
    "image/heic": _heif,
    "image/heif": _heif,
    "image/bmp": lambda _file, _blocks: None,  # has none
}
READ: Final = frozenset(_FINDERS)
"""The types whose metadata are found."""
