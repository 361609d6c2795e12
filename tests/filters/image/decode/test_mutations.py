"""Hostile files of seven formats, decoded as in a run: each gives the picture that it claims or a reason."""

import gzip
import io
import struct
import zlib
from functools import cache

import numpy as np
import pytest

pytest.importorskip("PIL.Image", reason="needs the extra `image`")
pytest.importorskip("simplejpeg", reason="needs the extra `image`")

from PIL import Image

from tests.filters.image.decode.mutated_files import CHANGES, HEIGHT, VARIANTS, WIDTH, Mutated, mutated, whole
from tests.property_sizes import THOROUGH
from winnow.filters.image.decode.claims import frames_within, is_cut
from winnow.filters.image.decode.containers import InMemoryBytes
from winnow.filters.image.decode.frames import image_frames
from winnow.filters.image.decode.headers import image_size
from winnow.filters.image.decode.stills import (
    DAMAGED,
    REASONS,
    TOO_MANY_FRAMES,
    TOO_MANY_PIXELS,
    TOO_MANY_SCANS,
    TOO_MUCH_METADATA,
    TRUNCATED,
    UNSUPPORTED,
    DecodeLimits,
    Still,
    UndecodableError,
    decode,
)
from winnow.filters.web.sniff import sniff
from winnow.pipelines.decoding.isolation import PixelBuffer

LIMITS = DecodeLimits(max_bytes=1 << 20, max_pixels=4 << 20)
EACH = 22 * len(CHANGES) if THOROUGH else 7  # of 28 variants: 5,544 files, or 196


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_changed_file_gives_the_picture_that_it_claims_or_a_reason(variant: str) -> None:
    offset = 0 if THOROUGH else sorted(VARIANTS).index(variant) % len(CHANGES)  # so that few files show each change
    files = [mutated(variant, offset + number) for number in range(EACH)]
    for start in range(0, EACH, 32):
        some = files[start : start + 32]
        found = PixelBuffer(LIMITS).decode_all([(one.content, one.mime) for one in some])
        for file, result in zip(some, found, strict=True):
            _check(file, result)


def _check(file: Mutated, result: Still | UndecodableError) -> None:
    if isinstance(result, UndecodableError):
        assert result.reason in REASONS, (file, result)  # never `crashed`
        return
    assert file.change != "cut", file
    claimed = image_size(InMemoryBytes(file.content), file.mime)
    assert claimed is not None
    assert sorted((result.height, result.width)) == sorted((claimed.height, claimed.width)), file
    assert result.pixels.shape == (result.height, result.width, 3)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_file_that_is_cut_anywhere_is_refused(variant: str) -> None:
    content, mime = whole(variant), VARIANTS[variant][0]
    assert isinstance(decode(content, mime, LIMITS), Still)
    cuts = np.linspace(0, len(content) - 1, 400 if THOROUGH else 12).astype(int).tolist()
    for cut in {*cuts, len(content) - 2, len(content) - 1}:
        with pytest.raises(UndecodableError) as caught:
            decode(content[:cut], mime, LIMITS)
        assert caught.value.reason in REASONS


def refusal(content: bytes, mime: str, limits: DecodeLimits = LIMITS) -> str:
    with pytest.raises(UndecodableError) as caught:
        decode(content, mime, limits)
    return caught.value.reason


def chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png_with(kind: bytes, content: bytes) -> bytes:
    """A small picture with one more chunk behind its header."""
    plain = whole("png")
    return plain[:33] + chunk(kind, content) + plain[33:]


@cache
def bomb() -> bytes:
    """200 MB in 200 kB."""
    return zlib.compress(bytes(200 << 20), 9)


def test_bombs_in_metadata_are_refused_or_left_packed() -> None:
    assert refusal(png_with(b"iCCP", b"profile\0\0" + bomb()), "image/png") == TOO_MUCH_METADATA
    assert refusal(png_with(b"zTXt", b"comment\0\0" + bomb()), "image/png") == TOO_MUCH_METADATA
    assert refusal(png_with(b"iTXt", b"comment\0\1\0\0\0" + bomb()), "image/png") == TOO_MUCH_METADATA


