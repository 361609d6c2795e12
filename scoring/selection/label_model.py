"""Combine checkpoints' votes into one probability per row: the share of votes, or a generative label model.

The label model has two classes, good and bad, and gives each checkpoint a sensitivity (it keeps a good row) and a
specificity (it drops a bad one); given the class, votes are independent (Dawid and Skene 1979; the data programming of
Ratner et al. 2016). By default every checkpoint is required to be no worse than chance: one that votes against the
others is set to chance, so its votes count for nothing. Unconstrained, the likelihood is maximised freely, and such a
checkpoint counts in reverse; the classes are then named so that the mean checkpoint is no worse than chance. EM starts
from the share of votes, which treats all checkpoints alike, and unconstrained also from the votes of single
checkpoints; it reads patterns of votes with their counts instead of rows.

Errors of checkpoints of one trajectory are correlated, which the model ignores, so it is overconfident. Abstentions
are treated as independent of the class.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from winnow.schemas.errors import RecipeError
from winnow.scoring.selection.ranks import Floats, Integers

Aggregation: TypeAlias = Literal["majority", "label_model"]

LEAST_CHECKPOINTS: Final = 3
"""The fewest voting checkpoints: two have only three independent shares for five unknowns."""
EDGE: Final = 1e-6
"""The distance of every rate from 0 and 1, so that no observed vote is impossible."""
_TOLERANCE: Final = 1e-10  # of every rate, per iteration
_MAX_ITERATIONS: Final = 5000
_STARTS: Final = 8  # checkpoints from whose votes alone a fit starts, too, as EM ends at the nearest maximum
_LIKELIER: Final = 1e-6  # of two fits that differ by less, the earlier start's
_LENGTHS: Final = 3  # of a longer step that are tried
_TRIAL: Final = 300  # iterations from each start; the likeliest then goes on
_SURE: Final = 0.9  # how likely such a start believes the votes
_CODED: Final = 20  # checkpoints whose votes are coded in one number: 3 ** 20 < 2 ** 32


@dataclass(frozen=True, slots=True)
class Patterns:
    """Distinct rows of votes, in a fixed order."""

    votes: NDArray[np.int8]  # patterns × checkpoints, each checkpoint's votes side by side
    counts: Integers  # number of rows of each pattern


@dataclass(frozen=True, slots=True)
class LabelModel:
    """The result of EM."""

    balance: float  # the share of good rows
    sensitivity: Floats  # per checkpoint; NaN if it never votes
    specificity: Floats
    posterior: Floats  # per pattern: the probability of being good
    log_likelihood: float
    iterations: int
    converged: bool

    @property
    def rates(self) -> "Rates":
        """Its parameters."""
        sides = (
            tuple(None if math.isnan(one) else one for one in side.tolist())
            for side in (self.sensitivity, self.specificity)
        )
        return Rates(self.balance, *sides)


@dataclass(frozen=True, slots=True)
class PatternFit:
    """The keep probability of each pattern of votes."""

    patterns: Patterns
    probability: Floats  # NaN if all checkpoints abstain
    how: Aggregation  # the method used; with too few checkpoints the label model falls back to the majority
    model: LabelModel | None = None  # only for the label model


@dataclass(frozen=True, slots=True)
class KeepProbabilities:
    """The keep probabilities."""

    probability: Floats  # per row; NaN if all checkpoints abstain
    fit: PatternFit


def aggregate(
    votes: NDArray[np.int8], how: Aggregation = "label_model", *, constrained: bool = True
) -> KeepProbabilities:
    """The probability that each row should be kept.

    Args:
        votes: Rows × checkpoints: 1 keeps, 0 drops, -1 abstains (`Votes.kept`).
        how: `majority`: the share of votes that keep. `label_model`: the posterior of the generative model; with fewer
            than three voting checkpoints it is undetermined, and the majority is used.
        constrained: Whether the label model requires every checkpoint to be no worse than chance.

    Returns:
        The probabilities, independent of the order of rows.
    """
    if votes.ndim != 2:
        raise ValueError(f"votes have {votes.ndim} dimensions: expected rows × checkpoints")
    if votes.size and not -1 <= votes.min() <= votes.max() <= 1:
        raise ValueError("votes are 1, 0 or -1")
    patterns, row = patterns_of(votes)
    fit = fit_patterns(patterns, how, constrained=constrained)
    return KeepProbabilities(fit.probability[row], fit)


def patterns_of(votes: NDArray[np.int8], counts: Integers | None = None) -> tuple[Patterns, Integers]:
    """Group rows by their votes.

    Args:
        votes: Rows × checkpoints.
        counts: How often each row counts; by default once.

    Returns:
        The patterns, ordered by votes and not by rows, and the number of each row's pattern.
    """
    place = pattern_places(votes, np.zeros(len(votes), np.int64))
    patterns = int(place.max()) + 1 if len(place) else 0
    sums, example = np.zeros(patterns, np.int64), np.empty(patterns, np.int64)
    np.add.at(sums, place, 1 if counts is None else counts)
    example[place] = np.arange(len(votes))
    return Patterns(np.asfortranarray(votes[example]), sums), place


def pattern_places(votes: NDArray[np.int8], first: Integers) -> Integers:
    """The place of each row among the distinct rows, sorted by `first`, a small number, and then by votes."""
    place = np.unique(first, return_inverse=True)[1]
    # Not hot: one iteration per 20 checkpoints.
    for start in range(0, votes.shape[1], _CODED):
        code = np.zeros(len(votes), np.int64)
        for number in range(start, min(start + _CODED, votes.shape[1])):
            code *= 3
            code += votes[:, number] + np.int8(1)
        place = np.unique(place * 3**_CODED + code, return_inverse=True)[1]
    return place


def fit_patterns(patterns: Patterns, how: Aggregation, *, constrained: bool = True) -> PatternFit:
    """The keep probability of each pattern; see `aggregate`."""
    if how not in get_args(Aggregation):
        raise RecipeError(f"unknown aggregation {how!r}; expected one of {', '.join(get_args(Aggregation))}")
    if how == "majority" or int((patterns.votes >= 0).any(axis=0).sum()) < LEAST_CHECKPOINTS:
        return PatternFit(patterns, majority(patterns.votes), "majority")
    model = fit_label_model(patterns, constrained=constrained)
    return PatternFit(patterns, model.posterior, "label_model", model)


def majority(votes: NDArray[np.int8]) -> Floats:
    """The share of each row's votes that keep it; NaN if all checkpoints abstain."""
    voted = (votes >= 0).sum(axis=1)
    share = np.full(len(voted), np.nan)
    np.divide((votes == 1).sum(axis=1), voted, out=share, where=voted > 0)
    return share


