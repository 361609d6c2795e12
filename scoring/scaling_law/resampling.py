"""Wild bootstrap: the same runs with new noise, drawn from the fit's residuals.

Each row gets its prediction plus noise with a random sign, so that every resample has the runs needed to determine all
parameters. The size of the noise is between the row's own residual, which allows noise to vary between rows, and the
residual of all rows, which is more reliable if there are few. Rows of one training run, in all families, share the
sign, which preserves their correlation. Residuals are first increased by their run's leverage, as a fit bends towards
the runs that it has seen (HC2 of MacKinnon and White 1985; for runs of several rows CR3 of Bell and McCaffrey 2002, as
if they were left out). Intervals are widened by the ratio of Student's t to the normal distribution, as few runs
determine the noise poorly; many checkpoints of a run do not count as many runs.
"""

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from winnow.schemas.identity import digest

Floats = NDArray[np.float64]

_POOLED_ROWS = 30  # the size of a table in which the noise of all rows and a row's own have equal weight
_MOST_LEVERAGE = 0.95  # a run that alone determines a parameter has no residual


def signs(seed: int, purpose: str, keys: Sequence[str], count: int) -> Floats:
    """+1 or -1 for each resample and key (count × keys); a larger count starts with the signs of a smaller one."""
    rows: dict[str, NDArray[np.uint8]] = {}
    for key in dict.fromkeys(keys):
        stream = hashlib.shake_128(digest(seed, purpose, key)).digest((count + 7) // 8)
        rows[key] = np.unpackbits(np.frombuffer(stream, np.uint8), count=count)
    bits = np.stack([rows[key] for key in keys], axis=1)
    return bits.astype(np.float64) * 2 - 1


def wild(predicted: Floats, y: Floats, spanned: Floats, keys: Sequence[str], drawn: Floats) -> Floats:
    """Log losses of each resample (S × n).

    Args:
        predicted: The fit's predictions.
        y: The measured log losses.
        spanned: Orthonormal columns of the fit's tangent space (n × k).
        keys: Each row's training run.
        drawn: The sign of each resample and row.
    """
    left = y - predicted
    own = _widened(left, spanned, keys) ** 2
    # Noise that is common to a run's rows remains in as many runs as the fit has free.
    freedom = len(y) * run_freedom(spanned, keys) / len(set(keys))
    belief = len(y) / (len(y) + _POOLED_ROWS)
    sizes = np.sqrt(belief * own + (1 - belief) * (left**2).sum() / freedom)
    found: Floats = predicted + drawn * np.where(left < 0, -sizes, sizes)
    return found


def run_freedom(spanned: Floats, keys: Sequence[str]) -> int:
    """The degrees of freedom of a fit, counted in training runs; at least 1."""
    rows = _rows_of_runs(keys)
    if len(rows) == len(keys):
        return max(len(keys) - int(spanned.shape[1]), 1)
    means: Floats = np.stack([spanned[of].mean(axis=0) for of in rows])
    return max(len(rows) - int(np.linalg.matrix_rank(means, tol=1e-9)), 1)


def _widened(left: Floats, spanned: Floats, keys: Sequence[str]) -> Floats:
    """Residuals corrected for the leverage of their run."""
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
    """The factor by which intervals are wider with this many degrees of freedom than with very many."""
    from scipy.stats import norm as normal  # imported here, as ratios from a law file need no SciPy
    from scipy.stats import t as student

    tail = (1 + confidence) / 2
    return float(student.ppf(tail, max(freedom, 1)) / normal.ppf(tail))


def interval(draws: Floats, confidence: float) -> tuple[Floats, Floats]:
    """The percentile interval of each column (the first axis holds the draws)."""
    tail = (1 - confidence) / 2
    low, high = np.quantile(draws, [tail, 1 - tail], axis=0)
    return low, high
