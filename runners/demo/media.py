"""The crawl's images, PDF and video stub: small, real bytes, drawn from integers.

PNG, GIF and BMP are encoded here. JPEG and WebP need an encoder, so two pictures in each format are stored beside
this file; they were encoded once from the same scenes.
"""

import zlib
from collections.abc import Iterable
from functools import cache
from importlib import resources

import numpy as np
import numpy.typing as npt

from winnow.runners.demo.choice import between

Pixels = npt.NDArray[np.uint8]

WIDTH, HEIGHT = 160, 120
STORED = ("harbour.jpg", "harbour-small.jpg", "market.webp", "harbour.webp")


@cache
def scene(name: str, width: int = WIDTH, height: int = HEIGHT) -> Pixels:
    """A picture of sky, hills, water and a few houses, all placed by hashes of its name; RGB."""
    # Coordinates are those of a 160 x 120 canvas, so that smaller sizes show the same scene.
    y, x = np.mgrid[0:height, 0:width]
    x, y = x * WIDTH // width, y * HEIGHT // height
    horizon = between(50, 80, name, "horizon")
    tint = [between(60, 200, name, "sky", channel) for channel in range(3)]
    picture = np.stack([np.clip(base + (horizon - y) // 2, 0, 255) for base in tint], axis=-1)
    for hill in range(between(2, 4, name, "hills")):
        centre, half = between(0, 159, name, "hill", hill), between(24, 60, name, "width", hill)
        top = horizon - between(10, 35, name, "top", hill)
        inside = (y < horizon) & (y >= top + (horizon - top) * np.abs(x - centre) // half)
        picture[inside] = [between(20, 120, name, "hill", hill, channel) for channel in range(3)]
    water = np.stack([20 + (x + y * 3) % 17, 60 + (y - horizon), 110 + (x * 7 + y * 5) % 23], axis=-1)
    picture[y >= horizon] = water[y >= horizon]
    for house in range(between(1, 5, name, "houses")):
        left, tall = between(5, 140, name, "left", house), between(8, 20, name, "tall", house)
        inside = (x >= left) & (x < left + tall) & (y >= horizon - tall) & (y < horizon)
        picture[inside] = [between(90, 250, name, "house", house, channel) for channel in range(3)]
    drawn: Pixels = np.clip(picture, 0, 255).astype(np.uint8)
    return drawn


def png(pixels: Pixels) -> bytes:
    """An RGB PNG without filters."""
    height, width, _ = pixels.shape
    header = width.to_bytes(4, "big") + height.to_bytes(4, "big") + bytes([8, 2, 0, 0, 0])
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")


def lying_png() -> bytes:
    """A PNG whose header claims 100 000 x 100 000 pixels and whose data hold a few hundred bytes."""
    header = (100_000).to_bytes(4, "big") * 2 + bytes([8, 2, 0, 0, 0])
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(bytes(3_000), 9))
        + chunk(b"IEND", b"")
    )


def bmp(pixels: Pixels) -> bytes:
    """A 24-bit BMP: rows from bottom to top, each padded to four bytes."""
    height, width, _ = pixels.shape
    rows = b"".join(row[:, ::-1].tobytes() + bytes(-width * 3 % 4) for row in pixels[::-1])
    sizes = (40, width, height)
    info = b"".join(value.to_bytes(4, "little") for value in sizes) + b"\x01\0\x18\0" + bytes(24)
    return b"BM" + (54 + len(rows)).to_bytes(4, "little") + bytes(4) + (54).to_bytes(4, "little") + info + rows


def gif(width: int, height: int, indices: Iterable[int], palette: bytes) -> bytes:
    """A GIF of up to 128 colours. The code table is cleared before codes exceed eight bits."""
    colours = 128
    head = b"GIF89a" + width.to_bytes(2, "little") + height.to_bytes(2, "little") + b"\xf6\0\0"
    table = palette[: colours * 3].ljust(colours * 3, b"\0")
    clear, end = 128, 129
    codes: list[int] = []
    for at, index in enumerate(indices):
        if at % 100 == 0:
            codes.append(clear)
        codes.append(index)
    packed = bytes([*codes, end])  # with a clear code every hundred pixels, all codes are exactly eight bits
    blocks = b"".join(
        bytes([len(part)]) + part for part in (packed[at : at + 255] for at in range(0, len(packed), 255))
    )
    place = b"," + bytes(4) + width.to_bytes(2, "little") + height.to_bytes(2, "little") + b"\0"
    return head + table + place + b"\x07" + blocks + b"\0;"


def pixel() -> bytes:
    """A tracking pixel: a transparent 1 x 1 GIF."""
    return bytes.fromhex("47494638396101000100800000000000ffffff21f90401000000002c00000000010001000002024401003b")


def badge() -> bytes:
    """A striped GIF of 48 x 16."""
    palette = b"".join(bytes([number * 2, 255 - number * 2, 120]) for number in range(128))
    return gif(48, 16, [(column * 5 + row * 9) % 128 for row in range(16) for column in range(48)], palette)


def svg() -> bytes:
    """A logo with a script in it that must never run."""
    return (
        b'<svg xmlns="http://www.w3.org/2000/svg" width="80" height="20"><script>alert(1)</script>'
        b'<rect width="80" height="20" fill="#246"/><text x="8" y="14" fill="#fff">Kuriren</text></svg>'
    )


def stored(name: str) -> bytes:
    """One of the pictures stored beside this file."""
    return resources.files("winnow.runners.demo").joinpath("pictures", name).read_bytes()


def pdf(lines: Iterable[str]) -> bytes:
    """A one-page PDF with a text line for each string (ASCII)."""
    shown = " T* ".join(f"({line}) Tj" for line in lines)
    stream = f"BT /F1 12 Tf 16 TL 60 780 Td {shown} ET".encode("ascii")
    objects = (
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    )
    out, offsets = bytearray(b"%PDF-1.4\n"), []
    for number, content in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    out += b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)
    return bytes(out)


def mp4_stub() -> bytes:
    """The boxes that a player reads first, without frames: ftyp, an empty moov, a short mdat."""
    return (
        _box(b"ftyp", b"isom\0\0\x02\0isomiso2avc1mp41")
        + _box(b"moov", _box(b"mvhd", bytes(100)))
        + _box(b"mdat", bytes(64))
    )


def _box(kind: bytes, content: bytes) -> bytes:
    return (len(content) + 8).to_bytes(4, "big") + kind + content


def chunk(kind: bytes, content: bytes) -> bytes:
    """A chunk of a PNG."""
    return len(content).to_bytes(4, "big") + kind + content + zlib.crc32(kind + content).to_bytes(4, "big")
