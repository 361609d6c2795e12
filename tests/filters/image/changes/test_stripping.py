"""Metadata go from a file; its pixels, and what is to be kept, stay."""

import io
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageCms, ImageSequence
from PIL.PngImagePlugin import PngInfo

from tests.messages import assert_refused
from tests.property_sizes import scaled
from winnow.filters.image.changes.stripping import UnstrippedError, kept_exif, strip
from winnow.filters.image.decode.containers import InMemoryBytes
from winnow.filters.image.decode.orientation import orientation_of

SECRET = b"52.5200 N 13.4050 E"
XMP = b"<x:xmpmeta xmlns:x='adobe:ns:meta/'>52.5200 N 13.4050 E</x:xmpmeta>"
ICC = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
NOTHING: frozenset[Any] = frozenset()


def noise(mode: str = "RGB", seed: int = 7) -> Image.Image:
    random = np.random.default_rng(seed)
    if mode == "P":
        return noise("RGB", seed).quantize(17)
    return Image.fromarray(random.integers(0, 256, (37, 53, len(mode)), np.uint8).squeeze(), mode)


def exif() -> bytes:
    made = Image.Exif()
    made[0x0112] = 6  # orientation
    made[0x013B] = "Ada Example"
    made[0x8298] = "(c) Ada"
    made[0x010E] = SECRET.decode()  # description
    made.get_ifd(0x8769)[0x9286] = SECRET  # user comment
    return made.tobytes()


def jpeg(**options: Any) -> bytes:
    held = io.BytesIO()
    mode = options.pop("mode", "RGB")
    noise(mode).save(held, "JPEG", exif=exif(), icc_profile=ICC, comment=SECRET, xmp=XMP, **options)
    return held.getvalue() + SECRET  # behind the end


def png(mode: str = "RGBA") -> bytes:
    text = PngInfo()
    text.add_text("Comment", SECRET.decode())
    text.add_text("Copyright", "(c) Ada")
    text.add_itxt("XML:com.adobe.xmp", XMP.decode())
    held = io.BytesIO()
    noise(mode).save(held, "PNG", pnginfo=text, exif=exif(), icc_profile=ICC)
    return held.getvalue() + SECRET


def webp(**options: Any) -> bytes:
    held = io.BytesIO()
    noise("RGBA").save(held, "WEBP", exif=exif(), icc_profile=ICC, xmp=XMP, **options)
    return held.getvalue() + SECRET


def gif() -> bytes:
    held = io.BytesIO()
    frames = [noise("P", seed) for seed in range(3)]
    frames[0].save(held, "GIF", save_all=True, append_images=frames[1:], comment=SECRET, loop=2, duration=70)
    return held.getvalue() + SECRET


FILES = {
    "baseline": ("image/jpeg", jpeg()),
    "progressive": ("image/jpeg", jpeg(progressive=True)),
    "restarts": ("image/jpeg", jpeg(restart_marker_rows=1)),
    "grey": ("image/jpeg", jpeg(mode="L")),
    "cmyk": ("image/jpeg", jpeg(mode="CMYK")),
    "png": ("image/png", png()),
    "palette": ("image/png", png("P")),
    "webp": ("image/webp", webp()),
    "lossless": ("image/webp", webp(lossless=True)),
    "animated": ("image/webp", webp(save_all=True, append_images=[noise("RGBA", 8)], duration=50)),
    "gif": ("image/gif", gif()),
}


def pixels(content: bytes) -> list[tuple[str, bytes, Any, Any]]:
    """Every frame, and how it is shown."""
    with Image.open(io.BytesIO(content)) as picture:
        return [
            (frame.mode, frame.convert("RGBA").tobytes(), frame.info.get("duration"), frame.info.get("loop"))
            for frame in ImageSequence.Iterator(picture)
        ]


@pytest.mark.parametrize("name", FILES)
def test_nothing_but_the_pixels_remains_and_they_are_the_same(name: str) -> None:
    mime, content = FILES[name]
    assert SECRET in content
    found = strip(content, mime, NOTHING)
    assert SECRET not in found
    assert b"Ada" not in found
    assert pixels(found) == pixels(content)
    with Image.open(io.BytesIO(found)) as picture:
        assert not picture.getexif()
        assert {"exif", "icc_profile", "xmp", "comment"}.isdisjoint(picture.info)
    assert strip(found, mime, NOTHING) == found


