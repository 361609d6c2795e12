"""Turns a decoded frame into a picture of red, green and blue as operators on pictures see it, upright.

Colours follow the matrix and the range that the frame names. One that names no matrix is taken for BT.709 from 720
lines upwards and for BT.601 below, as players do. A pixel without a chroma sample of its own has the nearest one's.
"""

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from winnow.filters.image.decode.orientation import upright
from winnow.filters.video.decode.planes import Planes, planes_of
from winnow.schemas.kernels import kernel

if TYPE_CHECKING:
    from av.video.frame import VideoFrame

__all__ = ["grey_of", "picture_of"]

_BT601: Final = (0.299, 0.114)  # the weights of red and blue in luma
_BT709: Final = (0.2126, 0.0722)
_BT2020: Final = (0.2627, 0.0593)
_WEIGHTS: Final = {1: _BT709, 4: (0.30, 0.11), 5: _BT601, 6: _BT601, 7: (0.212, 0.087), 9: _BT2020, 10: _BT2020}
"""By FFmpeg's number of the matrix (AVCOL_SPC)."""
_HIGH_DEFINITION_LINES: Final = 720


def picture_of(frame: "VideoFrame", orientation: int) -> NDArray[np.uint8]:
    """Rows of red, green and blue.

    Args:
        frame: As decoded.
        orientation: EXIF's number, from 1 for upright to 8.
    """
    if frame.format.is_rgb or frame.format.has_palette:
        return upright(np.ascontiguousarray(frame.to_ndarray(format="rgb24")), orientation)
    planes = planes_of(frame)
    pixels = np.empty((frame.height, frame.width, 3), np.uint8)
    cb = planes.luma[:0] if planes.cb is None else planes.cb
    cr = planes.luma[:0] if planes.cr is None else planes.cr
    _rgb(planes.luma, cb, cr, planes.chroma_width, planes.depth - 8, _factors(planes), pixels)
    return upright(pixels, orientation)


def grey_of(frame: "VideoFrame", orientation: int) -> NDArray[np.uint8]:
    """Rows of luma as the stream keeps it, of 8 bits."""
    planes = planes_of(frame)
    luma: NDArray[Any] = planes.luma[:, : planes.width]
    if planes.depth > 8:
        luma = (luma >> (planes.depth - 8)).astype(np.uint8)
    return upright(luma[:, :, None], orientation)[:, :, 0]


def _factors(planes: Planes) -> NDArray[np.int32]:
    """Black, and what luma and chroma add to each colour, in 65536ths."""
    known = planes.frame.colorspace
    usual = _BT709 if planes.frame.height >= _HIGH_DEFINITION_LINES else _BT601
    red, blue = _WEIGHTS.get(known, usual)
    green = 1 - red - blue
    luma, chroma = (1.0, 1.0) if planes.full_range else (255 / 219, 255 / 224)
    found = (
        luma,
        2 * (1 - red) * chroma,
        -2 * (1 - blue) * blue / green * chroma,
        -2 * (1 - red) * red / green * chroma,
        2 * (1 - blue) * chroma,
    )
    return np.array([0 if planes.full_range else 16, *(round(one * 65536) for one in found)], np.int32)


@kernel
def _rgb(luma, cb, cr, chroma_width, shift, factors, pixels):  # type: ignore[no-untyped-def]
    height, width, _ = pixels.shape
    black, of_luma, red_cr, green_cb, green_cr, blue_cb = factors
    adds = np.zeros((3, width), np.int32)  # what chroma adds to each colour of a line
    last = -1
    for y in range(height):
        line, out = luma[y], pixels[y]
        row = y * len(cb) // height
        if len(cb) and row != last:
            last = row
            for x in range(width):
                at = x if chroma_width == width else x >> 1 if 2 * chroma_width >= width else x * chroma_width // width
                blueness = np.int32((np.int32(cb[row, at]) >> shift) - 128)
                redness = np.int32((np.int32(cr[row, at]) >> shift) - 128)
                adds[0, x] = red_cr * redness
                adds[1, x] = green_cb * blueness + green_cr * redness
                adds[2, x] = blue_cb * blueness
        for x in range(width):
            level = np.int32(np.int32((np.int32(line[x]) >> shift) - black) * of_luma + 32768)
            for colour in range(3):
                out[x, colour] = min(max(np.int32(level + adds[colour, x]) >> 16, 0), 255)
