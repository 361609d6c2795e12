"""Turns a decoded frame into a picture of red, green and blue as operators on pictures see it, upright.

Colours follow the matrix and the range that the frame names. One that names no matrix is taken for BT.709 from 720
lines upwards and for BT.601 below, as players do. A pixel without a chroma sample of its own has the nearest one's.
"""

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from winnow.filters.image.decode.orientation import upright
from winnow.filters.video.decode.planes import Planes, planes_of
from winnow.schemas.kernels import kernel, leaf

if TYPE_CHECKING:
    from av.video.frame import VideoFrame

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
    lines = pixels.reshape(height, 3 * width)  # flat lines are vectorised; a third axis is not
    black, of_luma, red_cr, green_cb, green_cr, blue_cb = factors
    adds = np.zeros((3, width), np.int32)  # what chroma adds to each colour of a line
    reds, greens, blues = adds[0], adds[1], adds[2]
    of_samples = np.empty((3, chroma_width), np.int32)  # the same, for each sample of chroma
    last = -1
    for y in range(height):
        line, out = luma[y], lines[y]
        row = y * len(cb) // height
        if len(cb) and row != last:
            last = row
            bluenesses, rednesses = cb[row], cr[row]
            for at in range(chroma_width):
                blueness = np.int32((np.int32(bluenesses[at]) >> shift) - 128)
                redness = np.int32((np.int32(rednesses[at]) >> shift) - 128)
                of_samples[0, at] = red_cr * redness
                of_samples[1, at] = green_cb * blueness + green_cr * redness
                of_samples[2, at] = blue_cb * blueness
            for colour in range(3):
                _spread(of_samples[colour], adds[colour])
        for x in range(width):
            level = np.int32(np.int32((np.int32(line[x]) >> shift) - black) * of_luma + 32768)
            out[3 * x] = min(max(np.int32(level + reds[x]) >> 16, 0), 255)
            out[3 * x + 1] = min(max(np.int32(level + greens[x]) >> 16, 0), 255)
            out[3 * x + 2] = min(max(np.int32(level + blues[x]) >> 16, 0), 255)


@leaf
def _spread(samples, found):  # type: ignore[no-untyped-def]
    """Gives each pixel of a line the nearest sample's value."""
    width, count = len(found), len(samples)
    if count == width:
        for x in range(width):
            found[x] = samples[x]
    elif 2 * count >= width:
        for x in range(width // 2):
            found[2 * x] = samples[x]
            found[2 * x + 1] = samples[x]
        if width % 2:
            found[width - 1] = samples[width // 2]
    else:
        for x in range(width):
            found[x] = samples[x * count // width]
