"""Shrinks pictures by area: each new pixel is the mean of what it covers, with shares at its borders.

Every pixel is read once, in both directions together; within one level of OpenCV's INTER_AREA. A side that must grow,
as that of a picture smaller than what a network looks at, is interpolated linearly.
"""

import numpy as np
from numpy.typing import NDArray

from winnow.filters.image.decode.lanes import add_three
from winnow.schemas.kernels import kernel, leaf

__all__ = ["fitted", "resized", "shrink"]


def fitted(height: int, width: int, side: int, *, shorter: bool = False) -> tuple[int, int]:
    """The size of a picture whose longer (or shorter) side is shrunk to `side`; its own size if that is less."""
    longest = min(height, width) if shorter else max(height, width)
    if longest <= side:
        return height, width
    return max(1, round(height * side / longest)), max(1, round(width * side / longest))


def shrink(pixels: NDArray[np.uint8], height: int, width: int) -> NDArray[np.uint8]:
    """A picture of this size, at most its own."""
    old_height, old_width = pixels.shape[:2]
    if not (0 < height <= old_height and 0 < width <= old_width):
        raise ValueError(f"expected a size within {old_height} x {old_width}, found {height} x {width}")
    return resized(pixels, height, width)


def resized(pixels: NDArray[np.uint8], height: int, width: int) -> NDArray[np.uint8]:
    """A picture of this size: a side that is less is shrunk by area, one that is more is interpolated."""
    old_height, old_width = pixels.shape[:2]
    if (height, width) == (old_height, old_width):
        return pixels
    lines = np.ascontiguousarray(pixels).reshape(old_height, -1)
    found = _shrink(lines, old_width, height, width)
    return found.reshape(height, width, *pixels.shape[2:])  # type: ignore[no-any-return]


@kernel
def _shrink(lines, old_width, height, width):  # type: ignore[no-untyped-def]
    old_height, length = lines.shape
    depth = length // old_width
    tops, heights, down = _shares(old_height, height)
    lefts, widths, across = _shares(old_width, width)
    most = across.shape[1]
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


@kernel
def _shares(old, new):  # type: ignore[no-untyped-def]
    """For each new pixel, the first old one that it covers, how many it covers, and the share of each."""
    if new > old:
        return _between(old, new)
    scale = old / new
    starts = np.empty(new, np.int64)
    counts = np.zeros(new, np.int64)
    shares = np.zeros((new, np.int64(np.ceil(scale)) + 1), np.float32)
    for at in range(new):
        begin, end = at * scale, min((at + 1) * scale, np.float64(old))
        starts[at] = np.int64(begin)
        for step in range(shares.shape[1]):
            share = min(end, starts[at] + step + 1) - max(begin, starts[at] + step)
            if share > 0:
                shares[at, step] = np.float32(share / scale)
                counts[at] = step + 1
    return starts, counts, shares


@kernel
def _between(old, new):  # type: ignore[no-untyped-def]
    """The same for more pixels than there are: the two old ones around the new one's centre, by distance."""
    starts = np.zeros(new, np.int64)
    counts = np.ones(new, np.int64)
    shares = np.zeros((new, 2), np.float32)
    for at in range(new):
        centre = min(max((at + 0.5) * old / new - 0.5, 0.0), old - 1.0)
        starts[at] = np.int64(centre)
        rest = centre - starts[at]
        shares[at, 0] = np.float32(1.0 - rest)
        if rest > 0.0:
            shares[at, 1] = np.float32(rest)
            counts[at] = 2
    return starts, counts, shares
