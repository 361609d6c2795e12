"""How far each patch of a small plane has moved in a later one: the camera's move first, then what moves by itself.

The camera's move (shift, zoom and turn) is what brings most of the plane in line: found by trying shifts of a plane of
half the size, then by Gauss and Newton's steps, in which cells that do not fit count little. A patch moves with the
camera unless another move explains its cells much better: so noise moves nothing, nor do flat patches, which match
anywhere.
"""

from typing import Final

import numpy as np

from winnow.filters.video.decode.signals import LUMA_COLUMNS, LUMA_ROWS, PATCH_COLUMNS, PATCH_ROWS
from winnow.schemas.kernels import arithmetic, inlined, leaf

_TILE: Final = 4  # cells of a patch's side
_REACH_X: Final = 10  # cells of the plane of half the size that the camera may move
_REACH_Y: Final = 6
_AS_GOOD: Final = 1.25  # times the least difference
_STEPS: Final = 6  # of Gauss and Newton, at most
_SMALL: Final = 0.02  # cells: a step that ends them
_BORDER: Final = 2  # cells that are not looked at
_LEAST_SLOPE: Final = 0.25  # squared: a cell with less tells nothing of the camera
_LOCAL: Final = 4  # cells from the camera's move that a patch is looked for
_LEAST_TEXTURE: Final = 1.0  # squared slopes of a cell, mean of a patch: less is flat
_LEAST_GAIN: Final = (
    0.4  # share of squared differences that a patch's own move must explain, or it goes with the camera
)
_LEAST_CAMERA_GAIN: Final = 0.1  # the same of all cells, or the camera stands still
_MOST_LEFT: Final = 0.15  # of a patch's own contrast: a patch that differs more has no match
_MOST_LIGHT: Final = 100.0  # squared levels by which a patch may become lighter or darker
_LEAST_KNOWN: Final = 0.5  # share of the patches that are not flat: less is a cut
_APART: Final = 7  # of the patches that are looked at one after the other; prime to their number
_TELLING: Final = 16  # patches that are not flat, of which hardly any has a match: the others need no look
_NOISE: Final = 4.0  # squared levels that are no difference
_ROUNDING: Final = 1e-6  # of times that are one step apart
_ENOUGH_CELLS: Final = 1.5  # that the picture moves in a step, so that it is measured well
_LEAST_CELLS: Final = 0.5  # less is measured again with a later frame


@arithmetic
def match_frames(planes, seconds, shapes, shortest, longest, most):  # type: ignore[no-untyped-def]
    """Matches frames, the first with the next and so on, each `shortest` to `longest` seconds after the other.

    The slower the picture moves, the further apart frames are.

    Args:
        planes: The frames.
        seconds: Their times.
        shapes: The height of each by its width.
        shortest: Seconds.
        longest: Seconds.
        most: Seconds beyond which frames are not compared.

    Returns:
        For each pair, which frame the second is, how far in seconds it is from the first, how many patches were
        matched, and the camera's move each way; how far each patch has moved, NaN where it has no match; and the last
        frame that was looked at.
    """
    count = len(planes)
    pairs = np.empty((count, 5))
    patches = np.full((count, PATCH_ROWS, PATCH_COLUMNS), np.nan)
    found = last = 0
    step = shortest
    for at in range(1, count):
        if seconds[at] < seconds[last] + step - _ROUNDING:
            continue
        apart = seconds[at] - seconds[last]
        step = shortest
        if apart <= most:
            covered, right, down = match_planes(planes[last], planes[at], shapes[at], patches[found])
            if covered * 2 > PATCH_ROWS * PATCH_COLUMNS:
                cells = 2.0 * np.sqrt(np.nanmean(patches[found] ** 2)) * LUMA_COLUMNS
                step = min(max(_ENOUGH_CELLS * apart / max(cells, 1e-3), shortest), longest)
                if cells < _LEAST_CELLS and apart < longest / 2:
                    continue
            pair = pairs[found]
            pair[0], pair[1], pair[2], pair[3], pair[4] = at, apart, covered, right, down
            found += 1
        last = at
    return pairs[:found], patches[:found], last


