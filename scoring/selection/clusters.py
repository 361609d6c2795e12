"""Two clusters of numbers: exact two-means, and a mixture of two Gaussians by EM that starts from it.

Both take distinct ascending values with their counts, so results do not depend on the order of rows.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from winnow.scoring.selection.ranks import Floats, Integers

BLOCKS: Final = 4096
"""The most blocks of about equal numbers of rows that EM reads. For 100 000 rows in two separate clusters the
parameters change by less than 1e-5, for overlapping clusters by less than 0.004 deviations, a fraction of their
sampling error."""
VARIANCE_FLOOR: Final = 1e-6  # of the variance of all rows; keeps the density of repeated scores finite
_TOLERANCE: Final = 1e-10  # of the mean log likelihood, per iteration
_MAX_ITERATIONS: Final = 5000


@dataclass(frozen=True, slots=True)
class Cluster:
    """One of two clusters."""

    mean: float
    deviation: float
    share: float  # of the rows


@dataclass(frozen=True, slots=True)
class Gaussians:
    """A mixture of two Gaussians over values scaled to 0 … 1."""

    lower: Cluster
    upper: Cluster
    least: float  # the smallest value, in units of 2 ** exponent, like the span
    span: float
    exponent: int
    converged: bool
    iterations: int

    def clusters(self) -> tuple[Cluster, Cluster]:
        """The lower and the upper cluster, in the scale of the values."""
        lower, upper = (
            Cluster(self._value(self.least + one.mean * self.span), self._value(one.deviation * self.span), one.share)
            for one in (self.lower, self.upper)
        )
        return lower, upper

    def posterior(self, values: Floats, *, monotone: bool) -> Floats:
        """The probability that each value belongs to the upper Gaussian.

        Args:
            values: The values, in their original scale.
            monotone: Never let the probability decrease as the score increases. Otherwise a wide lower Gaussian is
                more likely than the upper one for the highest scores.
        """
        x = self.scaled(values)
        low, high = (1 / one.deviation**2 for one in (self.lower, self.upper))
        bend, slope = (low - high) / 2, self.upper.mean * high - self.lower.mean * low
        if monotone and bend != 0:
            turn = -slope / (2 * bend)
            x = np.maximum(x, turn) if bend > 0 else np.minimum(x, turn)
        odds = ((x - self.lower.mean) ** 2 * low - (x - self.upper.mean) ** 2 * high) / 2
        odds += math.log(self.upper.share / self.lower.share * self.lower.deviation / self.upper.deviation)
        return _logistic(odds)

    def scaled(self, values: Floats) -> Floats:
        """Values in the scale of the Gaussians, given in their own."""
        found: Floats = (np.ldexp(values, -self.exponent) - self.least) / self.span
        return found

    def _value(self, x: float) -> float:
        return float(np.ldexp(x, self.exponent))


def two_means(values: Floats, counts: Integers) -> int | None:
    """The split of distinct ascending values into two clusters with the least sum of squares; None for one value.

    Exact: every split is tried; of equally good ones the lowest is used.

    Args:
        values: Distinct and ascending.
        counts: The count of each value.

    Returns:
        The index of the upper cluster's first value.
    """
    if len(values) < 2:
        return None
    x = _unit(values)[0]
    rows = np.cumsum(counts).astype(np.float64)
    total = np.cumsum(counts * x)
    below, above = rows[:-1], rows[-1] - rows[:-1]
    between = below * above * (total[:-1] / below - (total[-1] - total[:-1]) / above) ** 2
    best = between.max()
    # Splits within rounding errors of the best count as equally good.
    return int(np.flatnonzero(between >= best * (1 - 1e-12))[0]) + 1


def two_gaussians(values: Floats, counts: Integers, blocks: int = BLOCKS) -> Gaussians | None:
    """Fit a mixture by EM from the two-means split; None if one Gaussian takes all rows, or for a single value.

    Args:
        values: Distinct and ascending.
        counts: The count of each value.
        blocks: The most blocks. Neighbours are joined into blocks of about equal numbers of rows; a block keeps its
            mean and variance, and its rows share one posterior (Verbeek, Nunnink and Vlassis 2006).
    """
    cut = two_means(values, counts)
    if cut is None:
        return None
    x, least, span, exponent = _unit(values)
    weight = counts.astype(np.float64)
    rows = float(weight.sum())
    middle = float((weight * x).sum()) / rows
    floor = VARIANCE_FLOOR * float((weight * (x - middle) ** 2).sum()) / rows
    upper = (np.arange(len(x)) >= cut).astype(np.float64)
    state = _maximised(x, np.zeros(len(x)), weight, upper, floor)
    x, within, weight = joined(x, weight, blocks)
    before, iteration, converged = -math.inf, 0, False
    while state is not None and iteration < _MAX_ITERATIONS and not converged:
        likelihood, upper = _expected(x, within, weight, state)
        state = _maximised(x, within, weight, upper, floor)
        converged = abs(likelihood - before) <= _TOLERANCE * rows
        before, iteration = likelihood, iteration + 1
    if state is None or state[0].mean == state[1].mean:
        return None
    lower, higher = sorted(state, key=lambda one: one.mean)
    return Gaussians(lower, higher, least, span, exponent, converged, iteration)


def _unit(values: Floats) -> tuple[Floats, float, float, int]:
    """Scale values to 0 … 1; returns the minimum, the span and the unit's power of two, which avoids overflows."""
    exponent = int(np.frexp(max(abs(float(values[0])), abs(float(values[-1]))))[1])
    scaled = np.ldexp(values, -exponent)
    least, span = float(scaled[0]), float(scaled[-1] - scaled[0])
    return (scaled - least) / span, least, span, exponent


