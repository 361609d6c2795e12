"""The law as a function of its parameters: each row's predicted log loss and its derivatives.

Parameters are scaled to be about equally easy to fit: log E, log A and log B are the logarithms of the three terms at
the middle of the data's N and D, so that A and alpha are not confounded. Functions take many parameter sets at once:
theta has one row per set (S × k), the result one row per set and one column per run (S × n).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from winnow.scoring.scaling_law.runs import RunTable

Floats = NDArray[np.float64]

GAMMA: Final = (1e-4, 2.0)
"""Bounds of gamma: from a negligible effect (0.05 % of the loss at a share of 1 %) to a loss that doubles whenever p
falls by 30 %."""
EXPONENT: Final = (0.01, 3.0)
TERM: Final = (1e-4, 4.0)
"""Bounds of each term of the bracket at the middle of the data, in units of the median loss; smaller ones are not
detectable."""

NAMES: Final = ("E", "A", "alpha", "B", "beta", "gamma")
"""The columns of theta in a bracket model."""


class Model(Protocol):
    """Log losses from parameters."""

    @property
    def lower(self) -> Floats:
        """The lower bound of each parameter."""

    @property
    def upper(self) -> Floats:
        """The upper bound of each parameter."""

    def predicted(self, theta: Floats) -> Floats:
        """The predicted log losses: S × k to S × n."""

    def with_slopes(self, theta: Floats) -> tuple[Floats, Floats]:
        """The predictions and their derivatives by each parameter (S × n × k)."""


@dataclass(frozen=True, slots=True)
class LinearModel:
    """Log loss as a weighted sum of columns."""

    design: Floats  # n × k
    lower: Floats
    upper: Floats

    def predicted(self, theta: Floats) -> Floats:
        """The predicted log losses: S × k to S × n."""
        found: Floats = theta @ self.design.T
        return found

    def with_slopes(self, theta: Floats) -> tuple[Floats, Floats]:
        """The predictions and the slopes, which are the columns themselves."""
        return self.predicted(theta), np.broadcast_to(self.design, (len(theta), *self.design.shape))


@dataclass(frozen=True, slots=True)
class BracketModel:
    """log(E + A N^-alpha + B D^-beta) - gamma log p; without `log_p`, the bracket alone."""

    log_n: Floats  # minus its middle
    log_d: Floats
    log_p: Floats | None
    lower: Floats
    upper: Floats

    def predicted(self, theta: Floats) -> Floats:
        """The predicted log losses: S × k to S × n."""
        return self._sums(theta)[0]

    def with_slopes(self, theta: Floats) -> tuple[Floats, Floats]:
        """The predictions and slopes: each term's part of the bracket times the term's own derivative."""
        predicted, parts = self._sums(theta)
        found = np.empty((*predicted.shape, theta.shape[1]))
        found[..., 0], found[..., 1], found[..., 3] = parts
        found[..., 2] = -parts[1] * self.log_n
        found[..., 4] = -parts[2] * self.log_d
        if self.log_p is not None:
            found[..., 5] = -self.log_p
        return predicted, found

    def _sums(self, theta: Floats) -> tuple[Floats, Floats]:
        """The log loss, and each term's part of the bracket (3 × S × n)."""
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
    """The sorted distinct (N, D), and the index of each row's pair."""
    pairs, place = np.unique(np.stack([table.n, table.d], axis=1), axis=0, return_inverse=True)
    return tuple((float(n), float(d)) for n, d in pairs), place.reshape(-1)


def group_numbers(*columns: Floats) -> NDArray[np.intp]:
    """A group number for each row; rows that are equal in all columns share it."""
    found: NDArray[np.intp] = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)[1].reshape(-1)
    return found


def share_model(table: RunTable) -> LinearModel:
    """The model of one family: one intercept per (N, D) and a common slope, gamma (the first parameter)."""
    cells, place = cells_of(table)
    design = np.concatenate([-np.log(table.p)[:, np.newaxis], np.eye(len(cells))[place]], axis=1)
    free = np.full(len(cells), 50.0)  # not reached, as exp(50) is no realistic loss
    return LinearModel(design, np.concatenate([[GAMMA[0]], -free]), np.concatenate([[GAMMA[1]], free]))


def middles(table: RunTable) -> tuple[float, float]:
    """The middles of log N and log D: means over the distinct trained values."""
    return float(np.log(np.unique(table.n)).mean()), float(np.log(np.unique(table.d)).mean())


def bracket_model(table: RunTable, *, with_gamma: bool) -> BracketModel:
    """The model of one family; without gamma, the effect of p must be removed from the losses first."""
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
    """Convert log A and log B at the middle of the data to those of the law (the last axis holds `NAMES`)."""
    found = theta.copy()
    found[..., 1] += theta[..., 2] * middle[0]
    found[..., 3] += theta[..., 4] * middle[1]
    return found


def at_bounds(theta: Floats, model: Model, names: Sequence[str]) -> tuple[str, ...]:
    """The parameters that ended at a bound, and which bound."""
    room = 1e-6 * (model.upper - model.lower)
    found = []
    for place, name in enumerate(names):
        if theta[place] - model.lower[place] <= room[place]:
            found.append(f"{name} at its lower bound")
        if model.upper[place] - theta[place] <= room[place]:
            found.append(f"{name} at its upper bound")
    return tuple(found)
