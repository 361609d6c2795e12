"""Filters over the same rows: exact counts, abstentions apart."""

import numpy as np
import pytest

from winnow.scoring.selection.overlap import overlap

ONE = np.array([1, 1, 1, 0, 0, -1, -1, 1, 0], np.int8)
OTHER = np.array([1, 1, 0, 1, 0, 1, -1, -1, 0], np.int8)


def test_a_pair_is_counted_cell_by_cell() -> None:
    pair = overlap({"mimic": ONE, "clip": OTHER}).pairs[0]
    assert (pair.one, pair.other) == ("mimic", "clip")
    assert (pair.both, pair.only_one, pair.only_other, pair.neither) == (2, 1, 1, 2)
    assert (pair.one_abstains, pair.other_abstains, pair.both_abstain) == (1, 1, 1)
    assert (pair.decided, pair.jaccard, pair.agreement) == (6, 0.5, 4 / 6)


def test_the_counts_of_each_filter_are_of_all_rows() -> None:
    found = overlap({"mimic": ONE, "clip": OTHER})
    assert found.rows == 9
    assert (found.kept, found.dropped) == ({"mimic": 4, "clip": 4}, {"mimic": 3, "clip": 3})
    assert found.abstained == {"mimic": 2, "clip": 2}


def test_kappa_is_scikit_learns() -> None:
    metrics = pytest.importorskip("sklearn.metrics", reason="needs scikit-learn")
    random = np.random.default_rng(0)
    one = (random.random(500) < 0.6).astype(np.int8)
    other = np.where(random.random(500) < 0.7, one, 1 - one).astype(np.int8)
    assert overlap({"a": one, "b": other}).pairs[0].kappa == pytest.approx(metrics.cohen_kappa_score(one, other))
    assert overlap({"a": one, "b": one}).pairs[0].kappa == 1


def test_what_cannot_be_divided_is_none() -> None:
    nothing = np.zeros(3, np.int8)
    pair = overlap({"a": nothing, "b": nothing}).pairs[0]
    assert (pair.jaccard, pair.kappa, pair.agreement) == (None, None, 1)
    silent = overlap({"a": nothing, "b": np.full(3, -1, np.int8)}).pairs[0]
    assert (silent.agreement, silent.one_abstains, silent.other_abstains) == (None, 0, 3)


def test_more_filters_are_compared_in_pairs_and_all_together() -> None:
    third = np.array([1, 0, 1, 0, 1, 1, 1, 1, 0], np.int8)
    found = overlap({"a": ONE, "b": OTHER, "c": third})
    assert [(pair.one, pair.other) for pair in found.pairs] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert (found.decided_by_all, found.kept_by_all, found.kept_by_any) == (6, 1, 5)
    assert found.jaccard == 1 / 5


def test_the_same_for_any_order_of_rows() -> None:
    random = np.random.default_rng(0)
    votes = random.integers(-1, 2, (3, 400)).astype(np.int8)
    order = random.permutation(400)
    one, other = (overlap(dict(zip("abc", rows, strict=True))) for rows in (votes, votes[:, order]))
    assert one == other


def test_filters_of_other_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="filters over 3, 9 rows"):
        overlap({"a": ONE, "b": ONE[:3]})
    with pytest.raises(ValueError, match="two or more"):
        overlap({"a": ONE})
    with pytest.raises(ValueError, match="b: votes are 1, 0 or -1"):
        overlap({"a": ONE, "b": ONE * 3})


def test_no_rows_overlap_in_nothing() -> None:
    empty = np.zeros(0, np.int8)
    found = overlap({"a": empty, "b": empty})
    assert (found.rows, found.jaccard, found.pairs[0].jaccard) == (0, None, None)
