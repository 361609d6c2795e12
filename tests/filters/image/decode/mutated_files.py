"""Files of seven formats, and what a hostile or broken sender makes of them: reproducible by a number."""

import io
import struct
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np
from PIL import Image

from winnow.filters.image.decode.containers import (
    InMemoryBytes,
    Part,
    UnreadableError,
    Walk,
    boxes,
    jpeg_segments,
    png_chunks,
    riff_chunks,
)

Random = np.random.Generator

HEIGHT, WIDTH = 48, 72
VARIANTS: Final[Mapping[str, tuple[str, str, str, dict[str, Any]]]] = {  # type, Pillow's name, mode, options
    "jpeg": ("image/jpeg", "JPEG", "RGB", {}),
    "jpeg progressive": ("image/jpeg", "JPEG", "RGB", {"progressive": True}),
    "jpeg cmyk": ("image/jpeg", "JPEG", "CMYK", {}),
    "jpeg grey": ("image/jpeg", "JPEG", "L", {}),
    "jpeg exif": ("image/jpeg", "JPEG", "RGB", {"exif": 6, "icc_profile": bytes(3000)}),
    "jpeg restarts": ("image/jpeg", "JPEG", "RGB", {"restart_marker_blocks": 4, "subsampling": 0}),
    "png": ("image/png", "PNG", "RGB", {}),
    "png 16 bit": ("image/png", "PNG", "I;16", {}),
    "png palette": ("image/png", "PNG", "P", {"transparency": 3}),
    "png alpha": ("image/png", "PNG", "RGBA", {"exif": 8}),
    "png animated": ("image/png", "PNG", "RGB", {"frames": 3}),
    "webp": ("image/webp", "WEBP", "RGB", {"exif": 3}),
    "webp lossless": ("image/webp", "WEBP", "RGBA", {"lossless": True}),
    "webp animated": ("image/webp", "WEBP", "RGB", {"frames": 3}),
    "gif": ("image/gif", "GIF", "P", {}),
    "gif animated": ("image/gif", "GIF", "RGB", {"frames": 3}),
    "tiff": ("image/tiff", "TIFF", "RGB", {}),
    "tiff pages": ("image/tiff", "TIFF", "RGB", {"frames": 3}),
    "tiff lzw": ("image/tiff", "TIFF", "RGBA", {"compression": "tiff_lzw"}),
    "tiff deflate": ("image/tiff", "TIFF", "I;16", {"compression": "tiff_adobe_deflate"}),
    "tiff jpeg": ("image/tiff", "TIFF", "RGB", {"compression": "jpeg"}),
    "tiff fax": ("image/tiff", "TIFF", "1", {"compression": "group4"}),
    "tiff big": ("image/tiff", "TIFF", "RGB", {"big_tiff": True, "exif": 6}),
    "bmp": ("image/bmp", "BMP", "RGB", {}),
    "bmp palette": ("image/bmp", "BMP", "P", {}),
    "bmp two colours": ("image/bmp", "BMP", "1", {}),
    "avif": ("image/avif", "AVIF", "RGB", {"exif": 6}),
    "avif alpha": ("image/avif", "AVIF", "RGBA", {}),
}


@dataclass(frozen=True, slots=True)
class Mutated:
    """A changed file."""

    variant: str
    mime: str
    change: str
    content: bytes


@cache
def whole(variant: str) -> bytes:
    """The file as it was written."""
    _, name, mode, options = VARIANTS[variant]
    options = dict(options)
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    noise = np.random.default_rng(7).integers(0, 40, (HEIGHT, WIDTH, 3))
    pixels = (np.stack([y * 4, x * 2, x + y], axis=2) + noise).astype(np.uint8)
    if mode == "I;16":
        first = Image.fromarray(pixels[:, :, 0].astype(np.uint16) * 257)
    else:
        first = Image.fromarray(pixels).convert(mode)
    if "exif" in options:
        exif = Image.Exif()
        exif[271] = "a maker"
        exif[274] = options.pop("exif")
        options["exif"] = exif
    if "frames" in options:
        turned = [Image.fromarray(np.roll(pixels, 9 * number, 1)) for number in range(1, options.pop("frames"))]
        options |= {"save_all": True, "append_images": turned}
    out = io.BytesIO()
    first.save(out, name, **options)
    padding = 4 if variant == "tiff pages" else 0  # Pillow's, which nothing refers to
    return out.getvalue()[: len(out.getvalue()) - padding]


def mutated(variant: str, number: int) -> Mutated:
    """One of endlessly many changed files."""
    random = np.random.default_rng((sorted(VARIANTS).index(variant), number))
    change = CHANGES[number % len(CHANGES)]
    mime = VARIANTS[variant][0]
    content = bytearray(whole(variant))
    CHANGES_BY_NAME[change](content, mime, random)
    if mime == "image/png" and random.integers(2):
        _mend_checksums(content)
    return Mutated(variant, mime, change, bytes(content))


def _flip_bits(content: bytearray, _mime: str, random: Random) -> None:
    for at in random.integers(0, len(content), random.integers(1, 20)).tolist():
        content[at] ^= 1 << int(random.integers(8))