def joined(x: Floats, weight: Floats, blocks: int) -> tuple[Floats, Floats, Floats]:
    """Join neighbours into so many blocks if there are more; returns their means, variances and row counts."""
    if len(x) <= blocks:
        return x, np.zeros(len(x)), weight
    before = np.cumsum(weight) - weight
    number = (before * (blocks / float(weight.sum()))).astype(np.int64)
    first = np.flatnonzero(np.append(True, number[1:] != number[:-1]))
    rows = np.add.reduceat(weight, first)
    means = np.add.reduceat(weight * x, first) / rows
    sizes = np.diff(np.append(first, len(x)))
    within = np.add.reduceat(weight * (x - np.repeat(means, sizes)) ** 2, first) / rows
    return means, within, rows


def _expected(x: Floats, within: Floats, weight: Floats, state: tuple[Cluster, Cluster]) -> tuple[float, Floats]:
    """The log likelihood up to a constant, and each value's probability of the second cluster."""
    low, high = (
        math.log(one.share / one.deviation) - ((x - one.mean) ** 2 + within) / (2 * one.deviation**2) for one in state
    )
    return float((weight * np.logaddexp(low, high)).sum()), _logistic(high - low)


def _maximised(
    x: Floats, within: Floats, weight: Floats, upper: Floats, floor: float
) -> tuple[Cluster, Cluster] | None:
    """The best clusters; None if one has less than one row."""
    rows = float(weight.sum())
    least = min(0.5, rows / 4)
    found = []
    for belongs in (1 - upper, upper):
        share = weight * belongs
        count = float(share.sum())
        if count < least:
            return None
        mean = float((share * x).sum()) / count
        variance = float((share * ((x - mean) ** 2 + within)).sum()) / count
        found.append(Cluster(mean, math.sqrt(max(variance, floor)), count / rows))
    return found[0], found[1]


def _logistic(odds: Floats) -> Floats:
    with np.errstate(over="ignore"):
        found: Floats = 1 / (1 + np.exp(-odds))
    return found
