"""Votes become probabilities: a share, or the posterior of a model that brute force and sampled data confirm."""

import itertools
import math
import random as random_module

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.property_sizes import scaled
from tests.scoring.selection.rows import sampled_votes
from winnow.schemas.errors import RecipeError
from winnow.scoring.selection.label_model import EDGE, LabelModel, aggregate, fit_label_model, patterns_of

Votes = NDArray[np.int8]

VOTES = st.sampled_from([-1, 0, 1])
SENSITIVITY, SPECIFICITY = [0.9, 0.8, 0.7, 0.85], [0.75, 0.9, 0.65, 0.8]


def _fitted(votes: Votes) -> LabelModel:
    return fit_label_model(patterns_of(votes)[0])


def _chance(row: list[int], good: bool, model: LabelModel) -> float:
    """How likely a row of votes and its class are."""
    found = model.balance if good else 1 - model.balance
    for vote, sensitivity, specificity in zip(row, model.sensitivity, model.specificity, strict=True):
        keeps = sensitivity if good else 1 - specificity
        found *= 1.0 if vote < 0 else keeps if vote else 1 - keeps
    return found


def _log_likelihood(votes: Votes, counts: NDArray[np.float64], rates: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of each row of rates (the balance, sensitivities, specificities), by products of probabilities."""
    checkpoints = votes.shape[1]
    balance, sensitivity, specificity = rates[:, :1], rates[:, 1 : 1 + checkpoints], rates[:, 1 + checkpoints :]
    found = np.zeros(len(rates))
    for row, count in zip(votes, counts, strict=True):
        good, bad = balance[:, 0].copy(), 1 - balance[:, 0]
        for number, vote in enumerate(row.tolist()):
            if vote >= 0:
                good *= sensitivity[:, number] if vote else 1 - sensitivity[:, number]
                bad *= 1 - specificity[:, number] if vote else specificity[:, number]
        found += count * np.log(good + bad)
    return found


def test_the_majority_is_the_share_of_votes() -> None:
    votes = np.array([[1, 1, 0], [0, -1, 1], [-1, -1, 0], [-1, -1, -1]], np.int8)
    kept = aggregate(votes, "majority")
    assert kept.probability[:3].tolist() == [2 / 3, 0.5, 0]
    assert math.isnan(kept.probability[3])
    assert (kept.fit.how, kept.fit.model) == ("majority", None)


def test_patterns_are_the_distinct_rows() -> None:
    votes = np.array([[1, 0], [-1, 1], [1, 0], [1, 1]], np.int8)
    patterns, row = patterns_of(votes)
    assert np.array_equal(patterns.votes[row], votes)
    assert patterns.votes.tolist() == [[-1, 1], [1, 0], [1, 1]]
    assert patterns.counts.tolist() == [1, 2, 1]


def test_patterns_of_more_checkpoints_than_fit_a_number_are_told_apart() -> None:
    votes = np.random.default_rng(0).integers(-1, 2, (300, 65)).astype(np.int8)
    votes[200:] = votes[:100]
    patterns, row = patterns_of(votes)
    assert np.array_equal(patterns.votes[row], votes)
    assert len(patterns.counts) == 200


@settings(deadline=None, derandomize=True, max_examples=scaled(40))
@given(st.lists(st.tuples(VOTES, VOTES, VOTES).filter(lambda row: max(row) >= 0), min_size=1, max_size=7))
def test_the_likelihood_and_the_posterior_are_those_of_all_ways_to_label(rows: list[tuple[int, ...]]) -> None:
    votes = np.array(rows, np.int8)
    model = _fitted(votes)
    if np.isnan(model.sensitivity).any():
        return  # a checkpoint that never votes
    total, good_in = 0.0, np.zeros(len(rows))
    for labels in itertools.product([False, True], repeat=len(rows)):
        chance = math.prod(_chance(list(row), good, model) for row, good in zip(rows, labels, strict=True))
        total += chance
        good_in += chance * np.array(labels)
    assert model.log_likelihood == pytest.approx(math.log(total), rel=1e-9, abs=1e-9)
    assert model.posterior[patterns_of(votes)[1]] == pytest.approx(good_in / total, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("seed", range(2))
def test_no_rates_on_a_grid_are_likelier(seed: int) -> None:
    votes, _ = sampled_votes(60, 0.6, SENSITIVITY[:3], SPECIFICITY[:3], abstains=0.1 * (seed % 2), seed=seed)
    model, patterns = _fitted(votes), patterns_of(votes)[0]
    steps = (0.05, 0.25, 0.45, 0.65, 0.85, 0.95)
    rates = np.array(list(itertools.product(steps, repeat=7)))
    rates = rates[(rates[:, 1:4] + rates[:, 4:] >= 1).all(axis=1)]
    voted = (patterns.votes >= 0).any(axis=1)
    grid = _log_likelihood(patterns.votes[voted], patterns.counts[voted].astype(np.float64), rates)
    assert model.log_likelihood >= grid.max()


@pytest.mark.parametrize("seed", range(2))
def test_no_rates_that_a_search_finds_are_likelier(seed: int) -> None:
    """A general optimiser from random starts, which may stop at worse optima but should find none that is better."""
    optimize = pytest.importorskip("scipy.optimize")
    votes, _ = sampled_votes(300, 0.6, SENSITIVITY, SPECIFICITY, seed=seed)
    model, patterns = _fitted(votes), patterns_of(votes)[0]
    counts, random, best = patterns.counts.astype(np.float64), np.random.default_rng(seed), -math.inf

    def lost(odds: NDArray[np.float64]) -> float:
        rates = np.clip(1 / (1 + np.exp(-odds)), EDGE, 1 - EDGE)
        if (rates[1:5] + rates[5:] < 1).any():
            return 1e6
        return -float(_log_likelihood(patterns.votes, counts, rates[np.newaxis])[0])

    for _ in range(4):
        start = np.append(random.normal(0, 0.5), random.uniform(0.3, 2.5, 8))
        best = max(best, -optimize.minimize(lost, start, method="Powell", options={"maxiter": 20}).fun)
    assert model.converged
    assert model.log_likelihood >= best - 1e-6


def weak_votes(rows: int, seed: int) -> NDArray[np.int8]:
    """Votes of few rows by some checkpoints that are hardly better than chance, or worse."""
    random = np.random.default_rng(seed + rows)
    checkpoints = int(random.integers(3, 6))
    sensitivity, specificity = (random.uniform(0.4, 0.95, checkpoints).tolist() for _ in range(2))
    votes, _ = sampled_votes(
        rows, float(random.uniform(0.1, 0.9)), sensitivity, specificity, abstains=0.2 * (seed % 2), seed=seed
    )
    return votes


@pytest.mark.parametrize(
    ("rows", "seed", "one_start", "best"),
    [
        (40, 9, -65.0218, -64.8482),
        (40, 32, -126.9536, -126.6352),
        (40, 46, -127.6180, -127.1187),
        (100, 9, -190.7602, -190.7456),
    ],
)
def test_a_fit_does_not_end_at_the_maximum_nearest_to_the_mean_vote(
    rows: int, seed: int, one_start: float, best: float
) -> None:
    """Weak checkpoints and few rows: 18 of 180 such fits ended at a lower maximum when they had one start."""
    assert one_start + 0.01 < best - 1e-3 <= _fitted(weak_votes(rows, seed)).log_likelihood


@pytest.mark.parametrize(("rows", "seed"), [(40, 2), (100, 6), (100, 9), (100, 26), (200, 1), (200, 31)])
def test_a_weak_fit_converges_though_the_likelihood_is_flat(rows: int, seed: int) -> None:
    """With the steps of EM alone 19 of 180 such fits did not converge in 5,000; now 4 do not."""
    assert _fitted(weak_votes(rows, seed)).converged


@pytest.mark.parametrize("abstains", [0.0, 0.3])
@pytest.mark.parametrize("balance", [0.3, 0.7])
def test_known_rates_are_found_again(abstains: float, balance: float) -> None:
    votes, good = sampled_votes(40_000, balance, SENSITIVITY, SPECIFICITY, abstains=abstains)
    kept = aggregate(votes)
    assert kept.fit.model is not None
    assert kept.fit.model.converged
    assert kept.fit.model.balance == pytest.approx(balance, abs=0.03)
    assert kept.fit.model.sensitivity == pytest.approx(SENSITIVITY, abs=0.03)
    assert kept.fit.model.specificity == pytest.approx(SPECIFICITY, abs=0.03)
    # Probabilities are what they say: of rows at 0.8, eight in ten are good.
    there = ~np.isnan(kept.probability)
    tenth = np.minimum((kept.probability[there] * 10).astype(int), 9)
    for number in np.unique(tenth):
        rows = tenth == number
        if rows.sum() > 400:
            assert good[there][rows].mean() == pytest.approx(kept.probability[there][rows].mean(), abs=0.06)


def test_one_good_checkpoint_outweighs_two_bad_ones() -> None:
    votes, good = sampled_votes(20_000, 0.5, [0.98, 0.97, 0.55, 0.55, 0.55], [0.98, 0.97, 0.55, 0.55, 0.55])
    right = [((aggregate(votes, how).probability >= 0.5) == good).mean() for how in ("majority", "label_model")]
    assert right[1] > 0.97
    assert right[0] < 0.9


def test_a_checkpoint_that_votes_against_the_others_counts_as_chance() -> None:
    votes, _ = sampled_votes(5000, 0.6, [0.9, 0.85, 0.8, 0.2], [0.9, 0.85, 0.8, 0.2])
    model = aggregate(votes).fit.model
    assert model is not None
    assert model.sensitivity[3] + model.specificity[3] == pytest.approx(1)
    assert model.balance == pytest.approx(0.6, abs=0.03)


def test_unconstrained_a_checkpoint_that_votes_against_the_others_counts_in_reverse() -> None:
    votes, good = sampled_votes(20_000, 0.6, [0.9, 0.85, 0.8, 0.2], [0.9, 0.85, 0.8, 0.1])
    free, clamped = (aggregate(votes, constrained=constrained) for constrained in (False, True))
    assert free.fit.model is not None
    assert clamped.fit.model is not None
    assert free.fit.model.sensitivity == pytest.approx([0.9, 0.85, 0.8, 0.2], abs=0.02)
    assert free.fit.model.specificity == pytest.approx([0.9, 0.85, 0.8, 0.1], abs=0.02)
    assert free.fit.model.log_likelihood > clamped.fit.model.log_likelihood + 1000
    right = [((one.probability >= 0.5) == good).mean() for one in (free, clamped)]
    assert right[0] > right[1] + 0.01


def test_unconstrained_classes_are_named_by_the_mean_checkpoint() -> None:
    votes, _ = sampled_votes(5000, 0.6, [0.9, 0.85, 0.3], [0.9, 0.85, 0.2])
    model = aggregate(votes, constrained=False).fit.model
    assert model is not None
    assert float((model.sensitivity + model.specificity).mean()) >= 1
    assert model.balance == pytest.approx(0.6, abs=0.05)


@pytest.mark.parametrize("seed", [8, 53, 59])
def test_classes_whose_names_are_changed_are_as_likely(seed: int) -> None:
    """Fits that end with the classes the other way round: few rows, and checkpoints hardly better than chance."""
    patterns = patterns_of(weak_votes(20, seed))[0]
    model = fit_label_model(patterns, constrained=False)
    assert float((model.sensitivity + model.specificity).mean()) >= 1
    voted = (patterns.votes >= 0).any(axis=1)
    counts = patterns.counts[voted].astype(np.float64)
    rates = np.array([[model.balance, *model.sensitivity, *model.specificity]])
    own = _log_likelihood(patterns.votes[voted], counts, rates)
    assert model.log_likelihood == pytest.approx(own[0], rel=1e-9)


def test_a_fit_ends_where_it_converges() -> None:
    votes, _ = sampled_votes(2000, 0.6, SENSITIVITY, SPECIFICITY)
    model = _fitted(votes)
    assert model.converged
    assert model.iterations < 100


@pytest.mark.parametrize("seed", range(3))
def test_no_unconstrained_rates_that_a_search_finds_are_likelier(seed: int) -> None:
    """At sizes where the clamp costs likelihood: one of four checkpoints votes against the others."""
    optimize = pytest.importorskip("scipy.optimize")
    votes, _ = sampled_votes(400, 0.6, [0.9, 0.8, 0.75, 0.25], [0.85, 0.8, 0.7, 0.2], seed=seed)
    model, patterns = aggregate(votes, constrained=False).fit.model, patterns_of(votes)[0]
    clamped = aggregate(votes).fit.model
    assert model is not None
    assert clamped is not None
    counts, random, best = patterns.counts.astype(np.float64), np.random.default_rng(seed), -math.inf

    def lost(odds: NDArray[np.float64]) -> float:
        rates = np.clip(1 / (1 + np.exp(-odds)), EDGE, 1 - EDGE)
        return -float(_log_likelihood(patterns.votes, counts, rates[np.newaxis])[0])

    for _ in range(8):
        found = optimize.minimize(lost, random.normal(0, 1.5, 9), method="L-BFGS-B", bounds=[(-13.8, 13.8)] * 9)
        best = max(best, -found.fun)
    assert model.log_likelihood >= best - 1e-3
    assert clamped.log_likelihood < best - 5


def test_fewer_than_three_checkpoints_fall_back_to_the_majority() -> None:
    votes = np.array([[1, 0, -1], [0, 0, -1], [1, 1, -1]], np.int8)
    kept = aggregate(votes, "label_model")
    assert (kept.fit.how, kept.fit.model) == ("majority", None)
    assert kept.probability.tolist() == [0.5, 0, 1]


def test_a_checkpoint_that_never_votes_changes_nothing() -> None:
    votes, _ = sampled_votes(500, 0.6, SENSITIVITY, SPECIFICITY)
    silent = np.hstack([votes[:, :2], np.full((500, 1), -1, np.int8), votes[:, 2:]])
    assert np.array_equal(aggregate(silent).probability, aggregate(votes).probability)
    model = aggregate(silent).fit.model
    assert model is not None
    assert np.isnan(model.sensitivity).tolist() == [False, False, True, False, False]


@pytest.mark.parametrize("vote", [0, 1])
def test_one_mind_gives_no_doubt_and_no_overflow(vote: int) -> None:
    kept = aggregate(np.full((50, 60), vote, np.int8))
    assert kept.probability == pytest.approx(np.full(50, float(vote)), abs=1e-5)


def test_no_rows_and_no_votes_have_no_probability() -> None:
    for how in ("majority", "label_model"):
        assert len(aggregate(np.zeros((0, 4), np.int8), how).probability) == 0
        assert np.isnan(aggregate(np.full((3, 4), -1, np.int8), how).probability).all()
        assert np.isnan(aggregate(np.zeros((3, 0), np.int8), how).probability).all()


@settings(deadline=None, derandomize=True, max_examples=scaled(40))
@given(st.lists(st.tuples(VOTES, VOTES, VOTES, VOTES), min_size=1, max_size=30), st.randoms(use_true_random=False))
def test_the_same_for_any_order_of_rows(rows: list[tuple[int, ...]], random: random_module.Random) -> None:
    votes, order = np.array(rows, np.int8), list(range(len(rows)))
    random.shuffle(order)
    for how in ("majority", "label_model"):
        one, other = (aggregate(table, how) for table in (votes, votes[order]))
        assert np.array_equal(other.probability, one.probability[order], equal_nan=True)
        if one.fit.model is not None and other.fit.model is not None:
            assert other.fit.model.log_likelihood == one.fit.model.log_likelihood
            assert np.array_equal(other.fit.model.sensitivity, one.fit.model.sensitivity, equal_nan=True)


def test_what_is_no_vote_is_refused() -> None:
    with pytest.raises(ValueError, match="votes are 1, 0 or -1"):
        aggregate(np.array([[2, 0, 1]], np.int8))
    with pytest.raises(RecipeError, match="unknown aggregation 'mean'"):
        aggregate(np.zeros((1, 3), np.int8), "mean")  # type: ignore[arg-type]
