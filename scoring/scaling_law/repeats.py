"""The value of repeated tokens, after *Scaling Data-Constrained Language Models* (arXiv 2305.16264).

U unique tokens seen D/U times count as U (1 + R* (1 - exp(-(D/U - 1)/R*))) new ones: the first repeats are worth
nearly as much as new tokens, and the gain of a repeat falls by e every R* repeats. The curve never decreases, so it
cannot express that repeats do harm.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

R_STAR = 15.387756
"""Published with the paper's fit (huggingface/datablations)."""


def effective_tokens(given: Floats, unique: Floats, r_star: float = R_STAR) -> Floats:
    """The equivalent number of new tokens when only some are unique (elementwise)."""
    repeats = np.maximum(given / unique - 1, 0.0)
    found: Floats = np.where(repeats > 0, unique * (1 - r_star * np.expm1(-repeats / r_star)), given)
    return found