def test_metadata_have_limits() -> None:
    exif = b"Exif\0\0II*\0" + bytes(60_000)
    for kind, mime in (("JPEG", "image/jpeg"), ("PNG", "image/png"), ("WEBP", "image/webp"), ("AVIF", "image/avif")):
        for options in ({"exif": exif}, {"icc_profile": bytes(60_000)}):
            out = io.BytesIO()
            Image.new("RGB", (8, 8)).save(out, kind, **options)
            small = DecodeLimits(max_exif_bytes=50_000, max_icc_bytes=50_000)
            assert refusal(out.getvalue(), mime, small) == TOO_MUCH_METADATA, (kind, list(options))
            assert decode(out.getvalue(), mime, LIMITS).width == 8
    out = io.BytesIO()
    Image.new("RGB", (8, 8)).save(out, "TIFF", icc_profile=bytes(60_000))
    assert refusal(out.getvalue(), "image/tiff", DecodeLimits(max_icc_bytes=50_000)) == TOO_MUCH_METADATA


@pytest.mark.parametrize("kind", ["GIF", "PNG", "WEBP", "TIFF"])
def test_frames_have_a_limit(kind: str) -> None:
    frames = [Image.new("RGB", (8, 8), (shade, 0, 0)) for shade in range(0, 250, 10)]
    out = io.BytesIO()
    frames[0].save(out, kind, save_all=True, append_images=frames[1:])
    mime = f"image/{kind.lower()}"
    assert refusal(out.getvalue(), mime, DecodeLimits(max_frames=24)) == TOO_MANY_FRAMES
    assert decode(out.getvalue(), mime, DecodeLimits(max_frames=25)).width == 8


def test_frames_beyond_the_limit_are_refused_where_there_are_too_many_to_count_all() -> None:
    gif = whole("gif")
    frame = struct.pack("<BHHHHBBB2s", 0x2C, 0, 0, 1, 1, 0, 2, 1, b"D\0")
    pages = b"".join(struct.pack("<HHHIII", 1, 256, 4, 1, 8, 8 + 18 * number) for number in range(1, 30_000))
    tiffs = b"II*\0" + struct.pack("<I", 8) + pages + bytes(18)
    for content, mime in (
        (gif[:-1] + frame * 30_000 + b";", "image/gif"),
        (gif[:-1] + frame * 30_000, "image/gif"),
        (tiffs, "image/tiff"),
    ):
        assert image_frames(InMemoryBytes(content), mime) is None
        assert not frames_within(InMemoryBytes(content), mime, 10_000)
    assert refusal(gif[:-1] + frame * 30_000, "image/gif", DecodeLimits()) == TOO_MANY_FRAMES
    comment = b"!\xfe" + b"\1x" * 6 + b"\0"  # so many blocks that ingest counts no frames
    assert refusal(gif[:-1] + (comment + frame) * 11_000, "image/gif", DecodeLimits()) == TOO_MANY_FRAMES


def test_a_tiff_whose_later_page_lacks_the_end_of_a_tag_is_cut() -> None:
    first = struct.pack("<HHHIII", 1, 256, 4, 1, 8, 26)  # one page of one tag, then where the next page is
    second = struct.pack("<HHHIII", 1, 270, 2, 20, 44, 0)  # its description is behind everything
    whole_file = b"II*\0" + struct.pack("<I", 8) + first + second + b"x" * 19 + b"\0"
    assert not is_cut(InMemoryBytes(whole_file), "image/tiff")
    assert is_cut(InMemoryBytes(whole_file[:-1]), "image/tiff")


