"""Text in pictures: how many lines there are, and how much of the picture they cover, by the detector of PP-OCRv6.

The detector does not read: it marks lines of text in any script. Values are pinned (law 4): the same under the same
version of ONNX Runtime and the same instruction set; shares are rounded before they are written.
"""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.filters.image.decode.batches import measured
from winnow.filters.image.decode.shrink import fitted
from winnow.filters.models.pictures.networks import PictureNetwork
from winnow.filters.models.pictures.text_boxes import MODEL, covered_by, framing_for, text_boxes
from winnow.filters.models.unit_vectors import NOT_FINITE
from winnow.filters.operators import STATUS, Assets, Kernel, PictureOperator
from winnow.schemas.recipe.checks import Between

NAME = "image.text_area"

WRITES = pa.schema(
    [
        STATUS,
        pa.field("count", pa.int32()),  # lines, or separate parts of lines
        pa.field("area", pa.float32()),  # the share of the picture that all of them cover, from 0 to 1
        pa.field("largest", pa.float32()),  # the share of the largest; 0 without text
    ]
)

_DECIMALS = 4


@dataclass(frozen=True, slots=True)
class TextAreaConfig:
    """What counts as text."""

    min_score: Annotated[float, Between(0.05, 1.0)] = 0.5  # rapidocr's `box_thresh`
    max_height: Annotated[float, Between(0.01, 2.0)] = 0.25
    """Of a line, as a share of the picture's longer side: the detector takes single things, such as a person, a cloud
    or a galaxy, for large characters (docs/reference/picture-models.md)."""
    long_line: Annotated[float, Between(1.0, 100.0)] = 3.0
    """A line that is at least so many times as long as high counts whatever its height: things seldom are."""
    side: Annotated[int, Between(64, 1280)] = 640  # pixels of the longer side; lines lower than about 8 are missed


def text_area(batch: pa.RecordBatch, config: TextAreaConfig, network: PictureNetwork) -> pa.RecordBatch:
    """The layer of `winnow.filters.operators.IMAGES`."""
    return measured(batch, lambda pixels: _row(pixels, config, network), WRITES)  # about 100 ms each


def _row(pixels: NDArray[np.uint8], config: TextAreaConfig, network: PictureNetwork) -> tuple[object, ...]:
    height, width = fitted(pixels.shape[0], pixels.shape[1], config.side)
    (likely,) = network(pixels)
    if not np.isfinite(likely).all():
        return (NOT_FINITE, None, None, None)
    boxes = text_boxes(likely[0, 0, :height, :width], config.min_score)
    low, high = np.minimum(boxes[:, 2], boxes[:, 3]), np.maximum(boxes[:, 2], boxes[:, 3])  # half of each side
    boxes = boxes[(2 * low <= config.max_height * max(height, width)) | (high >= config.long_line * low)]
    shares = [round(float(covered_by(one, height, width).mean()), _DECIMALS) for one in (boxes, _largest(boxes))]
    return ("ok", len(boxes), *shares)


def _largest(boxes: NDArray[np.float64]) -> NDArray[np.float64]:
    areas = boxes[:, 2] * boxes[:, 3]
    return boxes[[int(np.argmax(areas))]] if len(boxes) else boxes


def _load(config: TextAreaConfig, assets: Assets) -> Kernel:
    return partial(
        text_area, config=config, network=PictureNetwork(NAME, assets.path(MODEL.name), framing_for(config.side))
    )


OPERATOR = PictureOperator(
    name=NAME,
    version=2,
    summary="lines of text in each picture: how many, and their share of the picture",
    config=TextAreaConfig,
    writes=lambda _: WRITES,
    load=_load,
    side=lambda config: config.side,
    assets=lambda _: (MODEL.name,),
    declares=(MODEL,),
    resource="model",
    reasons=(NOT_FINITE,),
)