def _overwrite(content: bytearray, _mime: str, random: Random) -> None:
    at = int(random.integers(len(content)))
    size = int(random.integers(1, 64))
    content[at : at + size] = random.integers(0, 256, size).astype(np.uint8).tobytes()


def _cut(content: bytearray, _mime: str, random: Random) -> None:
    del content[int(random.integers(len(content))) :]


def _remove(content: bytearray, _mime: str, random: Random) -> None:
    at = int(random.integers(len(content)))
    del content[at : at + int(random.integers(1, 200))]


def _repeat(content: bytearray, _mime: str, random: Random) -> None:
    at, end = sorted(random.integers(0, len(content), 2).tolist())
    content[at:at] = content[at:end]


def _splice(content: bytearray, mime: str, random: Random) -> None:
    others = [name for name in sorted(VARIANTS) if VARIANTS[name][0] == mime]
    other = whole(others[int(random.integers(len(others)))])
    at, start = int(random.integers(len(content))), int(random.integers(len(other)))
    content[at:] = other[start:]


def _patch_head(content: bytearray, _mime: str, random: Random) -> None:
    """Extreme numbers where headers have theirs."""
    at = int(random.integers(min(len(content), 120)))
    extreme = [0, 1, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 100_000]
    order = "<" if random.integers(2) else ">"
    packed = struct.pack(f"{order}I", extreme[int(random.integers(len(extreme)))])
    content[at : at + 4] = packed if random.integers(2) else packed[:2]


def _lie_of_sides(content: bytearray, mime: str, random: Random) -> None:
    """Each place where a side is written, as 16 or 32 bits of any order, has another."""
    new = int(random.choice([1, 47, 73, 500, 1500, 20_000, 65_535]))
    for side in (HEIGHT, WIDTH):
        for packed in (struct.pack(">H", side), struct.pack("<H", side)):
            layout = ">H" if packed[0] == 0 else "<H"
            at = bytes(content).find(packed)
            while at >= 0 and at < 700:
                if random.integers(3):
                    content[at : at + 2] = struct.pack(layout, new)
                at = bytes(content).find(packed, at + 2)


def _lie_of_lengths(content: bytearray, mime: str, random: Random) -> None:
    fields = _length_fields(bytes(content), mime)
    if not fields:
        _patch_head(content, mime, random)
        return
    at, layout = fields[int(random.integers(len(fields)))]
    size = struct.calcsize(layout)
    (real,) = struct.unpack(layout, content[at : at + size])
    lies = [0, 1, real - 1, real + 1, real * 2, 1 << (8 * size - 1), (1 << (8 * size)) - 1]
    lie = lies[int(random.integers(len(lies)))]
    content[at : at + size] = struct.pack(layout, min(max(lie, 0), (1 << (8 * size)) - 1))


def _length_fields(content: bytes, mime: str) -> list[tuple[int, str]]:
    """Where the lengths of parts are."""
    walk = Walk(InMemoryBytes(content))
    if mime == "image/tiff":
        return [(at, "<I") for at in range(4, min(len(content), 400), 4)]
    if mime == "image/gif":
        return [(at, "B") for at in range(6, min(len(content), 1200), 7)]
    if mime == "image/bmp":
        return [(at, "<I") for at in (2, 10, 14, 18, 22, 30, 34, 46)]
    found: list[tuple[int, str]] = []
    with suppress(UnreadableError):
        if mime == "image/jpeg":
            found += [(part.start - 2, ">H") for part in jpeg_segments(walk)]
        elif mime == "image/png":
            found += [(part.start - 8, ">I") for part in png_chunks(walk)]
        elif mime == "image/webp":
            found += [(4, "<I"), *((part.start - 4, "<I") for part in riff_chunks(walk))]
        else:
            found += [(part.start - 8, ">I") for part in _nested_boxes(walk)]
    return found


def _nested_boxes(walk: Walk) -> list[Part]:
    found, pending = [], list(boxes(walk))
    while pending:
        box = pending.pop()
        found.append(box)
        if box.kind in (b"meta", b"iprp", b"ipco", b"iinf"):
            skipped = {b"meta": 4, b"iinf": 6}.get(box.kind, 0)
            pending += boxes(walk, box.start + skipped, box.size - skipped)
    return found


def _mend_checksums(content: bytearray) -> None:
    with suppress(UnreadableError):
        for kind, start, size in list(png_chunks(Walk(InMemoryBytes(bytes(content))))):
            end = start + size
            if end + 4 <= len(content):
                content[end : end + 4] = struct.pack(">I", zlib.crc32(kind + content[start:end]))


CHANGES_BY_NAME: Final[dict[str, Callable[[bytearray, str, Random], None]]] = {
    "bits flipped": _flip_bits,
    "bytes overwritten": _overwrite,
    "cut": _cut,
    "bytes removed": _remove,
    "bytes repeated": _repeat,
    "spliced": _splice,
    "head patched": _patch_head,
    "sides patched": _lie_of_sides,
    "lengths patched": _lie_of_lengths,
}
CHANGES: Final = tuple(CHANGES_BY_NAME)