@arithmetic
def match_planes(before, after, shape, patches):  # type: ignore[no-untyped-def]
    """Fills how far each patch has moved, in widths; gives how many were matched, and the camera's move each way."""
    one, other = np.empty(LUMA_ROWS * LUMA_COLUMNS, np.float32), np.empty(LUMA_ROWS * LUMA_COLUMNS, np.float32)
    slopes = np.zeros((2, LUMA_ROWS * LUMA_COLUMNS), np.float32)
    _smooth(before, one)
    _smooth(after, other)
    _slopes(one, slopes[0], slopes[1])
    turn = shape * LUMA_COLUMNS / LUMA_ROWS  # the height of a cell by its width
    camera = np.zeros(4)
    _camera(before, after, one, slopes, other, turn, camera)
    sums = np.empty((PATCH_ROWS, PATCH_COLUMNS, 10))
    _tiles(one, slopes, other, camera, turn, sums)
    covered = textured = known = 0
    window = np.empty(10)
    move = np.empty(2)
    for number in range(PATCH_ROWS * PATCH_COLUMNS):
        # Each seventh first, then those behind it: every row and column has some, and at a cut they tell enough.
        place = number * _APART % (PATCH_ROWS * PATCH_COLUMNS)
        row, column = place // PATCH_COLUMNS, place % PATCH_COLUMNS
        _window(sums, row, column, window)
        x = (column + 0.5) * _TILE - LUMA_COLUMNS / 2
        y = (row + 0.5) * _TILE - LUMA_ROWS / 2
        move[0] = camera[0] + camera[2] * x - camera[3] * turn * y
        move[1] = camera[1] + camera[2] * y + camera[3] / turn * x
        is_textured = window[0] + window[2] >= _LEAST_TEXTURE * max(window[9], 1.0)
        textured += is_textured
        if _moved(one, slopes, other, row, column, window, move):
            covered += 1
            known += is_textured
            across, along = move[0] / LUMA_COLUMNS, move[1] / LUMA_ROWS * shape
            patches[row, column] = np.sqrt(across * across + along * along)
        else:
            patches[row, column] = np.nan
        if textured >= _TELLING and known < _LEAST_KNOWN / 2 * textured:
            break
    if textured == 0 or known < _LEAST_KNOWN * textured:  # of what is flat nothing is known by itself
        patches[:] = np.nan
        return 0, 0.0, 0.0
    return covered, camera[0] / LUMA_COLUMNS, camera[1] / LUMA_ROWS * shape


@leaf
def _smooth(plane, smoothed):  # type: ignore[no-untyped-def]
    """Each cell with its neighbours, by binomial weights: slopes of single cells tell little of how far they moved."""
    for y in range(LUMA_ROWS):
        above, below = plane[max(y - 1, 0)], plane[min(y + 1, LUMA_ROWS - 1)]
        line, out = plane[y], smoothed[y * LUMA_COLUMNS : (y + 1) * LUMA_COLUMNS]
        for x in range(LUMA_COLUMNS):
            left, right = max(x - 1, 0), min(x + 1, LUMA_COLUMNS - 1)
            total = np.int32(
                np.int32(above[left]) + 2 * np.int32(above[x]) + np.int32(above[right])
                + 2 * (np.int32(line[left]) + 2 * np.int32(line[x]) + np.int32(line[right]))
                + np.int32(below[left]) + 2 * np.int32(below[x]) + np.int32(below[right])
            )  # fmt: skip
            out[x] = np.float32(total) * np.float32(0.0625)


@leaf
def _slopes(levels, right, down):  # type: ignore[no-untyped-def]
    """How levels change from cell to cell; those of the first and the last line and column mean nothing."""
    for at in range(LUMA_COLUMNS, len(levels) - LUMA_COLUMNS):
        right[at] = np.float32(0.5) * (levels[at + 1] - levels[at - 1])
        down[at] = np.float32(0.5) * (levels[at + LUMA_COLUMNS] - levels[at - LUMA_COLUMNS])


