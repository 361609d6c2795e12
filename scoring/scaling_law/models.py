"""The law as a function of its parameters: each row's predicted log loss and its derivatives.

Parameters are held where they are about equally easy to find: log E, log A and log B are the logarithms of the three
terms at the middle of the data's N and D, so that A and alpha are not two names for one thing. Functions take many
sets of parameters at once: theta has one row a set (S × k), the answer one row a set and a column a run (S × n).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from winnow.scoring.scaling_law.runs import RunTable

Floats = NDArray[np.float64]

GAMMA: Final = (1e-4, 2.0)
"""From no visible effect (0.05 % of the loss at a share of 1 %) to a loss that doubles each time p falls by 30 %."""
EXPONENT: Final = (0.01, 3.0)
TERM: Final = (1e-4, 4.0)
"""Each term of the bracket at the middle of the data, in units of the median loss: below, it cannot be seen."""

NAMES: Final = ("E", "A", "alpha", "B", "beta", "gamma")
"""The columns of theta in a bracket model."""


class Model(Protocol):
    """Log losses from parameters."""

    @property
    def lower(self) -> Floats:
        """The least that each parameter may be."""
        ...

    @property
    def upper(self) -> Floats:
        """The most."""
        ...

    def predicted(self, theta: Floats) -> Floats:
        """S × k to S × n."""
        ...

    def with_slopes(self, theta: Floats) -> tuple[Floats, Floats]:
        """The same, and its derivative by each parameter (S × n × k)."""
        ...


@dataclass(frozen=True, slots=True)
class LinearModel:
    """Log loss as a weighted sum of columns."""

    design: Floats  # n × k
    lower: Floats
    upper: Floats

    def predicted(self, theta: Floats) -> Floats:
        """S × k to S × n."""
        found: Floats = theta @ self.design.T
        return found

    def with_slopes(self, theta: Floats) -> tuple[Floats, Floats]:
        """The slopes are the columns themselves."""
        return self.predicted(theta), np.broadcast_to(self.design, (len(theta), *self.design.shape))


@dataclass(frozen=True, slots=True)
class BracketModel:
    """log(E + A N^-alpha + B D^-beta) - gamma log p; without `log_p`, the bracket alone."""

    log_n: Floats  # less its middle
    log_d: Floats
    log_p: Floats | None
    lower: Floats
    upper: Floats

    def predicted(self, theta: Floats) -> Floats:
        """S × k to S × n."""
        return self._sums(theta)[0]

    def with_slopes(self, theta: Floats) -> tuple[Floats, Floats]:
        """The slopes are each term's part of the bracket, times what the term changes by."""
        predicted, parts = self._sums(theta)
        found = np.empty((*predicted.shape, theta.shape[1]))
        found[..., 0], found[..., 1], found[..., 3] = parts
        found[..., 2] = -parts[1] * self.log_n
        found[..., 4] = -parts[2] * self.log_d
        if self.log_p is not None:
            found[..., 5] = -self.log_p
        return predicted, found

    def _sums(self, theta: Floats) -> tuple[Floats, Floats]:
        """The log loss, and what part of the bracket each of its terms is (3 × S × n)."""
        terms = self._terms(theta)
        peak = np.maximum(np.maximum(terms[0], terms[1]), terms[2])
        parts = np.exp(terms - peak)
        bracket = parts[0] + parts[1] + parts[2]
        found: Floats = peak + np.log(bracket)
        if self.log_p is not None:
            found -= theta[:, 5:6] * self.log_p
        return found, parts / bracket

    def _terms(self, theta: Floats) -> Floats:
        terms = np.empty((3, len(theta), len(self.log_n)))
        terms[0] = theta[:, 0:1]
        terms[1] = theta[:, 1:2] - theta[:, 2:3] * self.log_n
        terms[2] = theta[:, 3:4] - theta[:, 4:5] * self.log_d
        return terms


def cells_of(table: RunTable) -> tuple[tuple[tuple[float, float], ...], NDArray[np.intp]]:
    """The distinct (N, D), sorted, and each row's place among them."""
    pairs, place = np.unique(np.stack([table.n, table.d], axis=1), axis=0, return_inverse=True)
    return tuple((float(n), float(d)) for n, d in pairs), place.reshape(-1)


def group_numbers(*columns: Floats) -> NDArray[np.intp]:
    """A number for each row, the same for rows that are equal in all columns."""
    found: NDArray[np.intp] = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)[1].reshape(-1)
    return found


def share_model(table: RunTable) -> LinearModel:
    """Of one family: one intercept a cell of N and D and one common slope, gamma (the first parameter)."""
    cells, place = cells_of(table)
    design = np.concatenate([-np.log(table.p)[:, np.newaxis], np.eye(len(cells))[place]], axis=1)
    free = np.full(len(cells), 50.0)  # exp(50) is no loss: never reached
    return LinearModel(design, np.concatenate([[GAMMA[0]], -free]), np.concatenate([[GAMMA[1]], free]))


def middles(table: RunTable) -> tuple[float, float]:
    """The middle of log N and of log D: the means over what was trained, each value once."""
    return float(np.log(np.unique(table.n)).mean()), float(np.log(np.unique(table.d)).mean())


def bracket_model(table: RunTable, *, with_gamma: bool) -> BracketModel:
    """Of one family; without gamma, losses are to be freed of p first."""
    middle_n, middle_d = middles(table)
    typical = float(np.median(np.log(table.loss)))
    term = np.log(TERM) + typical
    bounds = np.array([term, term, EXPONENT, term, EXPONENT, GAMMA][: 6 if with_gamma else 5])
    return BracketModel(
        np.log(table.n) - middle_n,
        np.log(table.d) - middle_d,
        np.log(table.p) if with_gamma else None,
        np.ascontiguousarray(bounds[:, 0]),
        np.ascontiguousarray(bounds[:, 1]),
    )


def uncentred(theta: Floats, middle: tuple[float, float]) -> Floats:
    """Log A and log B as the law has them, from those at the middle of the data (the last axis holds `NAMES`)."""
    found = theta.copy()
    found[..., 1] += theta[..., 2] * middle[0]
    found[..., 3] += theta[..., 4] * middle[1]
    return found


def at_bounds(theta: Floats, model: Model, names: Sequence[str]) -> tuple[str, ...]:
    """The parameters that ended at the edge of what is allowed, and which edge."""
    room = 1e-6 * (model.upper - model.lower)
    found = []
    for place, name in enumerate(names):
        if theta[place] - model.lower[place] <= room[place]:
            found.append(f"{name} at its lower bound")
        if model.upper[place] - theta[place] <= room[place]:
            found.append(f"{name} at its upper bound")
    return tuple(found)
