"""Fit L_i(N, D, p) = (E_i + A_i N^-alpha_i + B_i D^-beta_i) p^-gamma_i to runs, with intervals and held-out errors.

Two methods are always computed; the law uses one of them:

- `two_stage`: gamma from losses within each (N, D), where the bracket is one number; then the bracket from losses freed
  of p. Gamma then needs fewer assumptions, as it does not depend on the form of the bracket.
- `joint`: all six parameters at once.

Mode `gamma` fits the first stage alone. The paper states no procedure; Huber on log losses with L-BFGS from a grid of
starts is the one of *Training Compute-Optimal Large Language Models* (arXiv 2203.15556), approach 3.
"""

import itertools
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from winnow.schemas.errors import SourceError
from winnow.schemas.law import Mode, Quality
from winnow.scoring.scaling_law.models import (
    NAMES,
    BracketModel,
    LinearModel,
    at_bounds,
    bracket_model,
    cells_of,
    group_numbers,
    middles,
    share_model,
    uncentred,
)
from winnow.scoring.scaling_law.required_runs import missing_runs, noise_unknown, require_determined
from winnow.scoring.scaling_law.resampling import few_runs_factor, run_freedom, signs, wild
from winnow.scoring.scaling_law.runs import RunTable
from winnow.scoring.scaling_law.solving import Optimum, fitted, huber, refitted, spanned

Floats = NDArray[np.float64]
Method: TypeAlias = Literal["joint", "two_stage"]

EXPONENT_STARTS: Final = (0.1, 0.2, 0.35, 0.5, 0.8, 1.3)
"""The grid of alpha and beta. For each pair the three terms follow by least squares; the best pairs are starts."""
_STARTS: Final = 8
LEAST_DELTA: Final = 0.01
"""Bounds of default Huber deltas: mixinglaws uses 0.01 to 0.05, arXiv 2203.15556 uses 0.001."""
_NORMAL_MEDIAN: Final = 0.6745  # the median absolute value of normal noise, in standard deviations
_DELTA_OF_NOISE: Final = 1.5  # standard deviations, which include nearly all noise
FOLDS: Final = 100
"""The most fits for the held-out error."""


@dataclass(frozen=True, slots=True)
class FitConfig:
    """The settings of a fit."""

    mode: Mode = "full"
    method: Method = "joint"
    huber_delta: float | None = None  # of the log loss; None: estimated from each family's noise
    resamples: int = 1000
    confidence: float = 0.95
    seed: int = 0
    min_seeds: int = 1

    def __post_init__(self) -> None:
        delta = LEAST_DELTA if self.huber_delta is None else self.huber_delta
        if not 0 < delta < 10 or not 0 < self.confidence < 1 or not 20 <= self.resamples <= 100_000:
            raise SourceError(
                f"huber_delta {self.huber_delta}, confidence {self.confidence}, resamples {self.resamples}: "
                "expected above 0, between 0 and 1, and 20 to 100000"
            )


@dataclass(frozen=True, slots=True)
class FamilyFit:
    """One family's estimates. In mode `full` parameters are log E, log A, alpha, log B, beta, gamma.

    In mode `gamma` they are gamma, then the log loss at p = 1 in each cell.
    """

    family: str
    parameters: Floats
    two_stage: Floats
    draws: Floats  # resamples × parameters
    cells: tuple[tuple[float, float], ...]
    quality: Quality
    at_bounds: tuple[str, ...]
    draws_at_bounds: float  # the share of resamples that ended at a bound: an interval is cut there
    huber_delta: float  # used by the fit
    arrived: bool  # whether the solver converged
    draws_astray: float  # the share of resamples that did not converge

    @property
    def gamma(self) -> float:
        """The exponent of p."""
        return float(self.parameters[_gamma_place(len(self.parameters), self.cells)])