@dataclass(frozen=True, slots=True)
class Rates:
    """The parameters of a label model."""

    balance: float  # the share of good rows
    sensitivity: tuple[float | None, ...]  # per checkpoint: how often it keeps a good row; None if it never votes
    specificity: tuple[float | None, ...]  # how often it drops a bad one


class KeepRule:
    """How votes become keep probabilities, in several groups of rows: by the group's label model, or by majority.

    Sums run over one checkpoint after the other, so that a row's value does not depend on the rows beside it.
    """

    def __init__(self, models: Sequence[Rates | None], checkpoints: int) -> None:
        self._modelled = np.array([one is not None for one in models], np.bool_)
        # Logarithms for good and bad rows: of their share, and of keeping and dropping them.
        self._shares = np.zeros((2, len(models)))
        self._votes = np.zeros((2, 2, len(models), checkpoints))
        for group, one in enumerate(models):
            if one is None:
                continue
            self._shares[:, group] = math.log(one.balance), math.log(1 - one.balance)
            for number, (keeps_good, drops_bad) in enumerate(zip(one.sensitivity, one.specificity, strict=True)):
                if keeps_good is not None and drops_bad is not None:
                    self._votes[0, :, group, number] = math.log(keeps_good), math.log(1 - keeps_good)
                    self._votes[1, :, group, number] = math.log(1 - drops_bad), math.log(drops_bad)

    def probability(self, votes: NDArray[np.int8], groups: Integers) -> Floats:
        """The keep probability of each row; NaN if all checkpoints abstain."""
        found = majority(votes)
        which = np.flatnonzero(self._modelled[groups] & ~np.isnan(found))
        votes, groups = votes[which], groups[which]
        good, bad = self._shares[0, groups], self._shares[1, groups]
        for number in range(votes.shape[1]):
            kept, dropped = votes[:, number] == 1, votes[:, number] == 0
            for sums, logarithms in ((good, self._votes[0]), (bad, self._votes[1])):
                sums += np.where(kept, logarithms[0, groups, number], 0.0)
                sums += np.where(dropped, logarithms[1, groups, number], 0.0)
        with np.errstate(over="ignore"):
            found[which] = 1 / (1 + np.exp(bad - good))
        return found


