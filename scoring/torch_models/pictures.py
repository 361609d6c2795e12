"""Decode image files into squares of pixels; the header is checked against a budget before decoding.

Formats are those that Pillow decodes by itself: none starts another program. Of an animation the first frame counts,
an orientation in the EXIF data is followed, what is transparent lies on white, and grey of 16 bits becomes one of 8.
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
"""No TIFF: what its tiles take is not held to the size of the image."""

LARGEST: Final = 1 << 27
"""That a budget may allow: Pillow's own limit, beyond which it opens no file, lies above it."""

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
"""What Pillow's decoders raise on damaged files: each has its own. A lack of memory is none of them."""


def pixels_bytes(side: int) -> int:
    """What an image of so many pixels a side takes, decoded."""
    return side * side * _COLOURS


def require_room(task: str, side: int, images: int, max_bytes: int) -> None:
    """Refuse batches whose images alone are more than may be held, which is `_ROOM` where less is said.

    Raises:
        ScoreError: They are more.
    """
    need, room = images * pixels_bytes(side), max(max_bytes, _ROOM)
    if need > room:
        raise ScoreError(
            f"{task}: `batch`: {images:,} images of {side:,} pixels a side take {need:,} bytes, more than "
            f"`memory_bytes`: {room:,}; lower `size` or `batch`, or give more `memory_bytes`"
        )


def square_pixels(raw: bytes, side: int, max_pixels: int) -> NDArray[np.uint8] | None:
    """A file's image in side × side × RGB, its proportions given up; None where it is damaged or too large."""
    required_package("an image", "PIL")
    from PIL import Image

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of damage that is survived, and of sizes, which the budget judges
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
    """A status a row, and the images of those that are wanted and `ok`, in order.

    A part takes side² × 3 bytes for each of its rows that are wanted, once, and beside them one decoded file at a time:
    up to twelve bytes for each of `max_pixels`.

    Args:
        files: The bytes of a file a row.
        wanted: Which rows' images to decode; the others are not looked at beyond being there.
        side: Pixels of what is given.
        max_pixels: Of what a file declares.
    """
    status = np.full(len(files), OK, object)
    pixels = np.empty((int(np.count_nonzero(wanted)), side, side, 3), np.uint8)
    count = 0
    for place, file in enumerate(files):  # one at a time: a column's worth of decoded images would not fit
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
    """Turned as the EXIF data say; EXIF data that cannot be read say nothing."""
    from PIL import ImageOps

    try:
        if image.getexif().get(_ORIENTATION, 1) == 1:
            return image
        return ImageOps.exif_transpose(image)
    except _DAMAGED:
        return image


def _opaque(image: "Image.Image") -> "Image.Image":
    """In RGB, what is transparent on white."""
    from PIL import Image

    if image.mode.startswith("I"):  # grey of 16 bits; Pillow itself would cut it off at 255
        wide = np.asarray(image).astype(np.int64) >> _SHIFT
        image = Image.fromarray(np.clip(wide, 0, 255).astype(np.uint8))
    if "A" not in image.getbands() and "transparency" not in image.info:
        return image.convert("RGB")
    clear = image.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", clear.size, _WHITE), clear).convert("RGB")
