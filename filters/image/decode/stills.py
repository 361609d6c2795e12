"""Decodes a still picture under limits: what its header claims is checked before any pixel is decoded.

One rule for every format: red, green and blue with 8 bits each, upright. An orientation in EXIF data is applied;
transparent pixels are laid over white; 16 bits become 8 by dividing by 257, those of colours by taking the high byte;
grey, palettes and CMYK are converted without colour profiles; of an animation the first frame is taken. A picture that
ends early or is damaged is refused, where many decoders fill what they lack with grey.

JPEG goes through libjpeg-turbo (simplejpeg), scaled by 1/2, 1/4 or 1/8 while decoding where a smaller picture is asked
for; other scales decode slower than the full size. All else goes through Pillow.
"""

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from winnow.filters.extras import required_package
from winnow.filters.image.decode.claims import frames_within, is_cut, metadata_sizes
from winnow.filters.image.decode.containers import HeldBytes, with_segments
from winnow.filters.image.decode.filled_memory import FILLINGS, filled_memory, may_leave_rows
from winnow.filters.image.decode.headers import ImageSize, image_size
from winnow.filters.image.decode.missing_pixels import lacks_checks, lacks_ends, lacks_rows, lacks_strips
from winnow.filters.image.decode.orientation import orientation_of, upright
from winnow.filters.image.decode.scans import scans_of, unchecked_coding
from winnow.filters.image.decode.tiff_pixels import TiffPixels, tiff_pixels
from winnow.filters.image.decode.zeroed import has_zeroed_items, webp_without_end

__all__ = [
    "DAMAGED",
    "DECODER",
    "REASONS",
    "TOO_LARGE",
    "TOO_MANY_FRAMES",
    "TOO_MANY_PIXELS",
    "TOO_MANY_SCANS",
    "TOO_MUCH_METADATA",
    "TRUNCATED",
    "UNSUPPORTED",
    "Checked",
    "DecodeLimits",
    "Still",
    "UndecodableError",
    "checked",
    "decode",
    "decode_checked",
    "require_decoders",
    "scale_of",
    "sized",
]

TOO_LARGE: Final = "too_large"
TOO_MANY_PIXELS: Final = "too_many_pixels"
TOO_MANY_FRAMES: Final = "too_many_frames"
TOO_MANY_SCANS: Final = "too_many_scans"
TOO_MUCH_METADATA: Final = "too_much_metadata"
TRUNCATED: Final = "truncated"
DAMAGED: Final = "damaged"
UNSUPPORTED: Final = "unsupported"
REASONS: Final = (
    TOO_LARGE,
    TOO_MANY_PIXELS,
    TOO_MANY_FRAMES,
    TOO_MANY_SCANS,
    TOO_MUCH_METADATA,
    TRUNCATED,
    DAMAGED,
    UNSUPPORTED,
)

DECODER: Final = 7
"""Goes up whenever a picture is decoded to other pixels, or another one is refused."""

_FORMATS: Final = {  # Pillow's plug-in for each sniffed type; no other is tried
    "image/jpeg": "JPEG",
    "image/png": "PNG",
    "image/webp": "WEBP",
    "image/gif": "GIF",
    "image/tiff": "TIFF",
    "image/bmp": "BMP",
    "image/avif": "AVIF",
}
_MOST_WIDTH: Final = (1 << 31) // 64 - 8  # Pillow counts a row's bits, at most 64 a pixel, in 31
_TEXT_LIMITS: Final = ("MAX_TEXT_CHUNK", "MAX_TEXT_MEMORY")  # Pillow's, of unpacked text in PNG
_OVERWRITTEN: Final = "its coded pixels are overwritten with zeros from a place on"
_CUT_SHORT: Final = ("truncated", "premature", "not enough image data", "unrecognized data stream contents")


@dataclass(frozen=True, slots=True)
class DecodeLimits:
    """What a picture may cost. Nothing is allocated for one that claims more."""

    max_bytes: int = 64 << 20
    max_pixels: int = 100_000_000  # 300 MB decoded
    max_frames: int = 10_000  # or pages; only the first is decoded
    max_scans: int = 100  # of JPEG, each of which may go over every pixel; progressive files have about ten
    max_exif_bytes: int = 1 << 20
    max_icc_bytes: int = 4 << 20  # the largest profiles of printers have some 3 MB


@dataclass(frozen=True, slots=True)
class Still:
    """A decoded picture.

    Attributes:
        pixels: Rows of red, green and blue, upright; perhaps scaled.
        height: Of the whole picture, upright.
        width: Of the whole picture, upright.
    """

    pixels: NDArray[np.uint8]
    height: int
    width: int


