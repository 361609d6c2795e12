"""A dataset's quality is what its filters retain; intervals hold what they promise."""

import math
from typing import get_args

import numpy as np
import pytest
from hypothesis import given as given_by
from hypothesis import strategies as st

from benchmarks.mimic.intervals import SHAPES, SHARES, coverage, scores
from tests.scoring.selection.rows import ids_of, sampled_votes
from winnow.scoring.selection.binarise import BinariseRule, RuleName, binarise, fit_cut
from winnow.scoring.selection.histograms import ScoreHistogram
from winnow.scoring.selection.label_model import Aggregation, aggregate
from winnow.scoring.selection.quality import Quality, estimate_quality, kept_share, pearson, retained
from winnow.scoring.selection.ranks import Floats
from winnow.scoring.selection.share_interval import share_odds

PAPER_NOISE = [0.3, 0.4, 0.5, 0.6, 0.7] * 6
# Estimated dataset quality by the paper's figure (arXiv 2501.06708), read off its markers.
PAPER_QUALITY = [
    *(0.697, 0.610, 0.521, 0.423, 0.326),
    *(0.627, 0.620, 0.532, 0.444, 0.338),
    *(0.451, 0.624, 0.528, 0.436, 0.341),
    *(0.716, 0.622, 0.529, 0.433, 0.337),
    *(0.733, 0.653, 0.576, 0.502, 0.426),
    *(0.737, 0.650, 0.558, 0.463, 0.358),
]


def test_the_majority_keeps_rows_with_half_of_the_votes_or_more() -> None:
    votes = np.array([[1, 1, 0], [0, 0, 1], [1, 0, -1], [-1, -1, -1]], np.int8)
    kept = aggregate(votes, "majority")
    assert retained(kept).tolist() == [1, 0, 1, -1]
    assert kept_share(kept.fit) == 2 / 3


def test_the_label_model_keeps_its_mean_posterior() -> None:
    votes, _ = sampled_votes(3000, 0.6, [0.9, 0.8, 0.75], [0.8, 0.85, 0.75], abstains=0.2)
    kept = aggregate(votes)
    assert kept_share(kept.fit) == pytest.approx(np.nanmean(kept.probability), rel=1e-12)


def correlated(rows: int, apart: float, balance: float, seed: int) -> Floats:
    """Scores at three checkpoints that are correlated by .9 given the class, whose means lie apart."""
    random = np.random.default_rng(seed)
    good = random.random((rows, 1)) < balance
    scores: Floats = apart * good + 0.9**0.5 * random.normal(size=(rows, 1)) + 0.1**0.5 * random.normal(size=(rows, 3))
    return scores


def qualities(scores: Floats) -> list[Quality]:
    """By majority and by the label model."""
    votes = binarise(scores, BinariseRule("gmm"))
    return [estimate_quality(aggregate(votes.kept, how).fit, votes.detail) for how in get_args(Aggregation)]


THERE_IS_ONE = {
    *("Gaussians 4 apart", "a longer tail of bad ones, farther"),
    *("Student's t, farther", "facing tails", "uniform"),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_an_interval_holds_the_true_share_whatever_the_shapes_or_there_is_none(shape: str) -> None:
    found = coverage(shape, 0.6, draws=4, first=0)
    assert found.held == found.given == (4 if shape in THERE_IS_ONE else 0)


@pytest.mark.parametrize("how", get_args(Aggregation))
def test_the_interval_is_the_same_however_votes_are_joined(how: Aggregation) -> None:
    votes = binarise(scores("Gaussians 4 apart", 3000, 0.7, 1), BinariseRule("gmm"))
    (one, other) = (estimate_quality(aggregate(votes.kept, name).fit, votes.detail) for name in ("majority", how))
    assert (one.method, one.share, one.low, one.high) == (other.method, other.share, other.low, other.high)


@pytest.mark.large
@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("shape", SHAPES)
def test_it_holds_it_at_least_92_times_in_100(shape: str, share: float) -> None:
    found = coverage(shape, share, draws=50, first=0)
    assert found.held >= 0.92 * found.given


@given_by(
    st.lists(st.integers(1, 40), min_size=3, max_size=12),
    st.lists(st.integers(1, 40), min_size=3, max_size=12),
    st.integers(6, 20),
)
def test_bounds_hold_the_share_of_any_two_groups_with_one_peak(good: list[int], bad: list[int], apart: int) -> None:
    """Counts that rise to one peak and fall after it, at places apart; the fit finds the peaks where they are far."""
    upper, lower = (sorted(one)[::2] + sorted(one)[1::2][::-1] for one in (good, bad))
    counts = np.zeros(len(lower) + len(upper) + apart, np.int64)
    counts[: len(lower)] += 20 * np.array(lower)
    counts[-len(upper) :] += 20 * np.array(upper)
    places = np.flatnonzero(counts)
    _, mixture = fit_cut(ScoreHistogram.of(places.astype(float), counts[places]), BinariseRule("gmm"))
    assert mixture is not None
    low, high = share_odds(mixture, places.astype(float), counts[places])
    assert low <= math.log(sum(upper) / sum(lower)) <= high


def test_clusters_that_overlap_too_much_have_no_interval() -> None:
    found = qualities(correlated(300, 1.0, 0.5, 0))
    assert [(one.method, one.low, one.high, one.share == one.kept) for one in found] == [("overlap", 0, 1, True)] * 2


def test_what_overlap_does_to_the_share_that_is_kept_is_not_in_the_estimate() -> None:
    """Three in ten rows are good, four deviations away."""
    (found, _) = qualities(correlated(100_000, 4.0, 0.3, 3))
    assert found.share == pytest.approx(0.3, abs=0.005)
    assert found.low <= 0.3 <= found.high


@pytest.mark.parametrize("rule", ["kmeans", "top", "threshold"])
def test_rules_without_a_model_of_good_and_bad_rows_have_no_interval(rule: RuleName) -> None:
    votes = binarise(correlated(500, 3.0, 0.5, 0), BinariseRule(rule), ids=ids_of(500))
    fit = aggregate(votes.kept, "majority").fit
    assert estimate_quality(fit, votes.detail) == Quality(kept_share(fit), 0, 1, 500, "kept", kept_share(fit))


def test_no_votes_have_no_quality() -> None:
    quality = estimate_quality(aggregate(np.full((3, 3), -1, np.int8)).fit, ())
    assert math.isnan(quality.share)
    assert (quality.low, quality.high, quality.rows) == (0, 1, 0)


def test_the_paper_correlation_is_found_from_its_figure() -> None:
    assert pearson(PAPER_NOISE, PAPER_QUALITY) == pytest.approx(-0.9033, abs=5e-5)


def test_a_correlation_is_numpys() -> None:
    random = np.random.default_rng(0)
    one = random.normal(0, 1, 50)
    other = one + random.normal(0, 1, 50)
    assert pearson(one.tolist(), other.tolist()) == pytest.approx(np.corrcoef(one, other)[0, 1], rel=1e-12)
    assert pearson([1, 2, 3], [1e300, 2e300, 3e300]) == pytest.approx(1)


def test_what_does_not_vary_has_no_correlation() -> None:
    assert pearson([1, 1, 1], [1, 2, 3]) is None
    assert pearson([1], [1]) is None
    with pytest.raises(ValueError, match="as many of each"):
        pearson([1, 2], [1, 2, 3])