def test_our_limit_of_pixels_holds_and_not_the_librarys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    for variant in ("png", "webp", "gif", "tiff", "bmp", "avif alpha"):
        mime = VARIANTS[variant][0]
        assert decode(whole(variant), mime, LIMITS).width == WIDTH
        assert refusal(whole(variant), mime, DecodeLimits(max_pixels=WIDTH * HEIGHT - 1)) == TOO_MANY_PIXELS
    assert Image.MAX_IMAGE_PIXELS == 100


def test_a_row_that_the_library_cannot_hold_is_no_crash() -> None:
    header = struct.pack(">IIBBBBB", 40_000_000, 1, 16, 6, 0, 0, 0)
    png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", bomb()) + chunk(b"IEND", b"")
    assert refusal(png, "image/png", DecodeLimits()) == UNSUPPORTED


def test_an_endless_animation_costs_what_its_bytes_do() -> None:
    plain = whole("gif")
    endless = plain[:-1] + b"!\xfe\1\0\0" * 100_000  # more blocks than are counted, and no end
    assert decode(endless, "image/gif", LIMITS).width == decode(plain, "image/gif", LIMITS).width
    assert refusal(plain[:-1] + b"!\xfe\1\0\0" * 100, "image/gif") == TRUNCATED


def test_a_jpeg_of_many_scans_is_refused() -> None:
    plain = whole("jpeg progressive")
    last = plain.rindex(b"\xff\xda")
    scan = plain[last:-2]
    assert refusal(plain[:-2] + scan * 1000 + b"\xff\xd9", "image/jpeg") == TOO_MANY_SCANS
    sequential = whole("jpeg")
    first = sequential.index(b"\xff\xda")
    repeated = sequential[:-2] + sequential[first:-2] * 200 + b"\xff\xd9"
    assert refusal(repeated, "image/jpeg") == DAMAGED
    assert decode(plain, "image/jpeg", LIMITS).width == image_size(InMemoryBytes(plain), "image/jpeg").width  # type: ignore[union-attr]


def test_sides_of_a_hundred_thousand_pixels_are_refused_before_they_are_decoded() -> None:
    side = 100_000
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", bomb()) + chunk(b"IEND", b"")
    assert refusal(png, "image/png") == TOO_MANY_PIXELS
    webp = bytearray(whole("webp"))
    webp[24:30] = struct.pack("<I", 16_383)[:3] * 2
    assert refusal(bytes(webp), "image/webp") == TOO_MANY_PIXELS
    tiff = bytearray(whole("tiff"))
    for tag in (256, 257):
        at = bytes(tiff).index(struct.pack("<HHI", tag, 3, 1)) if struct.pack("<HHI", tag, 3, 1) in tiff else -1
        at = at if at >= 0 else bytes(tiff).index(struct.pack("<HHI", tag, 4, 1))
        tiff[at : at + 12] = struct.pack("<HHII", tag, 4, 1, side)
    assert refusal(bytes(tiff), "image/tiff") == TOO_MANY_PIXELS


def test_files_that_are_something_else() -> None:
    jpeg = whole("jpeg")
    behind = jpeg + b"PK\x03\x04<script>alert(1)</script>" + gzip.compress(bytes(1000))
    assert decode(behind, "image/jpeg", LIMITS).width == decode(jpeg, "image/jpeg", LIMITS).width
    for content in (b"", b"\0", bytes(5000), b"<svg onload='alert(1)'/>", b"GIF89a", b"\xff\xd8\xff"):
        mime = sniff(content, None, None).mime
        assert refusal(content, mime if mime.startswith("image/") else "image/png") in REASONS
    assert refusal(b"<svg onload='alert(1)'/>", "image/svg+xml") == UNSUPPORTED
    for variant, (mime, *_) in VARIANTS.items():  # each under every other's type
        for other in {"image/jpeg", "image/png", "image/webp", "image/gif", "image/tiff", "image/bmp", "image/avif"}:
            if other != mime:
                assert refusal(whole(variant), other) in REASONS
