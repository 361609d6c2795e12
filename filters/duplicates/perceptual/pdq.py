"""PDQ, the perceptual hash of pictures: 256 bits that survive resizing and recompression, and a quality from 0 to 100.

The algorithm is that of "The TMK+PDQF Video-Hashing Algorithm and the PDQ Image-Hashing Algorithm" (Facebook, 2019):
luma, two passes of a box filter each way, 64 x 64 samples, a 16 x 16 cosine transform without its constant terms, and
a bit for each coefficient above the median. The reference filters every pixel and then takes 64 x 64 of them. Filter
and sampling are linear and separable, so here both are one weighted sum each way, which touches every pixel about once.

Hashes below quality 50 are of flat pictures; they match unrelated pictures and should not be compared.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from winnow.filters.simd import AHEAD, CACHE_LINE, prefetch
from winnow.schemas.kernels import kernel

MIN_QUALITY = 50  # the reference discards 49 and less
_SIDE = 64
_BANDS = 16
_STRETCH = 128  # pixels: their computation overlaps with the prefetch of the next ones


@dataclass(frozen=True, slots=True)
class Pdq:
    """A hash as 32 bytes, its most significant bit first as in the reference's hexadecimal form, and its quality."""

    bits: bytes
    quality: int


def pdq(pixels: NDArray[np.uint8]) -> Pdq:
    """The hash of a picture.

    Args:
        pixels: Rows of RGB, or rows of grey without a third axis, at full size: a scaled picture has another hash.
    """
    if not pixels.size:
        raise ValueError(f"expected a picture with pixels, found shape {pixels.shape}")
    height = len(pixels)
    small = _across(_down(np.ascontiguousarray(pixels).reshape(height, -1), pixels.shape[1]))
    coefficients = _transformed(small, _cosines()).ravel()
    above = coefficients > np.partition(coefficients, 127)[127]  # the lower median
    return Pdq(np.packbits(above[::-1]).tobytes(), _quality(small))


def _quality(small: NDArray[np.float32]) -> int:
    """How much neighbours differ, each difference as a whole percentage."""
    total = 0
    for axis in (0, 1):
        percent = np.diff(small, axis=axis) * np.float32(100) / np.float32(255)
        total += int(np.abs(percent.astype(np.int64)).sum())
    return min(total // 90, 100)


@lru_cache(maxsize=1)
def _cosines() -> NDArray[np.float32]:
    """The first rows of a cosine transform, except the constant one."""
    which = np.arange(1, _BANDS + 1)[:, None] * (2 * np.arange(_SIDE)[None, :] + 1)
    found: NDArray[np.float32] = (np.sqrt(2 / _SIDE) * np.cos(np.pi / 2 / _SIDE * which)).astype(np.float32)
    return found


@kernel
def _down(lines, width):  # type: ignore[no-untyped-def]
    """64 samples of each column's luma. Sums run along lines, so they are vectorised without changing their order."""
    height, length = lines.shape
    starts, lengths, weights = _sampling(height)
    rows = np.zeros((64, width), np.float32)
    luma = np.empty(width, np.float32)
    first = 0
    for y in range(height):
        line = lines[y]
        if length == width:
            for x in range(width):
                luma[x] = np.float32(line[x])
        else:
            for begin in range(0, width, _STRETCH):
                colours, levels = line[3 * begin : 3 * begin + 3 * _STRETCH], luma[begin : begin + _STRETCH]
                for at in range(0, 3 * _STRETCH, CACHE_LINE):
                    prefetch(line, 3 * begin + at + AHEAD)
                for x in range(len(levels)):
                    levels[x] = (
                        np.float32(0.299) * np.float32(colours[3 * x])
                        + np.float32(0.587) * np.float32(colours[3 * x + 1])
                        + np.float32(0.114) * np.float32(colours[3 * x + 2])
                    )
        while first < 64 and starts[first] + lengths[first] <= y:
            first += 1
        for sample in range(first, 64):
            if starts[sample] > y:
                break
            weight = weights[sample, y - starts[sample]]
            row = rows[sample]
            for x in range(width):
                row[x] += weight * luma[x]
    return rows


@kernel
def _across(rows):  # type: ignore[no-untyped-def]
    """64 samples of each row: four rows at a time, as each sum waits for its own last term."""
    starts, lengths, weights = _sampling(rows.shape[1])
    small = np.empty((64, 64), np.float32)
    for row in range(0, 64, 4):
        one, two, three, four = rows[row], rows[row + 1], rows[row + 2], rows[row + 3]
        for sample in range(64):
            first = second = third = fourth = np.float32(0)
            start = starts[sample]
            for at in range(lengths[sample]):
                weight = weights[sample, at]
                first += weight * one[start + at]
                second += weight * two[start + at]
                third += weight * three[start + at]
                fourth += weight * four[start + at]
            small[row, sample], small[row + 1, sample] = first, second
            small[row + 2, sample], small[row + 3, sample] = third, fourth
    return small


@kernel
def _sampling(size):  # type: ignore[no-untyped-def]
    """For each of 64 samples, where its pixels begin, how many there are, and their weights.

    A line is filtered twice by a box that is cut at its ends, then sampled.
    """
    window = (size + 127) // 128
    ahead = (window + 2) // 2
    starts = np.empty(64, np.int64)
    lengths = np.empty(64, np.int64)
    weights = np.zeros((64, 2 * window), np.float32)
    for sample in range(64):
        centre = np.int64((sample + 0.5) * size / 64)
        low, high = max(centre + ahead - window, 0), min(centre + ahead, size)
        start = max(low + ahead - window, 0)
        starts[sample] = start
        lengths[sample] = min(high - 1 + ahead, size) - start
        for between in range(low, high):
            begin, end = max(between + ahead - window, 0), min(between + ahead, size)
            weight = 1 / ((high - low) * (end - begin))
            for at in range(begin, end):
                weights[sample, at - start] += np.float32(weight)
    return starts, lengths, weights


@kernel
def _transformed(small, cosines):  # type: ignore[no-untyped-def]
    half = np.zeros((16, 64), np.float32)
    for band in range(16):
        for row in range(64):
            for column in range(64):
                half[band, column] += cosines[band, row] * small[row, column]
    found = np.zeros((16, 16), np.float32)
    columns = cosines.T.copy()
    for band in range(16):
        for column in range(64):
            for other in range(16):
                found[band, other] += half[band, column] * columns[column, other]
    return found
