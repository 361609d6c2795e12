"""Minimises Huber's loss on log losses by SciPy's L-BFGS-B: from a grid of starts, or for many resamples at once.

Resamples differ little from the original data, so their fits are near the original fit. In coordinates where a step of
1 is one standard error in any direction, they form one well-scaled problem, which a single run of L-BFGS-B solves in
some tens of steps. Each fit is then checked by its own gradient; those that did not converge or left the bounds are
solved individually.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from winnow.scoring.scaling_law.models import Model

Floats = NDArray[np.float64]

ARRIVED: Final = 1e-3
"""A fit has converged if no step of one standard error gains more than this, in units of the noise variance."""
_CHUNK: Final = 250  # resamples solved together
# the most slopes at once, so that a large table takes more time instead of more memory
_CHUNK_SLOPES: Final = 4_000_000
_LEAST_NOISE: Final = 1e-7  # of the log loss, to give data without noise a scale
_STEPS: Final = 1000
_ROUNDS: Final = 20
_ROUND_STEPS: Final = 10


@dataclass(frozen=True, slots=True)
class Optimum:
    """The minimum of the loss."""

    theta: Floats
    value: float
    arrived: bool


def huber(residuals: Floats, delta: float) -> Floats:
    """Half the square near zero, linear beyond delta."""
    size = np.abs(residuals)
    found: Floats = np.where(size <= delta, 0.5 * residuals**2, delta * (size - 0.5 * delta))
    return found


def fitted(model: Model, y: Floats, starts: Floats, delta: float) -> Optimum:
    """The best optimum from the starts (one per row), refined in its own coordinates."""
    weights = np.ones((1, len(y)))
    clipped = np.clip(starts, model.lower, model.upper)
    many, each = np.broadcast_to(y, (len(starts), len(y))), np.ones((len(starts), len(y)))
    ends, _ = _solve_rounds(model, clipped, many, each, delta, max(delta, _LEAST_NOISE) ** 2)
    values = huber(y - model.predicted(ends), delta).sum(axis=1)
    near = ends[int(values.argmin())]
    best = _solve_one(model, y, weights[0], near, delta, _rough_scale(model, near))
    for _ in range(2):  # the second time in the coordinates of the better optimum
        theta, arrived = refitted(model, best.theta, y[np.newaxis], weights, delta)
        value = float(huber(y - model.predicted(theta)[0], delta).sum())
        if value <= best.value:
            best = Optimum(theta[0], value, bool(arrived[0]))
    return best


def refitted(model: Model, near: Floats, y: Floats, weights: Floats, delta: float) -> tuple[Floats, NDArray[np.bool_]]:
    """The optimum of each resample, from a common start near all of them.

    Args:
        model: The law.
        near: The start: the k parameters of the original fit.
        y: Log losses, one row per resample (S × n).
        weights: The weight of each row (S × n, or 1 × n for all resamples); zero omits it.
        delta: Huber's delta.

    Returns:
        The parameters (S × k), and which of them converged.
    """
    noise = _noise(model, near, y, weights, delta)
    thetas, arrived = [], []
    size = max(1, min(_CHUNK, _CHUNK_SLOPES // (y.shape[1] * len(near))))
    for first in range(0, len(y), size):
        rows = slice(first, first + size)
        own = np.broadcast_to(weights, y.shape)[rows]
        theta, done = _solve_rounds(model, np.repeat(near[np.newaxis], len(own), axis=0), y[rows], own, delta, noise)
        for place in np.flatnonzero(~done):
            start = np.clip(theta[place], model.lower, model.upper)
            alone = _solve_one(model, y[rows][place], own[place], start, delta, _rough_scale(model, start))
            theta[place], done[place] = alone.theta, alone.arrived
        thetas.append(theta)
        arrived.append(done)
    return np.concatenate(thetas), np.concatenate(arrived)


def spanned(model: Model, theta: Floats) -> Floats:
    """The tangent space of predictions at a fit, as orthonormal columns; the squares of a row sum to its leverage (0
    to 1)."""
    _, slopes = model.with_slopes(theta[np.newaxis])
    basis, sizes, _ = np.linalg.svd(slopes[0] / _column_sizes(slopes), full_matrices=False)
    found: Floats = basis[:, sizes > 1e-9 * sizes[0]]
    return found


def _solve_rounds(
    model: Model, starts: Floats, y: Floats, weights: Floats, delta: float, noise: float
) -> tuple[Floats, NDArray[np.bool_]]:
    """Rounds of L-BFGS-B over all resamples that have not converged, each round in the current coordinates."""
    theta = starts.copy()
    done = np.zeros(len(y), bool)
    for _ in range(_ROUNDS):
        going = np.flatnonzero(~done)
        if not len(going):
            break
        theta[going], done[going] = _solve_round(model, theta[going], y[going], weights[going], delta, noise)
    return theta, done


def _solve_round(
    model: Model, near: Floats, y: Floats, weights: Floats, delta: float, noise: float
) -> tuple[Floats, NDArray[np.bool_]]:
    """One L-BFGS-B over all. A parameter at a bound stays there for the round if the loss decreases beyond it."""
    held = _held_at_bounds(model, near, _objective(model, near, y, weights, delta)[1])
    axes = _axes(model, near, y, weights, delta, noise, held)

    def value(flat: Floats) -> tuple[float, Floats]:
        moved = near + np.einsum("skj,sj->sk", axes, flat.reshape(near.shape))
        total, gradient = _objective(model, moved, y, weights, delta)
        return total / noise, np.einsum("sk,skj->sj", gradient, axes).reshape(-1) / noise

    found = minimize(
        value,
        np.zeros(near.size),
        jac=True,
        method="L-BFGS-B",
        options={"maxcor": 10, "gtol": ARRIVED / 2, "ftol": 0.0, "maxiter": _ROUND_STEPS, "maxfun": 2 * _ROUND_STEPS},
    )
    moved = near + np.einsum("skj,sj->sk", axes, found.x.reshape(near.shape))
    theta = np.clip(moved, model.lower, model.upper)
    gradient = _objective(model, theta, y, weights, delta)[1]
    left = np.abs(np.einsum("sk,skj->sj", gradient, axes) / noise).max(axis=1)
    still = (_held_at_bounds(model, theta, gradient) | ~held).all(axis=1)
    return theta, (theta == moved).all(axis=1) & still & (left <= ARRIVED)


def _held_at_bounds(model: Model, theta: Floats, gradient: Floats) -> NDArray[np.bool_]:
    """Parameters at a bound beyond which the loss decreases."""
    found: NDArray[np.bool_] = ((theta <= model.lower) & (gradient >= 0)) | ((theta >= model.upper) & (gradient <= 0))
    return found


def _solve_one(model: Model, y: Floats, weights: Floats, start: Floats, delta: float, size: Floats) -> Optimum:
    """One L-BFGS-B within the bounds, in units of `size`."""

    def value(scaled: Floats) -> tuple[float, Floats]:
        total, gradient = _objective(model, (scaled * size)[np.newaxis], y[np.newaxis], weights[np.newaxis], delta)
        return total / unit, gradient[0] * size / unit

    unit = max(delta, _LEAST_NOISE) ** 2
    found = minimize(
        value,
        start / size,
        jac=True,
        method="L-BFGS-B",
        bounds=np.stack([model.lower / size, model.upper / size], axis=1),
        options={"maxcor": 20, "gtol": 1e-6, "ftol": 1e-12, "maxiter": _STEPS, "maxfun": 2 * _STEPS},
    )
    theta = np.clip(found.x * size, model.lower, model.upper)
    return Optimum(theta, float(found.fun) * unit, bool(found.success))


def _objective(model: Model, theta: Floats, y: Floats, weights: Floats, delta: float) -> tuple[float, Floats]:
    """The sum over rows and resamples, and the gradient for each resample."""
    predicted, slopes = model.with_slopes(theta)
    residuals = predicted - y
    clipped = np.clip(residuals, -delta, delta)  # Huber's loss is clipped × (residual - clipped / 2)
    total = float((weights * clipped * (residuals - 0.5 * clipped)).sum())
    return total, np.einsum("sn,snk->sk", weights * clipped, slopes)


def _noise(model: Model, near: Floats, y: Floats, weights: Floats, delta: float) -> float:
    """The variance of the residuals at one point, with those beyond delta clipped."""
    left = np.clip(y - model.predicted(near[np.newaxis]), -delta, delta) ** 2
    freedom = max(y.shape[1] - len(near), 1) / y.shape[1]
    mean = float(np.average(left, weights=np.broadcast_to(weights, y.shape)))
    return float(max(mean / freedom, _LEAST_NOISE**2))


def _axes(
    model: Model, near: Floats, y: Floats, weights: Floats, delta: float, noise: float, held: NDArray[np.bool_]
) -> Floats:
    """For each resample, the axes (k × k) along which a step of 1 is about one standard error."""
    predicted, slopes = model.with_slopes(near)
    residuals = np.abs(y - predicted)
    believed = weights * np.minimum(1.0, delta / np.maximum(residuals, 1e-300))
    slopes = np.where(held[:, np.newaxis], 0.0, slopes)
    sizes = _column_sizes(slopes)
    scaled = slopes / sizes[:, np.newaxis]
    values, vectors = np.linalg.eigh(np.matmul(scaled.transpose(0, 2, 1), scaled * believed[:, :, np.newaxis]))
    values = np.maximum(values, 1e-10 * values[:, -1:])
    axes = vectors * np.sqrt(noise / values)[:, np.newaxis] / sizes[:, :, np.newaxis]
    # No axis is longer than 1, as directions that the data do not determine would give huge steps.
    free = ~held[:, :, np.newaxis]
    found: Floats = np.where(free, axes / np.maximum(np.abs(axes).max(axis=1, keepdims=True), 1.0), 0.0)
    return found


def _column_sizes(slopes: Floats) -> Floats:
    """The norm of each column, S × n × k to S × k."""
    found: Floats = np.maximum(np.sqrt((slopes**2).sum(axis=1)), 1e-12)
    return found


def _rough_scale(model: Model, start: Floats) -> Floats:
    found: Floats = np.clip(1 / _column_sizes(model.with_slopes(start[np.newaxis])[1])[0], 1e-3, 1e3)
    return found
