"""How pictures become a network's input: their size, by one rule, and their colours as numbers.

Pictures are RGB with eight bits per channel. A side that is too long is shrunk by area, one that is too short is
interpolated (`filters/image/decode/shrink.py`). Fits that are named by a filter are those of encoders of pictures and
texts: Pillow's filters over all pixels, in the sizes and offsets of torchvision's `Resize` and `CenterCrop`, which give
equal pixels to the last bit.
"""

from dataclasses import dataclass
from typing import Annotated, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from winnow.filters.extras import required_package
from winnow.filters.image.decode.shrink import fitted, resized
from winnow.schemas.errors import RecipeError
from winnow.schemas.recipe.checks import Between

Fit: TypeAlias = Literal["crop", "stretch", "letterbox", "pad", "bicubic_crop", "bicubic_stretch", "bilinear_crop"]
Pixels: TypeAlias = NDArray[np.uint8]
Values: TypeAlias = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Framing:
    """The size and colours of a network's input.

    `crop` cuts a square out of the middle, `stretch` changes the proportions, `letterbox` keeps them and fills both
    ends of the square; all three give squares of `side`. `pad` leaves pictures up to `side` unchanged and fills them at
    the right and the bottom to multiples of 32. `bicubic_crop` and `bilinear_crop` resize the shorter side to `side`
    and cut the middle out of the longer one, as CLIP's and MobileCLIP's encoders do; `bicubic_stretch` changes the
    proportions, as SigLIP's do. These three ignore `keep`.
    """

    side: Annotated[int, Between(8, 2048)] = 224  # pixels
    fit: Fit = "crop"
    keep: Annotated[float, Between(0.1, 1.0)] = 0.875  # of the shorter side, for `crop`
    fill: Annotated[int, Between(0, 255)] = 0  # the level of all colours outside the picture
    mean: tuple[float, ...] = (0.5, 0.5, 0.5)  # of RGB, from 0 to 1: subtracted
    deviation: tuple[float, ...] = (0.5, 0.5, 0.5)  # the divisor after that
    colours: Literal["rgb", "bgr"] = "rgb"  # the network's order of colours

    @property
    def decoded_side(self) -> int:
        """The size to which decoding may shrink the longer side; a part to be cut out keeps twice its final pixels, and
        Pillow's filters see all."""
        if self.fit in _FILTERS:
            return _ALL
        if self.fit == "crop":
            return 2 * round(self.side / self.keep)
        return 2 * self.side if self.fit == "stretch" else self.side


_FILTERS: Final = {"bicubic_crop": "BICUBIC", "bicubic_stretch": "BICUBIC", "bilinear_crop": "BILINEAR"}
_ALL: Final = 1 << 30  # longer than any side
_MOST_PIXELS: Final = 1 << 25
"""The most pixels of a resized picture, 100 MB; of a longer one only the part that is cut out is computed, whose pixels
may differ in the last bit."""

MULTIPLE = 32  # of the sides after `pad`: such networks halve them five times


def framed(pixels: Pixels, framing: Framing) -> Pixels:
    """The part of a picture that the network sees, in its input size."""
    height, width = pixels.shape[:2]
    side = framing.side
    if framing.fit in _FILTERS:
        return _filtered(pixels, side, _FILTERS[framing.fit], crops=framing.fit.endswith("crop"))
    if framing.fit == "pad":
        height, width = fitted(height, width, side)
        return _filled(resized(pixels, height, width), _multiple(height), _multiple(width), 0, 0, framing.fill)
    if framing.fit == "stretch":
        return resized(pixels, side, side)
    if framing.fit == "crop":
        kept = max(1, round(min(height, width) * framing.keep))
        top, left = (height - kept) // 2, (width - kept) // 2
        return resized(pixels[top : top + kept, left : left + kept], side, side)
    longer = max(height, width)
    height, width = (max(1, round(one * side / longer)) for one in (height, width))
    top, left = (side - height) // 2, (side - width) // 2
    return _filled(resized(pixels, height, width), side, side, top, left, framing.fill)


def _filtered(pixels: Pixels, side: int, by: str, *, crops: bool) -> Pixels:
    """A square by one of Pillow's filters."""
    image = required_package("resizing pictures by a filter", "PIL.Image", "image")
    picture, kernel = image.fromarray(np.ascontiguousarray(pixels)), image.Resampling[by]
    height, width = pixels.shape[:2]
    if not crops:
        return np.asarray(picture.resize((side, side), kernel))
    shorter, longer = sorted((height, width))
    long = int(side * longer / shorter)  # torchvision's rounding, and below
    start = round((long - side) / 2)
    if long * side > _MOST_PIXELS:
        ends = (start * longer / long, (start + side) * longer / long)
        box = (0, ends[0], width, ends[1]) if width == shorter else (ends[0], 0, ends[1], height)
        return np.asarray(picture.resize((side, side), kernel, box=box))
    down, across = (long, side) if width == shorter else (side, long)
    if (height, width) != (down, across):
        picture = picture.resize((across, down), kernel)
    top, left = (start, 0) if width == shorter else (0, start)
    return np.asarray(picture)[top : top + side, left : left + side]


def colour_values(framing: Framing) -> Values:
    """The network's number for each level of each colour; RecipeError if a setting makes it infinite."""
    for name in ("mean", "deviation"):
        given = getattr(framing, name)
        if len(given) != 3 or not all(np.isfinite(given)):
            raise RecipeError(f"`{name}` is {list(given)}; expected three numbers: of red, green and blue")
    if 0.0 in framing.deviation:
        raise RecipeError("`deviation` has a 0; expected what colours are divided by")
    levels = np.arange(256)[None, :] / 255
    values = (levels - np.array(framing.mean)[:, None]) / np.array(framing.deviation)[:, None]
    found: Values = values.astype(np.float32)
    return found


def tensor(seen: Pixels, values: Values, colours: str, *, channels_last: bool) -> Values:
    """A framed picture as a batch of one, with colours first or last."""
    order = np.array([2, 1, 0] if colours == "bgr" else [0, 1, 2])
    planes = [values[one].take(seen[:, :, one]) for one in order]
    return np.stack(planes, axis=-1 if channels_last else 0)[None]


def _multiple(side: int) -> int:
    return -(-side // MULTIPLE) * MULTIPLE


def _filled(pixels: Pixels, height: int, width: int, top: int, left: int, fill: int) -> Pixels:
    rows, columns = pixels.shape[:2]
    if (rows, columns) == (height, width):
        return pixels
    found = np.full((height, width, 3), fill, np.uint8)
    found[top : top + rows, left : left + columns] = pixels
    return found
