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

from winnow.filters.image.decode.batches import pixels_of
from winnow.filters.operators import MEDIA_IMAGE, Assets, Kernel, Operator
from winnow.schemas.kernels import kernel
from winnow.schemas.recipe.checks import Between

WRITES = pa.schema(
    [
        pa.field("sharpness", pa.float64()),  # variance of the Laplacian; below some tens is blurred
        pa.field("brightness", pa.float64()),  # mean luma, 0 to 255
        pa.field("contrast", pa.float64()),  # its standard deviation
        pa.field("entropy", pa.float64()),  # of luma, in bits, 0 to 8
        pa.field("dark", pa.float64()),  # share of pixels of luma 5 or less
        pa.field("bright", pa.float64()),  # share of 250 or more
    ]
)


@dataclass(frozen=True, slots=True)
class QualityConfig:
    """At which size quality is measured."""

    side: Annotated[int | None, Between(16, 16384)] = None
    """Shrink the longer side to this before measuring, so that pictures of any size compare; all pixels if not set."""


def quality(batch: pa.RecordBatch, _config: QualityConfig) -> pa.RecordBatch:
    """The layer of `winnow.filters.operators.IMAGES`."""
    found = np.empty((batch.num_rows, len(WRITES)), np.float64)
    for number, pixels in enumerate(pixels_of(batch)):  # a picture each
        _measure(pixels, found[number])
    columns = [pa.array(np.ascontiguousarray(found[:, number])) for number in range(len(WRITES))]
    return pa.RecordBatch.from_arrays(columns, schema=WRITES)


@kernel
def _measure(pixels, found):  # type: ignore[no-untyped-def]
    counts, total, squares = _luma(pixels)
    count = pixels.shape[0] * pixels.shape[1]
    levels = level_squares = dark = bright = 0
    entropy = 0.0
    for level in range(256):
        here = counts[level]
        levels += here * level
        level_squares += here * level * level
        dark += here if level <= 5 else 0
        bright += here if level >= 250 else 0
        if here:
            entropy -= here / count * math.log2(here / count)
    mean, bend = levels / count, total / count
    found[0] = squares / count - bend * bend
    found[1] = mean
    found[2] = math.sqrt(max(level_squares / count - mean * mean, 0.0))
    found[3] = max(round(entropy, 6), 0.0)  # logarithms differ by machine
    found[4] = dark / count
    found[5] = bright / count


@kernel
def _luma(pixels):  # type: ignore[no-untyped-def]
    """How many pixels have each level, and the sum and the sum of squares of the Laplacian, mirrored at borders."""
    height, width, _ = pixels.shape
    lines = pixels.reshape(height, 3 * width)  # flat lines are vectorised; a third axis is not
    grey = np.empty((height, width + 2), np.uint8)  # mirrored at the left and the right
    counts = np.zeros((4, 256), np.int64)  # four in turn, as runs of one level would wait for one another
    total = squares = np.int64(0)
    for y in range(height):
        line, levels = lines[y], grey[y]
        for x in range(width):
            levels[x + 1] = (
                np.int32(line[3 * x]) * np.int32(9798)
                + np.int32(line[3 * x + 1]) * np.int32(19235)
                + np.int32(line[3 * x + 2]) * np.int32(3735)
                + np.int32(16384)
            ) >> np.int32(15)
        whole = width & ~3
        for x in range(1, whole + 1, 4):
            counts[0, levels[x]] += 1
            counts[1, levels[x + 1]] += 1
            counts[2, levels[x + 2]] += 1
            counts[3, levels[x + 3]] += 1
        for x in range(whole + 1, width + 1):
            counts[0, levels[x]] += 1
        levels[0], levels[width + 1] = levels[min(2, width)], levels[max(width - 1, 1)]
    for y in range(height):
        above, here, below = grey[abs(y - 1) % height], grey[y], grey[y + 1 if y + 1 < height else max(height - 2, 0)]
        for x in range(1, width + 1):
            bend = (
                np.int32(above[x])
                + np.int32(below[x])
                + np.int32(here[x - 1])
                + np.int32(here[x + 1])
                - np.int32(4) * np.int32(here[x])
            )
            total += bend
            squares += bend * bend
    return counts.sum(axis=0), total, squares


def _load(config: QualityConfig, _assets: Assets) -> Kernel:
    return partial(quality, _config=config)


OPERATOR = Operator(
    name="image.quality",
    version=1,
    summary="sharpness, contrast, entropy and exposure of each picture",
    config=QualityConfig,
    reads=lambda _: (MEDIA_IMAGE,),
    writes=lambda _: WRITES,
    load=_load,
    needs=(),
    side=lambda config: config.side,
)
