"""Test the law's assumptions: two tests per family, on losses within each (N, D), independent of the bracket.

- **Independence*: given p_i, the shares of the other families do not affect family i's loss. Only runs with equal N, D
and p are compared, so a nonlinear effect of p is not mistaken for one of other families. The paper tested two pairs of
families, but no related ones (such as Germanic and Romance).
- **Invariance*: gamma is the same at all N and D.

Each test adds columns to the regression of log losses and checks whether they explain more than noise would. The null
distribution is simulated: the residuals of the smaller model get random signs, one per training run, so checkpoints of
one run count once (Cameron, Gelbach and Miller 2008). P values are adjusted by Holm's method over the tested families.
A test without a finding does not prove the law: `detectable` and the intervals show the size of effects that noise
alone reaches.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from winnow.scoring.scaling_law.models import group_numbers, middles, share_model
from winnow.scoring.scaling_law.resampling import few_runs_factor, interval, run_freedom, signs, wild
from winnow.scoring.scaling_law.runs import RunTable

Floats = NDArray[np.float64]

DRAWS: Final = 1999
MOST_DRAWS: Final = 19_999
_DRAWS_A_FAMILY: Final = 40
"""Enough draws that the smallest possible p value, times the number of families (Holm), is half of 0.05."""


@dataclass(frozen=True, slots=True)
class Independence:
    """Whether other families' shares affect a family's loss beyond its own share."""

    family: str
    p_value: float | None  # None if it could not be tested
    adjusted: float | None
    effect: float | None  # the largest relative change of the loss by the others' shares in these runs
    detectable: float | None  # a change that noise alone exceeds in one table of 20, without adjustment
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class Invariance:
    """Whether one family's gamma changes with N or D: its change for each factor of ten."""

    family: str
    p_value: float | None
    adjusted: float | None
    per_decade_n: tuple[float, float, float] | None  # estimate, low, high
    per_decade_d: tuple[float, float, float] | None
    why_not: str = ""


def independence_tests(table: RunTable, seed: int = 0, draws: int = DRAWS) -> tuple[Independence, ...]:
    """One result per family."""
    draws, why = _enough(len(table.families), draws)
    if why:
        return tuple(Independence(family, None, None, None, None, why) for family in table.families)
    found = [_independence(table, family, seed, draws) for family in table.families]
    adjusted = _holm([answer.p_value for answer in found])
    return tuple(replace(answer, adjusted=value) for answer, value in zip(found, adjusted, strict=True))


def invariance_tests(
    table: RunTable, confidence: float = 0.95, seed: int = 0, draws: int = DRAWS
) -> tuple[Invariance, ...]:
    """One result per family."""
    draws, why = _enough(len(table.families), draws)
    if why:
        return tuple(Invariance(family, None, None, None, None, why) for family in table.families)
    found = [_invariance(table.of(family), family, confidence, seed, draws) for family in table.families]
    adjusted = _holm([answer.p_value for answer in found])
    return tuple(replace(answer, adjusted=value) for answer, value in zip(found, adjusted, strict=True))


def _independence(table: RunTable, family: str, seed: int, draws: int) -> Independence:
    mixtures = table.mixtures()
    if mixtures is None:
        why = "the table has no column `run`, so the shares of other families are unknown"
        return Independence(family, None, None, None, None, why)
    own = table.families.index(family)
    of_family = table.family == own
    rows, others = table.where(of_family), np.delete(mixtures[of_family], own, axis=1)
    # Monolingual runs have no other families; compared with mixtures, a nonlinearity near p = 1 would look like an #
    # effect of them.
    mixed = others.sum(axis=1) > 1e-9
    if not mixed.any():
        return Independence(family, None, None, None, None, "every run of it is monolingual; add mixtures")
    rows, others = rows.where(mixed), others[mixed]
    parts = others / others.sum(axis=1, keepdims=True)  # each other family's part of the remaining share
    cell = group_numbers(rows.n, rows.d, np.log(rows.p).round(6).astype(np.float64))
    compared = np.bincount(cell)[cell] > 1
    why = "the other families' shares never vary at the same N, D and p; add runs with different shares of the others"
    if not compared.any():
        return Independence(family, None, None, None, None, why)
    rows, parts = rows.where(compared), parts[compared]
    # An intercept for each (N, D, p) removes any dependence of the loss on p.
    cells, place = np.unique(cell[compared], return_inverse=True)
    base = np.eye(len(cells))[place]
    more = _new_columns(base, parts)
    if not more.shape[1]:
        return Independence(family, None, None, None, None, why)
    tested = _Test.of(rows, base, more, seed, f"independence {family}", draws)
    if tested is None:
        return Independence(family, None, None, None, None, "too few runs for so many families")
    return Independence(family, tested.p_value, None, tested.effect, tested.detectable)


