"""Batches come from ids alone; a row is kept when its softmax weight is above that of an even share."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.scoring.selection.rows import ids_of, shuffled, tables
from winnow.schemas.recipe.score import RelativeTemperature
from winnow.scoring.selection.in_batch import above_uniform, batches_of, members
from winnow.scoring.selection.ranks import Floats, Ids, Integers


@pytest.mark.parametrize(
    ("rows", "batch", "sizes"),
    [
        (0, 4, []),
        (1, 4, [1]),
        (4, 4, [4]),
        (8, 4, [4, 4]),
        (11, 4, [4, 4, 3]),
        (10, 4, [4, 4, 2]),
        (9, 4, [4, 5]),  # one row is never left alone
        (3, 2, [3]),
    ],
)
def test_rows_are_cut_into_batches_of_one_size(rows: int, batch: int, sizes: list[int]) -> None:
    assert np.bincount(batches_of(ids_of(rows), batch)).tolist() == sizes


def test_a_batch_of_one_is_refused() -> None:
    with pytest.raises(ValueError, match="expected 2 or more"):
        batches_of(ids_of(4), 1)


def test_the_batch_of_a_row_follows_from_the_ids_whatever_their_order() -> None:
    ids, order = ids_of(1000), np.random.default_rng(1).permutation(1000)
    assert np.array_equal(batches_of(shuffled(ids, order), 32), batches_of(ids, 32)[order])


def test_another_seed_assembles_other_batches() -> None:
    ids = ids_of(1000)
    one, other = batches_of(ids, 32, seed=1), batches_of(ids, 32, seed=2)
    assert 0 < (one == other).mean() < 0.1


def test_known_batches_stay_known() -> None:
    ids = np.arange(10, dtype=np.uint64), np.arange(10, dtype=np.uint64)
    assert batches_of(ids, 4, seed=7).tolist() == [1, 1, 0, 2, 1, 0, 0, 1, 2, 0]


def test_the_threshold_is_one_over_the_rows_with_a_score() -> None:
    scores = np.array([0.0, 1.0, math.nan, 0.0, 0.0, 7.0, math.nan])
    batches = np.array([0, 0, 0, 1, 1, 2, 2])
    # The first batch has two scores; in the second nobody is above an even share; in the third one is alone.
    assert above_uniform(scores, members(batches), 1.0).tolist() == [0, 1, -1, 0, 0, -1, -1]


def test_a_row_in_no_batch_abstains() -> None:
    assert above_uniform(np.array([0.0, 1.0, 9.0]), members(np.array([4, 4, -1])), 1.0).tolist() == [0, 1, -1]


def test_a_lower_temperature_favours_the_highest() -> None:
    scores, of = np.array([0.0, 0.8, 1.0]), members(np.zeros(3, np.int64))
    assert above_uniform(scores, of, 1.0).tolist() == [0, 1, 1]
    assert above_uniform(scores, of, 0.05).tolist() == [0, 0, 1]


def test_scores_far_apart_do_not_overflow() -> None:
    scores, of = np.array([-1.7e308, 1.7e308, 1e300]), members(np.zeros(3, np.int64))
    assert above_uniform(scores, of, 1e-300).tolist() == [0, 1, 0]


@settings(deadline=None, derandomize=True)
@given(tables(checkpoints=1), st.sampled_from([0.05, 1.0, 30.0]), st.integers(2, 9))
def test_votes_are_what_the_definition_says_row_by_row(
    table: tuple[Floats, Ids, Integers], temperature: float, batch: int
) -> None:
    scores, ids, _ = table
    column = np.where(np.abs(scores[:, 0]) < 10, scores[:, 0], math.nan)
    batches = batches_of(ids, batch)
    found = above_uniform(column, members(batches), temperature)
    for row, score in enumerate(column.tolist()):
        peers = [m for m, other in zip(column, batches, strict=True) if other == batches[row] and not math.isnan(m)]
        if math.isnan(score) or len(peers) < 2:
            assert found[row] == -1
        else:
            weight = 1 / math.fsum(math.exp((m - score) / temperature) for m in peers)
            assert found[row] == (weight > 1 / len(peers)) or math.isclose(weight * len(peers), 1, rel_tol=1e-12)


def test_a_relative_temperature_sees_neither_scale_nor_missing_scores() -> None:
    scores = np.random.default_rng(0).normal(size=40)
    scores[::7] = math.nan
    of = members(np.arange(40) // 8)
    found = above_uniform(scores, of, RelativeTemperature(0.5))
    assert np.array_equal(above_uniform(1000 * scores, of, RelativeTemperature(0.5)), found)
    for rows in of[0]:
        one = scores[rows]
        tau = 0.5 * float(np.nanstd(one))
        assert np.array_equal(above_uniform(one, [np.arange(8)[np.newaxis]], tau), found[rows])
