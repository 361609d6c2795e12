"""The law's ratios of families with their uncertainty: `family_ratios`, and `sensitivity` to each exponent.

Families without a fitted exponent get their share by a fallback method; the law divides the rest among the families
that it knows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from winnow.schemas.errors import WinnowError
from winnow.schemas.law import ScalingLaw
from winnow.schemas.problems import shown
from winnow.scoring.scaling_law.fixed_sources import shares_across_sources
from winnow.scoring.scaling_law.predicting import distances, drawn_exponents, drawn_scales, exponents, scales
from winnow.scoring.scaling_law.ratios import objective, optimal_shares, optimal_shares_with_repeats
from winnow.scoring.scaling_law.repeats import R_STAR, effective_tokens
from winnow.scoring.scaling_law.resampling import interval
from winnow.scoring.scaling_law.runs import unknown_family

Floats = NDArray[np.float64]
Weighting: TypeAlias = Literal["uniform", "normalised"]
WEIGHTINGS: Final[tuple[Weighting, ...]] = ("uniform", "normalised")
Weights: TypeAlias = Weighting | Mapping[str, float]
"""Weightings of losses: uniform; normalised by each loss at p = 1 (the paper's choice); or one number per family."""


@dataclass(frozen=True, slots=True)
class RatioObjective:
    """The objective and its constraints."""

    weights: Weights = "normalised"
    n: float | None = None  # required unless weights are normalised, when the result does not depend on N and D
    d: float | None = None
    total: float = 1.0  # the total share of the law's families
    caps: Mapping[str, float] | None = None  # the largest share of a family
    unique: Mapping[str, float] | None = (
        None  # the share of D that a family fills without repeats; None: repeats are free
    )
    r_star: float = R_STAR  # the number of repeats after which their value falls by e


@dataclass(frozen=True, slots=True)
class Ratios:
    """The resulting ratios, with families in the law's order."""

    families: tuple[str, ...]
    shares: tuple[float, ...]
    low: tuple[float, ...]  # at the law's confidence
    high: tuple[float, ...]
    objective: float  # the weighted loss at these shares
    equal_objective: float  # the weighted loss at equal shares
    gain: float  # the predicted gain over equal shares
    gain_low: float  # the interval of the true gain; with many uncertain exponents the predicted gain may lie above it
    gain_high: float
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """The ratios if one exponent is at an end of its interval."""

    family: str
    gamma: float
    shares: tuple[float, ...]
    regret: float  # the excess loss of the original shares in that case


def family_ratios(law: ScalingLaw, question: RatioObjective) -> Ratios:
    """The shares of least weighted loss, their intervals and warnings.

    Raises:
        WinnowError: The question is not compatible with the law.
    """
    k, gammas = _problem(law, question)
    shares = _solved(law, question, k, gammas)
    worth = _worth(law, question, shares)
    equal = _worth(law, question, np.full(len(gammas), question.total / len(gammas)))
    at, at_equal = float(objective(k, gammas, worth)), float(objective(k, gammas, equal))
    warnings = distances(law, question.n, question.d, shares)
    drawn_k, drawn_gammas = _drawn_problem(law, question)
    if len(drawn_gammas):
        drawn = _solved(law, question, drawn_k, drawn_gammas)
        low, high = interval(drawn, law.provenance.confidence)
        drawn_worth = _worth(law, question, drawn)
        # Optimised shares look better than they are. The bias is estimated as the gain that a draw predicts for its #
        # own best shares, minus their gain by the fit, from which the draws were generated.
        claimed = objective(drawn_k, drawn_gammas, equal) - objective(drawn_k, drawn_gammas, drawn_worth)
        errors = claimed - (at_equal - objective(k, gammas, drawn_worth))
        gain_low, gain_high = interval(at_equal - at - errors, law.provenance.confidence)
    else:
        low, high, gain_low, gain_high = shares, shares, np.array(at_equal - at), np.array(at_equal - at)
        warnings = (*warnings, "the law keeps no bootstrap draws: the ratios have no interval")
    return Ratios(
        law.names,
        tuple(shares.tolist()),
        tuple(low.tolist()),
        tuple(high.tolist()),
        at,
        at_equal,
        at_equal - at,
        float(gain_low),
        float(gain_high),
        warnings,
    )


def ratios_across_sources(
    law: ScalingLaw, question: RatioObjective, rooms: Floats, most: Floats, unique: Floats | None
) -> tuple[Floats, tuple[str, ...]]:
    """What each source gives of each family (sources × families), and warnings about the families' whole shares.

    Args:
        law: The law, of the families that some source has.
        question: The objective; the shares that each source has take the place of its total, caps and unique tokens.
        rooms: Each source's part of the whole mixture.
        most: The largest share that each source can give of each family.
        unique: What each source has of each family without repeats; None: repeats are free.

    Raises:
        WinnowError: The question is not compatible with the law.
    """
    k, gammas = _problem(law, question)
    shares = shares_across_sources(k, gammas, rooms, most, unique, question.r_star)
    return shares, distances(law, question.n, question.d, shares.sum(axis=0))


def sensitivity(law: ScalingLaw, question: RatioObjective) -> tuple[Sensitivity, ...]:
    """Two results per family: its exponent at the low and at the high end of its interval."""
    k, gammas = _problem(law, question)
    own = _solved(law, question, k, gammas)
    found = []
    for place, family in enumerate(law.families):
        for gamma in (family.gamma.low, family.gamma.high):
            changed = gammas.copy()
            changed[place] = gamma
            shares = _solved(law, question, k, changed)
            least = objective(k, changed, _worth(law, question, shares))
            regret = float(objective(k, changed, _worth(law, question, own)) - least)
            found.append(Sensitivity(family.family, gamma, tuple(shares.tolist()), max(regret, 0.0)))
    return tuple(found)


def with_fallback(ratios: Mapping[str, float], fallback: Mapping[str, float]) -> dict[str, float]:
    """The shares of all families: the law's for those with an exponent, the fallback's for the others.

    Args:
        ratios: The law's shares, which sum to 1.
        fallback: Shares of all families by another method, which sum to 1.
    """
    unfitted = {name: share for name, share in fallback.items() if name not in ratios}
    room = 1.0 - sum(unfitted.values())
    if any(name not in fallback for name in ratios) or room < -1e-9:
        raise WinnowError("the fallback must give every family a share, and the shares must sum to 1")
    return {name: unfitted[name] if name in unfitted else room * ratios[name] for name in fallback}


def weights_of(families: Sequence[str], weights: Mapping[str, float]) -> Floats:
    """The weights in the families' order.

    Raises:
        WinnowError: A family is unknown or has no weight, or a weight is not above zero.
    """
    for name, weight in weights.items():
        if name not in families:
            raise unknown_family(name, families)
        if not 0 < weight < float("inf"):
            raise WinnowError(f"weight of {name} is {weight}: expected a number above zero")
    if missing := [name for name in families if name not in weights]:
        raise WinnowError(f"no weight for {', '.join(map(shown, missing[:6]))}; give one for every family of the law")
    return np.array([weights[name] for name in families])


def _problem(law: ScalingLaw, question: RatioObjective) -> tuple[Floats, Floats]:
    gammas = exponents(law)
    if question.weights == "normalised":
        return np.ones(len(gammas)), gammas
    n, d = _sizes(question)
    return _weights(law, question) * scales(law, n, d), gammas


def _drawn_problem(law: ScalingLaw, question: RatioObjective) -> tuple[Floats, Floats]:
    gammas = drawn_exponents(law)
    if question.weights == "normalised" or not len(gammas):
        return np.ones(gammas.shape), gammas
    n, d = _sizes(question)
    return _weights(law, question) * drawn_scales(law, n, d), gammas


def _weights(law: ScalingLaw, question: RatioObjective) -> Floats:
    if isinstance(question.weights, str):
        if question.weights not in WEIGHTINGS:
            raise WinnowError(f"weights {shown(question.weights)}: expected {' or '.join(WEIGHTINGS)}, or numbers")
        return np.ones(len(law.families))
    return weights_of(law.names, question.weights)


def _sizes(question: RatioObjective) -> tuple[float, float]:
    if question.n is None or question.d is None:
        raise WinnowError("N and D are required, as only ratios with normalised weights do not depend on them")
    return question.n, question.d


def _solved(law: ScalingLaw, question: RatioObjective, k: Floats, gammas: Floats) -> Floats:
    caps = None if question.caps is None else _of_each(law, question.caps, "cap")
    if question.unique is None:
        return optimal_shares(k, gammas, question.total, caps)
    unique = _of_each(law, question.unique, "number of tokens")
    return optimal_shares_with_repeats(k, gammas, unique, question.total, caps, question.r_star)


def _worth(law: ScalingLaw, question: RatioObjective, shares: Floats) -> Floats:
    """The effective shares."""
    if question.unique is None:
        return shares
    return effective_tokens(shares, _of_each(law, question.unique, "number of tokens"), question.r_star)


def _of_each(law: ScalingLaw, numbers: Mapping[str, float], what: str) -> Floats:
    if missing := [name for name in law.names if name not in numbers]:
        raise WinnowError(f"no {what} for {', '.join(map(shown, missing[:6]))}; give one for every family of the law")
    return np.array([numbers[name] for name in law.names])
