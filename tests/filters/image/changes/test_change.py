"""A picture is decoded, turned upright, resized and encoded anew; what cannot be is refused with a reason."""

import io
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from PIL import Image

from winnow.filters.image.changes.change import (
    BYTES_PER_PIXEL,
    ChangedPicture,
    UnchangeableError,
    change,
    decoded_side,
    estimated_bytes,
    resolved,
)
from winnow.filters.image.changes.options import BlurFaces, Encode, PictureChanges, Resize, Strip
from winnow.filters.image.changes.pixels import CELLS, Box, blur
from winnow.filters.image.decode.stills import DecodeLimits, UndecodableError, decode

LIMITS = DecodeLimits()
PNG = Encode("png")


def picture(height: int, width: int, kind: str = "PNG", orientation: int = 1) -> bytes:
    """Red to the left, blue to the right, brighter further down."""
    pixels = np.zeros((height, width, 3), np.uint8)
    pixels[:, : width // 2, 0] = 200
    pixels[:, width // 2 :, 2] = 200
    pixels[:, :, 1] = np.linspace(0, 255, height)[:, None].astype(np.uint8)
    exif = Image.Exif()
    exif[0x0112] = orientation
    held = io.BytesIO()
    Image.fromarray(pixels).save(held, kind, exif=exif.tobytes())
    return held.getvalue()


def changed(content: bytes, mime: str, changes: PictureChanges, faces: Sequence[Box] = ()) -> ChangedPicture:
    """The picture, decoded as an export does it."""
    try:
        decoded = decode(content, mime, LIMITS, decoded_side(content, mime, changes)) if changes.encodes else None
    except UndecodableError as error:
        return change(content, mime, changes, LIMITS, error, faces)
    return change(content, mime, changes, LIMITS, decoded, faces)


def opened(changed: ChangedPicture) -> np.ndarray[Any, np.dtype[np.uint8]]:
    with Image.open(io.BytesIO(changed.content)) as found:
        assert (found.width, found.height) == (changed.width, changed.height)
        assert Image.MIME[found.format or ""] == changed.mime
        return np.asarray(found.convert("RGB"))


def test_a_large_picture_is_shrunk_when_it_is_decoded_and_no_more_than_its_change_asks() -> None:
    smaller = PictureChanges(resize=Resize("keep_ratio", 64), encode=Encode("jpg"))
    assert decoded_side(picture(400, 600, "JPEG"), "image/jpeg", smaller) == 96
    assert decoded_side(picture(400, 600, "JPEG", orientation=6), "image/jpeg", smaller) == 96
    assert decoded_side(picture(400, 600, "JPEG"), "image/jpeg", PictureChanges(encode=Encode("jpg"))) is None
    assert decoded_side(b"no picture", "image/jpeg", smaller) is None


@pytest.mark.parametrize(("encode", "mime"), [("jpg", "image/jpeg"), ("png", "image/png"), ("webp", "image/webp")])
def test_a_picture_is_resized_and_encoded_as_asked(encode: Any, mime: str) -> None:
    changes = PictureChanges(resize=Resize("keep_ratio", 64), encode=Encode(encode))
    found = changed(picture(200, 300), "image/png", changes)
    assert (found.mime, found.height, found.width) == (mime, 64, 96)
    pixels = opened(found).astype(int)
    assert pixels[:, :40, 0].min() > 150 > 60 > pixels[:, 56:, 0].max()
    assert not Image.open(io.BytesIO(found.content)).getexif()


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
def test_it_is_turned_upright_before_it_is_encoded(kind: str, orientation: int) -> None:
    content = picture(200, 300, kind, orientation)
    changes = PictureChanges(resize=Resize("keep_ratio_largest", 96), encode=PNG)
    found = opened(changed(content, f"image/{kind.lower()}", changes)).astype(int)
    with Image.open(io.BytesIO(content)) as whole:
        from PIL import ImageOps

        upright = ImageOps.exif_transpose(whole).convert("RGB")
    expected = np.asarray(upright.resize((found.shape[1], found.shape[0]), Image.Resampling.BOX)).astype(int)
    assert np.abs(found - expected).mean() < 4


def test_borders_are_white_and_crops_are_from_the_middle() -> None:
    framed = opened(changed(picture(100, 200), "image/png", PictureChanges(Resize("border", 80), PNG)))
    assert framed.shape == (80, 80, 3)
    assert (framed[:20] == 255).all()
    assert (framed[60:] == 255).all()
    assert not (framed[20:60] == 255).all(axis=2).any()
    cut = opened(changed(picture(100, 200), "image/png", PictureChanges(Resize("center_crop", 50), PNG)))
    assert cut.shape == (50, 50, 3)
    assert (cut[:, :25, 0] > cut[:, :25, 2]).all()
    assert (cut[:, 25:, 2] > cut[:, 25:, 0]).all()


def test_small_pictures_grow_unless_only_bigger_ones_are_resized() -> None:
    for only, size in ((False, (64, 128)), (True, (10, 20))):
        changes = PictureChanges(Resize("keep_ratio", 64, only_if_bigger=only), PNG)
        assert opened(changed(picture(10, 20), "image/png", changes)).shape[:2] == size


def test_without_changes_the_bytes_are_the_files_own() -> None:
    content = picture(20, 30, "JPEG", 6)
    assert changed(content, "image/jpeg", PictureChanges()) == ChangedPicture(content, "image/jpeg", 30, 20)


def test_only_the_faces_are_blurred_and_little_remains_of_them() -> None:
    random = np.random.default_rng(7)
    pixels = random.integers(0, 256, (120, 160, 3), np.uint8)
    found = blur(pixels, [Box(0.25, 0.25, 0.5, 0.5, 0.9)])
    inside = (slice(26, 64), slice(36, 84))  # the box and a margin of a tenth of its longer side
    outside = np.ones((120, 160), bool)
    outside[inside] = False
    assert (found[outside] == pixels[outside]).all()
    spectrum = np.abs(np.fft.fft2(found[inside].astype(float).mean(axis=2) - found[inside].mean()))
    fine = spectrum[CELLS + 2 : -CELLS - 2, CELLS + 2 : -CELLS - 2]
    assert (fine**2).sum() < 0.01 * (spectrum**2).sum()
    assert found[inside].std() < 0.4 * pixels[inside].std()


def test_faces_below_the_score_are_left() -> None:
    content = picture(100, 100)
    faces = [Box(0.2, 0.2, 0.6, 0.6, 0.4)]
    strict = PictureChanges(encode=PNG, blur_faces=BlurFaces(0.5))
    lenient = PictureChanges(encode=PNG, blur_faces=BlurFaces(0.3))
    plain = opened(changed(content, "image/png", PictureChanges(encode=PNG)))
    assert (opened(changed(content, "image/png", strict, faces)) == plain).all()
    assert not (opened(changed(content, "image/png", lenient, faces)) == plain).all()


def test_faces_beyond_the_borders_are_no_error() -> None:
    content = picture(50, 50)
    faces = [Box(-0.5, -0.5, 0.2, 0.2, 1.0), Box(0.9, 0.9, 1.5, 1.5, 1.0), Box(0.5, 0.5, 0.5, 0.5, 1.0)]
    changed(content, "image/png", PictureChanges(encode=PNG, blur_faces=BlurFaces(0.3)), faces)


@pytest.mark.parametrize(
    ("content", "mime", "changes", "reason"),
    [
        (picture(50, 50)[:150], "image/png", PictureChanges(encode=PNG), "truncated"),
        (b"\x89PNG\r\n\x1a\n", "image/png", PictureChanges(Resize("border", 8)), "damaged"),
        (b"<svg/>", "image/svg+xml", PictureChanges(encode=PNG), "unsupported"),
        (picture(1, 9000), "image/png", PictureChanges(Resize("keep_ratio", 8192)), "too_many_pixels"),
        (picture(1, 20_000), "image/png", PictureChanges(encode=Encode("webp")), "unencodable"),
        (b"BM", "image/bmp", PictureChanges(strip=True), "unstripped"),
        (picture(50, 50)[:-20], "image/png", PictureChanges(strip=True), "unstripped"),
    ],
)
def test_what_cannot_be_changed_has_a_reason(content: bytes, mime: str, changes: PictureChanges, reason: str) -> None:
    with pytest.raises(UnchangeableError) as error:
        changed(content, mime, changes)
    assert error.value.reason == reason


@pytest.mark.parametrize(
    "changes",
    [
        PictureChanges(),
        PictureChanges(strip=True),
        PictureChanges(strip=Strip(("exif",))),
        PictureChanges(Resize("no", 3, only_if_bigger=True), Encode("webp", 80), BlurFaces(0.25)),
    ],
)
def test_changes_survive_their_json(changes: PictureChanges) -> None:
    read = PictureChanges.from_json(changes.to_json())
    assert read.described() == changes.described()
    assert read.to_json() == changes.to_json()


def test_the_record_names_what_encodes() -> None:
    found = resolved(PictureChanges(Resize("border", 64)))
    assert isinstance(found, dict)
    assert str(found["encoder"]).startswith("simplejpeg ")
    assert found["encode"] == {"format": "jpg", "quality": 95}


def test_contradictions_are_refused() -> None:
    with pytest.raises(ValueError, match="leave out 'strip'"):
        PictureChanges(encode=PNG, strip=True)
    with pytest.raises(ValueError, match="leave out 'quality'"):
        Encode("png", 90)


def test_the_size_of_a_file_is_estimated_from_its_pixels() -> None:
    sizes, widths, heights = np.array([5_000_000, 777, 900]), np.array([4000, 0, 50]), np.array([3000, 0, 20])
    for mode, pixels in (("keep_ratio", 133 * 100), ("border", 100 * 100), ("no", 4000 * 3000)):
        for only, small in ((False, None), (True, 50 * 20)):
            resize = Resize(mode, 100, only_if_bigger=only)  # type: ignore[arg-type]
            found = estimated_bytes(PictureChanges(resize), sizes, widths, heights)
            assert found[0] == pytest.approx(pixels * BYTES_PER_PIXEL["jpg"], rel=0.01)
            assert found[1] == 777
            if small is not None:
                assert found[2] == small * BYTES_PER_PIXEL["jpg"] + 1
    assert (estimated_bytes(PictureChanges(strip=True), sizes, widths, heights) == sizes).all()
