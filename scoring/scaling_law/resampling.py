"""Wild bootstrap: the same runs with new noise, drawn from the fit's residuals.

Each row keeps its place and gets its prediction plus noise of a random sign, so that no resample loses the only runs
that tell a parameter. The noise's size is between the row's own residual, which lets noise differ from row to row, and
that of all rows, which few rows say better than each its own. Rows of one training run, in all families, share the
sign: what they have in common stays in common. Residuals are first widened by their run's leverage, since a fit bends
towards each run that it has seen (HC2 of MacKinnon and White 1985; runs of several rows, which are often few, get what
leaving them out would show, CR3 of Bell and McCaffrey 2002), and estimates by what Student's t is wider than the normal
distribution, since few runs say little of their own noise: a run's many checkpoints are no many runs.
"""

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from winnow.schemas.identity import digest

Floats = NDArray[np.float64]

_POOLED_ROWS = 30  # the noise of all rows weighs as much as a row's own in a table of so many
_MOST_LEVERAGE = 0.95  # a run that is alone in telling something has no residual to widen


def signs(seed: int, purpose: str, keys: Sequence[str], count: int) -> Floats:
    """+1 or -1 for each resample and key (count × keys); a larger count begins with the smaller one's."""
    rows: dict[str, NDArray[np.uint8]] = {}
    for key in dict.fromkeys(keys):
        stream = hashlib.shake_128(digest(seed, purpose, key)).digest((count + 7) // 8)
        rows[key] = np.unpackbits(np.frombuffer(stream, np.uint8), count=count)
    bits = np.stack([rows[key] for key in keys], axis=1)
    return bits.astype(np.float64) * 2 - 1


def wild(predicted: Floats, y: Floats, spanned: Floats, keys: Sequence[str], drawn: Floats) -> Floats:
    """Log losses of each resample (S × n).

    Args:
        predicted: By the fit.
        y: What was measured.
        spanned: Orthonormal columns of what the fit can bend to (n × k).
        keys: Each row's training run.
        drawn: Signs of each resample and row.
    """
    left = y - predicted
    own = _widened(left, spanned, keys) ** 2
    # As much of the noise as is common to a run's rows is left over by as many runs as the fit does not bend to.
    freedom = len(y) * run_freedom(spanned, keys) / len(set(keys))
    belief = len(y) / (len(y) + _POOLED_ROWS)
    sizes = np.sqrt(belief * own + (1 - belief) * (left**2).sum() / freedom)
    found: Floats = predicted + drawn * np.where(left < 0, -sizes, sizes)
    return found


def run_freedom(spanned: Floats, keys: Sequence[str]) -> int:
    """How many training runs more there are than what a fit can bend to from run to run; 1 at least."""
    rows = _rows_of_runs(keys)
    if len(rows) == len(keys):
        return max(len(keys) - int(spanned.shape[1]), 1)
    means: Floats = np.stack([spanned[of].mean(axis=0) for of in rows])
    return max(len(rows) - int(np.linalg.matrix_rank(means, tol=1e-9)), 1)


def _widened(left: Floats, spanned: Floats, keys: Sequence[str]) -> Floats:
    """Residuals as large as the noise was before the fit bent to it, run by run."""
    found: Floats = left / np.sqrt(1 - np.minimum((spanned**2).sum(axis=1), _MOST_LEVERAGE))
    for rows in _rows_of_runs(keys):
        if len(rows) > 1:
            axes, sizes, _ = np.linalg.svd(spanned[rows], full_matrices=False)
            wider = 1 / (1 - np.minimum(sizes**2, _MOST_LEVERAGE))
            found[rows] = left[rows] + axes @ ((wider - 1) * (axes.T @ left[rows]))
    return found


def _rows_of_runs(keys: Sequence[str]) -> list[list[int]]:
    found: dict[str, list[int]] = {}
    for row, key in enumerate(keys):
        found.setdefault(key, []).append(row)
    return list(found.values())


def few_runs_factor(freedom: int, confidence: float) -> float:
    """By how much an interval from so many degrees of freedom is wider than one from very many."""
    from scipy.stats import norm as normal  # not at the top: ratios from a law's file need no SciPy
    from scipy.stats import t as student

    tail = (1 + confidence) / 2
    return float(student.ppf(tail, max(freedom, 1)) / normal.ppf(tail))


def interval(draws: Floats, confidence: float) -> tuple[Floats, Floats]:
    """The percentile interval of each column (the first axis holds the draws)."""
    tail = (1 - confidence) / 2
    low, high = np.quantile(draws, [tail, 1 - tail], axis=0)
    return low, high
