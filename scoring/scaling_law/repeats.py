"""The value of repeated tokens, after *Scaling Data-Constrained Language Models* (arXiv 2305.16264).

U unique tokens that are seen D/U times count as U (1 + R* (1 - exp(-(D/U - 1)/R*))) new ones: the first repeats are
nearly new, the gain of a repeat falls by e every R* of them. The curve never falls, so it cannot say that repeats harm.
"""

import math
from dataclasses import dataclass

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


def value_of_next(given: Floats, unique: Floats, r_star: float = R_STAR) -> Floats:
    """The value of one more token, from 1 for new ones down to 0: the derivative of `effective_tokens`."""
    found: Floats = np.exp(-np.maximum(given / unique - 1, 0.0) / r_star)
    return found


@dataclass(frozen=True, slots=True)
class DataConstrainedLaw:
    """The paper's own fit, for English: loss from model size, tokens and unique tokens."""

    log_e: float = 0.6254804
    log_a: float = 6.255414
    log_b: float = 7.3049974
    alpha: float = 0.3526596
    beta: float = 0.3526596
    r_d: float = R_STAR
    r_n: float = 5.309743

    def loss(self, n: float, d: float, unique: float) -> float:
        """Predicted loss of n parameters on d tokens, of which `unique` are."""
        a, b = math.exp(self.log_a), math.exp(self.log_b)
        d_unique = min(d, unique)
        g = (self.alpha * a / (self.beta * b)) ** (1 / (self.alpha + self.beta))
        n_unique = min(n, g * (d_unique * g) ** (self.beta / self.alpha))
        tokens = float(effective_tokens(np.array(d), np.array(d_unique), self.r_d))
        size = float(effective_tokens(np.array(n), np.array(n_unique), self.r_n))
        return math.exp(self.log_e) + float(a * size**-self.alpha + b * tokens**-self.beta)
