"""Optimal shares of families where each source's part of the mixture is fixed: the law's p is of the whole mixture.

Minimise sum_i k_i P_i^-gamma_i, with P_i = sum_s x_si the share of family i in the whole mixture, over what each source
s gives of it: x_si between 0 and what the source has, and sum_i x_si the source's part. The problem is convex and P is
unique; x is not, as sources may swap families. If the same shares in every source are optimal, these are used.

In each round every source finds its best shares given those of all others, and all move together along the line to
these, as far as the objective falls. So sources that have the same give the same, whatever their order.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from winnow.schemas.errors import WinnowError
from winnow.scoring.scaling_law.ratios import optimal_shares, optimal_shares_with_repeats
from winnow.scoring.scaling_law.repeats import R_STAR, effective_tokens

Floats = NDArray[np.float64]

_ROUNDS: Final = 200  # some ten are usual; a hundred where sources are chained by the families that they share
_TOLERANCE: Final = 1e-13  # of the objective, which is flat around the optimum: shares are then within some 1e-7
_HALVINGS: Final = 52
_NEWTONS: Final = 8


def shares_across_sources(
    k: Floats,
    gammas: Floats,
    rooms: Floats,
    most: Floats,
    unique: Floats | None = None,
    r_star: float = R_STAR,
) -> Floats:
    """What each source gives of each family, as shares of the whole mixture (sources × families).

    Args:
        k: Each family's weight times its loss at p = 1, above zero.
        gammas: Exponents, above zero.
        rooms: Each source's part, above zero; they sum to at most 1.
        most: The largest share that each source can give of each family (sources × families); 0 for none.
        unique: What each source has of each family, whose repeats are worth less; None: repeats are free.
        r_star: The number of repeats after which their value falls by e.

    Raises:
        WinnowError: A source cannot fill its part, or no source has a family.
    """
    most = np.minimum(most, rooms[:, np.newaxis])
    if (most.sum(axis=1) < rooms * (1 - 1e-9)).any():
        raise WinnowError("a source has less than its part of the mixture: lower its share, or raise the caps")
    if not (most.sum(axis=0) > 0).all():
        raise WinnowError("no source has anything of a family: leave it out")
    total = float(rooms.sum())
    if len(rooms) == 1:
        if unique is None:
            return optimal_shares(k, gammas, total, most[0])[np.newaxis]
        return optimal_shares_with_repeats(k, gammas, unique[0], total, most[0], r_star)[np.newaxis]
    alike = optimal_shares(k, gammas, total, most.sum(axis=0)) / total
    same: Floats = rooms[:, np.newaxis] * alike
    problem = _Problem(k, gammas, rooms, most, unique, r_star)
    if (same <= most).all() and (unique is None or (same <= unique).all()):
        return same
    x = problem.best((total - rooms[:, np.newaxis]) * alike)
    for _ in range(_ROUNDS):
        worth = problem.worth(x)
        step = problem.best(worth.sum(axis=0) - worth) - x
        if problem.falls(x, step) <= _TOLERANCE:
            break
        x = x + problem.length(x, step) * step
    return np.clip(x, 0.0, most)


class _Problem:
    """The objective, and each source's best answer to the others."""

    def __init__(
        self, k: Floats, gammas: Floats, rooms: Floats, most: Floats, unique: Floats | None, r_star: float
    ) -> None:
        self._log_gain, self._gammas = np.log(k * gammas), gammas
        self._rooms, self._most, self._r_star = rooms[:, np.newaxis], most, r_star
        self._unique = None if unique is None else np.maximum(unique, np.finfo(np.float64).tiny)

    def worth(self, x: Floats) -> Floats:
        """The effective shares."""
        return x if self._unique is None else effective_tokens(x, self._unique, self._r_star)

    def best(self, others: Floats) -> Floats:
        """Each source's shares of least loss beside the effective shares of the others.

        A source's families get the price at which their shares fill its part, found by bisection.
        """
        there = self._most > 0
        lowest = self._gain(others, self._most)  # at its price a source gives all that it has
        highest = self._gain(others, np.minimum(self._most, 1e-12 * self._rooms))
        low = np.where(there, lowest, np.inf).min(axis=1, keepdims=True)
        high = np.where(there, highest, -np.inf).max(axis=1, keepdims=True)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            more = self._at(middle, others).sum(axis=1, keepdims=True) > self._rooms
            low, high = np.where(more, middle, low), np.where(more, high, middle)
        found = self._at(high, others)
        rest = self._rooms - found.sum(axis=1, keepdims=True)  # bisection's rounding error, or a source at its caps
        space = self._most - found
        room = space.sum(axis=1, keepdims=True)
        filled: Floats = found + space * np.divide(rest, room, out=np.zeros_like(rest), where=room > 0)
        return filled

    def length(self, x: Floats, step: Floats) -> float:
        """How much of a step lowers the objective most, up to all of it."""
        low, high = 0.0, 1.0
        if self._slope(x + step, step) <= 0:
            return 1.0
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if self._slope(x + middle * step, step) > 0 else (middle, high)
        return low

    def falls(self, x: Floats, step: Floats) -> float:
        """How fast the objective falls along a step, as a part of it."""
        given = np.maximum(self.worth(x).sum(axis=0), np.finfo(np.float64).tiny)
        whole = float(np.exp(self._log_gain - self._gammas * np.log(given)).sum())
        return -self._slope(x, step) / whole

    def _slope(self, x: Floats, step: Floats) -> float:
        """The derivative of the objective along a step."""
        given = np.maximum(self.worth(x).sum(axis=0), np.finfo(np.float64).tiny)
        with np.errstate(over="ignore"):
            gain = np.exp(self._log_gain - (1 + self._gammas) * np.log(given))
        return -float((gain * (self._value(x) * step).sum(axis=0)).sum())

    def _value(self, x: Floats) -> Floats:
        """The worth of one token more, which falls with repeats."""
        found: Floats = np.exp(self._log_value(x))
        return found

    def _log_value(self, x: Floats) -> Floats:
        if self._unique is None:
            return np.zeros_like(x)
        found: Floats = -np.maximum(x / self._unique - 1, 0.0) / self._r_star
        return found

    def _gain(self, others: Floats, x: Floats) -> Floats:
        """The log of the gain of one token more of each family."""
        given = np.maximum(others + self.worth(x), np.finfo(np.float64).tiny)
        found: Floats = self._log_gain - (1 + self._gammas) * np.log(given) + self._log_value(x)
        return found

    def _at(self, log_price: Floats, others: Floats) -> Floats:
        """What sources give at a price."""
        once = np.exp((self._log_gain - log_price) / (1 + self._gammas)) - others
        once = np.clip(once, 0.0, self._most)
        if self._unique is None or (once <= self._unique).all():
            return once
        # The log of the gain is convex and falls, so Newton's method from the first repeat on stays below the solution.
        x = np.minimum(once, self._unique)
        repeated = once > self._unique
        for _ in range(_NEWTONS):
            value, given = self._value(x), np.maximum(others + self.worth(x), np.finfo(np.float64).tiny)
            fall = (1 + self._gammas) * value / given + 1 / (self._r_star * self._unique)
            x = np.where(repeated, np.minimum(x + np.maximum(self._gain(others, x) - log_price, 0.0) / fall, once), x)
        return x
