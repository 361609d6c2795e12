"""Decoding stills: one rule for every format and mode, upright, and nothing filled in where a file ends early."""

import ctypes
import io
import re
import struct
import zlib
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.property_sizes import scaled
from winnow.filters.image.decode.containers import with_segments
from winnow.filters.image.decode.scans import scans_of
from winnow.filters.image.decode.stills import (
    REASONS,
    TOO_LARGE,
    TOO_MANY_PIXELS,
    TRUNCATED,
    UNSUPPORTED,
    DecodeLimits,
    Still,
    UndecodableError,
    decode,
    sized,
)

Image = pytest.importorskip("PIL.Image", reason="needs the extra `image`")
pytest.importorskip("simplejpeg", reason="needs the extra `image`")

MIMES = {
    "JPEG": "image/jpeg",
    "PNG": "image/png",
    "WEBP": "image/webp",
    "GIF": "image/gif",
    "TIFF": "image/tiff",
    "BMP": "image/bmp",
    "AVIF": "image/avif",
}
LIMITS = DecodeLimits()
PLAIN: Mapping[str, object] = {}


def made(height: int = 60, width: int = 90) -> NDArray[np.uint8]:
    """Smooth colours, so that lossy formats keep them; each corner another."""
    y, x = np.mgrid[0:height, 0:width]
    return np.stack([y * 255 // height, x * 255 // width, (x + y) * 127 // (height + width)], axis=2).astype(np.uint8)


def encoded(kind: str, picture: Any = None, **options: object) -> bytes:
    held = io.BytesIO()
    (Image.fromarray(made()) if picture is None else picture).save(held, kind, **options)
    return held.getvalue()


def read(kind: str, content: bytes, side: int | None = None) -> Still:
    return decode(content, MIMES[kind], LIMITS, side)


def refusal(kind: str, content: bytes, limits: DecodeLimits = LIMITS) -> str:
    with pytest.raises(UndecodableError) as caught:
        decode(content, MIMES.get(kind, kind), limits)
    assert caught.value.reason in REASONS
    assert "\n" not in str(caught.value)
    return caught.value.reason


@pytest.mark.parametrize("kind", MIMES)
def test_every_format_gives_its_picture(kind: str) -> None:
    options = {"quality": 95} if kind in ("JPEG", "WEBP", "AVIF") else PLAIN
    still = read(kind, encoded(kind, **options))
    assert (still.height, still.width, still.pixels.shape) == (60, 90, (60, 90, 3))
    most = 0 if kind in ("PNG", "TIFF", "BMP") else 12  # palettes and lossy formats are near
    assert np.abs(still.pixels.astype(int) - made()).mean() <= most


@pytest.mark.parametrize("kind", MIMES)
@pytest.mark.parametrize("share", [0.3, 0.6, 0.95])
def test_a_file_that_ends_early_is_refused_and_never_filled(kind: str, share: float) -> None:
    noise = np.random.default_rng(7).integers(0, 256, (80, 80, 3), dtype=np.uint8)
    content = encoded(kind, Image.fromarray(noise))
    assert refusal(kind, content[: int(len(content) * share)]) in (TRUNCATED, "damaged")


def _png(rows: list[bytes], interlaced: bool = False) -> bytes:
    """A PNG of 24 x 16 pixels that is whole as a container, with so many of its rows."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    head = struct.pack(">IIBBBBB", 24, 16, 8, 2, 0, 0, interlaced)
    pixels = zlib.compress(b"".join(b"\0" + row for row in rows))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def test_a_png_whose_pixels_end_before_its_last_row_is_truncated() -> None:
    row, black = bytes(range(1, 73)), bytes(72)
    assert read("PNG", _png([row] * 16)).height == 16
    assert read("PNG", _png([row] * 15 + [black])).pixels[15].max() == 0  # a black row is no missing one
    for rows in (15, 8, 1):
        assert refusal("PNG", _png([row] * rows)) == TRUNCATED
    sizes = ((3, 2), (3, 2), (6, 2), (6, 4), (12, 4), (12, 8))  # columns and rows of all passes but the last
    passes = [row[: 3 * columns] for columns, rows in sizes for _ in range(rows)]
    assert read("PNG", _png(passes + [row] * 8, interlaced=True)).height == 16
    for rows in (0, 7):
        assert refusal("PNG", _png(passes + [row] * rows, interlaced=True)) == TRUNCATED


def test_a_tiff_with_fewer_strips_or_tiles_than_it_needs_is_truncated() -> None:
    whole = encoded("TIFF")
    higher = re.sub(struct.pack("<HHI", 257, 4, 1) + b"....", struct.pack("<HHII", 257, 4, 1, 120), whole, flags=re.S)
    assert higher != whole
    assert refusal("TIFF", higher) == TRUNCATED


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="needs glibc")
def test_a_fax_whose_codes_end_before_its_last_row_is_truncated() -> None:
    noise = Image.fromarray(np.random.default_rng(7).integers(0, 2, (64, 64), dtype=np.uint8) * 255).convert("1")
    whole = encoded("TIFF", noise, compression="group4")
    length = re.search(struct.pack("<HHI", 279, 4, 1) + b"(....)", whole, flags=re.S)
    assert length is not None
    (size,) = struct.unpack("<I", length[1])
    short = whole[: length.start(1)] + struct.pack("<I", size // 2) + whole[length.end(1) :]
    assert read("TIFF", whole).pixels.shape == (64, 64, 3)
    assert refusal("TIFF", short) == TRUNCATED


def test_a_jpeg_that_lacks_only_its_end_is_truncated() -> None:
    assert refusal("JPEG", encoded("JPEG")[:-2]) == TRUNCATED


@pytest.mark.parametrize(
    ("side", "shape"), [(90, (60, 90)), (45, (30, 45)), (40, (27, 40)), (11, (7, 11)), (900, (60, 90))]
)
@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
def test_a_smaller_picture_has_the_asked_side_and_remembers_the_whole(
    kind: str, side: int, shape: tuple[int, int]
) -> None:
    still = sized(read(kind, encoded(kind), side), side)
    assert (*still.pixels.shape[:2], still.height, still.width) == (*shape, 60, 90)


def test_transparent_pixels_are_white() -> None:
    half = np.zeros((2, 2, 4), np.uint8)
    half[0, :, 3] = 255
    for kind in ("PNG", "WEBP"):
        still = read(kind, encoded(kind, Image.fromarray(half), **({"lossless": True} if kind == "WEBP" else {})))
        assert still.pixels[:, 0, 0].tolist() == [0, 255]
    palette = Image.new("P", (2, 2), 0)
    palette.putpalette([10, 20, 30, 40, 50, 60])
    assert read("GIF", encoded("GIF", palette, transparency=0)).pixels[0, 0].tolist() == [255, 255, 255]


def test_sixteen_bits_become_eight_without_clipping() -> None:
    ramp = np.linspace(0, 65535, 256).round().astype(np.uint16)[None, :]
    still = read("PNG", encoded("PNG", Image.fromarray(ramp)))
    assert still.pixels[0, :, 0].tolist() == list(range(256))


def test_cmyk_grey_and_two_colours_are_converted() -> None:
    white = Image.new("RGB", (16, 16), "white")
    for mode in ("CMYK", "L"):
        assert read("JPEG", encoded("JPEG", white.convert(mode))).pixels.min() >= 250
    assert read("TIFF", encoded("TIFF", white.convert("1"))).pixels.min() == 255


def test_an_animation_gives_its_first_frame() -> None:
    frames = [Image.new("RGB", (8, 8), colour) for colour in ("red", "blue", "green")]
    content = encoded("GIF", frames[0], save_all=True, append_images=frames[1:], loop=0)
    assert read("GIF", content).pixels[0, 0].tolist() == [255, 0, 0]


def forged_png(side: int) -> bytes:
    """A few bytes that claim a square of this side, and whose pixels are zeros."""

    def chunk(name: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    pixels = zlib.compress(bytes(1 << 20))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def forged_jpeg(side: int) -> bytes:
    content = bytearray(encoded("JPEG"))
    at = content.index(b"\xff\xc0")
    content[at + 5 : at + 9] = struct.pack(">HH", side, side)
    return bytes(content)


@pytest.mark.parametrize("content", [forged_png(20_000), forged_png(100_000), forged_jpeg(20_000), forged_jpeg(65_000)])
def test_what_claims_too_many_pixels_is_refused_before_any_is_decoded(content: bytes) -> None:
    kind = "PNG" if content.startswith(b"\x89PNG") else "JPEG"
    assert refusal(kind, content) == TOO_MANY_PIXELS


def test_a_claim_within_the_limit_that_is_not_kept_is_refused() -> None:
    assert refusal("PNG", forged_png(3000)) in (TRUNCATED, "damaged")
    assert refusal("JPEG", forged_jpeg(3000)) in (TRUNCATED, "damaged")


def test_limits_hold_exactly() -> None:
    content = encoded("PNG")
    assert decode(content, "image/png", DecodeLimits(len(content), 60 * 90)).width == 90
    assert refusal("PNG", content, DecodeLimits(len(content) - 1, 60 * 90)) == TOO_LARGE
    assert refusal("PNG", content, DecodeLimits(len(content), 60 * 90 - 1)) == TOO_MANY_PIXELS


def test_other_types_are_unsupported() -> None:
    assert refusal("image/svg+xml", b"<svg onload='alert(1)'/>") == UNSUPPORTED
    assert refusal("TIFF", encoded("TIFF", Image.fromarray(np.ones((4, 4), np.float32)))) == UNSUPPORTED


@settings(max_examples=scaled(40), deadline=None)
@given(st.sampled_from(sorted(MIMES)), st.integers(0, 2**32 - 1))
def test_damaged_files_are_decoded_or_refused(kind: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    content = bytearray(encoded(kind))
    for _ in range(random.integers(1, 20)):
        content[random.integers(len(content))] = random.integers(256)
    still = None
    with suppress(UndecodableError):  # any other error fails
        still = decode(bytes(content), MIMES[kind], DecodeLimits(1 << 20, 1 << 20))
    assert still is None or still.pixels.shape == (still.height, still.width, 3)


def test_a_progressive_file_that_lacks_its_last_scans_is_refused_though_it_has_an_end() -> None:
    whole = encoded("JPEG", progressive=True)
    starts = [found.start() for found in re.finditer(rb"\xff\xda", whole)]
    assert read("JPEG", whole).width == 90
    for start in starts[1:]:
        with pytest.raises(UndecodableError, match=TRUNCATED):
            read("JPEG", whole[:start] + b"\xff\xd9")


@pytest.mark.parametrize("mode", ["RGB", "L", "CMYK"])
@pytest.mark.parametrize("subsampling", [0, 1, 2])
def test_a_whole_progressive_file_lacks_no_scan(mode: str, subsampling: int) -> None:
    for picture in (Image.fromarray(made()).convert(mode), Image.new(mode, (1, 1))):
        content = encoded("JPEG", picture, progressive=True, subsampling=subsampling)
        found = scans_of(with_segments(content), "image/jpeg")
        assert found.number > 1
        assert not found.lack


def test_cmyk_with_fewer_samples_of_some_channels_is_unsupported_not_damaged() -> None:
    picture = Image.fromarray(made()).convert("CMYK")
    assert read("JPEG", encoded("JPEG", picture, subsampling=0)).width == 90
    with pytest.raises(UndecodableError, match=UNSUPPORTED):
        read("JPEG", encoded("JPEG", picture, subsampling=2))


def test_a_strip_of_jpeg_in_tiff_that_is_shorter_than_its_pixels_is_refused() -> None:
    content = encoded("TIFF", compression="jpeg")
    assert read("TIFF", content).width == 90
    (directory,) = struct.unpack_from("<I", content, 4)
    entries = range(directory + 2, directory + 2 + 12 * struct.unpack_from("<H", content, directory)[0], 12)
    (entry,) = (one for one in entries if struct.unpack_from("<H", content, one) == (279,))
    kind, count, length = struct.unpack_from("<HII", content, entry + 2)
    assert (kind, count) == (4, 1)
    for fewer in (3, length // 2):
        cut = bytearray(content)
        struct.pack_into("<I", cut, entry + 8, length - fewer)
        with pytest.raises(UndecodableError, match=TRUNCATED):
            read("TIFF", bytes(cut))
