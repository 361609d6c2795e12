"""Technical quality of pictures: sharpness, contrast, entropy and exposure, from their luma.

Luma is rounded to whole levels as in OpenCV, and sums are of whole numbers, so values are the same on any machine.
Sharpness is the variance of the Laplacian ("Diatom autofocusing in brightfield microscopy", Pech-Pacheco et al. 2000),
equal to that of OpenCV's `Laplacian`; it depends on the scale of a picture.
"""

import math
from dataclasses import dataclass
from functools import partial
from typing import Annotated

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.filters.image.decode.batches import pixels_of
from winnow.filters.image.decode.luma import luma_sums, pair_tables
from winnow.filters.operators import PictureOperator
from winnow.schemas.recipe.checks import Between

WRITES = pa.schema(
    [
        pa.field("sharpness", pa.float64()),  # variance of the Laplacian; blurred below about 50
        pa.field("brightness", pa.float64()),  # mean luma, 0 to 255
        pa.field("contrast", pa.float64()),  # its standard deviation
        pa.field("entropy", pa.float64()),  # of luma, in bits, 0 to 8
        pa.field("dark", pa.float64()),  # share of pixels of luma 5 or less
        pa.field("bright", pa.float64()),  # share of 250 or more
    ]
)


SHARPNESS = pa.schema([WRITES.field("sharpness")])


@dataclass(frozen=True, slots=True)
class QualityConfig:
    """What is measured, and at which size."""

    side: Annotated[int | None, Between(16, 16384)] = None
    """Shrink the longer side to this before measuring, so that pictures of any size compare; all pixels if not set."""

    only_sharpness: bool = False
    """Measure sharpness and nothing else, in about two thirds of the time: the levels of pixels are not counted."""


def quality(batch: pa.RecordBatch, config: QualityConfig) -> pa.RecordBatch:
    """The layer of `winnow.filters.operators.IMAGES`."""
    writes = _writes(config)
    found = np.empty((batch.num_rows, len(writes)), np.float64)
    tables = None if config.only_sharpness else pair_tables()
    for number, pixels in enumerate(pixels_of(batch)):
        counts, bends, squares = luma_sums(pixels, tables)
        size = pixels.shape[0] * pixels.shape[1]
        bend = bends / size
        found[number, 0] = squares / size - bend * bend
        if not config.only_sharpness:
            found[number, 1:] = _of_levels(counts, size)
    columns = [pa.array(np.ascontiguousarray(found[:, number])) for number in range(len(writes))]
    return pa.RecordBatch.from_arrays(columns, schema=writes)


def _of_levels(counts: NDArray[np.int64], size: int) -> tuple[float, ...]:
    """The measures other than sharpness, from the number of pixels of each level and in all."""
    levels = np.arange(256)
    mean = int(counts @ levels) / size
    contrast = math.sqrt(max(int(counts @ (levels * levels)) / size - mean * mean, 0.0))
    entropy = 0.0
    for count in counts[counts > 0].tolist():
        entropy -= count / size * math.log2(count / size)
    rounded = max(round(entropy, 6), 0.0)  # logarithms differ between machines
    return mean, contrast, rounded, int(counts[:6].sum()) / size, int(counts[250:].sum()) / size


def _writes(config: QualityConfig) -> pa.Schema:
    return SHARPNESS if config.only_sharpness else WRITES


OPERATOR = PictureOperator(
    name="image.quality",
    version=1,
    summary="sharpness, contrast, entropy and exposure of each picture",
    config=QualityConfig,
    writes=_writes,
    load=lambda config, _assets: partial(quality, config=config),
    side=lambda config: config.side,
)
