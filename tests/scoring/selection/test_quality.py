"""A dataset's quality is what its filters retain; intervals hold what they promise."""

import math

import numpy as np
import pytest

from tests.scoring.selection.rows import sampled_votes
from winnow.scoring.selection.label_model import aggregate
from winnow.scoring.selection.quality import estimate_quality, pearson, retained, wilson

SENSITIVITY, SPECIFICITY = [0.9, 0.8, 0.75, 0.85, 0.7], [0.8, 0.85, 0.75, 0.8, 0.7]
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


def test_the_majority_retains_rows_with_half_of_the_votes_or_more() -> None:
    votes = np.array([[1, 1, 0], [0, 0, 1], [1, 0, -1], [-1, -1, -1]], np.int8)
    kept = aggregate(votes, "majority")
    assert retained(kept).tolist() == [1, 0, 1, -1]
    quality = estimate_quality(kept.fit)
    assert (quality.share, quality.rows, quality.method) == (2 / 3, 3, "wilson")


def test_wilson_is_the_published_interval() -> None:
    # Newcombe 1998, table I, method 3: 81 of 263, 15 of 148, 0 of 20, 1 of 29.
    for kept, rows, low, high in [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
        (20, 20, 0.8389, 1.0),
    ]:
        found = wilson(kept, rows)
        assert (found.low, found.high) == pytest.approx((low, high), abs=5e-5)


def test_the_label_model_gives_its_mean_posterior_which_is_its_balance() -> None:
    votes, _ = sampled_votes(3000, 0.6, SENSITIVITY, SPECIFICITY, abstains=0.2)
    kept = aggregate(votes)
    quality = estimate_quality(kept.fit)
    assert kept.fit.model is not None
    assert quality.method == "delta"
    assert quality.share == pytest.approx(np.nanmean(kept.probability), rel=1e-12)
    assert quality.share == pytest.approx(kept.fit.model.balance, abs=1e-8)
    assert quality.low < quality.share < quality.high
    assert quality.rows == int((~np.isnan(kept.probability)).sum())


@pytest.mark.parametrize(("rows", "balance"), [(400, 0.6), (2000, 0.85)])
def test_the_interval_of_the_label_model_covers_the_truth(rows: int, balance: float) -> None:
    draws, covered = 150, 0
    for seed in range(draws):
        votes, _ = sampled_votes(rows, balance, SENSITIVITY, SPECIFICITY, seed=seed)
        quality = estimate_quality(aggregate(votes).fit)
        covered += quality.low <= balance <= quality.high
    assert 0.89 <= covered / draws <= 0.99  # 0.95, within three standard deviations of so many draws


@pytest.mark.parametrize("rows", [20, 400])
def test_the_interval_of_the_majority_covers_the_share_that_filters_retain(rows: int) -> None:
    everyone = estimate_quality(
        aggregate(sampled_votes(200_000, 0.6, SENSITIVITY, SPECIFICITY)[0], "majority").fit
    ).share
    draws, covered = 400, 0
    for seed in range(1, draws + 1):
        votes, _ = sampled_votes(rows, 0.6, SENSITIVITY, SPECIFICITY, seed=seed)
        quality = estimate_quality(aggregate(votes, "majority").fit)
        covered += quality.low <= everyone <= quality.high
    assert 0.92 <= covered / draws <= 0.98


def test_more_rows_give_a_narrower_interval() -> None:
    widths = []
    for rows in (300, 3000, 30_000):
        quality = estimate_quality(aggregate(sampled_votes(rows, 0.6, SENSITIVITY, SPECIFICITY)[0]).fit)
        widths.append(quality.high - quality.low)
    assert widths[0] > 2 * widths[1] > 4 * widths[2]


def test_checkpoints_that_always_agree_are_believed_as_one() -> None:
    """They are not independent, and the model takes them for faultless: their bias is not in the interval."""
    votes, _ = sampled_votes(1000, 0.6, [0.9], [0.8])
    kept = aggregate(np.repeat(votes, 5, axis=1))
    quality, alone = estimate_quality(kept.fit), wilson(int(votes.sum()), 1000)
    assert kept.probability == pytest.approx(votes[:, 0].astype(float), abs=1e-4)
    assert (quality.share, quality.low, quality.high) == pytest.approx((alone.share, alone.low, alone.high), abs=1e-3)


@pytest.mark.parametrize("vote", [0, 1])
def test_votes_that_are_all_alike_do_not_tell_how_good_they_are(vote: int) -> None:
    quality = estimate_quality(aggregate(np.full((50, 4), vote, np.int8)).fit)
    assert quality.share == pytest.approx(vote, abs=1e-5)
    assert (quality.low, quality.high, quality.method) == (0, 1, "undetermined")


def test_no_votes_have_no_quality() -> None:
    quality = estimate_quality(aggregate(np.full((3, 3), -1, np.int8)).fit)
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
