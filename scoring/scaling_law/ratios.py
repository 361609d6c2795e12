"""Optimal shares: minimise sum_i k_i p_i^-gamma_i with sum_i p_i = total, where k_i is weight times the loss at p = 1.

The problem is convex, and at the optimum the gains k_i gamma_i p_i^-(1 + gamma_i) are equal, the price of a share, for
all families below their cap. So the price determines p, and bisection finds the price at which sum p = total (the
dual). Arrays have families on the last axis; other axes are independent problems (such as bootstrap draws), solved
together.
"""

from collections.abc import Callable
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from winnow.schemas.errors import WinnowError
from winnow.scoring.scaling_law.repeats import R_STAR, effective_tokens

Floats = NDArray[np.float64]
_Shares: TypeAlias = Callable[[Floats], Floats]

_HALVINGS: Final = 200  # converged to the last digit after some 60
_SWEEPS: Final = 10_000


def objective(k: Floats, gammas: Floats, shares: Floats) -> Floats:
    """The weighted loss of a mixture."""
    found: Floats = (k * shares**-gammas).sum(axis=-1)
    return found


def optimal_shares(k: Floats, gammas: Floats, total: float = 1.0, caps: Floats | None = None) -> Floats:
    """The shares of least weighted loss.

    Args:
        k: Weight times loss at p = 1, above zero.
        gammas: Exponents, above zero.
        total: The sum of the shares, up to 1.
        caps: The largest share of each family, above zero.

    Raises:
        WinnowError: A number is out of range, or the caps leave less than the total.
    """
    k, gammas = np.broadcast_arrays(np.asarray(k, np.float64), np.asarray(gammas, np.float64))
    limits = _checked(k, gammas, total, caps)
    if total >= limits.sum(axis=-1).min():
        return np.broadcast_to(limits, k.shape).copy()
    log_gain, flat = np.log(k * gammas), 1 / (1 + gammas)

    def shares(log_price: Floats) -> Floats:
        found: Floats = np.minimum(np.exp((log_gain - log_price) * flat), limits)
        return found

    low = (log_gain - np.log(limits) / flat).min(axis=-1, keepdims=True)  # all families at their caps
    high = (log_gain - np.log(total / k.shape[-1]) / flat).max(axis=-1, keepdims=True)  # no family above an equal share
    return _onto_total(shares(_bisected(shares, low, high, total)), limits, total)


def optimal_shares_with_repeats(
    k: Floats, gammas: Floats, unique: Floats, total: float = 1.0, caps: Floats | None = None, r_star: float = R_STAR
) -> Floats:
    """The shares of least weighted loss if repeated tokens count with their reduced value.

    Args:
        k: Weight times loss at p = 1.
        gammas: Exponents.
        unique: The share of all training tokens that each family can fill without repeats.
        total: The sum of the shares.
        caps: The largest share of each family.
        r_star: The number of repeats after which their value falls by e.
    """
    k, gammas = np.broadcast_arrays(np.asarray(k, np.float64), np.asarray(gammas, np.float64))
    limits = _checked(k, gammas, total, caps)
    if not (np.isfinite(unique).all() and (unique > 0).all() and r_star > 0):
        raise WinnowError("unique tokens and r_star: expected numbers above zero")
    if total >= limits.sum(axis=-1).min():
        return np.broadcast_to(limits, k.shape).copy()
    log_gain = np.log(k * gammas)

    def gains(given: Floats) -> Floats:
        """The log of the gain of one more token; decreasing, as the value is concave."""
        worth = effective_tokens(given, unique, r_star)
        log_next = -np.maximum(given / unique - 1, 0.0) / r_star
        found: Floats = log_gain - (1 + gammas) * np.log(worth) + log_next
        return found

    def shares(log_price: Floats) -> Floats:
        low, high = np.full(k.shape, -700.0), np.broadcast_to(np.log(limits), k.shape).copy()
        for _ in range(64):
            middle = (low + high) / 2
            more = gains(np.exp(middle)) > log_price
            low, high = np.where(more, middle, low), np.where(more, high, middle)
        found: Floats = np.exp(high)
        return found

    low = gains(limits).min(axis=-1, keepdims=True)
    high = gains(np.full(k.shape, total / k.shape[-1])).max(axis=-1, keepdims=True)
    return _onto_total(shares(_bisected(shares, np.minimum(low, high), high, total)), limits, total)


def closed_form(k: Floats, gammas: Floats) -> Floats:
    """p_i ~ (k_i gamma_i)^(1 / (1 + mean gamma)): optimal if all exponents are equal, nearly so if they are similar."""
    raw = (k * gammas) ** (1 / (1 + gammas.mean(axis=-1, keepdims=True)))
    found: Floats = raw / raw.sum(axis=-1, keepdims=True)
    return found


def iterated(k: Floats, gammas: Floats, tolerance: float = 1e-12) -> Floats:
    """The fixed point of p_i <- k_i gamma_i p_i^-gamma_i, normalised to sum to 1; it converges if exponents are below
    1.

    Raises:
        WinnowError: An exponent is 1 or more, so it might not converge.
    """
    if gammas.max() >= 1:
        raise WinnowError(f"the iterative form needs exponents below 1, found {gammas.max():g}; use the optimum")
    shares = np.full(np.broadcast_shapes(k.shape, gammas.shape), 1 / gammas.shape[-1])
    for _ in range(_SWEEPS):
        raw = k * gammas * shares**-gammas
        after = raw / raw.sum(axis=-1, keepdims=True)
        moved = float(np.abs(after - shares).max())
        shares = after
        if moved <= tolerance:
            break
    return shares


def _checked(k: Floats, gammas: Floats, total: float, caps: Floats | None) -> Floats:
    for name, numbers in (("weights times losses", k), ("exponents", gammas)):
        if numbers.size == 0 or not np.isfinite(numbers).all() or (numbers <= 0).any():
            raise WinnowError(f"{name}: expected numbers above zero")
    if not 0 < total <= 1 + 1e-12:
        raise WinnowError(f"total {total}: expected above 0 and up to 1")
    limits = np.full(k.shape[-1], total) if caps is None else np.minimum(np.asarray(caps, np.float64), total)
    if not np.isfinite(limits).all() or (limits <= 0).any():
        raise WinnowError("caps: expected numbers above zero")
    if limits.sum() < total * (1 - 1e-9):
        raise WinnowError(
            f"the caps leave room for {limits.sum():.4g} of {total:.4g}: lower the budget, or raise the caps"
        )
    return limits


def _bisected(shares: _Shares, low: Floats, high: Floats, total: float) -> Floats:
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if ((middle <= low) | (middle >= high)).all():
            break
        more = shares(middle).sum(axis=-1, keepdims=True) > total
        low, high = np.where(more, middle, low), np.where(more, high, middle)
    return high


def _onto_total(shares: Floats, limits: Floats, total: float) -> Floats:
    """Add the rounding error of the sum to shares below their caps."""
    free = shares < limits
    rest = total - np.where(free, 0.0, shares).sum(axis=-1, keepdims=True)
    held = np.where(free, shares, 0.0).sum(axis=-1, keepdims=True)
    scale = np.divide(rest, held, out=np.ones_like(held), where=held > 0)
    found: Floats = np.where(free, shares * scale, shares)
    return found
