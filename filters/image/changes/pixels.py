"""Changes to decoded pictures: scaling, blurring faces, cropping or padding to a square."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from winnow.filters.extras import required_package
from winnow.filters.image.changes.options import Resize
from winnow.filters.image.decode.shrink import shrink

Pixels = NDArray[np.uint8]

WHITE = 255
MARGIN = 0.1  # of a face's longer side, on each side: as faces in ImageNet were obfuscated
CELLS = 6  # of a blurred face, per side: what tells faces apart is finer than that


@dataclass(frozen=True, slots=True)
class Layout:
    """A picture is scaled to one size, then cropped or padded around its middle to another."""

    scaled: tuple[int, int]  # height, width
    final: tuple[int, int]

    @property
    def pixels(self) -> int:
        """The larger number of pixels of the two sizes."""
        return max(self.scaled[0] * self.scaled[1], self.final[0] * self.final[1])


@dataclass(frozen=True, slots=True)
class Box:
    """A face, in fractions of the upright picture's width and height."""

    left: float
    top: float
    right: float
    bottom: float
    score: float


def scaled(pixels: Pixels, height: int, width: int) -> Pixels:
    """A picture of this size: shrunk by area, enlarged by Lanczos's filter."""
    old_height, old_width = pixels.shape[:2]
    if height <= old_height and width <= old_width:
        return shrink(pixels, height, width)
    pillow = required_package("resizing pictures", "PIL.Image", "image")
    return np.asarray(pillow.fromarray(pixels).resize((width, height), pillow.Resampling.LANCZOS))


def framed(pixels: Pixels, layout: Layout) -> Pixels:
    """The middle of a picture, or the picture centred on white."""
    height, width = layout.final
    if pixels.shape[:2] == (height, width):
        return pixels
    top, left = ((have - want) // 2 for have, want in zip(pixels.shape[:2], layout.final, strict=True))
    if top >= 0 and left >= 0:
        return np.ascontiguousarray(pixels[top : top + height, left : left + width])
    above, before = ((want - have) // 2 for have, want in zip(pixels.shape[:2], layout.final, strict=True))
    filled = np.full((height, width, pixels.shape[2]), WHITE, np.uint8)
    filled[above : above + pixels.shape[0], before : before + pixels.shape[1]] = pixels
    return filled


def blur(pixels: Pixels, boxes: Sequence[Box]) -> Pixels:
    """A picture in which these boxes, with a margin, are reduced to a few cells each and smoothed.

    Whatever the size of the picture, a face keeps at most `CELLS` values per side and colour.
    """
    if not boxes:
        return pixels
    pillow = required_package("blurring faces", "PIL.Image", "image")
    height, width = pixels.shape[:2]
    blurred = pixels.copy()
    for box in boxes:
        margin = MARGIN * max((box.right - box.left) * width, (box.bottom - box.top) * height)
        left, right = _clipped(box.left * width - margin, box.right * width + margin, width)
        top, bottom = _clipped(box.top * height - margin, box.bottom * height + margin, height)
        if left >= right or top >= bottom:
            continue
        face = np.ascontiguousarray(blurred[top:bottom, left:right])
        few = shrink(face, min(CELLS, bottom - top), min(CELLS, right - left))
        smooth = pillow.fromarray(few).resize((right - left, bottom - top), pillow.Resampling.BILINEAR)
        blurred[top:bottom, left:right] = np.asarray(smooth)
    return blurred


def _clipped(low: float, high: float, length: int) -> tuple[int, int]:
    return max(0, int(np.floor(low))), min(length, int(np.ceil(high)))


def layout_of(height: int, width: int, resize: Resize | None) -> Layout:
    """The layout of an upright picture of this size."""
    as_is = Layout((height, width), (height, width))
    if resize is None or resize.mode == "no":
        return as_is
    by_shorter = resize.mode in ("keep_ratio", "center_crop")
    measured = min(height, width) if by_shorter else max(height, width)
    if resize.only_if_bigger and measured <= resize.side:
        return as_is
    scale = resize.side / measured
    scaled = (max(1, round(height * scale)), max(1, round(width * scale)))
    square = resize.mode in ("center_crop", "border")
    return Layout(scaled, (resize.side, resize.side) if square else scaled)