class UndecodableError(Exception):
    """Why a picture cannot be decoded: one of `REASONS`, and what the decoder says."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Checked:
    """A file of which all is checked that can be without its pixels.

    Attributes:
        held: The file.
        mime: Its sniffed type.
        claimed: What its header says.
        turned: EXIF's orientation of a JPEG file; those of others are read when they are decoded.
        allocated: The height and width that the decoder of JPEG reads in the header, which it allocates by.
    """

    held: HeldBytes
    mime: str
    claimed: ImageSize
    turned: int
    allocated: tuple[int, int] | None


def decode(
    content: bytes, mime: str, limits: DecodeLimits, side: int | None = None, room: NDArray[np.uint8] | None = None
) -> Still:
    """Decodes a picture: `checked`, then `decode_checked`."""
    return decode_checked(checked(content, mime, limits), limits, side, room)


def checked(content: bytes, mime: str, limits: DecodeLimits) -> Checked:
    """Checks what a picture claims.

    Args:
        content: The whole file.
        mime: Its sniffed type.
        limits: What it may cost.

    Raises:
        UndecodableError: It is too large, cut short, damaged, or of a format that is not decoded.
    """
    if mime not in _FORMATS:
        raise UndecodableError(UNSUPPORTED, mime)
    if len(content) > limits.max_bytes:
        raise UndecodableError(TOO_LARGE, f"{len(content):,} bytes of at most {limits.max_bytes:,}")
    held = with_segments(content) if mime == "image/jpeg" else HeldBytes(content)
    if coding := unchecked_coding(held):
        raise UndecodableError(UNSUPPORTED, coding)
    claimed = image_size(held, mime)
    if claimed is None:
        raise UndecodableError(DAMAGED, "its header gives no size")
    _check_pixels(claimed.width, claimed.height, limits)
    _check_claims(held, mime, limits)
    if mime != "image/jpeg":
        return Checked(held, mime, claimed, 1, None)
    return Checked(held, mime, claimed, orientation_of(held, mime), _allocated(content, limits))


def decode_checked(
    file: Checked, limits: DecodeLimits, side: int | None = None, room: NDArray[np.uint8] | None = None
) -> Still:
    """Decodes a picture that is checked.

    Args:
        file: It.
        limits: What it may cost.
        side: What the longer side will be shrunk to (`sized`), so that a larger picture may be scaled while it is
            decoded; None for all pixels.
        room: Bytes to decode to where a picture fits and needs no turning: new memory costs as much as some decoding.

    Raises:
        UndecodableError: It is too large, cut short, damaged, or of a format that is not decoded.
    """
    claimed, turned = file.claimed, file.turned
    if file.allocated is not None:
        height, width = file.allocated
        pixels = _jpeg(file.held.content, height, width, side, room)
    else:
        pixels, turned = _all_written(file.held, file.mime, limits)
        height, width = pixels.shape[:2]
    if (claimed.height, claimed.width) not in ((height, width), (width, height)):  # Pillow turns TIFF
        raise UndecodableError(
            DAMAGED, f"it has {width} x {height} pixels, its header {claimed.width} x {claimed.height}"
        )
    if turned > 4:
        height, width = width, height
    return Still(upright(pixels, turned) if turned > 1 else pixels, height, width)


def require_decoders() -> None:
    """Raise RecipeError, with the line that installs them, if the packages that decode are missing."""
    required_package("decoding pictures", "simplejpeg", "image")
    required_package("decoding pictures", "PIL.Image", "image")


def _check_pixels(width: int, height: int, limits: DecodeLimits) -> None:
    if width * height > limits.max_pixels:
        raise UndecodableError(TOO_MANY_PIXELS, f"{width:,} x {height:,} of at most {limits.max_pixels:,} pixels")


def _check_claims(held: HeldBytes, mime: str, limits: DecodeLimits) -> None:
    """Refuses what no picture needs, before a decoder holds it."""
    if not frames_within(held, mime, limits.max_frames):
        raise UndecodableError(TOO_MANY_FRAMES, f"more than {limits.max_frames:,}")
    scans = scans_of(held, mime)
    if scans.number > limits.max_scans:
        raise UndecodableError(TOO_MANY_SCANS, f"{scans.number:,} of at most {limits.max_scans:,}")
    sizes = metadata_sizes(held, mime, limits.max_icc_bytes)
    for kind, size, most in (
        ("EXIF data", sizes.exif, limits.max_exif_bytes),
        ("the colour profile", sizes.icc, limits.max_icc_bytes),
    ):
        if size > most:
            raise UndecodableError(TOO_MUCH_METADATA, f"{kind}: more than {most:,} bytes")
    if scans.lack:
        raise UndecodableError(TRUNCATED, "it lacks scans that would make it finer")
    if is_cut(held, mime):
        raise UndecodableError(TRUNCATED, "it ends before what it announces")


def _allocated(content: bytes, limits: DecodeLimits) -> tuple[int, int]:
    """The height and width of a JPEG file as its decoder reads them."""
    try:
        height, width, *_ = _jpeg_decoder().decode_jpeg_header(content, strict=True)
    except ValueError as error:
        raise _refused_jpeg(error) from None
    _check_pixels(width, height, limits)
    return height, width


def _jpeg(
    content: bytes, height: int, width: int, side: int | None, room: NDArray[np.uint8] | None
) -> NDArray[np.uint8]:
    """Pixels, perhaps scaled, as stored."""
    asked: dict[str, Any] = {}
    if side is not None and (scale := scale_of("image/jpeg", height, width, side)) > 1:
        asked = {"min_height": -(-height // scale), "min_width": -(-width // scale)}
    if room is not None and room.nbytes >= 3 * height * width:
        asked["buffer"] = room
    try:
        pixels: NDArray[np.uint8] = _jpeg_decoder().decode_jpeg(content, "RGB", strict=True, **asked)
    except ValueError as error:
        raise _refused_jpeg(error) from None
    return pixels


@cache
def _jpeg_decoder() -> Any:
    return required_package("decoding pictures", "simplejpeg", "image")


def _refused_jpeg(error: ValueError) -> UndecodableError:
    said = str(error)
    odd = "precision" in said or "subsampling level" in said  # such as CMYK with fewer samples of some channels
    if odd or ("Unsupported" in said and "marker" not in said):  # a marker is damaged pixels
        return UndecodableError(UNSUPPORTED, said)
    return _refused(error)


def scale_of(mime: str, height: int, width: int, side: int | None) -> int:
    """By how much a picture is scaled while it is decoded for a side: 1, 2, 4 or 8.

    Sides of one scale can share a decoded picture. Those of another cannot, as scaling is not the same as shrinking.
    """
    if side is None or mime != "image/jpeg":
        return 1
    return next((one for one in (8, 4, 2) if max(height, width) >= one * side), 1)


def sized(still: Still, side: int | None) -> Still:
    """The picture with its longer side shrunk to this; None for the picture as it was decoded."""
    if side is None:
        return still
    from winnow.filters.image.decode.shrink import fitted, shrink  # numba, which a process that decodes need not load

    height, width = fitted(still.height, still.width, side)
    return Still(shrink(still.pixels, height, width), still.height, still.width)


def _all_written(held: HeldBytes, mime: str, limits: DecodeLimits) -> tuple[NDArray[np.uint8], int]:
    """As `_by_pillow`, but a picture of which the decoder leaves rows unwritten is refused."""
    if not may_leave_rows(held, mime):
        return _by_pillow(held, mime, limits)
    found = []
    for byte in FILLINGS:
        with filled_memory(byte):
            found.append(_by_pillow(held, mime, limits))
    (pixels, turned), (again, _) = found
    if not np.array_equal(pixels, again):
        raise UndecodableError(TRUNCATED, "its fax codes end before its last row")
    return pixels, turned


def _by_pillow(held: HeldBytes, mime: str, limits: DecodeLimits) -> tuple[NDArray[np.uint8], int]:
    """All pixels, and the orientation that they are stored in."""
    pillow = required_package("decoding pictures", "PIL.Image", "image")
    tiff = tiff_pixels(held) if mime == "image/tiff" else None
    if tiff and tiff.is_misread:
        raise UndecodableError(UNSUPPORTED, f"channels of {tiff.bits} bits apart, not packed")
    with _most_pixels(pillow, limits.max_pixels):
        try:
            with pillow.open(io.BytesIO(held.content), formats=(_FORMATS[mime],)) as picture:
                width, height = picture.size
                _check_pixels(width, height, limits)
                if width > _MOST_WIDTH:
                    raise UndecodableError(UNSUPPORTED, f"{width:,} pixels a row of at most {_MOST_WIDTH:,}")
                if tiff and lacks_strips(held):
                    raise UndecodableError(TRUNCATED, "it does not have all strips or tiles that its sides need")
                if tiff and lacks_ends(held):
                    raise UndecodableError(TRUNCATED, "a strip or tile ends before its pixels do")
                if mime == "image/avif" and has_zeroed_items(held):
                    raise UndecodableError(TRUNCATED, _OVERWRITTEN)
                picture.load()
                if tiff and lacks_checks(held):
                    raise UndecodableError(TRUNCATED, "the packed pixels of a strip or tile are not whole")
                if mime == "image/webp" and _ends_too_late(pillow, held):
                    raise UndecodableError(TRUNCATED, _OVERWRITTEN)
                if mime == "image/png" and _may_lack_rows(picture) and lacks_rows(held):
                    raise UndecodableError(TRUNCATED, "its pixels end before its last row")
                turned = 1 if tiff else orientation_of(held, mime)  # Pillow turns TIFF
                return _opaque(pillow, picture, tiff), turned
        except (UndecodableError, MemoryError):
            raise
        except (pillow.DecompressionBombError, pillow.DecompressionBombWarning) as error:
            raise UndecodableError(TOO_MANY_PIXELS, str(error)) from None
        except Exception as error:  # noqa: BLE001  # Pillow's plug-ins raise whatever their parsing comes upon
            if tiff and (not tiff.is_usual or isinstance(error, pillow.UnidentifiedImageError)):
                detail = f"compression {tiff.compression} of pixels of {tiff.bits} bits"
                raise UndecodableError(UNSUPPORTED, detail) from None
            raise _refused(error) from None


def _ends_too_late(pillow: Any, held: HeldBytes) -> bool:
    """Whether a WebP file's picture decodes without its last bytes, too."""
    rest = webp_without_end(held)
    if rest is None:
        return False
    try:
        with pillow.open(io.BytesIO(rest), formats=("WEBP",)) as picture:
            picture.load()
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001  # as for every whole file
        return False
    return True


