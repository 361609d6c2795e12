"""Finds the blocks of a small plane in a later one: how far each patch of the picture has moved.

A block is 8 x 8 cells, looked for up to four cells away to each side: on a coarse grid first, then around the best.
Differences are added up for every move of the whole plane at once, as lines of 16-bit numbers that fill vectors: that
takes an eighth of the time of adding them up block by block, although not all are looked at.
"""

from typing import Final

import numpy as np

from winnow.filters.video.decode.signals import LUMA_COLUMNS, LUMA_ROWS, PATCH_COLUMNS, PATCH_ROWS
from winnow.schemas.kernels import arithmetic

__all__ = ["match_blocks"]

_REACH: Final = 4  # cells to each side that a block is looked for
_LEAST_TEXTURE: Final = 2.0  # levels, mean deviation of a block: a flat one matches anywhere
_MOST_RESIDUAL: Final = 12.0  # levels: a block that differs more has no match
_INNER: Final = LUMA_COLUMNS - 2 * _REACH  # cells of a line that blocks may cover before they move
_TOPS: Final = np.clip(np.arange(PATCH_ROWS) * LUMA_ROWS // PATCH_ROWS - 2, _REACH, LUMA_ROWS - 8 - _REACH)
_LEFTS: Final = np.clip(np.arange(PATCH_COLUMNS) * LUMA_COLUMNS // PATCH_COLUMNS - 2, _REACH, LUMA_COLUMNS - 8 - _REACH)
"""The blocks of patches, all at even lines; those of patches at the borders are the same as their neighbours'."""


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
                _find(before, after, _TOPS[row], _LEFTS[column], apart, shape, move)
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
    """For each move, down and right, how much the block at each place differs from where it would have moved to."""
    found = np.empty((2 * _REACH + 1, 2 * _REACH + 1, LUMA_ROWS, LUMA_COLUMNS), np.uint16)
    pairs = np.empty((LUMA_ROWS // 2, _INNER), np.uint16)  # of each two lines
    sums = np.empty(_INNER, np.uint16)
    for down in range(-_REACH, _REACH + 1):
        for right in range(-_REACH, _REACH + 1):
            for pair in range(_REACH // 2, (LUMA_ROWS - _REACH) // 2):
                _add_pair(before, after, pair, down, right, pairs[pair])
            out = found[down + _REACH, right + _REACH]
            for row in range(PATCH_ROWS):
                top = _TOPS[row]
                if row == 0 or top != _TOPS[row - 1]:
                    _add_block(pairs, top // 2, sums, out[top])
    return found


@arithmetic
def _add_pair(before, after, pair, down, right, found):  # type: ignore[no-untyped-def]
    """The differences of each cell of a line, and of that of the next line."""
    y = 2 * pair
    one, next_one = before[y, _REACH : _REACH + _INNER], before[y + 1, _REACH : _REACH + _INNER]
    left = _REACH + right
    other, next_other = after[y + down, left : left + _INNER], after[y + down + 1, left : left + _INNER]
    for x in range(_INNER):
        first = np.uint16(max(one[x], other[x]) - min(one[x], other[x]))
        second = np.uint16(max(next_one[x], next_other[x]) - min(next_one[x], next_other[x]))
        found[x] = np.uint16(first + second)


@arithmetic
def _add_block(pairs, pair, sums, found):  # type: ignore[no-untyped-def]
    """The sums of blocks of four pairs of lines and eight columns."""
    one, two, three, four = pairs[pair], pairs[pair + 1], pairs[pair + 2], pairs[pair + 3]
    for x in range(_INNER):
        sums[x] = np.uint16(np.uint16(one[x] + two[x]) + np.uint16(three[x] + four[x]))
    for x in range(_INNER - 1):
        sums[x] = np.uint16(sums[x] + sums[x + 1])
    for x in range(_INNER - 3):
        sums[x] = np.uint16(sums[x] + sums[x + 2])
    for x in range(_INNER - 7):
        found[_REACH + x] = np.uint16(sums[x] + sums[x + 4])


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
    least = np.int64(apart[_REACH, _REACH, top, left])
    for step in (4, 2, 1):  # the nearest of a coarse grid first, then around it
        if least < 64:
            break
        middle_y, middle_x = best_y, best_x
        for down in range(middle_y - step, middle_y + step + 1, step):
            for right in range(middle_x - step, middle_x + step + 1, step):
                if max(abs(down), abs(right)) <= _REACH and (down != middle_y or right != middle_x):
                    # Of equals, the nearest counts.
                    here = np.int64(apart[down + _REACH, right + _REACH, top, left]) + 4 * (abs(down) + abs(right))
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
