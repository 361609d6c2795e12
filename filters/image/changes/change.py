"""Changes one picture for an export: from the bytes of its file to those written."""

import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from winnow.filters.extras import required_package
from winnow.filters.image.changes.options import DEFAULT_QUALITY, Encode, PictureChanges
from winnow.filters.image.changes.pixels import Box, blur, framed, layout_of, scaled
from winnow.filters.image.changes.stripping import UNSTRIPPED, UnstrippedError, strip
from winnow.filters.image.decode.containers import InMemoryBytes
from winnow.filters.image.decode.headers import image_size
from winnow.filters.image.decode.orientation import orientation_of
from winnow.filters.image.decode.stills import (
    TOO_MANY_PIXELS,
    DecodeLimits,
    Still,
    UndecodableError,
    require_decoders,
)
from winnow.schemas.identity import Json

Counts: TypeAlias = NDArray[np.int64]

CHANGER: Final = 2
"""Goes up whenever a picture is changed to other bytes by the same packages."""

BYTES_PER_PIXEL: Final = {"jpg": 0.6, "png": 2.5, "webp": 0.4}
"""What an encoded picture is taken to need before it is there, to plan the files of an export."""

UNENCODABLE: Final = "unencodable"
"""Why a picture is left out that its new format cannot hold."""

MIMES: Final = {"jpg": "image/jpeg", "png": "image/png", "webp": "image/webp"}
_MOST_SIDE: Final = {"jpg": 65_500, "png": (1 << 31) - 1, "webp": 16_383}
_WEBP_METHOD: Final = 4  # libwebp's default effort, of 0 to 6


class UnencodableError(Exception):
    """A picture has a side that is too long for its new format."""


@dataclass(frozen=True, slots=True)
class ChangedPicture:
    """The file of a changed picture."""

    content: bytes
    mime: str
    width: int  # 0 if unknown
    height: int

    @property
    def sha256(self) -> str:
        """The hash of its content."""
        return hashlib.sha256(self.content).hexdigest()


