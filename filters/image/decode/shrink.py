"""Shrinks pictures by area: each new pixel is the mean of the area it covers, with partial pixels at its borders.

Every pixel is read once, for both directions together; results are within one level of OpenCV's INTER_AREA. A side
that must grow, because the picture is smaller than a network's input, is interpolated linearly.
"""

import math

import numpy as np
from numpy.typing import NDArray

from winnow.filters.simd import add_three
from winnow.schemas.kernels import kernel, leaf


def fitted(height: int, width: int, side: int, *, shorter: bool = False) -> tuple[int, int]:
    """The size of a picture whose longer (or shorter) side is shrunk to `side`; its own size if it is smaller."""
    longest = min(height, width) if shorter else max(height, width)
    if longest <= side:
        return height, width
    return max(1, round(height * side / longest)), max(1, round(width * side / longest))


def shrink(pixels: NDArray[np.uint8], height: int, width: int) -> NDArray[np.uint8]:
    """The picture shrunk to this size, which is at most its own."""
    old_height, old_width = pixels.shape[:2]
    if not (0 < height <= old_height and 0 < width <= old_width):
        raise ValueError(f"expected a size within {old_height} x {old_width}, found {height} x {width}")
    return resized(pixels, height, width)


def resized(pixels: NDArray[np.uint8], height: int, width: int) -> NDArray[np.uint8]:
    """The picture in this size: a shorter side is shrunk by area, a longer one is interpolated."""
    old_height, old_width = pixels.shape[:2]
    if (height, width) == (old_height, old_width):
        return pixels
    lines = np.ascontiguousarray(pixels).reshape(old_height, -1)
    found = _shrink(lines, *_shares(old_height, height), *_shares(old_width, width), lines.shape[1] // old_width)
    return found.reshape(height, width, *pixels.shape[2:])  # type: ignore[no-any-return]


def _shares(old: int, new: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """For each new pixel, the first old one that it covers, how many it covers, and the weight of each.

    When enlarging, each new pixel covers the two old ones around its centre, weighted by distance.
    """
    at, scale = np.arange(new), old / new
    if new > old:
        centres = np.clip((at + 0.5) * old / new - 0.5, 0.0, old - 1.0)
        starts = centres.astype(np.int64)
        rest = centres - starts
        shares = np.stack([1.0 - rest, rest], axis=1)
    else:
        starts = (at * scale).astype(np.int64)
        covered = starts[:, None] + np.arange(math.ceil(scale) + 1)
        ends = np.minimum((at + 1) * scale, old)[:, None]
        shares = np.maximum(np.minimum(ends, covered + 1) - np.maximum((at * scale)[:, None], covered), 0.0) / scale
    return starts, (shares > 0).sum(axis=1), shares.astype(np.float32)


@kernel
def _shrink(lines, tops, heights, down, lefts, widths, across, depth):  # type: ignore[no-untyped-def]
    length, height, width, most = lines.shape[1], len(tops), len(lefts), across.shape[1]
    found = np.empty((height, width * depth), np.uint8)
    sums = np.zeros(length + depth * max(most, 3), np.float32)  # beyond the line, for shares of nothing
    wide = np.empty(3 * width + 1, np.float32)  # a line before it is rounded
    for row in range(height):
        sums[:length] = np.float32(0)
        for step in range(heights[row]):
            share, line = down[row, step], lines[tops[row] + step]
            for at in range(length):
                sums[at] += share * np.float32(line[at])
        out = found[row]
        if depth == 3:
            if most <= 3:
                _across_few(sums, lefts, across, wide, out)
            else:
                _across_many(sums, lefts, widths, across, out)
            continue
        for column in range(width):
            at = lefts[column] * depth
            for layer in range(depth):
                total = np.float32(0.5)
                for step in range(widths[column]):
                    total += across[column, step] * sums[at + depth * step + layer]
                out[column * depth + layer] = np.uint8(min(total, np.float32(255)))
    return found


@leaf
def _across_few(sums, lefts, across, wide, out):  # type: ignore[no-untyped-def]
    """New pixels of three colours that cover at most three old ones each, without a loop over these."""
    last = across.shape[1] - 1
    for column in range(len(lefts)):
        three = across[column, 2] if last == 2 else np.float32(0)
        add_three(sums, lefts[column] * 3, across[column, 0], across[column, 1], three, wide, 3 * column)
    for at in range(len(out)):
        out[at] = np.uint8(np.int32(min(wide[at], np.float32(255))))


@leaf
def _across_many(sums, lefts, widths, across, out):  # type: ignore[no-untyped-def]
    """New pixels of three colours."""
    for column in range(len(lefts)):
        at = lefts[column] * 3
        red = green = blue = np.float32(0.5)
        for step in range(widths[column]):
            share = across[column, step]
            red += share * sums[at]
            green += share * sums[at + 1]
            blue += share * sums[at + 2]
            at += 3
        out[column * 3] = np.uint8(min(red, np.float32(255)))
        out[column * 3 + 1] = np.uint8(min(green, np.float32(255)))
        out[column * 3 + 2] = np.uint8(min(blue, np.float32(255)))
