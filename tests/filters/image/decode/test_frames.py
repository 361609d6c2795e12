"""How many frames a file has, with Pillow as the oracle, and files made to be walked for ever."""

import io
import struct
from typing import Any

import pytest

from winnow.filters.image.decode.containers import InMemoryBytes
from winnow.filters.image.decode.frames import MOST_BLOCKS, image_frames

Image = pytest.importorskip("PIL.Image", reason="needs the extra `image`")

ANIMATED = {
    "image/gif": "GIF",
    "image/png": "PNG",
    "image/webp": "WEBP",
    "image/tiff": "TIFF",
    "image/avif": "AVIF",
}
STILL = {**ANIMATED, "image/jpeg": "JPEG", "image/bmp": "BMP", "image/jp2": "JPEG2000"}


def written(name: str, frames: int, **options: Any) -> bytes:
    pictures = [Image.linear_gradient("L").rotate(10 * number).convert("RGB") for number in range(frames)]
    out = io.BytesIO()
    more: dict[str, Any] = {"save_all": True, "append_images": pictures[1:]} if frames > 1 else {}
    pictures[0].save(out, name, **more, **options)
    return out.getvalue()


def frames_of(raw: bytes, mime: str) -> int | None:
    return image_frames(InMemoryBytes(raw), mime)


@pytest.mark.parametrize("frames", [2, 7])
@pytest.mark.parametrize("mime", ANIMATED)
def test_the_count_is_that_of_the_oracle(mime: str, frames: int) -> None:
    raw = written(ANIMATED[mime], frames)
    with Image.open(io.BytesIO(raw)) as oracle:
        assert frames_of(raw, mime) == oracle.n_frames == frames


@pytest.mark.parametrize("mime", STILL)
def test_a_still_has_one(mime: str) -> None:
    assert frames_of(written(STILL[mime], 1), mime) == 1


def test_a_big_tiff_has_its_pages() -> None:
    assert frames_of(written("TIFF", 3, big_tiff=True), "image/tiff") == 3


def test_a_sequence_of_avif_without_a_track_of_pictures_is_not_counted() -> None:
    assert frames_of(written("AVIF", 3).replace(b"pict", b"vide"), "image/avif") is None
    assert frames_of(b"<svg/>", "image/svg+xml") is None


@pytest.mark.parametrize("mime", ANIMATED)
def test_a_file_cut_anywhere_has_no_more_frames_or_an_unknown_number(mime: str) -> None:
    raw = written(ANIMATED[mime], 3)
    found = {frames_of(raw[:cut], mime) for cut in range(0, len(raw), 7)}
    assert found <= {None, 0, 1, 2, 3}


@pytest.mark.parametrize(
    ("mime", "raw"),
    [
        ("image/gif", b"GIF89a\1\0\1\0\0\0\0" + b"!\xfe\1\0\0" * 1_000_000),
        ("image/gif", b"GIF89a\1\0\1\0\0\0\0!\xfe" + b"\1\0" * 1_000_000),
        ("image/png", b"\x89PNG\r\n\x1a\n" + (struct.pack(">I4s", 0, b"tEXt") + bytes(4)) * 200_000),
        ("image/webp", b"RIFF\xff\xff\xff\x00WEBPVP8X\n\0\0\0\2" + bytes(9) + b"ANMF\0\0\0\0" * 200_000),
        ("image/tiff", b"II*\0\x08\0\0\0\0\0\x08\0\0\0"),
    ],
)
def test_a_file_made_to_be_walked_for_ever_is_left(mime: str, raw: bytes) -> None:
    looks = 0

    class Counted(InMemoryBytes):
        def at(self, offset: int, count: int) -> bytes:
            nonlocal looks
            looks += 1
            return self.content[offset : offset + count]

    assert image_frames(Counted(raw), mime) is None
    assert looks <= MOST_BLOCKS