def fit_label_model(patterns: Patterns, *, constrained: bool = True) -> LabelModel:
    """Fit by EM; patterns without votes and checkpoints that never vote are ignored.

    Args:
        patterns: The votes.
        constrained: Require every checkpoint to be no worse than chance. Otherwise, of two fits that differ only in the
            names of the classes, the one is used whose mean checkpoint is better than chance.

    The likeliest fit of several starts is used: the mean of the votes, and each checkpoint's own.
    """
    there: NDArray[np.bool_] = patterns.votes >= 0
    voted, heard = np.flatnonzero(there.any(axis=1)), np.flatnonzero(there.any(axis=0))
    votes = patterns.votes[voted][:, heard].T
    keeps, drops = ((votes == vote).astype(np.float64, order="C") for vote in (1, 0))
    ballot = _Ballot(keeps, drops, patterns.counts[voted].astype(np.float64))
    share: Floats = ballot.keeps.sum(axis=0) / (ballot.keeps + ballot.drops).sum(axis=0)
    starts = [share]
    starts += [_SURE * keeps + (1 - _SURE) * drops + (1 - keeps - drops) / 2
               for keeps, drops in zip(ballot.keeps[:_STARTS], ballot.drops[:_STARTS], strict=True)]  # fmt: skip
    best = _climbed(ballot, _maximised(ballot, starts[0], constrained=constrained), _TRIAL, constrained=constrained)
    for start in starts[1:]:
        tried = _climbed(ballot, _maximised(ballot, start, constrained=constrained), _TRIAL, constrained=constrained)
        if tried.likelihood > best.likelihood + _LIKELIER:
            best = tried
    if not best.converged:
        best = _climbed(ballot, best.rates, _MAX_ITERATIONS - _TRIAL, constrained=constrained)
    rates = best.rates
    sides = rates[1:].reshape(2, -1)
    if not constrained and float(sides.sum(axis=0).mean()) < 1:
        rates = np.concatenate([[1 - rates[0]], 1 - sides[1], 1 - sides[0]])
    of_all = np.full((2, there.shape[1]), np.nan)
    of_all[:, heard] = rates[1:].reshape(2, -1)
    model = LabelModel(
        float(rates[0]), of_all[0], of_all[1], np.zeros(0), best.likelihood, best.iterations, best.converged
    )
    rule = KeepRule([model.rates], there.shape[1])
    return replace(model, posterior=rule.probability(patterns.votes, np.zeros(len(there), np.int64)))


@dataclass(frozen=True, slots=True)
class _Ballot:
    """Patterns in the form that EM reads."""

    keeps: Floats  # checkpoints × patterns: 1 for a vote to keep
    drops: Floats
    weight: Floats  # number of rows of each pattern


# einsum without BLAS, whose results depend on its threads.


