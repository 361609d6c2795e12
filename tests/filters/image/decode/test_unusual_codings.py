"""Codings that decoders misread, fill up without a word, or do not know: read rightly, or refused by name."""

import io
import struct
from collections.abc import Mapping

import numpy as np
import pytest

from tests.filters.image.decode.test_stills import MIMES, encoded, read
from winnow.filters.image.decode.stills import TRUNCATED, UNSUPPORTED, DecodeLimits, UndecodableError, decode

Image = pytest.importorskip("PIL.Image", reason="needs the extra `image`")


def tiff(height: int, width: int, tags: Mapping[int, tuple[int, ...]], strips: list[bytes]) -> bytes:
    """A page whose strips stand behind its directory, with the tags that every page has."""
    sizes = tuple(len(strip) for strip in strips)
    count = len({256, 257, 259, 262, 273, 278, 279, *tags})
    at = 8 + 2 + 12 * count + 4
    lists, placed = b"", {256: (width,), 257: (height,), 259: (1,), 262: (1,), 278: (height,), **tags, 279: sizes}
    begin = at + sum(4 * len(values) for values in placed.values() if len(values) > 1) + 4 * len(strips)
    placed[273] = tuple(begin + sum(sizes[:number]) for number in range(len(strips)))
    entries = b""
    for tag, values in sorted(placed.items()):
        packed = struct.pack(f"<{len(values)}I", *values)
        if len(values) > 1:
            packed, lists = struct.pack("<I", at + len(lists)), lists + packed
        entries += struct.pack("<HHI", tag, 4, len(values)) + packed
    head = b"II*\0" + struct.pack("<IH", 8, count) + entries + bytes(4) + lists
    return head.ljust(begin, b"\0") + b"".join(strips)


def refused(kind: str, content: bytes) -> str:
    with pytest.raises(UndecodableError) as caught:
        decode(content, MIMES[kind], DecodeLimits())
    return caught.value.reason


def with_frame(marker: bytes) -> bytes:
    """A JPEG file whose frame claims another coding."""
    return encoded("JPEG").replace(b"\xff\xc0", b"\xff" + marker, 1)


@pytest.mark.parametrize("marker", [b"\xc9", b"\xca", b"\xcb", b"\xf7"])
def test_arithmetic_codes_whose_end_is_filled_up_and_jpeg_ls_are_unsupported(marker: bytes) -> None:
    assert refused("JPEG", with_frame(marker)) == UNSUPPORTED


def test_levels_of_tiff_are_of_its_own_bits_and_white_may_be_zero() -> None:
    levels = np.array([[0, 2048, 4095]], "<u2")
    packed = bytes((0x00, 0x08, 0x00, 0xFF, 0xF0))  # 0, 2048 and 4095 of 12 bits
    for bits, strip in ((12, packed), (16, (levels << 4 | levels >> 8).astype("<u2").tobytes())):
        assert read("TIFF", tiff(1, 3, {258: (bits,)}, [strip])).pixels[0, :, 0].tolist() == [0, 128, 255]
    inverted = read("TIFF", tiff(1, 3, {258: (16,), 262: (0,)}, [strip]))
    assert inverted.pixels[0, :, 0].tolist() == [255, 127, 0]


def test_a_transparent_level_of_sixteen_bits_is_white() -> None:
    levels = np.array([[0, 257 * 7, 257 * 9]], np.uint16)
    held = io.BytesIO()
    Image.fromarray(levels).save(held, "PNG", transparency=257 * 7)
    assert read("PNG", held.getvalue()).pixels[0, :, 0].tolist() == [0, 255, 9]


def test_plain_channels_of_sixteen_bits_apart_are_unsupported_since_they_would_be_misread() -> None:
    apart = {258: (16, 16, 16), 262: (2,), 277: (3,), 284: (2,)}
    assert refused("TIFF", tiff(2, 2, apart, [bytes(range(8))] * 3)) == UNSUPPORTED


@pytest.mark.parametrize("compression", [34712, 34887, 34933, 50001, 50002])  # JPEG 2000, LERC, PNG, WebP, JPEG XL
def test_tiff_packed_in_ways_that_are_not_decoded_is_unsupported(compression: int) -> None:
    assert refused("TIFF", tiff(2, 2, {258: (8,), 259: (compression,)}, [bytes(4)])) == UNSUPPORTED


def test_tiff_of_doubles_and_bmp_of_odd_depths_are_unsupported() -> None:
    assert refused("TIFF", tiff(1, 2, {258: (64,), 339: (3,)}, [bytes(16)])) == UNSUPPORTED
    picture = bytearray(encoded("BMP"))
    struct.pack_into("<H", picture, 28, 64)
    assert refused("BMP", bytes(picture)) == UNSUPPORTED


def test_a_sparse_tiff_lacks_what_it_does_not_place() -> None:
    strips = {258: (8,), 278: (1,)}
    whole = tiff(2, 2, strips, [b"\1\2", b"\3\4"])
    assert read("TIFF", whole).pixels[:, :, 0].tolist() == [[1, 2], [3, 4]]
    second = struct.pack("<I", len(whole) - 2)
    assert refused("TIFF", whole.replace(second, bytes(4))) == TRUNCATED


def test_an_animated_png_without_its_still_is_truncated_not_its_next_frame() -> None:
    frames = [Image.new("RGB", (8, 8), colour) for colour in ("red", "blue")]
    whole = encoded("PNG", frames[0], save_all=True, append_images=frames[1:])
    start = whole.index(b"IDAT") - 4
    length = int.from_bytes(whole[start : start + 4])
    assert read("PNG", whole).pixels[0, 0].tolist() == [255, 0, 0]
    assert refused("PNG", whole[:start] + whole[start + 12 + length :]) == TRUNCATED
