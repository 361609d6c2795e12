"""Files whose codes are overwritten with zeros are refused; flat pictures, whose codes are zeros, are not."""

from collections.abc import Mapping

import numpy as np
import pytest

from tests.filters.image.decode.test_stills import encoded, made, read, refusal
from winnow.filters.image.decode.stills import TRUNCATED

Image = pytest.importorskip("PIL.Image", reason="needs the extra `image`")

CODINGS: Mapping[str, tuple[str, Mapping[str, object]]] = {
    "lossy": ("WEBP", {"quality": 80}),
    "lossless": ("WEBP", {"lossless": True}),
    "avif": ("AVIF", {"quality": 80, "speed": 10}),
    "tiles": ("AVIF", {"quality": 80, "speed": 10, "tile_rows": 1, "tile_cols": 1}),
    "deflate": ("TIFF", {"compression": "tiff_adobe_deflate"}),
}


def photograph() -> bytes:
    """Smooth colours with noise: some kilobytes in every format."""
    noise = np.random.default_rng(5).normal(0, 12, (160, 240, 3))
    return np.clip(made(160, 240) + noise, 0, 255).astype(np.uint8).tobytes()


@pytest.mark.parametrize("coding", CODINGS)
def test_zeros_in_place_of_codes_are_told(coding: str) -> None:
    kind, options = CODINGS[coding]
    whole = encoded(kind, Image.frombytes("RGB", (240, 160), photograph()), **options)
    assert read(kind, whole).pixels.shape == (160, 240, 3)
    for share in (0.5, 0.9, 0.98):
        begin = int(len(whole) * share)
        for end in (len(whole), begin + (len(whole) - begin) // 2):  # to the end, and a hole
            overwritten = whole[:begin] + bytes(end - begin) + whole[end:]
            reason = refusal(kind, overwritten)
            assert reason == TRUNCATED or (kind == "TIFF" and reason == "damaged"), (share, end)


def test_the_first_frame_of_an_animation_is_told_by_its_own_end() -> None:
    frames = [Image.frombytes("RGB", (240, 160), photograph()), Image.new("RGB", (240, 160), (9, 200, 40))]
    whole = encoded("WEBP", frames[0], save_all=True, append_images=frames[1:], quality=80)
    start = whole.index(b"VP8 ")
    end = start + 8 + int.from_bytes(whole[start + 4 : start + 8], "little")
    assert read("WEBP", whole).pixels.shape == (160, 240, 3)
    assert refusal("WEBP", whole[: end - 900] + bytes(900) + whole[end:]) == TRUNCATED


@pytest.mark.parametrize("options", [{"quality": 0}, {"quality": 90}, {"lossless": True}], ids=str)
def test_flat_pictures_whose_codes_are_zeros_are_whole(options: Mapping[str, object]) -> None:
    runs = 0
    for size, colour in (((1, 1), 0), ((17, 16), 255), ((640, 480), 255), ((1600, 1200), 7)):
        content = encoded("WEBP", Image.new("RGB", size, (colour,) * 3), **options)
        assert read("WEBP", content).width == size[0]
        runs += bytes(8) in content
    assert runs or "lossless" in options