@leaf
def _halve(plane, half):  # type: ignore[no-untyped-def]
    for y in range(LUMA_ROWS // 2):
        for x in range(LUMA_COLUMNS // 2):
            total = np.int32(plane[2 * y, 2 * x]) + np.int32(plane[2 * y, 2 * x + 1])
            total += np.int32(plane[2 * y + 1, 2 * x]) + np.int32(plane[2 * y + 1, 2 * x + 1])
            half[y, x] = np.int16(total)


@leaf
def _apart(one, other, right, down):  # type: ignore[no-untyped-def]
    """Mean difference of two planes of half the size, the second shifted; of every other line."""
    rows, columns = LUMA_ROWS // 2, LUMA_COLUMNS // 2
    total, count = np.int32(0), 0
    width = columns - abs(right)
    for y in range(max(0, -down), rows - max(0, down), 2):
        first, second = one[y, max(0, -right) :], other[y + down, max(0, right) :]
        for x in range(width):
            total += np.int32(abs(np.int32(np.int32(first[x]) - np.int32(second[x]))))
        count += width
    return total / count


@arithmetic
def _camera(before, after, one, slopes, other, turn, camera):  # type: ignore[no-untyped-def]
    """Fills the camera's move: right, down, by how much it grows from the middle, and how far it turns."""
    half = np.empty((2, LUMA_ROWS // 2, LUMA_COLUMNS // 2), np.int16)
    _halve(before, half[0])
    _halve(after, half[1])
    apart = np.empty((2 * _REACH_Y + 1, 2 * _REACH_X + 1))  # four times a cell's
    least = at_rest = apart[_REACH_Y, _REACH_X] = _apart(half[0], half[1], 0, 0)
    best_x = best_y = 0
    if at_rest >= 1.0:
        for down in range(-_REACH_Y, _REACH_Y + 1):
            for right in range(-_REACH_X, _REACH_X + 1):
                here = apart[down + _REACH_Y, right + _REACH_X] = _apart(half[0], half[1], right, down)
                least = min(least, here)
    if least <= 0.9 * at_rest:  # of those that fit as well, as all do along stripes, the shortest
        shortest = 1 << 20
        for down in range(-_REACH_Y, _REACH_Y + 1):
            for right in range(-_REACH_X, _REACH_X + 1):
                if apart[down + _REACH_Y, right + _REACH_X] <= _AS_GOOD * least and right**2 + down**2 < shortest:
                    shortest, best_x, best_y = right**2 + down**2, right, down
    camera[0], camera[1] = 2.0 * best_x, 2.0 * best_y
    sums = np.empty(20)
    spread = max(1.5, 0.5 * apart[best_y + _REACH_Y, best_x + _REACH_X])  # twice the mean difference of a cell
    for step in range(_STEPS):
        parameters = 2 if step < 2 else 4
        _normal(one, slopes, other, camera, turn, spread, sums)
        if sums[15] < 100.0:
            break
        spread = max(1.5, 2.0 * sums[14] / sums[15])
        size = _solve(sums, parameters, camera)
        if size < _SMALL and parameters == 4:
            break
    still = np.zeros(4)
    rest, moved = _squares(one, slopes, other, still, turn, spread), _squares(one, slopes, other, camera, turn, spread)
    if not moved < (1.0 - _LEAST_CAMERA_GAIN) * rest:
        camera[:] = 0.0


@inlined
def _level(plane, x, y):  # type: ignore[no-untyped-def]
    """The level between cells, which are counted without a sign: numba would look for places before the first."""
    left, top = np.uint32(x), np.uint32(y)
    right, down = np.float32(x - left), np.float32(y - top)
    first = np.uint32(top * np.uint32(LUMA_COLUMNS) + left)
    below = np.uint32(first + np.uint32(LUMA_COLUMNS))
    upper = plane[first] + right * (plane[first + np.uint32(1)] - plane[first])
    lower = plane[below] + right * (plane[below + np.uint32(1)] - plane[below])
    return upper + down * (lower - upper)


@leaf
def _normal(one, slopes, other, camera, turn, spread, sums):  # type: ignore[no-untyped-def]
    """Sums of the normal equations of the camera's move; then of differences, and of weights."""
    a00 = a01 = a02 = a03 = a11 = a12 = a13 = a22 = a23 = a33 = 0.0
    b0 = b1 = b2 = b3 = total = count = 0.0
    scale = 1.0 / (spread * spread)
    right, down, grows, turns_x, turns_y = camera[0], camera[1], camera[2], camera[3] * turn, camera[3] / turn
    for row in range(_BORDER, LUMA_ROWS - _BORDER):
        y = row + 0.5 - LUMA_ROWS / 2
        for column in range(_BORDER + row % 2, LUMA_COLUMNS - _BORDER, 2):
            cell = np.uint32(row * LUMA_COLUMNS + column)
            gx, gy = slopes[0, cell], slopes[1, cell]
            if gx * gx + gy * gy < _LEAST_SLOPE:
                continue
            x = column + 0.5 - LUMA_COLUMNS / 2
            at_x = column + right + grows * x - turns_x * y
            at_y = row + down + grows * y + turns_y * x
            if not (at_x >= 1.0 and at_y >= 1.0 and at_x < LUMA_COLUMNS - 2 and at_y < LUMA_ROWS - 2):
                continue
            off = _level(other, at_x, at_y) - one[cell]
            weight = 1.0 / (1.0 + off * off * scale)
            weight *= weight
            total += abs(off)
            count += 1.0
            gz = gx * x + gy * y
            gt = gy / turn * x - gx * turn * y
            wx, wy, wz, wt = weight * gx, weight * gy, weight * gz, weight * gt
            a00 += wx * gx
            a01 += wx * gy
            a02 += wx * gz
            a03 += wx * gt
            a11 += wy * gy
            a12 += wy * gz
            a13 += wy * gt
            a22 += wz * gz
            a23 += wz * gt
            a33 += wt * gt
            b0 += wx * off
            b1 += wy * off
            b2 += wz * off
            b3 += wt * off
    sums[0], sums[1], sums[2], sums[3], sums[4] = a00, a01, a02, a03, a11
    sums[5], sums[6], sums[7], sums[8], sums[9] = a12, a13, a22, a23, a33
    sums[10], sums[11], sums[12], sums[13], sums[14], sums[15] = b0, b1, b2, b3, total, count


@arithmetic
def _solve(sums, parameters, camera):  # type: ignore[no-untyped-def]
    """One step of Gauss and Newton; gives its size in cells."""
    matrix = np.empty((4, 5))
    place = 0
    for row in range(4):
        for column in range(row, 4):
            matrix[row, column] = matrix[column, row] = sums[place]
            place += 1
        matrix[row, 4] = sums[10 + row]
    damping = 1e-3 * (matrix[0, 0] + matrix[1, 1]) + 10.0
    for row in range(parameters):
        matrix[row, row] += damping * (1.0 if row < 2 else LUMA_COLUMNS)
    for pivot in range(parameters):
        for row in range(parameters):
            if row == pivot:
                continue
            by = matrix[row, pivot] / matrix[pivot, pivot]
            for column in range(pivot, parameters):
                matrix[row, column] -= by * matrix[pivot, column]
            matrix[row, 4] -= by * matrix[pivot, 4]
    size = 0.0
    for row in range(parameters):
        step = -matrix[row, 4] / matrix[row, row]
        limit = 2.0 if row < 2 else 0.1
        step = min(max(step, -limit), limit)
        camera[row] += step
        size = max(size, abs(step) * (1.0 if row < 2 else LUMA_COLUMNS / 2))
    return size


@leaf
def _squares(one, slopes, other, camera, turn, spread):  # type: ignore[no-untyped-def]
    """Mean of squared differences after a move of the camera, of which large ones count little."""
    total = count = 0.0
    scale = 1.0 / (4.0 * spread * spread)
    right, down, grows, turns_x, turns_y = camera[0], camera[1], camera[2], camera[3] * turn, camera[3] / turn
    for row in range(_BORDER, LUMA_ROWS - _BORDER):
        y = row + 0.5 - LUMA_ROWS / 2
        for column in range(_BORDER + row % 2, LUMA_COLUMNS - _BORDER, 2):
            cell = np.uint32(row * LUMA_COLUMNS + column)
            gx, gy = slopes[0, cell], slopes[1, cell]
            if gx * gx + gy * gy < _LEAST_SLOPE:
                continue
            x = column + 0.5 - LUMA_COLUMNS / 2
            at_x = column + right + grows * x - turns_x * y
            at_y = row + down + grows * y + turns_y * x
            if not (at_x >= 1.0 and at_y >= 1.0 and at_x < LUMA_COLUMNS - 2 and at_y < LUMA_ROWS - 2):
                continue
            off = _level(other, at_x, at_y) - one[cell]
            total += off * off / (1.0 + off * off * scale)
            count += 1.0
    return total / max(count, 1.0)


@leaf
def _tiles(one, slopes, other, camera, turn, sums):  # type: ignore[no-untyped-def]
    """For each tile of cells: slopes, differences after the camera's move, and contrast, as sums."""
    right, down, grows, turns_x, turns_y = camera[0], camera[1], camera[2], camera[3] * turn, camera[3] / turn
    for tile_row in range(PATCH_ROWS):
        for tile_column in range(PATCH_COLUMNS):
            xx = xy = yy = xe = ye = ee = e = v = vv = n = 0.0
            for row in range(max(tile_row * _TILE, 1), min(tile_row * _TILE + _TILE, LUMA_ROWS - 1)):
                y = row + 0.5 - LUMA_ROWS / 2
                for column in range(max(tile_column * _TILE, 1), min(tile_column * _TILE + _TILE, LUMA_COLUMNS - 1)):
                    x = column + 0.5 - LUMA_COLUMNS / 2
                    at_x = column + right + grows * x - turns_x * y
                    at_y = row + down + grows * y + turns_y * x
                    if not (at_x >= 0.0 and at_y >= 0.0 and at_x < LUMA_COLUMNS - 1 and at_y < LUMA_ROWS - 1):
                        continue
                    cell = np.uint32(row * LUMA_COLUMNS + column)
                    level, gx, gy = one[cell], slopes[0, cell], slopes[1, cell]
                    off = _level(other, at_x, at_y) - level
                    xx += gx * gx
                    xy += gx * gy
                    yy += gy * gy
                    xe += gx * off
                    ye += gy * off
                    ee += off * off
                    e += off
                    v += level
                    vv += level * level
                    n += 1.0
            tile = sums[tile_row, tile_column]
            tile[0], tile[1], tile[2], tile[3], tile[4] = xx, xy, yy, xe, ye
            tile[5], tile[6], tile[7], tile[8], tile[9] = ee, e, v, vv, n


@leaf
def _window(sums, row, column, window):  # type: ignore[no-untyped-def]
    """The sums of a tile and its neighbours."""
    for at in range(10):
        total = 0.0
        for y in range(max(row - 1, 0), min(row + 2, PATCH_ROWS)):
            for x in range(max(column - 1, 0), min(column + 2, PATCH_COLUMNS)):
                total += sums[y, x, at]
        window[at] = total


@leaf
def _moved(one, slopes, other, row, column, window, move):  # type: ignore[no-untyped-def]
    """Whether a patch has a match; its move, which is the camera's before, becomes its own where that fits better."""
    n = window[9]
    if n < 8.0:  # it has left the picture: with the camera, or nobody knows
        return True
    if window[6] * window[6] > _MOST_LIGHT * n * n:
        return False
    left = max(window[5] - window[6] * window[6] / n, 0.0) / n
    contrast = max(window[8] - window[7] * window[7] / n, 0.0) / n
    if (window[0] + window[2]) / n < _LEAST_TEXTURE or left < 0.25:
        return left < _NOISE + _MOST_LEFT * contrast
    xx, xy, yy = window[0] + 2.0, window[1], window[2] + 2.0
    gain = (yy * window[3] * window[3] - 2.0 * xy * window[3] * window[4] + xx * window[4] * window[4]) / (
        xx * yy - xy * xy
    )
    fits = left < _NOISE + _MOST_LEFT * contrast
    if fits and gain / n < _LEAST_GAIN * left:
        return True
    base_x, base_y = move[0], move[1]
    best_x, best_y = base_x, base_y
    first = least = _patch_squares(one, other, row, column, base_x, base_y)
    if first < 0.0:
        return True
    for search in range(2):  # by slopes alone, then from the best of the places around
        if search and least < (1.0 - _LEAST_GAIN) * first and least < _NOISE / 4 + _MOST_LEFT / 2 * contrast:
            break
        for step in (3, 1):
            middle_x, middle_y = best_x, best_y
            for down in range(-step * search, step * search + 1, step):
                for right in range(-step * search, step * search + 1, step):
                    if right == 0 and down == 0:
                        continue
                    here = _patch_squares(one, other, row, column, middle_x + right, middle_y + down)
                    if here >= 0.0 and here < least:
                        least, best_x, best_y = here, middle_x + right, middle_y + down
        for _ in range(3):
            step_x, step_y = _patch_step(one, slopes, other, row, column, best_x, best_y)
            here = _patch_squares(one, other, row, column, best_x + step_x, best_y + step_y)
            if here < 0.0 or here >= least:
                break
            least, best_x, best_y = here, best_x + step_x, best_y + step_y
            if abs(step_x) + abs(step_y) < 0.1:
                break
    if least < (1.0 - _LEAST_GAIN) * first and least < _NOISE / 4 + _MOST_LEFT / 2 * contrast:
        move[0], move[1] = best_x, best_y
        return True
    return fits


@leaf
def _patch_squares(one, other, tile_row, tile_column, right, down):  # type: ignore[no-untyped-def]
    """Variance of what a patch and its surroundings differ by after a move, of every other cell.

    Below zero where too little of them is left.
    """
    left, top = int(np.floor(right)), int(np.floor(down))
    ee = e = n = 0.0
    for row in range(
        max(tile_row * _TILE - 2, -top, 0), min(tile_row * _TILE + _TILE + 2, LUMA_ROWS - 1 - top, LUMA_ROWS)
    ):
        for column in range(
            max(tile_column * _TILE - 2, -left, 0) + row % 2,
            min(tile_column * _TILE + _TILE + 2, LUMA_COLUMNS - 1 - left, LUMA_COLUMNS),
            2,
        ):
            cell = np.uint32(row * LUMA_COLUMNS + column)
            off = _level(other, column + right, row + down) - one[cell]
            ee += off * off
            e += off
            n += 1.0
    return max(ee - e * e / n, 0.0) / n if n >= 12.0 else -1.0


@leaf
def _patch_step(one, slopes, other, tile_row, tile_column, right, down):  # type: ignore[no-untyped-def]
    """How much further a patch has moved, by the slopes of its levels, as Lucas and Kanade have it."""
    left, top = int(np.floor(right)), int(np.floor(down))
    xx = yy = 2.0
    xy = xe = ye = 0.0
    for row in range(
        max(tile_row * _TILE - 2, -top, 1), min(tile_row * _TILE + _TILE + 2, LUMA_ROWS - 1 - top, LUMA_ROWS - 1)
    ):
        for column in range(
            max(tile_column * _TILE - 2, -left, 1),
            min(tile_column * _TILE + _TILE + 2, LUMA_COLUMNS - 1 - left, LUMA_COLUMNS - 1),
        ):
            cell = np.uint32(row * LUMA_COLUMNS + column)
            off = _level(other, column + right, row + down) - one[cell]
            gx, gy = slopes[0, cell], slopes[1, cell]
            xx += gx * gx
            xy += gx * gy
            yy += gy * gy
            xe += gx * off
            ye += gy * off
    size = xx * yy - xy * xy
    by_x, by_y = (xy * ye - yy * xe) / size, (xy * xe - xx * ye) / size
    return min(max(by_x, -1.0), 1.0), min(max(by_y, -1.0), 1.0)
