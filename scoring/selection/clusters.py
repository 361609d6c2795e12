"""Two clusters of numbers: exact two-means, and a mixture of two Gaussians by EM that starts from it.

Both read distinct values, ascending, with how often each occurs. That is the same for any order of rows, so answers are
as well.
"""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from winnow.scoring.selection.ranks import Floats, Integers

BLOCKS: Final = 4096
"""EM reads at most so many blocks of about equally many rows. Of 100 000 rows of two heaps well apart the parameters
stay the same to 1e-5, of two that lie over each other to 0.004 deviations, a fraction of their sampling error."""
VARIANCE_FLOOR: Final = 1e-6  # of the variance of all rows: scores that are often equal are no density without end
_TOLERANCE: Final = 1e-10  # of the mean log likelihood, an iteration
_MAX_ITERATIONS: Final = 5000


@dataclass(frozen=True, slots=True)
class Cluster:
    """One of two."""

    mean: float
    deviation: float
    share: float  # of the rows


@dataclass(frozen=True, slots=True)
class Gaussians:
    """A mixture of two Gaussians over values that are brought to 0 … 1."""

    lower: Cluster
    upper: Cluster
    least: float  # of the values in units of 2 ** exponent, as is the span
    span: float
    exponent: int
    converged: bool
    iterations: int

    def clusters(self) -> tuple[Cluster, Cluster]:
        """The lower and the upper in the values' own scale."""
        lower, upper = (
            Cluster(self._value(self.least + one.mean * self.span), self._value(one.deviation * self.span), one.share)
            for one in (self.lower, self.upper)
        )
        return lower, upper

    def posterior(self, values: Floats, *, monotone: bool) -> Floats:
        """The probability that each value is of the upper Gaussian.

        Args:
            values: In their own scale.
            monotone: The wider Gaussian is the likelier at both ends, so that the highest scores would count to a wide
                lower one. With this, the probability never falls as the score rises: beyond its turning point it stays.
        """
        x = (np.ldexp(values, -self.exponent) - self.least) / self.span
        low, high = (1 / one.deviation**2 for one in (self.lower, self.upper))
        bend, slope = (low - high) / 2, self.upper.mean * high - self.lower.mean * low
        if monotone and bend != 0:
            turn = -slope / (2 * bend)
            x = np.maximum(x, turn) if bend > 0 else np.minimum(x, turn)
        odds = ((x - self.lower.mean) ** 2 * low - (x - self.upper.mean) ** 2 * high) / 2
        odds += math.log(self.upper.share / self.lower.share * self.lower.deviation / self.upper.deviation)
        return _logistic(odds)

    def _value(self, x: float) -> float:
        return float(np.ldexp(x, self.exponent))


def two_means(values: Floats, counts: Integers) -> int | None:
    """The cut of distinct ascending values into two clusters with the least sum of squares within; None for one value.

    Exact: every cut is tried. Of equally good cuts the lowest is taken.

    Args:
        values: Distinct and ascending.
        counts: How often each occurs.

    Returns:
        The place of the upper cluster's first value.
    """
    if len(values) < 2:
        return None
    x = _unit(values)[0]
    rows = np.cumsum(counts).astype(np.float64)
    total = np.cumsum(counts * x)
    below, above = rows[:-1], rows[-1] - rows[:-1]
    between = below * above * (total[:-1] / below - (total[-1] - total[:-1]) / above) ** 2
    best = between.max()
    # Sums are rounded: cuts that are as good as this are the same.
    return int(np.flatnonzero(between >= best * (1 - 1e-12))[0]) + 1


def two_gaussians(values: Floats, counts: Integers, blocks: int = BLOCKS) -> Gaussians | None:
    """The mixture that EM finds from the two-means split; None where one Gaussian takes all, or there is one value.

    Args:
        values: Distinct and ascending.
        counts: How often each occurs.
        blocks: Neighbours are joined until there are no more than so many, of about equally many rows. A block keeps
            its mean and variance, and its rows share one posterior (Verbeek, Nunnink and Vlassis 2006).
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
    if len(x) > blocks:
        x, within, weight = _joined(x, weight, blocks)
    else:
        within = np.zeros(len(x))
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
    """Values from 0 to 1, the least, the span, and their unit's power of two: no size of numbers overflows."""
    exponent = int(np.frexp(max(abs(float(values[0])), abs(float(values[-1]))))[1])
    scaled = np.ldexp(values, -exponent)
    least, span = float(scaled[0]), float(scaled[-1] - scaled[0])
    return (scaled - least) / span, least, span, exponent


def _joined(x: Floats, weight: Floats, blocks: int) -> tuple[Floats, Floats, Floats]:
    """Blocks of neighbours: their means, variances and rows."""
    before = np.cumsum(weight) - weight
    number = (before * (blocks / float(weight.sum()))).astype(np.int64)
    first = np.flatnonzero(np.append(True, number[1:] != number[:-1]))
    rows = np.add.reduceat(weight, first)
    means = np.add.reduceat(weight * x, first) / rows
    sizes = np.diff(np.append(first, len(x)))
    within = np.add.reduceat(weight * (x - np.repeat(means, sizes)) ** 2, first) / rows
    return means, within, rows


def _expected(x: Floats, within: Floats, weight: Floats, state: tuple[Cluster, Cluster]) -> tuple[float, Floats]:
    """The log likelihood, but for a constant, and each value's probability of the second cluster."""
    low, high = (
        math.log(one.share / one.deviation) - ((x - one.mean) ** 2 + within) / (2 * one.deviation**2) for one in state
    )
    return float((weight * np.logaddexp(low, high)).sum()), _logistic(high - low)


def _maximised(
    x: Floats, within: Floats, weight: Floats, upper: Floats, floor: float
) -> tuple[Cluster, Cluster] | None:
    """The clusters that fit best; None where one is left with less than a row."""
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
