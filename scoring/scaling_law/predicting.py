"""A law's predictions: losses on a mixture, their bootstrap draws, and the distance from the fitted runs."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from winnow.schemas.errors import SourceError, WinnowError
from winnow.schemas.law import FamilyLaw, ScalingLaw

Floats = NDArray[np.float64]

CELL_TOLERANCE = 1e-4
"""The relative tolerance of N and D, so that sizes copied with six digits match fitted ones."""


def exponents(law: ScalingLaw) -> Floats:
    """Gamma of each family of the law."""
    return np.array([family.gamma.value for family in law.families])


def scales(law: ScalingLaw, n: float, d: float) -> Floats:
    """Each family's loss at p = 1.

    Raises:
        SourceError: A law of mode gamma, which was not fitted at this N and D.
    """
    return np.array([_scale(family, n, d) for family in law.families])


def losses(law: ScalingLaw, n: float, d: float, shares: Floats) -> Floats:
    """Each family's loss in a mixture (families on the last axis)."""
    found: Floats = scales(law, n, d) * shares ** -exponents(law)
    return found


def drawn_exponents(law: ScalingLaw) -> Floats:
    """Gamma in each draw (draws × families)."""
    place = -1 if law.mode == "full" else 0
    return (
        np.array([[draw[place] for draw in family.draws] for family in law.families]).reshape(len(law.families), -1).T
    )


def drawn_scales(law: ScalingLaw, n: float, d: float) -> Floats:
    """Each family's loss at p = 1 in each draw (draws × families)."""
    return np.stack([_drawn_scale(family, n, d) for family in law.families], axis=1)


def distances(law: ScalingLaw, n: float | None, d: float | None, shares: Floats | None) -> tuple[str, ...]:
    """One line for each way in which a question lies outside the range that a family's law was fitted to.

    A line that applies to all families is given once.
    """
    found: dict[str, list[str]] = {}
    for place, family in enumerate(law.families):
        fitted = family.fitted
        for name, value, low, high in (("N", n, fitted.n_min, fitted.n_max), ("D", d, fitted.d_min, fitted.d_max)):
            if value is not None and value > high * (1 + 1e-9):
                line = f"{name} {value:g} is {value / high:.3g} times the largest fitted value ({high:g})"
                found.setdefault(line, []).append(family.family)
            if value is not None and value < low * (1 - 1e-9):
                line = f"{name} {value:g} is {low / value:.3g} times below the smallest fitted value ({low:g})"
                found.setdefault(line, []).append(family.family)
        if shares is not None and shares[place] < fitted.p_min * (1 - 1e-9):
            share = float(shares[place])
            times = f"{fitted.p_min / share:.3g} times " if share > 1e-300 else ""
            line = f"p {share:.4g} is {times}below the smallest fitted value ({fitted.p_min:g})"
            found.setdefault(line, []).append(family.family)
        if shares is not None and shares[place] > fitted.p_max * (1 + 1e-9):
            share = float(shares[place])
            line = f"p {share:.4g} is {share / fitted.p_max:.3g} times the largest fitted value ({fitted.p_max:g})"
            found.setdefault(line, []).append(family.family)
    return tuple(f"{_named(names, len(law.families))}: {line}" for line, names in found.items())


def require_size(name: str, value: float) -> None:
    """Check that N or D is a count.

    Raises:
        WinnowError: It is not.
    """
    if not 1 <= value <= 1e30:  # also rejects NaN
        raise WinnowError(f"{name} {value}: expected a count of 1 or more")


def _named(names: Sequence[str], of: int) -> str:
    return "every family" if len(names) == of > 1 else ", ".join(names)


def _scale(family: FamilyLaw, n: float, d: float) -> float:
    require_size("N", n)
    require_size("D", d)
    if family.bracket is None:
        return family.cells[_cell(family, n, d)].scale.value
    of = family.bracket
    return of.e.value + float(of.a.value * n**-of.alpha.value + of.b.value * d**-of.beta.value)


def _drawn_scale(family: FamilyLaw, n: float, d: float) -> Floats:
    draws = np.array(family.draws).reshape(len(family.draws), -1)
    if family.bracket is None:
        found: Floats = np.exp(draws[:, 1 + _cell(family, n, d)])
        return found
    log_e, log_a, alpha, log_b, beta, _ = draws.T
    terms: Floats = np.exp(log_e) + np.exp(log_a - alpha * np.log(n)) + np.exp(log_b - beta * np.log(d))
    return terms


def _exact(value: float) -> str:
    """Six digits if these are exact, else all digits."""
    short = f"{value:g}"
    return short if float(short) == value else f"{value:.10g}"


def _cell(family: FamilyLaw, n: float, d: float) -> int:
    off = [max(abs(cell.n / n - 1), abs(cell.d / d - 1)) for cell in family.cells]
    if min(off) <= CELL_TOLERANCE:
        return off.index(min(off))
    known = ", ".join(f"N {_exact(cell.n)} D {_exact(cell.d)}" for cell in family.cells[:4])
    raise SourceError(
        f"{family.family}: the law has only gamma, and no loss at N {_exact(n)} D {_exact(d)} (it was fitted "
        f"at {known}); use these values, use normalised weights, or fit the full law"
    )
