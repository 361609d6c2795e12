"""What repeated tokens are worth, at the check values of the paper's published fit."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

from winnow.scoring.scaling_law.repeats import R_STAR, effective_tokens


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


def test_the_published_fit_gives_its_published_losses() -> None:
    law = DataConstrainedLaw()
    assert law.loss(6.34e9, 242e9, 25e9) == pytest.approx(2.22564, abs=5e-6)
    assert law.loss(8.67e9, 178e9, 25e9) == pytest.approx(2.22696, abs=5e-6)


def test_tokens_count_fully_until_they_repeat_and_never_beyond_a_bound() -> None:
    unique = np.full(4, 100.0)
    worth = effective_tokens(np.array([50.0, 100.0, 400.0, 1e9]), unique)
    assert worth[:2].tolist() == [50.0, 100.0]
    assert worth[2] == pytest.approx(100 * (1 + R_STAR * (1 - np.exp(-3 / R_STAR))))
    assert worth[3] == pytest.approx(100 * (1 + R_STAR))
