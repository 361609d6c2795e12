"""Draws landscapes in whole numbers, so that every machine draws the same, and writes them as pictures.

A scene is drawn at twice its size and shrunk, which smooths its edges. Positions, heights and some of the colours are
hashes of its name.
"""

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from winnow.filters.extras import required_package
from winnow.runners.demo.choice import between

Pixels = npt.NDArray[np.uint8]
Colour = tuple[int, int, int]
Grid = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]

WIDTH: Final = 320
HEIGHT: Final = 240
_FINER: Final = 2


@dataclass(frozen=True, slots=True)
class Scenery:
    """The colours of a scene, and the objects in it."""

    sky: tuple[Colour, Colour]  # at the top, and at the horizon
    hills: tuple[Colour, Colour]  # the far ones, and the near ones
    ground: Colour
    disc: Colour | None  # the sun or the moon
    things: tuple[str, ...]  # names of `_THINGS`, from back to front


SCENERIES: Final[Mapping[str, Scenery]] = {
    "lake": Scenery(
        ((96, 160, 224), (214, 232, 240)), ((92, 140, 110), (52, 110, 70)), (60, 120, 170), None, ("boat",)
    ),
    "village": Scenery(
        ((120, 180, 230), (232, 236, 220)),
        ((130, 160, 90), (86, 140, 60)),
        (120, 170, 70),
        (250, 240, 180),
        ("house",) * 4,
    ),
    "forest": Scenery(
        ((188, 196, 200), (236, 226, 210)), ((120, 140, 140), (70, 100, 90)), (60, 80, 50), None, ("fir",) * 12
    ),
    "night": Scenery(
        ((10, 14, 40), (50, 60, 110)), ((30, 34, 60), (18, 20, 38)), (10, 12, 24), (240, 236, 210), ("star",) * 24
    ),
    "desert": Scenery(
        ((240, 180, 100), (252, 226, 160)), ((214, 160, 90), (196, 136, 66)), (226, 176, 106), (250, 110, 60), ()
    ),
    "balloons": Scenery(
        ((110, 170, 235), (236, 230, 214)), ((160, 150, 90), (190, 160, 60)), (224, 186, 70), None, ("balloon",) * 3
    ),
    "winter": Scenery(
        ((150, 170, 200), (226, 230, 238)),
        ((200, 210, 224), (226, 232, 240)),
        (244, 246, 250),
        None,
        (*("fir",) * 7, "house"),
    ),
    "sea": Scenery(
        ((90, 60, 120), (250, 150, 90)), ((120, 70, 100), (90, 50, 90)), (70, 50, 110), (255, 210, 120), ("boat",) * 3
    ),
}


