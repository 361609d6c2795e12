"""What repeated tokens are worth, at the check values of the paper's published fit."""

import numpy as np
import pytest

from winnow.scoring.scaling_law.repeats import R_STAR, DataConstrainedLaw, effective_tokens, value_of_next


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


def test_the_value_of_the_next_token_is_the_slope() -> None:
    given, unique = np.array([50.0, 150.0, 900.0, 4000.0]), np.full(4, 100.0)
    step = 1e-4
    slope = (effective_tokens(given + step, unique) - effective_tokens(given - step, unique)) / (2 * step)
    assert value_of_next(given, unique) == pytest.approx(slope, abs=1e-6)
