"""Between which log odds the share of the upper of two Gaussians lies, by the profile of the likelihood.

For a given share the two means and deviations are fitted again; the interval has the shares whose likelihood is close
to the best one's. Unlike an interval by the information at the best fit, it does not depend on whether that one fit
happens to look sharp: where clusters overlap and one is small, chance fits look sharper than they are.
"""

import math
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from winnow.scoring.selection.clusters import VARIANCE_FLOOR, Gaussians, joined
from winnow.scoring.selection.ranks import Floats, Integers

BLOCKS: Final = 512
"""The most blocks of about equal numbers of rows that are read."""
DROP: Final = 3.841458820694124 / 2
"""How far the log likelihood falls within the interval: 95 % by its asymptotic distribution."""
FARTHEST: Final = 6.0  # log odds: a share of 0.25 %
UNBOUNDED: Final = 40.0

_FIRST_STEP: Final = 0.15
_LARGER: Final = 1.5
_HALVINGS: Final = 7  # of the step in which a bound lies
_TOLERANCE: Final = 1e-9  # of the mean log likelihood, per iteration
_MAX_ITERATIONS: Final = 400

_Moments: TypeAlias = NDArray[np.float64]  # mean and variance of the lower, mean and variance of the upper


def share_odds(mixture: Gaussians, values: Floats, counts: Integers) -> tuple[float, float]:
    """The bounds of the log odds of the upper share; `UNBOUNDED`, or minus that, where the values do not bound it.

    Args:
        mixture: The fit to these values.
        values: Distinct and ascending, in their original scale.
        counts: The count of each value.
    """
    x, within, weight = joined(mixture.scaled(values), counts.astype(np.float64), BLOCKS)
    middle = float((weight * x).sum() / weight.sum())
    floor = VARIANCE_FLOOR * float((weight * (x - middle) ** 2).sum() / weight.sum())
    profile = _Profile(x, within, weight, floor)
    moments = np.array([value for one in (mixture.lower, mixture.upper) for value in (one.mean, one.deviation**2)])
    odds = math.log(mixture.upper.share / mixture.lower.share)
    profile.best, moments = profile.fit(odds, moments)
    return profile.bound(odds, moments, -1.0), profile.bound(odds, moments, 1.0)


class _Profile:
    """The likelihood of blocks of values as a function of the log odds of the upper share."""

    def __init__(self, x: Floats, within: Floats, weight: Floats, floor: float) -> None:
        self._x, self._within, self._weight, self._floor = x, within, weight, floor
        self._rows = float(weight.sum())
        self.best = -math.inf

    def bound(self, odds: float, moments: _Moments, sign: float) -> float:
        """The farthest log odds in one direction that are likely enough; `UNBOUNDED` beyond `FARTHEST`."""
        step = _FIRST_STEP
        while True:
            farther = odds + sign * step
            if abs(farther) > FARTHEST:
                return sign * UNBOUNDED
            likelihood, found = self.fit(farther, moments)
            self.best = max(self.best, likelihood)
            if self.best - likelihood > DROP:
                break
            odds, moments, step = farther, found, step * _LARGER
        for _ in range(_HALVINGS):
            between = (odds + farther) / 2
            likelihood, found = self.fit(between, moments)
            if self.best - likelihood > DROP:
                farther = between
            else:
                odds, moments = between, found
        return (odds + farther) / 2

    def fit(self, odds: float, moments: _Moments) -> tuple[float, _Moments]:
        """The largest log likelihood with these odds, and its means and variances, by EM in long steps (SQUAREM)."""
        before, likelihood = -math.inf, -math.inf
        for _ in range(_MAX_ITERATIONS):
            first = self._step(odds, moments)[1]
            likelihood, second = self._step(odds, first)
            change = first - moments
            bend = (second - first) - change
            size = float((bend * bend).sum())
            moments = second
            if size > 0:
                length = min(-math.sqrt(float((change * change).sum()) / size), -1.0)
                farther = first - change - 2 * length * change + length * length * bend
                if farther[1] > self._floor and farther[3] > self._floor:
                    reached, after = self._step(odds, farther)
                    if reached >= likelihood:
                        likelihood, moments = reached, after
            if abs(likelihood - before) <= _TOLERANCE * self._rows:
                break
            before = likelihood
        return likelihood, moments

    def _step(self, odds: float, moments: _Moments) -> tuple[float, _Moments]:
        """The log likelihood up to a constant, and the means and variances of one step of EM."""
        below = -float(np.logaddexp(0.0, odds))
        logs = [
            share - math.log(variance) / 2 - ((self._x - mean) ** 2 + self._within) / (2 * variance)
            for share, mean, variance in ((below, *moments[:2].tolist()), (below + odds, *moments[2:].tolist()))
        ]
        whole = np.logaddexp(logs[0], logs[1])
        found = []
        for log in logs:
            belongs = self._weight * np.exp(log - whole)
            count = max(float(belongs.sum()), 1e-300)
            mean = float((belongs * self._x).sum()) / count
            variance = float((belongs * ((self._x - mean) ** 2 + self._within)).sum()) / count
            found += [mean, max(variance, self._floor)]
        return float((self._weight * whole).sum()), np.array(found)