def _expected(ballot: _Ballot, rates: Floats) -> tuple[Floats, float]:
    """The posterior of each pattern, and the log likelihood of all rows.

    Args:
        ballot: The patterns.
        rates: The balance, the sensitivities and the specificities.
    """
    sensitivity, specificity = rates[1:].reshape(2, -1)
    good, bad = (
        math.log(balance)
        + np.einsum("kp,k->p", ballot.keeps, np.log(keeps))
        + np.einsum("kp,k->p", ballot.drops, np.log(drops))
        for balance, keeps, drops in (
            (rates[0], sensitivity, 1 - sensitivity),
            (1 - rates[0], 1 - specificity, specificity),
        )
    )
    with np.errstate(over="ignore"):
        posterior: Floats = 1 / (1 + np.exp(bad - good))
    return posterior, float((ballot.weight * np.logaddexp(good, bad)).sum())


@dataclass(frozen=True, slots=True)
class _Climb:
    """Where EM has come from one start."""

    rates: Floats
    likelihood: float  # the logarithm
    iterations: int
    converged: bool


def _climbed(ballot: _Ballot, rates: Floats, most: int, *, constrained: bool) -> _Climb:
    """The rates after EM with about this many iterations at most, with longer steps between them.

    EM creeps where votes say little. Two of its steps show its direction and how much each is shorter than the last,
    and from that how far to go (SQUAREM, scheme S3: Varadhan and Roland 2008). No step makes the votes less likely: one
    that would is shortened, and after some attempts left out.
    """
    iteration, converged = 0, False
    while iteration < most and not converged:
        first = _maximised(ballot, _expected(ballot, rates)[0], constrained=constrained)
        posterior, likelihood = _expected(ballot, first)
        second = _maximised(ballot, posterior, constrained=constrained)
        iteration += 2
        step, change = first - rates, second - first
        bend = change - step
        converged = bool(np.abs(change).max() <= _TOLERANCE)
        rates = second
        if converged or not bend.any():
            continue
        length = max(1.0, math.sqrt(float((step * step).sum()) / float((bend * bend).sum())))
        for _ in range(_LENGTHS):
            reached = _admissible(first - step + 2 * length * step + length**2 * bend, constrained=constrained)
            posterior, likelier = _expected(ballot, reached)
            iteration += 1
            if likelier >= likelihood:
                rates = _maximised(ballot, posterior, constrained=constrained)
                break
            length = (length + 1) / 2
    return _Climb(rates, _expected(ballot, rates)[1], iteration, converged)


def _admissible(rates: Floats, *, constrained: bool) -> Floats:
    """The rates within their bounds; constrained, those for which no checkpoint is worse than chance."""
    rates = np.clip(rates, EDGE, 1 - EDGE)
    if constrained:
        sides = rates[1:].reshape(2, -1)
        rates[1:] = (sides + np.maximum(1 - sides.sum(axis=0), 0) / 2).reshape(-1)
    return rates


def _maximised(ballot: _Ballot, posterior: Floats, *, constrained: bool) -> Floats:
    """The best rates; constrained, those for which no checkpoint is worse than chance."""
    good = ballot.weight * posterior
    bad = ballot.weight - good
    good_kept, good_dropped, bad_kept, bad_dropped = (
        np.einsum("kp,p->k", votes, rows) for rows in (good, bad) for votes in (ballot.keeps, ballot.drops)
    )
    chance = (good_kept + bad_kept) / (good_kept + good_dropped + bad_kept + bad_dropped)
    # Without rows of a class a checkpoint counts as chance.
    sensitivity, specificity = chance.copy(), 1 - chance
    np.divide(good_kept, good_kept + good_dropped, out=sensitivity, where=good_kept + good_dropped > 0)
    np.divide(bad_dropped, bad_kept + bad_dropped, out=specificity, where=bad_kept + bad_dropped > 0)
    if constrained:
        worse = sensitivity + specificity < 1  # the best admissible rates are then those of chance
        sensitivity[worse], specificity[worse] = chance[worse], 1 - chance[worse]
    balance = float(good.sum()) / float(ballot.weight.sum())
    rates: Floats = np.clip(np.concatenate([[balance], sensitivity, specificity]), EDGE, 1 - EDGE)
    return rates
