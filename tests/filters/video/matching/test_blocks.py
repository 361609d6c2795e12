"""Blocks are found where a plain search of every move finds them, to the last bit."""

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.filters.video.drawn import scene
from winnow.filters.video.decode.signals import LUMA_COLUMNS, LUMA_ROWS, PATCH_COLUMNS, PATCH_ROWS
from winnow.filters.video.matching.blocks import match_blocks

Move = tuple[float, float]


def searched(before: NDArray[np.int64], after: NDArray[np.int64], row: int, column: int) -> Move | None:
    """The move of a patch in cells, down and right; None without a match."""
    top = min(max(row * LUMA_ROWS // PATCH_ROWS - 2, 4), LUMA_ROWS - 12)
    left = min(max(column * LUMA_COLUMNS // PATCH_COLUMNS - 2, 4), LUMA_COLUMNS - 12)
    block = before[top : top + 8, left : left + 8]
    if np.abs(block - block.mean()).mean() < 2:
        return None

    def apart(down: int, right: int) -> int:
        moved = after[top + down : top + down + 8, left + right : left + right + 8]
        return int(np.abs(moved - block).sum()) + 4 * (abs(down) + abs(right))

    best, least = (0, 0), apart(0, 0)
    for step in (4, 2, 1):
        if least < 64:
            break
        around = [(best[0] + y, best[1] + x) for y in (-step, 0, step) for x in (-step, 0, step) if y or x]
        for down, right in around:
            if max(abs(down), abs(right)) <= 4 and apart(down, right) < least:
                best, least = (down, right), apart(down, right)
    if least > 64 * 12:
        return None
    grown = before[top - 1 : top + 9, left - 1 : left + 9]
    x_slope, y_slope = (grown[1:-1, 2:] - grown[1:-1, :-2]) / 2, (grown[2:, 1:-1] - grown[:-2, 1:-1]) / 2
    gain = after[top + best[0] : top + best[0] + 8, left + best[1] : left + best[1] + 8] - block
    xx, yy, xy = 64 + (x_slope**2).sum(), 64 + (y_slope**2).sum(), (x_slope * y_slope).sum()
    x_gain, y_gain = (x_slope * gain).sum(), (y_slope * gain).sum()
    size = xx * yy - xy * xy
    x_by, y_by = (xy * y_gain - yy * x_gain) / size, (xy * x_gain - xx * y_gain) / size
    return best[0] + min(max(y_by, -1.0), 1.0), best[1] + min(max(x_by, -1.0), 1.0)


def plane(number: int, moved: tuple[int, int], noise: float) -> NDArray[np.uint8]:
    whole = np.roll(scene(number)[..., 0], moved, axis=(0, 1)).astype(np.float64)
    rows = np.linspace(0, len(whole) - 1, LUMA_ROWS).astype(int)
    columns = np.linspace(0, whole.shape[1] - 1, LUMA_COLUMNS).astype(int)
    cells = whole[rows][:, columns] + noise * np.random.default_rng(number).normal(size=(LUMA_ROWS, LUMA_COLUMNS))
    found: NDArray[np.uint8] = np.clip(cells, 0, 255).astype(np.uint8)
    return found


@pytest.mark.parametrize(("moved", "noise"), [((0, 0), 0), ((3, -7), 0), ((-9, 14), 3), ((0, 0), 8), ((30, 50), 1)])
def test_moves_are_those_of_a_plain_search(moved: tuple[int, int], noise: float) -> None:
    for number in (1, 5):
        before, after = plane(number, (0, 0), 0), plane(number, moved, noise)
        patches = np.full((PATCH_ROWS, PATCH_COLUMNS), np.nan)
        covered, right, down = match_blocks(before, after, 0.5, patches)
        ways = np.full((PATCH_ROWS, PATCH_COLUMNS, 2), np.nan)
        for row in range(PATCH_ROWS):
            for column in range(PATCH_COLUMNS):
                found = searched(before.astype(np.int64), after.astype(np.int64), row, column)
                if found is not None:
                    ways[row, column] = found[1] / LUMA_COLUMNS, found[0] / LUMA_ROWS * 0.5
        known = ~np.isnan(ways[..., 0])
        assert covered == known.sum()
        np.testing.assert_array_equal(patches, np.sqrt((ways**2).sum(axis=2)))
        if covered:
            assert (right, down) == pytest.approx(tuple(ways[known].mean(axis=0)))