def _may_lack_rows(picture: Any) -> bool:
    """Whether the last row is all zeros, as are rows that a PNG lacks, which Pillow does not tell."""
    if picture.info.get("interlace"):
        return True
    width, height = picture.size
    return not any(picture.crop((0, height - 1, width, height)).tobytes())


@contextmanager
def _most_pixels(pillow: Any, most: int) -> Iterator[None]:
    """Pillow with our limit in place of its own, and of all that is above; it only warns up to twice its limit."""
    its_own, pillow.MAX_IMAGE_PIXELS = pillow.MAX_IMAGE_PIXELS, most
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of odd metadata
            warnings.simplefilter("error", pillow.DecompressionBombWarning)
            yield
    finally:
        pillow.MAX_IMAGE_PIXELS = its_own


def _refused(error: Exception) -> UndecodableError:
    said = " ".join(str(error).split())[:200] or type(error).__name__
    if "memory" in said.lower():  # the machine's fault, not the file's
        raise MemoryError(said) from None
    if any(one in said for one in _TEXT_LIMITS):
        return UndecodableError(TOO_MUCH_METADATA, said)
    if "unsupported" in said.lower():
        return UndecodableError(UNSUPPORTED, said)
    return UndecodableError(TRUNCATED if any(one in said.lower() for one in _CUT_SHORT) else DAMAGED, said)