def _invariance(rows: RunTable, family: str, confidence: float, seed: int, draws: int) -> Invariance:
    base = share_model(rows).design
    middle = middles(rows)
    log_p = np.log(rows.p)
    # Log loss falls by gamma log p: a gamma that grows with log N adds -log p times log N.
    columns = [-log_p * (np.log(sizes) - at) for sizes, at in ((rows.n, middle[0]), (rows.d, middle[1]))]
    usable = [place for place in (0, 1) if _new_columns(base, columns[place][:, np.newaxis]).shape[1]]
    more = np.stack([columns[place] for place in usable], axis=1) if usable else np.zeros((len(rows), 0))
    if not usable:
        return Invariance(family, None, None, None, None, "p varies at only one N and D; vary it at others as well")
    if len(usable) == 2 and _new_columns(base, more).shape[1] < 2:
        why = "N and D always change together where p varies; vary p while only one of them changes"
        return Invariance(family, None, None, None, None, why)
    tested = _Test.of(rows, base, more, seed, f"invariance {family}", draws)
    if tested is None:
        return Invariance(family, None, None, None, None, "too few runs")
    slopes = dict(zip(usable, tested.intervals(rows, confidence, seed, draws), strict=True))
    return Invariance(family, tested.p_value, None, slopes.get(0), slopes.get(1))


@dataclass(frozen=True, slots=True)
class _Test:
    """A comparison of two nested regressions."""

    p_value: float
    effect: float
    detectable: float
    design: Floats  # of the larger regression
    added: int

    @classmethod
    def of(cls, rows: RunTable, base: Floats, more: Floats, seed: int, purpose: str, draws: int) -> "_Test | None":
        y = np.log(rows.loss)
        design = np.concatenate([base, more], axis=1)
        freedom = len(y) - np.linalg.matrix_rank(design)
        if freedom < 2:
            return None
        small, large = _basis(base), _basis(design)
        at = small @ (small.T @ y)
        samples = wild(at, y, small, rows.keys(), signs(seed, purpose, rows.keys(), draws))
        # Only components outside the smaller model's columns can explain more.
        extra = large - small @ (small.T @ large)
        beyond = _basis(extra)
        own, drawn = _gains(y[np.newaxis], large, beyond), _gains(samples, large, beyond)
        moved, noise = np.abs(beyond @ (beyond.T @ y)), np.abs(samples @ beyond @ beyond.T)
        return cls(
            (1 + int((drawn >= own[0]).sum())) / (draws + 1),
            float(np.expm1(moved.max())),
            float(np.expm1(np.quantile(noise.max(axis=1), 0.95))),
            design,
            more.shape[1],
        )

    def intervals(self, rows: RunTable, confidence: float, seed: int, draws: int) -> list[tuple[float, float, float]]:
        """The intervals of the added columns' coefficients, per factor of ten."""
        y = np.log(rows.loss)
        solve = np.linalg.pinv(self.design)
        basis = _basis(self.design)
        samples = wild(self.design @ (solve @ y), y, basis, rows.keys(), signs(seed, "slopes", rows.keys(), draws))
        own = solve[-self.added :] @ y
        factor = few_runs_factor(run_freedom(basis, rows.keys()), confidence)
        low, high = interval(own + factor * (samples @ solve[-self.added :].T - own), confidence)
        ten = np.log(10)
        return [(float(a * ten), float(b * ten), float(c * ten)) for a, b, c in zip(own, low, high, strict=True)]


def _gains(y: Floats, large: Floats, beyond: Floats) -> Floats:
    """The variance explained by the added columns, relative to the residual variance."""
    explained = ((y @ beyond) ** 2).sum(axis=1)
    left = (y**2).sum(axis=1) - ((y @ large) ** 2).sum(axis=1)
    found: Floats = explained / np.maximum(left, 1e-18)
    return found


def _basis(columns: Floats) -> Floats:
    """Orthonormal columns that span the given ones."""
    vectors, sizes, _ = np.linalg.svd(columns, full_matrices=False)
    found: Floats = vectors[:, sizes > 1e-9 * max(float(sizes[0]), 1e-300)]
    return found


def _new_columns(base: Floats, columns: Floats) -> Floats:
    """The part of the columns outside the base's span; no columns if there is none."""
    spanned = _basis(base)
    rest = columns - spanned @ (spanned.T @ columns)
    if np.abs(rest).max(initial=0.0) <= 1e-9 * max(float(np.abs(columns).max(initial=0.0)), 1e-12):
        return np.zeros((len(base), 0))
    return _basis(rest)


def _enough(families: int, draws: int) -> tuple[int, str]:
    """Enough draws for a finding after Holm's adjustment, or why that is impossible."""
    if families * 20 > MOST_DRAWS:
        return 0, f"{families} families at once: {MOST_DRAWS} draws cannot show a contradiction; test fewer families"
    return max(draws, min(_DRAWS_A_FAMILY * families, MOST_DRAWS)), ""


def _holm(p_values: Sequence[float | None]) -> list[float | None]:
    tested = sorted((value, place) for place, value in enumerate(p_values) if value is not None)
    found: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (value, place) in enumerate(tested):
        largest = max(largest, min(1.0, value * (len(tested) - rank)))
        found[place] = largest
    return found
