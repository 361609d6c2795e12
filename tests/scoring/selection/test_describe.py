"""Distributions as reports show them."""

import math

import numpy as np
import pytest
from hypothesis import given, settings

from tests.property_sizes import scaled
from tests.scoring.selection.rows import ids_of, shuffled, tables
from winnow.scoring.selection.describe import Bars, Summary, bars, extremes, summary
from winnow.scoring.selection.histograms import ScoreHistogram
from winnow.scoring.selection.ranks import Floats, Ids, Integers

NAN = math.nan


def _summary(scores: Floats, *quantiles: list[float]) -> Summary:
    return summary(ScoreHistogram.of(scores), len(scores), *quantiles)


def _bars(scores: Floats, most: int = 60, between: tuple[float, float] | None = None) -> Bars:
    return bars(ScoreHistogram.of(scores), most, between)


def test_moments_and_quantiles_of_what_is_finite() -> None:
    found = _summary(np.array([1.0, 2.0, NAN, 3.0, 6.0, math.inf]), [0.25, 0.5, 1])
    assert (found.rows, found.scored, found.least, found.greatest, found.mean) == (6, 4, 1, 6, 3)
    assert found.deviation == pytest.approx(math.sqrt(3.5))
    assert found.quantiles == ((0.25, 1.0), (0.5, 2.0), (1, 6.0))


def test_moments_are_scipys() -> None:
    stats = pytest.importorskip("scipy.stats")
    scores = np.random.default_rng(0).gamma(2, 3, 1000)
    found = _summary(scores)
    assert found.skewness == pytest.approx(stats.skew(scores))
    assert found.kurtosis == pytest.approx(stats.kurtosis(scores))
    for fraction, value in found.quantiles:
        assert value == np.quantile(scores, fraction, method="inverted_cdf")


def test_no_scores_and_equal_scores_have_no_shape() -> None:
    assert _summary(np.array([NAN])).mean is None
    same = _summary(np.full(7, 0.1))
    assert (same.mean, same.deviation, same.skewness, same.kurtosis) == (0.1, 0, None, None)


def test_bins_between_given_edges_count_what_is_outside() -> None:
    found = _bars(np.array([-9, 0, 0.5, 1, 1.5, 2, 2.5, NAN]), most=2, between=(0, 2))
    assert (found.edges, found.counts, found.below, found.above) == ((0, 1, 2), (2, 3), 1, 1)


def test_bins_of_no_range_have_round_edges() -> None:
    found = _bars(np.random.default_rng(0).normal(0, 1, 5000), most=60)
    assert found.edges[1] - found.edges[0] == pytest.approx(0.2)
    assert found.edges[0] == -3.2
    assert sum(found.counts) + found.below + found.above == 5000
    assert found.below + found.above <= 10
    assert len(found.counts) <= 60


def test_equal_scores_have_one_bin_around_them() -> None:
    for value in (0.0, -3.0, 1e300):
        found = _bars(np.full(4, value))
        assert found.counts == (4,)
        assert found.edges[0] < value < found.edges[1]
    assert _bars(np.array([NAN])).counts == ()


@settings(deadline=None, derandomize=True, max_examples=scaled(80))
@given(tables(checkpoints=1))
def test_the_same_for_any_order_and_every_score_is_counted(table: tuple[Floats, Ids, Integers]) -> None:
    scores, ids, order = table[0][:, 0], table[1], table[2]
    assert _summary(scores) == _summary(scores[order])
    found = _bars(scores, most=7)
    assert found == _bars(scores[order], most=7)
    assert sum(found.counts) + found.below + found.above == int(np.isfinite(scores).sum())
    assert len(found.counts) <= 7
    one, other = extremes(scores, ids, 4), extremes(scores[order], shuffled(ids, order), 4)
    assert np.array_equal(order[other.highest], one.highest)
    assert np.array_equal(order[other.lowest], one.lowest)


def test_extremes_are_the_utmost_first() -> None:
    scores = np.array([3.0, NAN, 1.0, 5.0, 4.0, 2.0])
    found = extremes(scores, ids_of(6), 2)
    assert (found.highest.tolist(), found.lowest.tolist()) == ([3, 4], [2, 5])
    few = extremes(scores, ids_of(6), 10)
    assert (len(few.highest), len(few.lowest)) == (5, 5)
    assert few.lowest.tolist() == few.highest[::-1].tolist()
    assert len(extremes(np.array([NAN]), ids_of(1)).highest) == 0


def test_edges_that_do_not_rise_are_refused() -> None:
    with pytest.raises(ValueError, match="ascending edges"):
        _bars(np.zeros(2), between=(1, 1))
