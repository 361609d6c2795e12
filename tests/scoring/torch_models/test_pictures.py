"""Files of images become squares of pixels; whatever a file is, reading it ends."""

import struct
import tracemalloc
import zlib
from io import BytesIO
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from tests.property_sizes import scaled
from tests.scoring.torch_models.samples import encoded, noise, plain
from winnow.scoring.tasks.protocol import NO_INPUT, OK, UNREADABLE
from winnow.scoring.torch_models.examples import Examples, joined
from winnow.scoring.torch_models.pictures import LARGEST, pixels_of, square_pixels

MOST = 10_000


def mean_colour(raw: bytes) -> list[int]:
    found = square_pixels(raw, 4, MOST)
    assert found is not None
    assert found.shape == (4, 4, 3)
    assert (found == found[0, 0]).all()
    return [int(value) for value in found[0, 0]]


def declared(width: int, height: int) -> bytes:
    """A PNG whose header claims a size, with hardly any pixels behind it."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)

    def chunk(name: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(100))) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


@pytest.mark.parametrize("kind", ["PNG", "BMP", "GIF", "WEBP", "PPM"])
def test_formats_give_the_colours_that_were_written(kind: str) -> None:
    options: dict[str, Any] = {"lossless": True} if kind == "WEBP" else {}
    assert mean_colour(encoded(Image.new("RGB", (9, 7), (200, 100, 0)), kind, **options)) == [200, 100, 0]


def test_grey_is_as_much_of_every_colour() -> None:
    assert mean_colour(encoded(Image.new("L", (5, 5), 77))) == [77] * 3


def test_grey_of_16_bits_keeps_its_upper_half() -> None:
    assert mean_colour(encoded(Image.fromarray(np.full((5, 5), 77 << 8, np.uint16)))) == [77] * 3


def test_black_and_white_of_one_bit() -> None:
    assert mean_colour(encoded(Image.new("1", (5, 5), 1))) == [255] * 3


def test_a_palette_is_looked_up() -> None:
    image = Image.new("P", (5, 5), 1)
    image.putpalette([0, 0, 0, 10, 20, 30])
    assert mean_colour(encoded(image)) == [10, 20, 30]


def test_what_is_transparent_lies_on_white() -> None:
    assert mean_colour(encoded(Image.new("RGBA", (5, 5), (10, 20, 30, 0)))) == [255] * 3
    assert mean_colour(encoded(Image.new("LA", (5, 5), (10, 255)))) == [10] * 3
    image = Image.new("P", (5, 5), 0)
    image.putpalette([10, 20, 30])
    assert mean_colour(encoded(image, transparency=0)) == [255] * 3


def test_inks_become_light() -> None:
    assert mean_colour(encoded(Image.new("CMYK", (8, 8), (0, 0, 0, 0)), "JPEG")) == [255] * 3
    assert mean_colour(encoded(Image.new("CMYK", (8, 8), (0, 0, 0, 255)), "JPEG")) == [0] * 3


def test_of_an_animation_the_first_frame_counts() -> None:
    frames = [Image.new("RGB", (5, 5), colour) for colour in ((255, 0, 0), (0, 0, 255))]
    assert mean_colour(encoded(frames[0], "GIF", save_all=True, append_images=frames[1:])) == [255, 0, 0]


def test_it_is_turned_as_its_exif_data_say() -> None:
    image = Image.new("RGB", (2, 2))
    image.putpixel((0, 0), (255, 255, 255))
    turned = Image.Exif()
    turned[0x0112] = 6  # a quarter turn clockwise
    found = square_pixels(encoded(image, exif=turned), 2, MOST)
    assert found is not None
    assert found[:, :, 0].tolist() == [[0, 255], [0, 0]]


def test_exif_data_that_cannot_be_read_turn_nothing() -> None:
    assert mean_colour(encoded(Image.new("RGB", (5, 5), (1, 2, 3)), exif=b"Exif\0\0MM\0*\xff\xff\xff\xff")) == [1, 2, 3]


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"GIF89a",
        b"no image",
        declared(101, 100),
        declared(100_000, 100_000),
        declared(2**31 - 1, 2**31 - 1),
        declared(0, 5),
        declared(90, 90),
        noise(0, 64)[:-4000],
        noise(0, 64)[:-4000] + bytes(4000),
        b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n",
        encoded(Image.new("RGB", (101, 100))),
        encoded(Image.new("RGB", (9, 9)), "TIFF"),
    ],
    ids=[
        "nothing",
        "a header",
        "text",
        "a pixel row too many",
        "a bomb",
        "overflow",
        "no width",
        "fewer pixels than declared",
        "cut off",
        "overwritten",
        "a program",
        "truly too large",
        "another format",
    ],
)
def test_what_cannot_be_read_or_is_too_large_is_none(raw: bytes) -> None:
    assert square_pixels(raw, 4, MOST) is None


@settings(max_examples=scaled(60), deadline=None)
@given(st.data())
def test_damage_of_any_kind_is_survived(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(["PNG", "BMP", "GIF", "WEBP", "JPEG"]))
    raw = bytearray(encoded(Image.open(BytesIO(noise(1, 20))), kind))
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    found = square_pixels(bytes(raw), 4, MOST)
    assert found is None or found.shape == (4, 4, 3)


def test_rows_that_are_not_wanted_are_not_decoded() -> None:
    files = pa.array([plain((1, 1, 1)), b"no image", b"no image", None], pa.binary())
    status, pixels = pixels_of(files, np.array([True, True, False, False]), 4, MOST)
    assert list(status) == [OK, UNREADABLE, OK, NO_INPUT]
    assert pixels.shape == (1, 4, 4, 3)


def test_the_budget_judges_and_not_what_pillow_warns_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 60)
    assert square_pixels(plain((1, 2, 3), 10), 4, 100) is not None
    assert square_pixels(plain((1, 2, 3), 10), 4, 99) is None


def test_no_budget_allows_what_pillow_would_not_open() -> None:
    assert Image.MAX_IMAGE_PIXELS is not None
    assert LARGEST <= 2 * Image.MAX_IMAGE_PIXELS


def test_the_images_of_a_part_are_held_once() -> None:
    files = pa.array([plain((9, 9, 9), 4)] * 40, pa.binary())
    tracemalloc.start()
    _, pixels = pixels_of(files, np.ones(40, bool), 100, MOST)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 1.5 * pixels.nbytes
    part = Examples(40, pixels)
    assert joined([part]) is part