@pytest.mark.parametrize("name", ["baseline", "progressive", "png", "webp", "animated"])
def test_what_is_to_be_kept_stays_and_nothing_else(name: str) -> None:
    mime, content = FILES[name]
    found = strip(content, mime, frozenset(("orientation", "icc")))
    with Image.open(io.BytesIO(found)) as picture:
        assert dict(picture.getexif()) == {0x0112: 6}
        assert picture.info["icc_profile"] == ICC
    assert orientation_of(InMemoryBytes(found), mime) == 6
    assert SECRET not in found
    assert b"Ada" not in found
    found = strip(content, mime, frozenset(("copyright",)))
    with Image.open(io.BytesIO(found)) as picture:
        assert dict(picture.getexif()) == {0x013B: "Ada Example", 0x8298: "(c) Ada"}
    assert SECRET not in found
    assert pixels(found) == pixels(content)


@pytest.mark.parametrize("name", ["baseline", "png", "webp"])
def test_whole_blocks_can_be_kept(name: str) -> None:
    mime, content = FILES[name]
    found = strip(content, mime, frozenset(("exif", "xmp")))
    with Image.open(io.BytesIO(found)) as picture, Image.open(io.BytesIO(content)) as before:
        assert dict(picture.getexif()) == dict(before.getexif())
        assert picture.getexif().get_ifd(0x8769)
        assert "icc_profile" not in picture.info
    assert XMP in found


def test_thumbnails_go_with_the_segments_that_hold_them() -> None:
    content = FILES["baseline"][1]
    thumbnail = b"JFXX\0\x13" + bytes([1, 1]) + SECRET
    inside = content[:2] + struct.pack(">BBH", 0xFF, 0xE0, len(thumbnail) + 2) + thumbnail + content[2:]
    assert strip(inside, "image/jpeg", NOTHING) == strip(content, "image/jpeg", NOTHING)


def test_types_that_cannot_be_freed_of_metadata_are_refused() -> None:
    with assert_refused(UnstrippedError, "image/tiff"):
        strip(b"II*\0", "image/tiff", NOTHING)


def entries(*given: tuple[int, int, int, bytes], count: int | None = None) -> bytes:
    """EXIF data with one directory: tags, types, how many values are announced, and what stands there."""
    table = b"".join(struct.pack("<HHI", *entry) + held.ljust(4, b"\0") for *entry, held in given)
    return b"II*\0" + struct.pack("<IH", 8, len(given) if count is None else count) + table


def test_an_orientation_is_kept_as_the_decoder_reads_it_whatever_numbers_are_announced() -> None:
    turned = (0x0112, 3, 1, b"\6")
    for data in (
        entries(turned),
        entries((0x0112, 3, 9_999, b"\6")),  # so many values
        entries(turned, count=4_000),  # so many entries
        entries((0x0112, 4, 1, b"\6")),  # a long number
        entries(turned, (0x0112, 3, 1, b"\3")),
    ):
        whole = b"\xff\xd8" + struct.pack(">BBH", 0xFF, 0xE1, len(data) + 8) + b"Exif\0\0" + data
        assert orientation_of(InMemoryBytes(whole), "image/jpeg") == 6
        assert kept_exif(data, orientation=True, copyright_=True) == kept_exif(
            entries(turned), orientation=True, copyright_=False
        )


def test_notices_are_texts_that_are_there_whole() -> None:
    artist, notice = (0x013B, 2, 4, b"Ada\0"), (0x8298, 2, 4, b"(c)\0")
    both = kept_exif(entries(artist, notice), orientation=False, copyright_=True)
    assert both is not None
    assert b"Ada" in both
    assert b"(c)" in both
    alone = kept_exif(entries(notice), orientation=False, copyright_=True)
    for other in (
        (0x013B, 2, 5, b"\x20"),
        (0x013B, 7, 4, b"Ada\0"),
        (0x013B, 2, 0, b"Ada\0"),
        (0x013B, 2, 1 << 31, b""),
    ):
        assert kept_exif(entries(other, notice), orientation=False, copyright_=True) == alone
    assert kept_exif(b"II*", orientation=True, copyright_=True) is None


@settings(max_examples=scaled(150), deadline=None)
@given(name=st.sampled_from(sorted(FILES)), cut=st.floats(0, 1), at=st.floats(0, 1), byte=st.integers(0, 255))
def test_a_damaged_file_is_refused_or_written_within_its_own_size(name: str, cut: float, at: float, byte: int) -> None:
    mime, content = FILES[name]
    damaged = bytearray(content[: int(cut * len(content)) or 1])
    damaged[int(at * (len(damaged) - 1))] = byte
    try:
        found = strip(bytes(damaged), mime, frozenset(("orientation", "icc", "copyright")))
    except UnstrippedError:
        return
    assert len(found) <= len(damaged) + 64