def _opaque(pillow: Any, picture: Any, tiff: TiffPixels | None) -> NDArray[np.uint8]:
    """Red, green and blue of whatever mode."""
    if picture.mode.startswith("I;16"):
        return np.repeat(_grey(picture, tiff)[:, :, None], 3, axis=2)
    if picture.mode in ("I", "F"):  # 32 bits, or any number: no scale says what is white
        raise UndecodableError(UNSUPPORTED, f"pixels of mode {picture.mode}")
    if picture.mode in ("RGBA", "LA", "PA", "RGBa", "La") or "transparency" in picture.info:
        over = picture.convert("RGBA")
        white = pillow.new("RGBA", over.size, (255, 255, 255, 255))
        white.alpha_composite(over)
        picture = white
    return np.array(picture.convert("RGB"))


def _grey(picture: Any, tiff: TiffPixels | None) -> NDArray[np.uint8]:
    """Levels of more than 8 bits as levels of 8."""
    levels = np.asarray(picture, np.uint16).astype(np.uint32)
    most = (1 << tiff.bits) - 1 if tiff and 8 < tiff.bits < 16 else (1 << 16) - 1
    if tiff and tiff.inverted:
        levels = most - np.minimum(levels, most)
    if (clear := picture.info.get("transparency")) is not None:  # a level of PNG, as if over white
        levels[levels == clear] = most
    return ((levels * 255 + most // 2) // most).astype(np.uint8)
