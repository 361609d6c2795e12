"""Finds the blocks of a small plane in a later one: how far each patch of the picture has moved.

A block is 8 x 8 cells, looked for up to four cells away to each side: on a coarse grid first, then around the best.
Differences are added up for every move of the whole plane at once, in a few long loops over small numbers that fill
vectors: adding them up block by block would take many times as long, although not all are looked at.
"""

from typing import Final

import numpy as np

from winnow.filters.video.decode.signals import LUMA_COLUMNS, LUMA_ROWS, PATCH_COLUMNS, PATCH_ROWS
from winnow.schemas.kernels import arithmetic, leaf

__all__ = ["match_blocks", "match_frames"]

_REACH: Final = 4  # cells to each side that a block is looked for
_LEAST_TEXTURE: Final = 2.0  # levels, mean deviation of a block: a flat one matches anywhere
_ROUNDING: Final = 1e-6  # of times that are one step apart
_MOST_RESIDUAL: Final = 12.0  # levels: a block that differs more has no match
_TOPS: Final = np.clip(np.arange(PATCH_ROWS) * LUMA_ROWS // PATCH_ROWS - 2, _REACH, LUMA_ROWS - 8 - _REACH)
_LEFTS: Final = np.clip(np.arange(PATCH_COLUMNS) * LUMA_COLUMNS // PATCH_COLUMNS - 2, _REACH, LUMA_COLUMNS - 8 - _REACH)
"""The blocks of patches; those of patches at the borders are the same as their neighbours'."""

_STRIPS: Final = np.unique(_TOPS)
_STRIP_OF: Final = np.searchsorted(_STRIPS, _TOPS)
_FIRST: Final = _REACH * LUMA_COLUMNS + _REACH  # of the cells that blocks may cover before they move
_AFTER_LAST: Final = LUMA_ROWS * LUMA_COLUMNS - _FIRST


@arithmetic
def match_frames(planes, seconds, shapes, step, longest):  # type: ignore[no-untyped-def]
    """Matches frames that are at least `step` seconds apart, and at most `longest`, the first with the next and so on.

    Returns:
        For each pair, which frame the second is, how far in seconds it is from the first, how many patches were
        matched, and their mean move each way; how far each patch has moved, NaN where it has no match; and the last
        frame that was looked at.
    """
    count = len(planes)
    pairs = np.empty((count, 5))
    patches = np.full((count, PATCH_ROWS, PATCH_COLUMNS), np.nan)
    found = last = 0
    for at in range(1, count):
        if seconds[at] < seconds[last] + step - _ROUNDING:
            continue
        apart = seconds[at] - seconds[last]
        if apart <= longest:
            covered, right, down = match_blocks(planes[last], planes[at], shapes[at], patches[found])
            pair = pairs[found]
            pair[0], pair[1], pair[2], pair[3], pair[4] = at, apart, covered, right, down
            found += 1
        last = at
    return pairs[:found], patches[:found], last


@arithmetic
def match_blocks(before, after, shape, patches):  # type: ignore[no-untyped-def]
    """Fills how far each patch has moved, in widths; gives how many were matched, and their mean move each way."""
    apart = _differences(before, after)
    moves = np.empty((PATCH_ROWS, PATCH_COLUMNS, 3))  # whether it was matched, and its move each way
    covered = 0
    rightward = downward = 0.0
    for row in range(PATCH_ROWS):
        for column in range(PATCH_COLUMNS):
            move = moves[row, column]
            if row > 0 and _TOPS[row] == _TOPS[row - 1]:
                move[:] = moves[row - 1, column]
            elif column > 0 and _LEFTS[column] == _LEFTS[column - 1]:
                move[:] = moves[row, column - 1]
            else:
                _find(before, after, _TOPS[row], _LEFTS[column], apart[:, :, _STRIP_OF[row]], shape, move)
            if move[0] == 0:
                continue
            covered += 1
            rightward += move[1]
            downward += move[2]
            patches[row, column] = np.sqrt(move[1] * move[1] + move[2] * move[2])
    if covered == 0:
        return 0, 0.0, 0.0
    return covered, rightward / covered, downward / covered


@arithmetic
def _differences(before, after):  # type: ignore[no-untyped-def]
    """For each move, down and right, how much the block at each place of a strip differs from where it has moved to."""
    found = np.empty((2 * _REACH + 1, 2 * _REACH + 1, len(_STRIPS), LUMA_COLUMNS), np.uint16)
    levels, later = before.ravel()[_FIRST:_AFTER_LAST], after.ravel()
    apart = np.zeros(LUMA_ROWS * LUMA_COLUMNS, np.uint8)
    sums = np.zeros(len(_STRIPS) * LUMA_COLUMNS + 8, np.uint16)
    for down in range(-_REACH, _REACH + 1):
        for right in range(-_REACH, _REACH + 1):
            begin = _FIRST + down * LUMA_COLUMNS + right
            _compare(levels, later[begin : begin + len(levels)], apart[_FIRST:_AFTER_LAST])
            for strip in range(len(_STRIPS)):
                lines = apart[_STRIPS[strip] * LUMA_COLUMNS :]
                _add_lines(lines, sums[strip * LUMA_COLUMNS : (strip + 1) * LUMA_COLUMNS])
            _add_columns(sums, found[down + _REACH, right + _REACH].ravel())
    return found


@leaf
def _compare(levels, later, apart):  # type: ignore[no-untyped-def]
    for at in range(len(apart)):
        one, other = levels[at], later[at]
        apart[at] = max(one, other) - min(one, other)


@leaf
def _add_lines(lines, sums):  # type: ignore[no-untyped-def]
    """The sums of eight lines."""
    for x in range(LUMA_COLUMNS):
        total = np.uint16(0)
        for y in range(8):
            total = np.uint16(total + np.uint16(lines[y * LUMA_COLUMNS + x]))
        sums[x] = total


@leaf
def _add_columns(sums, found):  # type: ignore[no-untyped-def]
    """The sums of eight columns from each one on; those of the last ones of a line mean nothing."""
    for at in range(len(found)):
        sums[at] = np.uint16(sums[at] + sums[at + 1])
    for at in range(len(found)):
        sums[at] = np.uint16(sums[at] + sums[at + 2])
    for at in range(len(found)):
        found[at] = np.uint16(sums[at] + sums[at + 4])


@arithmetic
def _find(before, after, top, left, apart, shape, move):  # type: ignore[no-untyped-def]
    """Fills the move of a block: whether there is a match, and how far it is each way, in widths."""
    move[0] = 0.0
    total = np.int32(0)
    for y in range(top, top + 8):
        for x in range(left, left + 8):
            total = np.int32(total + np.int32(before[y, x]))
    texture = np.int32(0)  # in 64ths of a level
    for y in range(top, top + 8):
        for x in range(left, left + 8):
            texture = np.int32(texture + np.int32(abs(np.int32(np.int32(64) * np.int32(before[y, x]) - total))))
    if texture < 64 * 64 * _LEAST_TEXTURE:
        return
    best_y = best_x = 0
    least = np.int64(apart[_REACH, _REACH, left])
    for step in (4, 2, 1):  # the nearest of a coarse grid first, then around it
        if least < 64:
            break
        middle_y, middle_x = best_y, best_x
        for down in range(middle_y - step, middle_y + step + 1, step):
            for right in range(middle_x - step, middle_x + step + 1, step):
                if max(abs(down), abs(right)) <= _REACH and (down != middle_y or right != middle_x):
                    # Of equals, the nearest counts.
                    here = np.int64(apart[down + _REACH, right + _REACH, left]) + 4 * (abs(down) + abs(right))
                    if here < least:
                        least, best_y, best_x = here, down, right
    if least > 64 * _MOST_RESIDUAL:
        return
    y_by, x_by = _within_cell(before, after, top, left, best_y, best_x)
    move[0] = 1.0
    move[1] = (best_x + x_by) / LUMA_COLUMNS
    move[2] = (best_y + y_by) / LUMA_ROWS * shape


@arithmetic
def _within_cell(before, after, top, left, down, right):  # type: ignore[no-untyped-def]
    """How far a block has moved beyond whole cells, by the slopes of its levels, as Lucas and Kanade have it."""
    x_squares = y_squares = products = x_gains = y_gains = np.int32(0)  # of twice the slopes
    for y in range(top, top + 8):
        for x in range(left, left + 8):
            x_slope = np.int32(np.int32(before[y, x + 1]) - np.int32(before[y, x - 1]))
            y_slope = np.int32(np.int32(before[y + 1, x]) - np.int32(before[y - 1, x]))
            gain = np.int32(np.int32(after[y + down, x + right]) - np.int32(before[y, x]))
            x_squares = np.int32(x_squares + np.int32(x_slope * x_slope))
            y_squares = np.int32(y_squares + np.int32(y_slope * y_slope))
            products = np.int32(products + np.int32(x_slope * y_slope))
            x_gains = np.int32(x_gains + np.int32(x_slope * gain))
            y_gains = np.int32(y_gains + np.int32(y_slope * gain))
    xx, yy, xy = 64.0 + x_squares / 4.0, 64.0 + y_squares / 4.0, products / 4.0
    x_gain, y_gain = x_gains / 2.0, y_gains / 2.0
    size = xx * yy - xy * xy
    x_by, y_by = (xy * y_gain - yy * x_gain) / size, (xy * x_gain - xx * y_gain) / size
    return min(max(y_by, -1.0), 1.0), min(max(x_by, -1.0), 1.0)
