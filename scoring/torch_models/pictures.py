"""Decode image files into squares of pixels; the header is checked against a budget before decoding.

Formats are those that Pillow decodes without other programs. Only the first frame of an animation is used, EXIF
orientation is applied, transparency becomes white, and 16-bit grey is reduced to 8 bits.
"""

import struct
import warnings
import zlib
from io import BytesIO
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.schemas.errors import ScoreError
from winnow.scoring.tasks.protocol import NO_INPUT, OK, UNREADABLE
from winnow.scoring.torch_models.packages import required_package

if TYPE_CHECKING:
    from PIL import Image

FORMATS: Final = ("BMP", "GIF", "JPEG", "PNG", "PPM", "WEBP")
"""No TIFF, as the memory of its tiles is not limited by the image size."""

LARGEST: Final = 1 << 27
"""The largest allowed budget in pixels; Pillow's own limit is higher."""

_ORIENTATION: Final = 0x0112  # its tag in EXIF
_WHITE: Final = (255, 255, 255, 255)
_COLOURS: Final = 3  # red, green and blue, a byte each
_ROOM: Final = 256 << 20  # bytes of a batch's pixels, of which the largest image takes a fifth
_SHIFT: Final = 8  # from 16 bits to 8

_DAMAGED: Final = (
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    OSError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
    struct.error,
    zlib.error,
)
"""The exceptions of Pillow's decoders for damaged files; does not include a lack of memory."""


def pixels_bytes(side: int) -> int:
    """The size of a decoded image with this many pixels per side."""
    return side * side * _COLOURS


def require_room(task: str, side: int, images: int, max_bytes: int) -> None:
    """Raise if the images of a batch exceed the memory budget, at least `_ROOM`.

    Raises:
        ScoreError: They do.
    """
    need, room = images * pixels_bytes(side), max(max_bytes, _ROOM)
    if need > room:
        raise ScoreError(
            f"{task}: `batch`: {images:,} images of {side:,} pixels a side take {need:,} bytes, more than "
            f"`memory_bytes`: {room:,}; lower `size` or `batch`, or give more `memory_bytes`"
        )


def square_pixels(raw: bytes, side: int, max_pixels: int) -> NDArray[np.uint8] | None:
    """A file's image as side × side × RGB, without keeping proportions; None if damaged or too large."""
    required_package("an image", "PIL")
    from PIL import Image

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about harmless damage, and about sizes, which the budget checks
        try:
            with Image.open(BytesIO(raw), formats=FORMATS) as image:
                if not 0 < image.width * image.height <= max_pixels:
                    return None
                image.load()
                upright = _opaque(_upright(image))
                return np.asarray(upright.resize((side, side), Image.Resampling.BILINEAR), np.uint8)
        except (*_DAMAGED, Image.DecompressionBombError):
            return None


def pixels_of(
    files: pa.Array, wanted: NDArray[np.bool_], side: int, max_pixels: int
) -> tuple[NDArray[np.object_], NDArray[np.uint8]]:
    """The status of each row, and the images of requested rows that are `ok`, in order.

    Takes side² × 3 bytes per requested row, and one decoded file at a time: up to twelve bytes for each of
    `max_pixels`.

    Args:
        files: The bytes of one file per row.
        wanted: The rows to decode; for the others only the presence of a file is checked.
        side: The pixels per side of the result.
        max_pixels: The most pixels that a file may declare.
    """
    status = np.full(len(files), OK, object)
    pixels = np.empty((int(np.count_nonzero(wanted)), side, side, 3), np.uint8)
    count = 0
    for place, file in enumerate(files):  # one at a time: all decoded images of a column would not fit in memory
        raw = file.as_py()
        if not raw:
            status[place] = NO_INPUT
        elif wanted[place]:
            one = square_pixels(raw, side, max_pixels)
            if one is None:
                status[place] = UNREADABLE
            else:
                pixels[count] = one
                count += 1
    return status, pixels[:count]


def _upright(image: "Image.Image") -> "Image.Image":
    """Apply the EXIF orientation; unreadable EXIF data are ignored."""
    from PIL import ImageOps

    try:
        if image.getexif().get(_ORIENTATION, 1) == 1:
            return image
        return ImageOps.exif_transpose(image)
    except _DAMAGED:
        return image


def _opaque(image: "Image.Image") -> "Image.Image":
    """Convert to RGB, with transparency on white."""
    from PIL import Image

    if image.mode.startswith("I"):  # 16-bit grey, which Pillow itself would clip at 255
        wide = np.asarray(image).astype(np.int64) >> _SHIFT
        image = Image.fromarray(np.clip(wide, 0, 255).astype(np.uint8))
    if "A" not in image.getbands() and "transparency" not in image.info:
        return image.convert("RGB")
    clear = image.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", clear.size, _WHITE), clear).convert("RGB")
