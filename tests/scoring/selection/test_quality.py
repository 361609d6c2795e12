"""A dataset's quality is what its filters retain; intervals hold what they promise."""

import math
from typing import get_args

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import norm

from tests.scoring.selection.rows import ids_of, sampled_votes
from winnow.scoring.selection.binarise import BinariseRule, RuleName, binarise, fit_cut
from winnow.scoring.selection.histograms import ScoreHistogram
from winnow.scoring.selection.label_model import Aggregation, aggregate
from winnow.scoring.selection.quality import Quality, estimate_quality, kept_share, pearson, retained
from winnow.scoring.selection.ranks import Floats
from winnow.scoring.selection.share_interval import DROP, share_odds

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


def covered(rows: int, apart: float, balance: float, draws: int, first: int = 0) -> tuple[list[float], int]:
    """How often the interval holds the true share of good rows, by majority and label model; and how often there is
    one."""
    hits, given = [0, 0], 0
    for seed in range(first, first + draws):
        found = qualities(correlated(rows, apart, balance, seed))
        assert len({one.method for one in found}) == 1
        given += found[0].method == "clusters"
        for number, one in enumerate(found):
            hits[number] += one.method == "clusters" and one.low <= balance <= one.high
    return [one / max(given, 1) for one in hits], given


def test_the_interval_covers_the_true_share_of_clusters_that_overlap() -> None:
    """Three deviations apart; Wilson's interval of what is kept covers .63 to .83 here."""
    share, given = covered(2000, 3.0, 0.85, 40)
    assert given == 40
    assert all(0.85 <= one <= 1 for one in share)  # three standard deviations of 40 draws below .95


@pytest.mark.large
@pytest.mark.parametrize(
    ("rows", "apart", "balances"),
    [(5_000, 2.0, (0.5, 0.7)), (2_000, 3.0, (0.5, 0.7)), (2_000, 3.0, (0.1, 0.9))],
)
def test_the_interval_covers_the_true_share_92_to_98_times_in_100(
    rows: int, apart: float, balances: tuple[float, float]
) -> None:
    """Of 400 draws, half of them with each share of good rows."""
    found = [covered(rows, apart, balance, 200, first=1000) for balance in balances]
    assert sum(given for _, given in found) >= 380
    both = [
        sum(share[number] * given for share, given in found) / sum(given for _, given in found) for number in range(2)
    ]
    assert all(0.92 <= one <= 0.98 for one in both), both


@pytest.mark.large
def test_an_interval_covers_the_share_of_a_small_overlapping_cluster_also_where_its_fit_looks_sharp() -> None:
    """Bounds by the information at the best fit are given here for six of ten draws, and cover .6 of these."""
    share, given = covered(5_000, 2.0, 0.85, 200, first=5000)
    assert given >= 100
    assert all(one >= 0.84 for one in share), share


def test_clusters_that_overlap_too_much_have_no_interval() -> None:
    found = qualities(correlated(300, 1.0, 0.5, 0))
    assert [(one.method, one.low, one.high, one.share == one.kept) for one in found] == [("overlap", 0, 1, True)] * 2


def test_the_bounds_are_those_where_the_likelihood_of_scipy_falls_as_far() -> None:
    scores = np.sort(correlated(1500, 2.5, 0.7, 1)[:, 0])
    ones = np.ones(len(scores), np.int64)
    _, mixture = fit_cut(ScoreHistogram.of(scores), BinariseRule("gmm"))
    assert mixture is not None

    def lost(free: Floats, odds: float) -> float:
        upper, (low, high) = 1 / (1 + math.exp(-odds)), np.exp(free[[1, 3]])
        densities = [
            share * norm.pdf(scores, mean, wide)
            for share, mean, wide in ((1 - upper, free[0], low), (upper, free[2], high))
        ]
        return -float(np.log(sum(densities)).sum())

    start = np.array([0.0, 0.0, 2.5, 0.0])
    middle = math.log(mixture.upper.share / mixture.lower.share)
    least = minimize(lost, start, (middle,), method="BFGS")
    for bound in share_odds(mixture, scores, ones):
        fallen = minimize(lost, least.x, (bound,), method="BFGS").fun - least.fun
        assert fallen == pytest.approx(DROP, rel=0.05)  # of blocks of three rows


def test_what_overlap_does_to_the_share_that_is_kept_is_not_in_the_estimate() -> None:
    """Seven in ten rows are good; the cut keeps 73 %."""
    (found, _) = qualities(correlated(100_000, 2.0, 0.7, 3))
    assert found.kept == pytest.approx(0.73, abs=0.015)
    assert found.low <= 0.7 <= found.high


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
