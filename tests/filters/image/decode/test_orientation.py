"""Which way up a picture is, with Pillow as the oracle, in every container, and where walks must not lose their way."""

import io
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from winnow.filters.image.decode.containers import InMemoryBytes
from winnow.filters.image.decode.orientation import orientation_of, upright
from winnow.filters.image.decode.stills import DecodeLimits, decode

Image = pytest.importorskip("PIL.Image", reason="needs the extra `image`")
ImageOps = pytest.importorskip("PIL.ImageOps")

KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "image/jpeg": ("JPEG", {}),
    "image/png": ("PNG", {}),
    "image/webp": ("WEBP", {}),
    "image/avif": ("AVIF", {}),
    "image/tiff": ("TIFF", {}),
    "image/tiff; big": ("TIFF", {"big_tiff": True}),
}


def written(kind: str, orientation: int) -> bytes:
    name, options = KINDS[kind]
    exif = Image.Exif()
    exif[271] = "a maker"
    exif[274] = orientation
    out = io.BytesIO()
    y, x = np.mgrid[0:40, 0:64]
    pixels = np.stack([y * 6, x * 3, (x + y) * 2], axis=2).astype(np.uint8)
    Image.fromarray(pixels).save(out, name, exif=exif, **options)
    return out.getvalue()


def oracle(raw: bytes) -> tuple[int, NDArray[np.uint8]]:
    with Image.open(io.BytesIO(raw)) as picture:
        said = picture.getexif().get(274, 1)
        return said, np.array(ImageOps.exif_transpose(picture).convert("RGB"))


def said_of(raw: bytes, kind: str) -> int:
    return orientation_of(InMemoryBytes(raw), kind.partition(";")[0])


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("kind", KINDS)
def test_number_and_pixels_are_those_of_the_oracle(kind: str, orientation: int) -> None:
    raw = written(kind, orientation)
    said, expected = oracle(raw)
    assert said_of(raw, kind) == said == orientation
    found = decode(raw, kind.partition(";")[0], DecodeLimits()).pixels
    assert found.shape == expected.shape
    assert np.abs(found.astype(int) - expected).mean() < 3


@pytest.mark.parametrize("orientation", range(1, 9))
def test_turning_is_what_the_oracle_does(orientation: int) -> None:
    pixels = np.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3)
    picture = Image.fromarray(pixels)
    picture.getexif()[274] = orientation
    assert np.array_equal(upright(pixels, orientation), np.array(ImageOps.exif_transpose(picture)))


@pytest.mark.parametrize("before", [b"\xff", b"\xff\xff\xff", b"\xff\x01", b"\xff\xd0\xff\xd7"])
def test_fill_bytes_and_bare_markers_before_the_segment_are_passed(before: bytes) -> None:
    raw = written("image/jpeg", 6)
    at = raw.index(b"\xff\xe1")
    assert said_of(raw[:at] + before + raw[at:], "image/jpeg") == 6


def test_a_segment_with_other_metadata_before_it_is_passed() -> None:
    raw = written("image/jpeg", 8)
    at = raw.index(b"\xff\xe1")
    other = b"http://ns.adobe.com/xap/1.0/\0<x/>"
    assert said_of(raw[:at] + b"\xff\xe1" + (len(other) + 2).to_bytes(2, "big") + other + raw[at:], "image/jpeg") == 8


def test_the_boxes_of_avif_outrank_its_exif_data() -> None:
    raw = bytearray(written("image/avif", 6))
    turn = raw.index(b"irot") + 4
    raw[turn] = 1  # a quarter to the left
    assert said_of(bytes(raw), "image/avif") == oracle(bytes(raw))[0] == 8


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_cut_anywhere_is_upright_or_as_it_was(kind: str) -> None:
    raw = written(kind, 7)
    assert {said_of(raw[:cut], kind) for cut in range(0, len(raw), 3)} <= {1, 7}


@pytest.mark.parametrize("kind", KINDS)
def test_damage_gives_some_orientation(kind: str) -> None:
    whole = written(kind, 5)
    random = np.random.default_rng(7)
    for _ in range(200):
        raw = bytearray(whole)
        for at in random.integers(0, min(len(raw), 700), 5).tolist():
            raw[at] = int(random.integers(256))
        assert 1 <= said_of(bytes(raw), kind) <= 8


def test_an_orientation_that_makes_no_sense_is_none() -> None:
    raw = bytearray(written("image/tiff", 6))
    at = raw.index(b"\x12\x01\x03\0")
    raw[at + 8] = 9
    assert said_of(bytes(raw), "image/tiff") == 1
