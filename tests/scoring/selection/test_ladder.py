"""Arms of equal size at each fraction, nested, by exact ranks."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings

from tests.property_sizes import scaled
from tests.scoring.selection.rows import ids_of, shuffled, tables
from winnow.schemas.errors import RecipeError
from winnow.scoring.selection.ladder import FRACTIONS, ladder
from winnow.scoring.selection.ranks import Floats, Ids, Integers

SCORES = np.array([3.0, 1.0, math.nan, 2.0, 5.0, 4.0])


def test_arms_take_the_top_the_bottom_and_as_many_at_random() -> None:
    found = ladder(SCORES, ids_of(6), [0.2, 0.6])
    assert (found.rows, found.counts) == (5, (1, 3))
    assert np.flatnonzero(found.arms["top"].members(0)).tolist() == [4]
    assert np.flatnonzero(found.arms["top"].members(1)).tolist() == [0, 4, 5]
    assert np.flatnonzero(found.arms["bottom"].members(1)).tolist() == [0, 1, 3]
    random = found.arms["random"]
    assert (int(random.members(0).sum()), int(random.members(1).sum())) == (1, 3)


def test_a_row_says_from_which_fraction_on_it_is_in() -> None:
    found = ladder(SCORES, ids_of(6), [0.2, 0.6])
    assert found.arms["top"].entry().tolist() == [1, 2, -1, 2, 0, 1]


@settings(deadline=None, derandomize=True, max_examples=scaled(60))
@given(tables(checkpoints=1))
def test_arms_are_of_equal_size_nested_and_the_same_for_any_order(table: tuple[Floats, Ids, Integers]) -> None:
    scores, ids, order = table[0][:, 0], table[1], table[2]
    one, other = ladder(scores, ids), ladder(scores[order], shuffled(ids, order))
    for name in one.arms:
        arm = one.arms[name]
        assert np.array_equal(other.arms[name].place, arm.place[order])
        members = [arm.members(number) for number in range(len(FRACTIONS))]
        assert [int(rows.sum()) for rows in members] == list(one.counts)
        assert all((small <= large).all() for small, large in pairwise(members))
        assert not any(rows[~np.isfinite(scores)].any() for rows in members)
        entry = arm.entry()
        assert all(np.array_equal(rows, (entry >= 0) & (entry <= number)) for number, rows in enumerate(members))


def test_the_top_and_the_bottom_of_the_rest_are_all_rows() -> None:
    found = ladder(np.zeros(200), ids_of(200), [0.3, 0.7])  # even where all scores are equal
    assert np.array_equal(found.arms["top"].members(0), ~found.arms["bottom"].members(1))


def test_the_top_holds_no_lower_score_than_the_rest() -> None:
    scores = np.random.default_rng(0).normal(0, 1, 1000).round(1)
    found = ladder(scores, ids_of(1000))
    for number, count in enumerate(found.counts):
        rows = found.arms["top"].members(number)
        assert sorted(scores[rows].tolist()) == sorted(scores.tolist())[-count:]


def test_the_random_arm_knows_nothing_of_scores_and_follows_the_seed() -> None:
    scores, ids = np.random.default_rng(0).normal(0, 1, 20_000), ids_of(20_000)
    one, other = (ladder(scores, ids, [0.5], seed).arms["random"].members(0) for seed in (0, 1))
    assert abs(float(scores[one].mean())) < 4 / math.sqrt(10_000)
    assert 0.48 < (one == other).mean() < 0.52


def test_fractions_that_do_not_rise_are_refused() -> None:
    for fractions in ([], [0.5, 0.2], [0.2, 0.2], [-0.1], [1.1], [math.nan]):
        with pytest.raises(RecipeError, match="expected rising numbers from 0 to 1"):
            ladder(SCORES, ids_of(6), fractions)


def test_ids_of_other_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="6 scores of 5 ids"):
        ladder(SCORES, ids_of(5))
