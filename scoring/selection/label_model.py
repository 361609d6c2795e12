"""Votes of checkpoints to one probability a row: the share of votes, or a generative model of who errs how often.

The label model has two classes, good and bad, and gives each checkpoint a sensitivity (it keeps a good row) and a
specificity (it drops a bad one); given the class, votes are independent (Dawid and Skene 1979; the data programming of
Ratner et al. 2016). Classes are told apart by holding every checkpoint to be no worse than chance. EM starts from the
share of votes, which treats all checkpoints alike, and reads patterns of votes with their counts, not rows.

Checkpoints of one trajectory err together, which the model does not know: it then is surer than it should be.
Abstaining is taken to say nothing of the class.
"""

import math
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from winnow.schemas.errors import RecipeError
from winnow.scoring.selection.ranks import Floats, Integers

Aggregation: TypeAlias = Literal["majority", "label_model"]

LEAST_CHECKPOINTS: Final = 3
"""Two votes have three shares, which cannot tell five unknowns."""
EDGE: Final = 1e-6
"""Every rate is at least so far from 0 and from 1: an observed vote is never impossible."""
_TOLERANCE: Final = 1e-10  # of every rate, an iteration
_MAX_ITERATIONS: Final = 5000
_CODED: Final = 20  # checkpoints whose votes are one number: 3 ** 20 < 2 ** 32


@dataclass(frozen=True, slots=True)
class Patterns:
    """Distinct rows of votes, in an order of their own."""

    votes: NDArray[np.int8]  # patterns × checkpoints, each checkpoint's votes side by side
    counts: Integers  # rows of each pattern
    row: Integers  # the pattern of each row


@dataclass(frozen=True, slots=True)
class LabelModel:
    """What EM found."""

    balance: float  # the share of good rows
    sensitivity: Floats  # of each checkpoint: how often it keeps a good row; not a number where it never votes
    specificity: Floats  # how often it drops a bad one
    posterior: Floats  # of each pattern: the probability of being good
    log_likelihood: float
    iterations: int
    converged: bool


@dataclass(frozen=True, slots=True)
class Kept:
    """Who is kept."""

    probability: Floats  # of each row; not a number where all abstain
    how: Aggregation  # that was used: a label model of too few checkpoints falls back to the majority
    patterns: Patterns
    model: LabelModel | None = None  # of the label model alone


def aggregate(votes: NDArray[np.int8], how: Aggregation = "label_model") -> Kept:
    """The probability that each row should be kept.

    Args:
        votes: Rows × checkpoints: 1 keeps, 0 drops, -1 abstains (`Votes.kept`).
        how: `majority`: the share of votes that keep. `label_model`: the posterior of the generative model; with fewer
            than three checkpoints that ever vote it cannot be told, and the majority is taken.

    Returns:
        The same for any order of rows.
    """
    if how not in get_args(Aggregation):
        raise RecipeError(f"unknown aggregation {how!r}; there are: {', '.join(get_args(Aggregation))}")
    if votes.ndim != 2:
        raise ValueError(f"votes have {votes.ndim} dimensions: expected rows × checkpoints")
    if votes.size and not -1 <= votes.min() <= votes.max() <= 1:
        raise ValueError("votes are 1, 0 or -1")
    patterns = patterns_of(votes)
    keeps = (patterns.votes == 1).sum(axis=1)
    voted = (patterns.votes >= 0).sum(axis=1)
    share = np.full(len(voted), np.nan)
    np.divide(keeps, voted, out=share, where=voted > 0)
    if how == "majority" or int((patterns.votes >= 0).any(axis=0).sum()) < LEAST_CHECKPOINTS:
        return Kept(share[patterns.row], "majority", patterns)
    model = fit_label_model(patterns)
    posterior = np.where(voted > 0, model.posterior, np.nan)
    return Kept(posterior[patterns.row], "label_model", patterns, model)


