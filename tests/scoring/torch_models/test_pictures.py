"""Tasks get pictures as squares of pixels, and take those of the rows that they want."""

import tracemalloc

import numpy as np
import pyarrow as pa

from tests.messages import assert_refused
from tests.scoring.torch_models.samples import noise, plain, squares
from winnow.schemas.errors import ScoreError
from winnow.scoring.protocol import NO_INPUT, OK, picture_type
from winnow.scoring.torch_models.examples import Examples, joined
from winnow.scoring.torch_models.pictures import squares_of


def test_rows_that_are_wanted_and_have_a_picture_give_it_in_order() -> None:
    column = squares([plain((1, 1, 1)), b"no image", plain((2, 2, 2)), None, plain((3, 3, 3))], 4)
    status, pixels = squares_of(column, np.array([True, True, False, True, True]), 4)
    assert list(status) == [OK, NO_INPUT, OK, NO_INPUT, OK]
    assert pixels.shape == (2, 4, 4, 3)
    assert [int(one.max()) for one in pixels] == [int(one.min()) for one in pixels] == [1, 3]


def test_a_part_of_a_column_gives_its_own() -> None:
    column = squares([noise(seed) for seed in range(5)])
    _, whole = squares_of(column, np.ones(5, bool), 16)
    _, part = squares_of(column.slice(2, 2), np.ones(2, bool), 16)
    np.testing.assert_array_equal(part, whole[2:4])


def test_no_rows_give_nothing_and_another_size_is_refused() -> None:
    for nothing in (pa.array([], picture_type(4)), pa.nulls(3, picture_type(4))):
        assert squares_of(nothing, np.ones(len(nothing), bool), 4)[1].shape == (0, 4, 4, 3)
    with assert_refused(ScoreError, "fixed_size_binary[48]", "fixed_size_binary"):
        squares_of(pa.array([], picture_type(4)), np.ones(0, bool), 5)


def test_the_images_of_a_part_are_held_once() -> None:
    column = squares([plain((9, 9, 9), 4)] * 40, 100)
    tracemalloc.start()
    _, pixels = squares_of(column, np.ones(40, bool), 100)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 1.5 * pixels.nbytes
    part = Examples(40, pixels)
    assert joined([part]) is part
