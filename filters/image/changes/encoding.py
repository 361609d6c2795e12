"""Encodes pictures: JPEG by libjpeg-turbo (simplejpeg), PNG and WebP by Pillow.

The bytes are the same wherever the packages are: `encoder_of` names them and their versions, for the record.
"""

import io
from importlib.metadata import version
from typing import Final

import numpy as np
from numpy.typing import NDArray

from winnow.filters.extras import required_package
from winnow.filters.image.changes.options import DEFAULT_QUALITY, Encode

__all__ = ["MIMES", "UNENCODABLE", "UnencodableError", "encode", "encoder_of"]

UNENCODABLE: Final = "unencodable"
"""Why a picture is left out that its new format cannot hold."""

MIMES: Final = {"jpg": "image/jpeg", "png": "image/png", "webp": "image/webp"}
_MOST_SIDE: Final = {"jpg": 65_500, "png": (1 << 31) - 1, "webp": 16_383}
_WEBP_METHOD: Final = 4  # libwebp's default: of 0 to 6, the effort


class UnencodableError(Exception):
    """A picture has a side that its new format does not allow."""


def encode(pixels: NDArray[np.uint8], options: Encode) -> bytes:
    """The file of a picture of red, green and blue.

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
    """What encodes, with its version."""
    package = "simplejpeg" if options.format == "jpg" else "pillow"
    required_package("encoding pictures", "simplejpeg" if options.format == "jpg" else "PIL", "image")
    return f"{package} {version(package)}"