@dataclass(frozen=True, slots=True)
class LawFit:
    """The estimates of every family of a table."""

    table: RunTable
    config: FitConfig
    families: tuple[FamilyFit, ...]

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about the quality of the fit."""
        found = [
            f"{fit.family}: {edge}; the data do not determine it" for fit in self.families for edge in fit.at_bounds
        ]
        found += [
            f"{fit.family}: {fit.draws_at_bounds:.0%} of the resamples ended at a bound, intervals are cut there"
            for fit in self.families
            if fit.draws_at_bounds > 0.025
        ]
        found += [
            f"{fit.family}: the solver did not converge; the estimates are the best it found"
            for fit in self.families
            if not fit.arrived
        ]
        found += [
            f"{fit.family}: the solver did not converge in {fit.draws_astray:.0%} of the resamples"
            for fit in self.families
            if fit.draws_astray > 0.025
        ]
        return tuple(line for line in (*found, noise_unknown(self.table)) if line)


def fit_law(table: RunTable, config: FitConfig | None = None) -> LawFit:
    """Fit every family of a table.

    Raises:
        SourceError: The table does not determine the law; one line per family and problem, naming missing runs.
    """
    config = config or FitConfig()
    require_determined(table, config.mode, config.min_seeds)
    return LawFit(table, config, tuple(fit_family(table.of(family), config) for family in table.families))


def fit_family(rows: RunTable, config: FitConfig) -> FamilyFit:
    """Fit one family from its rows."""
    estimator = _Estimator(rows, config)
    own = estimator.fit()
    y = np.log(rows.loss)
    predicted = estimator.predicted(own.parameters)
    drawn = signs(config.seed, "bootstrap", rows.keys(), config.resamples)
    bends = spanned(estimator.model, own.parameters)
    samples = wild(predicted, y, bends, rows.keys(), drawn)
    found, arrived = estimator.refit(own, samples, np.ones((1, len(y))))
    factor = few_runs_factor(run_freedom(bends, rows.keys()), config.confidence)
    draws = np.clip(own.parameters + factor * (found - own.parameters), estimator.model.lower, estimator.model.upper)
    names = NAMES if config.mode == "full" else ("gamma",)
    edges = [bool(at_bounds(draw, estimator.model, names)) for draw in draws]
    middle = middles(rows)
    full = config.mode == "full"
    return FamilyFit(
        rows.families[int(rows.family[0])],
        uncentred(own.parameters, middle) if full else own.parameters,
        uncentred(own.two_stage, middle) if full else own.two_stage,
        uncentred(draws, middle) if full else draws,
        () if full else cells_of(rows)[0],
        _quality(estimator, own, predicted),
        at_bounds(own.parameters, estimator.model, names),
        float(np.mean(edges)),
        estimator.delta,
        own.arrived,
        float(np.mean(~arrived)),
    )


@dataclass(frozen=True, slots=True)
class _DataFit:
    """The fit of the original data, from which fits of resamples start."""

    share: Floats  # of the share model
    bracket: Floats  # of the bracket without gamma
    parameters: Floats  # those that the law uses
    two_stage: Floats
    arrived: bool  # those that the law uses


class _Estimator:
    """One family's runs and the models of both stages."""

    def __init__(self, rows: RunTable, config: FitConfig) -> None:
        self.rows, self.config = rows, config
        self.y = np.log(rows.loss)
        self.log_p = np.log(rows.p)
        self.share: LinearModel = share_model(rows)
        self.bracket: BracketModel | None = None
        self.model: LinearModel | BracketModel = self.share
        if config.mode == "full":
            self.bracket = bracket_model(rows, with_gamma=False)
            self.model = bracket_model(rows, with_gamma=True)
        self.delta = self._delta() if config.huber_delta is None else config.huber_delta

    def _delta(self) -> float:
        """Huber's delta, from the residuals of a first fit; a smaller one would treat good runs as outliers."""
        left = np.sort(np.abs(self.y - self.share.predicted(self._share(LEAST_DELTA).theta[np.newaxis])[0]))
        bent = min(self.share.design.shape[1], len(left)) - 1  # a robust fit passes through about this many points
        return max(LEAST_DELTA, _DELTA_OF_NOISE * float(np.median(left[bent:])) / _NORMAL_MEDIAN)

    def _share(self, delta: float) -> Optimum:
        start = np.linalg.lstsq(self.share.design, self.y, rcond=None)[0].astype(np.float64)
        return fitted(self.share, self.y, start[np.newaxis], delta)

    def fit(self) -> _DataFit:
        delta = self.delta
        first = self._share(delta)
        share = first.theta
        if self.bracket is None:
            return _DataFit(share, share, share, share, first.arrived)
        freed = self.y + share[0] * self.log_p
        second = fitted(self.bracket, freed, _starts(self.bracket, freed, delta), delta)
        bracket = second.theta
        two_stage = np.append(bracket, share[0])
        if self.config.method == "two_stage":
            return _DataFit(share, bracket, two_stage, two_stage, first.arrived and second.arrived)
        starts = np.column_stack([_starts(self.bracket, freed, delta), np.full(_STARTS, share[0])])
        joint: Optimum = fitted(self.model, self.y, np.vstack([two_stage, starts]), delta)
        return _DataFit(share, bracket, joint.theta, two_stage, joint.arrived)

    def refit(self, own: _DataFit, samples: Floats, weights: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """The parameters of each resample, by the same method as for the data, and which of them converged."""
        if self.bracket is not None and self.config.method == "joint":
            return refitted(self.model, own.parameters, samples, weights, self.delta)
        share, first = refitted(self.share, own.share, samples, weights, self.delta)
        if self.bracket is None:
            return share, first
        freed = samples + share[:, :1] * self.log_p
        bracket, second = refitted(self.bracket, own.bracket, freed, weights, self.delta)
        return np.column_stack([bracket, share[:, 0]]), first & second

    def predicted(self, theta: Floats) -> Floats:
        found: Floats = self.model.predicted(theta[np.newaxis])[0]
        return found


def _starts(model: BracketModel, freed: Floats, delta: float) -> Floats:
    """The best brackets over a grid of exponents, with the three terms by least squares."""
    loss = np.exp(freed)
    found = []
    for alpha, beta in itertools.product(EXPONENT_STARTS, repeat=2):
        columns = np.stack([np.ones(len(loss)), np.exp(-alpha * model.log_n), np.exp(-beta * model.log_d)], axis=1)
        terms = nnls(columns / loss[:, np.newaxis], np.ones(len(loss)))[0]
        e, a, b = np.log(np.maximum(terms, 1e-3 * loss.mean()))  # positive, so that a vanished term can grow again
        found.append(np.clip([e, a, alpha, b, beta], model.lower, model.upper))
    starts = np.array(found)
    values = huber(model.predicted(starts) - freed, delta).sum(axis=1)
    return starts[np.argsort(values, kind="stable")[:_STARTS]]


def _quality(estimator: _Estimator, own: _DataFit, predicted: Floats) -> Quality:
    rows = estimator.rows
    left = rows.loss - np.exp(predicted)
    spread = float(((rows.loss - rows.loss.mean()) ** 2).sum())
    return Quality(
        r2=1 - float((left**2).sum()) / spread if spread > 0 else 0.0,
        mae=float(np.abs(left).mean()),
        held_out_mae=_held_out(estimator, own, _folds(rows)),
        largest_n_mae=_held_out(estimator, own, (rows.n == rows.n.max())[np.newaxis]),
        largest_d_mae=_held_out(estimator, own, (rows.d == rows.d.max())[np.newaxis]),
        seed_spread=_seed_spread(rows),
    )


def _held_out(estimator: _Estimator, own: _DataFit, left_out: NDArray[np.bool_]) -> float | None:
    """The mean absolute error on held-out rows; None if the other rows do not determine a fit."""
    rows, mode = estimator.rows, estimator.config.mode
    _, cell = cells_of(rows)
    usable = []
    for out in left_out:
        # a cell without training rows has no intercept
        known = np.isin(cell, np.unique(cell[~out])).all() or mode == "full"
        usable.append(bool(known and not out.all() and not missing_runs(rows.where(~out), mode, 1)))
    folds = left_out[np.array(usable, bool)]
    if not len(folds):
        return None
    samples = np.broadcast_to(estimator.y, folds.shape)
    theta, _ = estimator.refit(own, samples, (~folds).astype(np.float64))
    errors = np.abs(np.exp(estimator.model.predicted(theta)) - rows.loss)
    return float(errors[folds].mean())


def _folds(rows: RunTable) -> NDArray[np.bool_]:
    """The groups of rows held out together: one (N, D, p) each, or several if there are more than `FOLDS`."""
    place = group_numbers(rows.n, rows.d, rows.p) % FOLDS
    found: NDArray[np.bool_] = place[np.newaxis] == np.arange(place.max() + 1)[:, np.newaxis]
    return found


def _seed_spread(rows: RunTable) -> float | None:
    """The standard deviation of the loss among runs of one (N, D, p) and one mixture."""
    place = group_numbers(rows.n, rows.d, rows.p, rows.mixture.astype(np.float64))
    counts = np.bincount(place)
    left = rows.loss - (np.bincount(place, rows.loss) / counts)[place]
    freedom = len(rows) - len(counts)
    return float((left**2).sum() / freedom) ** 0.5 if freedom else None


def _gamma_place(width: int, cells: tuple[tuple[float, float], ...]) -> int:
    return 0 if cells else width - 1