def patterns_of(votes: NDArray[np.int8]) -> Patterns:
    """Rows by what was voted on them; the order of patterns is that of their votes, never that of rows."""
    rows, checkpoints = votes.shape
    place = np.zeros(rows, np.int64)
    # Not hot: one turn in 20 checkpoints.
    for start in range(0, checkpoints, _CODED):
        code = np.zeros(rows, np.int64)
        for number in range(start, min(start + _CODED, checkpoints)):
            code *= 3
            code += votes[:, number] + np.int8(1)
        place = np.unique(place * 3**_CODED + code, return_inverse=True)[1]
    counts = np.bincount(place)
    example = np.empty(len(counts), np.int64)
    example[place] = np.arange(rows)
    return Patterns(np.asfortranarray(votes[example]), counts.astype(np.int64), place)


def fit_label_model(patterns: Patterns) -> LabelModel:
    """Fit by EM, from the share of votes; patterns without any vote do not count."""
    voted = (patterns.votes >= 0).any(axis=1)
    votes = np.asfortranarray(patterns.votes[voted])
    weight = patterns.counts[voted].astype(np.float64)
    keeps = (votes == 1).sum(axis=1)
    posterior: Floats = keeps / (votes >= 0).sum(axis=1)
    rates = _maximised(votes, weight, posterior)
    iteration, converged, likelihood = 0, False, -math.inf
    while iteration < _MAX_ITERATIONS and not converged:
        posterior, likelihood = _expected(votes, weight, rates)
        before, rates = rates, _maximised(votes, weight, posterior)
        converged = bool(np.nanmax(np.abs(rates - before)) <= _TOLERANCE)
        iteration += 1
    posterior, likelihood = _expected(votes, weight, rates)
    everywhere = np.full(len(patterns.counts), np.nan)
    everywhere[voted] = posterior
    sensitivity, specificity = rates[1:].reshape(2, -1)
    return LabelModel(float(rates[0]), sensitivity, specificity, everywhere, likelihood, iteration, converged)


def _expected(votes: NDArray[np.int8], weight: Floats, rates: Floats) -> tuple[Floats, float]:
    """The posterior of each pattern, and the log likelihood of all rows.

    Args:
        votes: Patterns × checkpoints.
        weight: Rows of each pattern.
        rates: The balance, the sensitivities, the specificities.
    """
    good = np.full(len(weight), math.log(rates[0]))
    bad = np.full(len(weight), math.log(1 - rates[0]))
    sensitivity, specificity = rates[1:].reshape(2, -1)
    for votes_of, keeps_good, drops_bad in zip(votes.T, sensitivity.tolist(), specificity.tolist(), strict=True):
        if not math.isnan(keeps_good):  # a checkpoint that never votes
            # By vote: of 0, of 1, and last, where -1 points, of none.
            good += np.array([math.log(1 - keeps_good), math.log(keeps_good), 0])[votes_of]
            bad += np.array([math.log(drops_bad), math.log(1 - drops_bad), 0])[votes_of]
    with np.errstate(over="ignore"):
        posterior: Floats = 1 / (1 + np.exp(bad - good))
    return posterior, float((weight * np.logaddexp(good, bad)).sum())


def _maximised(votes: NDArray[np.int8], weight: Floats, posterior: Floats) -> Floats:
    """The rates that fit best, where no checkpoint is worse than chance."""
    good = weight * posterior
    bad = weight - good
    balance = float(good.sum()) / float(weight.sum())
    sensitivity, specificity = [], []
    for votes_of in votes.T:
        keeps, drops = votes_of == 1, votes_of == 0
        good_kept, good_dropped, bad_kept, bad_dropped = (
            float(rows[which].sum()) for rows in (good, bad) for which in (keeps, drops)
        )
        voted = good_kept + good_dropped + bad_kept + bad_dropped
        if not voted:
            sensitivity.append(math.nan)
            specificity.append(math.nan)
            continue
        kept = (good_kept + bad_kept) / voted
        # A class without rows says nothing of this checkpoint: it is then as good as chance.
        keeps_good = good_kept / (good_kept + good_dropped) if good_kept + good_dropped else kept
        drops_bad = bad_dropped / (bad_kept + bad_dropped) if bad_kept + bad_dropped else 1 - kept
        if keeps_good + drops_bad < 1:  # worse than chance: the best that is not is chance itself
            keeps_good, drops_bad = kept, 1 - kept
        sensitivity.append(keeps_good)
        specificity.append(drops_bad)
    rates: Floats = np.clip(np.array([balance, *sensitivity, *specificity]), EDGE, 1 - EDGE)
    return rates
