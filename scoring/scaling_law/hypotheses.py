"""Test the law's assumptions: two tests per family, on losses within each (N, D), independent of the bracket.

- *Independence*: once p_i is known, the shares of the other families say nothing more of family i's loss. Only runs of
  one N, D and p are held against one another, so a line that bends in p is no effect of the others. The paper tried two
  pairs of families; related ones (Germanic and Romance, say) were not among them.
- *Invariance*: gamma is one number over N and D.

Each adds columns to the regression of log losses and asks whether they explain more than noise would. The answer's
distribution is drawn, not assumed: signs of what the smaller model leaves over are drawn anew, one a training run, so
checkpoints of one run count once (Cameron, Gelbach and Miller 2008). P values are Holm's over the families tested.
A test that finds nothing has not proved the law: `detectable` and the intervals say how little noise alone would show.
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
"""The least p value that draws can show, times the number of families (Holm), is then half of 0.05."""


@dataclass(frozen=True, slots=True)
class Independence:
    """Whether other families' shares affect a family's loss beyond its own share."""

    family: str
    p_value: float | None  # None: could not be tested
    adjusted: float | None
    effect: float | None  # the largest change of the loss that the others' shares make in these runs, as a part of it
    detectable: float | None  # a change that noise alone passes in one table of 20, before any adjustment
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
        why = "the table has no column `run`, so the shares beside a family's own are not known"
        return Independence(family, None, None, None, None, why)
    own = table.families.index(family)
    of_family = table.family == own
    rows, others = table.where(of_family), np.delete(mixtures[of_family], own, axis=1)
    # A monolingual run has no others. Held against mixtures, a line that bends near p = 1 would pass for their effect.
    mixed = others.sum(axis=1) > 1e-9
    if not mixed.any():
        return Independence(family, None, None, None, None, "every run of it is monolingual; add mixtures")
    rows, others = rows.where(mixed), others[mixed]
    parts = others / others.sum(axis=1, keepdims=True)  # what each of the others has of what is left beside p
    cell = group_numbers(rows.n, rows.d, np.log(rows.p).round(6).astype(np.float64))
    compared = np.bincount(cell)[cell] > 1
    why = "the others' shares never differ at one N, D and p; add runs that give the rest to other families"
    if not compared.any():
        return Independence(family, None, None, None, None, why)
    rows, parts = rows.where(compared), parts[compared]
    # An intercept for each (N, D, p): how the loss depends on p is then no matter.
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
        return Invariance(family, None, None, None, None, "p differs at one N and D only; vary it at others as well")
    if len(usable) == 2 and _new_columns(base, more).shape[1] < 2:
        why = "N and D grow together wherever p differs; vary p where one grows alone"
        return Invariance(family, None, None, None, None, why)
    tested = _Test.of(rows, base, more, seed, f"invariance {family}", draws)
    if tested is None:
        return Invariance(family, None, None, None, None, "too few runs")
    slopes = dict(zip(usable, tested.intervals(rows, confidence, seed, draws), strict=True))
    return Invariance(family, tested.p_value, None, slopes.get(0), slopes.get(1))


@dataclass(frozen=True, slots=True)
class _Test:
    """A comparison of two regressions, the larger of which has the columns of the smaller one."""

    p_value: float
    effect: float
    detectable: float
    design: Floats  # of the larger
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
        # Only what lies beyond the smaller model's columns can explain more.
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
        """Of the added columns' coefficients, for each factor of ten."""
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
    """What the added columns explain, over what nothing explains."""
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
    """What the columns hold that the base does not; none where they hold nothing."""
    spanned = _basis(base)
    rest = columns - spanned @ (spanned.T @ columns)
    if np.abs(rest).max(initial=0.0) <= 1e-9 * max(float(np.abs(columns).max(initial=0.0)), 1e-12):
        return np.zeros((len(base), 0))
    return _basis(rest)


def _enough(families: int, draws: int) -> tuple[int, str]:
    """So many draws that Holm's adjustment leaves something to be found, or why there are none."""
    if families * 20 > MOST_DRAWS:
        return 0, f"{families} families at once: nothing could be contradicted with {MOST_DRAWS} draws; test fewer"
    return max(draws, min(_DRAWS_A_FAMILY * families, MOST_DRAWS)), ""


def _holm(p_values: Sequence[float | None]) -> list[float | None]:
    tested = sorted((value, place) for place, value in enumerate(p_values) if value is not None)
    found: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (value, place) in enumerate(tested):
        largest = max(largest, min(1.0, value * (len(tested) - rank)))
        found[place] = largest
    return found
