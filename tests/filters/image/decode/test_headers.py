"""The size that an image's header states, with Pillow as the oracle, and headers that lie."""

import io
import struct
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.property_sizes import scaled
from winnow.filters.image.decode.containers import (
    MOST_LOOKS,
    InMemoryBytes,
    Part,
    UnreadableError,
    Walk,
    jpeg_segments,
    with_segments,
)
from winnow.filters.image.decode.headers import ImageSize, image_size
from winnow.filters.web.sniff import sniff

Image = pytest.importorskip("PIL.Image", reason="Pillow is the oracle: pip install 'winnow[torch]'")

WRITTEN: dict[str, tuple[str, dict[str, Any]]] = {
    "png": ("PNG", {}),
    "jpeg": ("JPEG", {}),
    "jpeg, progressive, with EXIF data": ("JPEG", {"progressive": True, "exif": b"Exif\0\0" + bytes(3000)}),
    "gif": ("GIF", {}),
    "webp": ("WEBP", {}),
    "webp, lossless": ("WEBP", {"lossless": True}),
    "webp, extended": ("WEBP", {"exif": b"Exif\0\0II*\0\x08\0\0\0\0\0"}),
    "bmp": ("BMP", {}),
    "tiff": ("TIFF", {}),
    "tiff, compressed": ("TIFF", {"compression": "tiff_lzw"}),
    "tiff, big": ("TIFF", {"big_tiff": True}),
    "avif": ("AVIF", {}),
    "jpeg 2000": ("JPEG2000", {}),
}


@cache
def written(kind: str, width: int = 37, height: int = 91) -> bytes:
    """An image of this size as Pillow writes it."""
    out = io.BytesIO()
    name, options = WRITTEN[kind]
    Image.new("RGB", (width, height), (90, 120, 30)).save(out, name, **options)
    return out.getvalue()


def size_of(raw: bytes) -> ImageSize | None:
    """What ingest would write."""
    return image_size(InMemoryBytes(raw), sniff(raw, None, None).mime)


@pytest.mark.parametrize("kind", WRITTEN)
@pytest.mark.parametrize("size", [(1, 1), (37, 91), (300, 200)])
def test_the_size_is_that_of_the_oracle(kind: str, size: tuple[int, int]) -> None:
    assert size_of(written(kind, *size)) == ImageSize(*size)


def test_a_bitmap_from_the_top_and_an_icon_of_two_sizes() -> None:
    raw = bytearray(written("bmp"))
    raw[22:26] = struct.pack("<i", -91)
    assert size_of(bytes(raw)) == ImageSize(37, 91)
    out = io.BytesIO()
    Image.new("RGB", (256, 256)).save(out, "ICO", sizes=[(16, 16), (256, 256)])
    assert size_of(out.getvalue()) == ImageSize(256, 256)


@pytest.mark.parametrize("kind", WRITTEN)
def test_a_file_cut_anywhere_has_its_size_or_none(kind: str) -> None:
    raw = written(kind)
    sizes = {image_size(InMemoryBytes(raw[:cut]), sniff(raw, None, None).mime) for cut in range(len(raw))}
    assert sizes <= {ImageSize(37, 91), None}


@pytest.mark.parametrize("kind", WRITTEN)
@settings(max_examples=scaled(60), deadline=None)
@given(data=st.data())
def test_damage_anywhere_gives_some_size_or_none_after_a_bounded_number_of_looks(
    kind: str, data: st.DataObject
) -> None:
    raw = bytearray(written(kind))
    for _ in range(data.draw(st.integers(1, 8))):
        raw[data.draw(st.integers(0, min(len(raw), 400) - 1))] = data.draw(st.sampled_from([0, 1, 127, 128, 255]))
    counted = Counted(bytes(raw))
    found = image_size(counted, sniff(written(kind), None, None).mime)
    assert found is None or (0 < found.width < 1 << 31 and 0 < found.height < 1 << 31)
    assert counted.looks <= 3 * MOST_LOOKS
    assert counted.most <= 64


class Counted:
    """Bytes that count how often, and how much at once, they are asked for."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self.looks = self.most = 0

    @property
    def size(self) -> int:
        return len(self._content)

    def at(self, offset: int, count: int) -> bytes:
        self.looks += 1
        self.most = max(self.most, count)
        return self._content[offset : offset + count]


@pytest.mark.parametrize(
    ("mime", "raw"),
    [
        ("image/jpeg", b"\xff\xd8" + b"\xff" * 5_000_000),
        ("image/jpeg", b"\xff\xd8" + b"\xff\xe1\0\2" * 1_000_000),
        ("image/avif", b"\0\0\0\x08free" * 1_000_000),
        ("image/avif", b"\0\0\0\x08meta\0\0\0\1iprp\xff\xff\xff\xff\xff\xff\xff\xff"),
        ("image/tiff", b"II+\0\x08\0\0\0\x10\0\0\0\0\0\0\0" + b"\xff" * 8 + b"\0" * 5_000_000),
        ("image/tiff", b"II*\0\xff\xff\xff\xff"),
        ("image/vnd.microsoft.icon", b"\0\0\1\0\xff\xff" + b"\1" * 2_000_000),
    ],
)
def test_a_file_made_to_be_walked_for_ever_is_left_soon(mime: str, raw: bytes) -> None:
    counted = Counted(raw)
    image_size(counted, mime)
    assert counted.looks <= 3 * MOST_LOOKS


def test_no_size_is_claimed_that_no_image_can_have() -> None:
    png = bytearray(written("png"))
    png[16:20] = b"\xff\xff\xff\xff"
    assert size_of(bytes(png)) is None
    png[16:20] = bytes(4)
    assert size_of(bytes(png)) is None
    jpeg = written("jpeg")
    at = jpeg.index(b"\xff\xc0")
    assert size_of(jpeg[: at + 5] + b"\0\0" + jpeg[at + 7 :]) is None  # the height is told after the scan
    assert size_of(b"<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'/>") is None


@pytest.mark.parametrize("segments", [0, 1, 7, 2047, 2048, 2049, 5000])
@pytest.mark.parametrize(
    "end", [b"", b"\xff", b"\xff\xd9", b"\xff\xda\0\2", b"\xff\xe1\xff\xff", b"\xff\xe0\0\1", b"?!"]
)
def test_segments_that_were_walked_once_are_those_of_the_file_and_cost_as_many_looks(segments: int, end: bytes) -> None:
    content = b"\xff\xd8\xff\xff\x01" + b"\xff\xe1\0\4ab" * segments + end

    def walked(image: InMemoryBytes) -> tuple[list[Part], bool]:
        walk, found = Walk(image), list[Part]()
        try:
            for part in jpeg_segments(walk):
                found.append(part)
                if len(found) % 3 == 0:
                    walk.at(part.start, 1)  # as whoever looks into some of them
        except UnreadableError:
            return found, True
        return found, False

    assert walked(with_segments(content)) == walked(InMemoryBytes(content))