class UnchangeableError(Exception):
    """Why a picture cannot be changed: a reason of decoding, `UNENCODABLE` or `UNSTRIPPED`, and a detail."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason


def decoded_side(content: bytes, mime: str, changes: PictureChanges) -> int | None:
    """The size to which decoding may shrink the longer side for these changes; None for all pixels."""
    width, height = _size_of(content, mime)
    if orientation_of(InMemoryBytes(content), mime) > 4:
        width, height = height, width
    if changes.resize is None or not width or not height:  # a header without a size is left to the decoder
        return None
    return max(layout_of(height, width, changes.resize).scaled)


def change(
    content: bytes,
    mime: str,
    changes: PictureChanges,
    limits: DecodeLimits,
    decoded: Still | UndecodableError | None,
    faces: Sequence[Box] = (),
) -> ChangedPicture:
    """Change a picture.

    Args:
        content: The whole file.
        mime: Its sniffed type.
        changes: The changes.
        limits: Limits of decoding; the new picture may have as many pixels.
        decoded: The picture decoded for `decoded_side`, or why that failed; None if its pixels are kept.
        faces: The faces found in it, of any score.

    Raises:
        UnchangeableError: It could not be decoded, encoded, or freed of metadata.
    """
    if not changes.encodes:
        try:
            kept = changes.kept
            return ChangedPicture(
                content if kept is None else strip(content, mime, kept), mime, *_size_of(content, mime)
            )
        except UnstrippedError as error:
            raise UnchangeableError(UNSTRIPPED, str(error)) from None
    assert decoded is not None
    try:
        if isinstance(decoded, UndecodableError):
            raise decoded
        return _encoded(decoded, changes, limits, faces)
    except UndecodableError as error:
        raise UnchangeableError(error.reason, error.detail) from None
    except UnencodableError as error:
        raise UnchangeableError(UNENCODABLE, str(error)) from None


def _encoded(still: Still, changes: PictureChanges, limits: DecodeLimits, faces: Sequence[Box]) -> ChangedPicture:
    layout = layout_of(still.height, still.width, changes.resize)
    if layout.pixels > limits.max_pixels:
        raise UndecodableError(TOO_MANY_PIXELS, f"{layout.pixels:,} of at most {limits.max_pixels:,} once resized")
    pixels = scaled(still.pixels, *layout.scaled)
    if changes.blur_faces is not None:
        pixels = blur(pixels, [face for face in faces if face.score >= changes.blur_faces.min_score])
    pixels = framed(pixels, layout)
    found = encode(pixels, changes.encoding)
    return ChangedPicture(found, MIMES[changes.encoding.format], pixels.shape[1], pixels.shape[0])


def _size_of(content: bytes, mime: str) -> tuple[int, int]:
    """Width and height from the header; 0 if it has none."""
    found = image_size(InMemoryBytes(content), mime)
    return (0, 0) if found is None else (found.width, found.height)


def estimated_bytes(changes: PictureChanges, sizes: Counts, widths: Counts, heights: Counts) -> Counts:
    """Estimated bytes of changed pictures, computed without decoding them.

    Args:
        changes: The changes.
        sizes: The bytes of their files.
        widths: Of each picture; 0 if unknown.
        heights: Of each picture.
    """
    if not changes.encodes:
        return sizes
    pixels = widths.astype(np.float64) * heights
    if (resize := changes.resize) is not None and resize.mode != "no":
        by_shorter = resize.mode in ("keep_ratio", "center_crop")
        measured = np.maximum(np.minimum(widths, heights) if by_shorter else np.maximum(widths, heights), 1)
        resized = np.ones(len(sizes), np.bool_) if not resize.only_if_bigger else measured > resize.side
        square = resize.mode in ("center_crop", "border")
        new = np.full(len(sizes), resize.side**2) if square else pixels * (resize.side / measured) ** 2
        pixels = np.where(resized, new, pixels)
    estimate = (pixels * BYTES_PER_PIXEL[changes.encoding.format]).astype(np.int64) + 1
    return np.where((widths > 0) & (heights > 0), estimate, sizes)


def require_changers(changes: PictureChanges) -> None:
    """Raise RecipeError with the command that installs them if packages are missing."""
    if changes.encodes:
        require_decoders()


def resolved(changes: PictureChanges) -> Json:
    """Everything that the changed bytes depend on: all options, and the encoder."""
    described = changes.described()
    if not isinstance(described, dict):
        return None
    return {**described, "version": CHANGER, **({"encoder": encoder_of(changes.encoding)} if changes.encodes else {})}


def encode(pixels: NDArray[np.uint8], options: Encode) -> bytes:
    """The encoded file of an RGB picture.

    Raises:
        UnencodableError: A side is longer than the format allows.
    """
    height, width = pixels.shape[:2]
    if max(height, width) > _MOST_SIDE[options.format]:
        raise UnencodableError(f"{width:,} x {height:,} pixels are too many for {options.format}")
    quality = options.quality or DEFAULT_QUALITY
    if options.format == "jpg":
        encoder = required_package("encoding pictures", "simplejpeg", "image")
        raw: bytes = encoder.encode_jpeg(
            np.ascontiguousarray(pixels), quality=quality, colorspace="RGB", colorsubsampling="420", fastdct=False
        )
        return raw
    pillow = required_package("encoding pictures", "PIL.Image", "image")
    held = io.BytesIO()
    picture = pillow.fromarray(pixels)
    if options.format == "png":
        picture.save(held, "PNG")
    else:
        picture.save(held, "WEBP", quality=quality, method=_WEBP_METHOD)
    return held.getvalue()


def encoder_of(options: Encode) -> str:
    """The name and version of the encoder."""
    package = "simplejpeg" if options.format == "jpg" else "pillow"
    required_package("encoding pictures", "simplejpeg" if options.format == "jpg" else "PIL", "image")
    return f"{package} {version(package)}"
