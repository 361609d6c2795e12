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
from winnow.schemas.kernels import kernel, leaf
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
    words = np.zeros((3, width // 8 + 3), np.uint64)  # the last lines, eight levels a word from the second word on
    grey = words.view(np.uint8)[:, 7 : 9 + width]  # and a mirrored one at the left and the right
    counts = np.zeros((8, 256), np.uint32)  # in turn, as runs of one level would wait for one another
    columns = np.zeros(width, np.uint32)  # of squares, each at most 1020², so 4096 lines fit
    total = squares = np.int64(0)
    for y in range(height + 1):
        if y < height:
            levels = grey[y % 3]
            _levels(lines[y], levels)
            _count(levels, words[y % 3], counts)
            total += np.int64(levels[2 if width > 1 else 1]) - levels[1]
            total += np.int64(levels[max(width - 1, 1)]) - levels[width]
        if y == 0:
            continue
        here = grey[(y - 1) % 3]
        below = grey[y % 3] if y < height else grey[max(y - 2, 0) % 3]
        above = grey[(y - 2) % 3] if y > 1 else below if height > 1 else here
        _add_squares(above, here, below, columns)
        if y == 1 or y == height:  # sums of neighbours cancel out, but for those of the first and the last line
            for x in range(1, width + 1):
                total += np.int64(below[x] if y == 1 else above[x]) - here[x]
        if y % 4096 == 0:
            squares += columns.astype(np.int64).sum()
            columns[:] = 0
    return counts.astype(np.int64).sum(axis=0), total, squares + columns.astype(np.int64).sum()


@leaf
def _levels(line, levels):  # type: ignore[no-untyped-def]
    """The luma of a line, with a mirrored pixel at either end."""
    width = len(levels) - 2
    for x in range(width):
        levels[x + 1] = (
            np.int32(line[3 * x]) * np.int32(9798)
            + np.int32(line[3 * x + 1]) * np.int32(19235)
            + np.int32(line[3 * x + 2]) * np.int32(3735)
            + np.int32(16384)
        ) >> np.int32(15)
    levels[0], levels[width + 1] = levels[min(2, width)], levels[max(width - 1, 1)]


@leaf
def _count(levels, words, counts):  # type: ignore[no-untyped-def]
    """Count the pixels of each level, taken from memory eight at a time."""
    width = len(levels) - 2
    low, step = np.uint64(255), np.uint32(1)
    for at in range(1, width // 8 + 1):
        word = words[at]
        counts[0, word & low] += step
        counts[1, word >> np.uint64(8) & low] += step
        counts[2, word >> np.uint64(16) & low] += step
        counts[3, word >> np.uint64(24) & low] += step
        counts[4, word >> np.uint64(32) & low] += step
        counts[5, word >> np.uint64(40) & low] += step
        counts[6, word >> np.uint64(48) & low] += step
        counts[7, word >> np.uint64(56)] += step
    for x in range(width & ~7, width):
        counts[0, levels[x + 1]] += step


@leaf
def _add_squares(above, here, below, columns):  # type: ignore[no-untyped-def]
    """Add the square of the Laplacian of each pixel of a line; a sum a column needs no wider numbers."""
    for x in range(len(columns)):
        bend = (
            np.int32(above[x + 1])
            + np.int32(below[x + 1])
            + np.int32(here[x])
            + np.int32(here[x + 2])
            - np.int32(4) * np.int32(here[x + 1])
        )
        columns[x] += bend * bend


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