def landscape(scenery: str, name: str) -> Pixels:
    """A scene of this kind; its name decides where things are."""
    colours = SCENERIES[scenery]
    height, width = HEIGHT * _FINER, WIDTH * _FINER
    y, x = np.mgrid[0:height, 0:width].astype(np.int32)
    horizon = between(height * 45 // 100, height * 72 // 100, name, "horizon")
    top, low = (np.array(colour, np.int32) for colour in colours.sky)
    canvas = top + (low - top) * np.minimum(y, horizon)[..., None] // horizon
    if colours.disc is not None:
        centre = (
            between(width // 8, width * 7 // 8, name, "disc"),
            between(height // 8, horizon * 3 // 4, name, "disc y"),
        )
        radius = between(26, 60, name, "disc size") * _FINER
        canvas[(x - centre[0]) ** 2 + (y - centre[1]) ** 2 <= radius**2] = colours.disc
    for layer, colour in enumerate(colours.hills):
        tall = 0 * x[0]
        for hill in range(between(2, 4, name, "hills", layer)):
            middle, half = between(0, width, name, "hill", layer, hill), between(70, 240, name, "wide", layer, hill)
            rise = between(40, 190 - 60 * layer, name, "rise", layer, hill)
            tall = np.maximum(tall, rise - rise * (x[0] - middle) ** 2 // half**2)
        canvas[(y >= horizon - tall[None, :]) & (y < horizon)] = colour
    ground = y >= horizon
    shade = (y - horizon) * 40 // (height - horizon) + (x * 3 + y * 5) // 16 % 2 * 6
    canvas[ground] = (np.array(colours.ground, np.int32) - shade[..., None])[ground]
    for number, thing in enumerate(colours.things):
        _THINGS[thing](canvas, horizon, f"{name}:{thing}:{number}")
    fine = np.clip(canvas, 0, 255).reshape(HEIGHT, _FINER, WIDTH, _FINER, 3)
    drawn: Pixels = (fine.sum((1, 3)) // _FINER**2).astype(np.uint8)
    return drawn


class _Stand:
    """A place on the canvas: positions in it are counted from its left end to the right, and from its foot upwards."""

    def __init__(self, canvas: Grid, left: int, foot: int, width: int, tall: int) -> None:
        first, last = max(0, left), max(0, left + width)
        self.part = canvas[max(0, foot - tall) : foot, first:last]
        self.up, self.across = np.mgrid[0 : self.part.shape[0], 0 : self.part.shape[1]].astype(np.int32)
        self.up = min(foot, canvas.shape[0]) - max(0, foot - tall) - self.up + max(0, foot - canvas.shape[0])
        self.across = self.across + first - left

    def paint(self, where: Mask, colour: Colour) -> None:
        """Give these pixels a colour."""
        self.part[where] = colour


def _boat(canvas: Grid, horizon: int, name: str) -> None:
    size, left = between(50, 100, name, "size"), between(20, canvas.shape[1] - 160, name, "left")
    at = _Stand(canvas, left, horizon + between(20, 110, name, "foot"), size * 3 // 2, size * 2)
    hull = (at.up < size // 4) & (at.across >= size // 4 - at.up) & (at.across < size + at.up)
    at.paint(hull, (between(90, 200, name, "hull"), 50, 40))
    sail = at.up - size // 4
    inside = (sail > 0) & (sail < size * 3 // 2) & (at.across >= size // 2) & (at.across < size * 5 // 4 - sail // 2)
    at.paint(inside, (250, 250, 244))


def _house(canvas: Grid, horizon: int, name: str) -> None:
    size, left = between(60, 120, name, "size"), between(10, canvas.shape[1] - 140, name, "left")
    at = _Stand(canvas, left, horizon + between(10, 90, name, "foot"), size, size * 5 // 4)
    roof = at.up - size * 3 // 4
    at.paint(roof <= 0, (between(150, 210, name, "wall"), 60, 50))
    at.paint((roof > 0) & (at.across >= roof - 8) & (at.across < size - roof + 8), (90, 70, 70))
    at.paint((at.up < size // 2) & (at.across >= size * 5 // 8) & (at.across < size * 7 // 8), (240, 230, 200))


def _fir(canvas: Grid, horizon: int, name: str) -> None:
    tall, middle = between(110, 260, name, "tall"), between(0, canvas.shape[1], name, "middle")
    half = tall // 2
    at = _Stand(canvas, middle - half, horizon + between(20, 120, name, "foot"), half * 2, tall)
    branches = (tall - at.up) // 4 + (tall - at.up) % (tall // 4 + 1) // 5
    green = between(50, 96, name, "green")
    at.paint((at.up > 16) & (abs(at.across - half) < branches), (green // 2, green, green * 2 // 3))
    at.paint((at.up <= 16) & (abs(at.across - half) < 7), (70, 50, 36))


def _star(canvas: Grid, horizon: int, name: str) -> None:
    across, down = between(6, canvas.shape[1] - 6, name, "x"), between(6, horizon - 100, name, "y")
    canvas[down - 2 : down + 2, across - 2 : across + 2] = (250, 246, 220)


def _balloon(canvas: Grid, horizon: int, name: str) -> None:
    radius = between(36, 70, name, "radius")
    left, foot = between(0, canvas.shape[1] - 150, name, "left"), between(180, horizon + 50, name, "foot")
    at = _Stand(canvas, left, foot, radius * 2, radius * 2 + 44)
    inside = (at.across - radius) ** 2 + (at.up - radius - 44) ** 2 <= radius**2
    at.paint(inside, (between(180, 235, name, "red"), between(40, 120, name, "green"), 60))
    at.paint(inside & (at.across // (radius // 2) % 2 == 0), (250, 240, 220))
    at.paint((abs(at.across - radius) < 14) & (at.up < 24), (110, 76, 44))


_THINGS: Final[Mapping[str, Callable[[Grid, int, str], None]]] = {
    "balloon": _balloon,
    "boat": _boat,
    "fir": _fir,
    "house": _house,
    "star": _star,
}


def halved(pixels: Pixels) -> Pixels:
    """The picture at half its size."""
    height, width = pixels.shape[0] // 2, pixels.shape[1] // 2
    sums = pixels[: height * 2, : width * 2].astype(np.int64).reshape(height, 2, width, 2, 3).sum((1, 3))
    small: Pixels = (sums // 4).astype(np.uint8)
    return small


def jpeg(pixels: Pixels, quality: int = 88) -> bytes:
    """As a JPEG without metadata."""
    encoder = required_package("drawing the demo's pictures", "simplejpeg", "image")
    return bytes(encoder.encode_jpeg(np.ascontiguousarray(pixels), quality, "RGB", "420"))


def turned_jpeg(pixels: Pixels) -> bytes:
    """As a camera held sideways stores it: turned left, with EXIF's orientation 6, which says to turn it right."""
    entry = (0x0112).to_bytes(2, "big") + (3).to_bytes(2, "big") + (1).to_bytes(4, "big") + b"\0\x06\0\0"
    exif = b"Exif\0\0MM\0*" + (8).to_bytes(4, "big") + (1).to_bytes(2, "big") + entry + bytes(4)
    whole = jpeg(np.rot90(pixels))
    return whole[:2] + b"\xff\xe1" + (len(exif) + 2).to_bytes(2, "big") + exif + whole[2:]


def webp(pixels: Pixels) -> bytes:
    """As a WebP."""
    return _by_pillow([pixels], "WEBP", quality=80)


def animation(frames: Sequence[Pixels]) -> bytes:
    """As an animated GIF."""
    return _by_pillow(frames, "GIF", save_all=True, duration=200, loop=0)


def _by_pillow(frames: Sequence[Pixels], kind: str, **options: object) -> bytes:
    pillow = required_package("drawing the demo's pictures", "PIL.Image", "image")
    first, *rest = [pillow.fromarray(frame) for frame in frames]
    out = io.BytesIO()
    first.save(out, kind, **options, **({"append_images": rest} if rest else {}))
    return out.getvalue()
