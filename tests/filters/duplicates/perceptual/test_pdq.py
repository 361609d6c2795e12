"""PDQ: the bits and the quality of the reference, at sizes where windows are cut, and of pictures without colour."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.property_sizes import scaled
from winnow.filters.duplicates.perceptual.hamming import MAX_RADIUS
from winnow.filters.duplicates.perceptual.pdq import pdq
from winnow.filters.image.decode.shrink import shrink

# From pdqhash 0.2.8, which runs the reference's C++, on the same pixels.
REFERENCE = [
    ("waves", 64, 64, "8cd3d63c6e537fbc2813d0eca753ffbcca43fbfcc153fbec1000bbfc00030002", 64),
    ("waves", 427, 640, "0705ff780705fefaffef0058ff0714f8ef0754f8ab0755f800070007fff80007", 100),
    ("steps", 300, 451, "83d54c005945fc00a95713ff5ea05b7f9665b2f2f65872fb524c8303760393fc", 100),
    ("steps", 1000, 37, "b4a5b4a44b5bb5206b494b4ab4b6b4a4b6beb4a5b4a6b4a5b4a5b4a5b4a5b4a5", 100),
    ("waves", 17, 23, "7973ec07cb9a9e71e4e45a41c6371f47b2d3805402f38b3592efe5c186be7c00", 19),
    ("steps", 129, 1281, "12aa5c01faab52aa077d86080455f9fef7ff000586aaabff5555f28aed3c003e", 100),
]


def made(kind: str, height: int, width: int) -> NDArray[np.uint8]:
    """A picture of waves, or of waves under a grid."""
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    waves = [np.sin(x / a) * np.cos(y / b) for a, b in ((7, 11), (23, 5), (61, 37))]
    base = sum(waves) * 40 + 128
    if kind == "steps":
        base = np.where((x // 29 + y // 17) % 3 == 0, 220, base)
    return np.stack([np.clip(base + shift, 0, 255).astype(np.uint8) for shift in (0, 20, -30)], axis=2)


def apart(one: bytes, other: bytes) -> int:
    return (int.from_bytes(one, "big") ^ int.from_bytes(other, "big")).bit_count()


@pytest.mark.parametrize(("kind", "height", "width", "bits", "quality"), REFERENCE)
def test_bits_and_quality_are_those_of_the_reference(
    kind: str, height: int, width: int, bits: str, quality: int
) -> None:
    found = pdq(made(kind, height, width))
    assert (found.bits.hex(), found.quality) == (bits, quality)


def test_a_smaller_copy_is_close_and_another_picture_is_far() -> None:
    whole = made("steps", 600, 800)
    assert apart(pdq(whole).bits, pdq(shrink(whole, 300, 400)).bits) <= MAX_RADIUS
    assert apart(pdq(whole).bits, pdq(made("waves", 600, 800)).bits) > MAX_RADIUS


def test_grey_is_read_as_three_equal_channels() -> None:
    grey = made("waves", 200, 150)[:, :, 0]
    assert apart(pdq(grey).bits, pdq(np.repeat(grey[:, :, None], 3, axis=2)).bits) <= 2


@settings(max_examples=scaled(60), deadline=None)
@given(st.integers(1, 200), st.integers(1, 200), st.integers(0, 2**32 - 1))
def test_every_size_has_a_hash_with_half_of_its_bits(height: int, width: int, seed: int) -> None:
    picture = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    found = pdq(picture)
    assert len(found.bits) == 32
    assert 0 <= found.quality <= 100
    assert int.from_bytes(found.bits, "big").bit_count() <= 128


@pytest.mark.parametrize("level", [0, 127, 255])
def test_a_flat_picture_has_no_quality(level: int) -> None:
    assert pdq(np.full((100, 100, 3), level, np.uint8)).quality == 0


def test_no_pixels_are_refused() -> None:
    with pytest.raises(ValueError, match="expected a picture with pixels"):
        pdq(np.empty((0, 5, 3), np.uint8))
