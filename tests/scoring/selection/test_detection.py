"""The area under the curve is that of all pairs, and its interval holds the truth about as often as it says."""

from math import erf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.scoring.selection.detection import area_between

VALUES = st.lists(st.integers(0, 5).map(float), min_size=2, max_size=12)


@given(VALUES, VALUES)
def test_the_area_is_the_share_of_pairs_in_order_with_half_of_the_ties(good: list[float], bad: list[float]) -> None:
    found = area_between(np.array(good), np.array(bad))
    pairs = [(one > other) + (one == other) / 2 for one in good for other in bad]
    assert found.value == pytest.approx(np.mean(pairs))
    assert 0 <= found.low <= found.value <= found.high <= 1


@pytest.mark.parametrize("apart", [0.0, 0.8, 2.0])
@pytest.mark.parametrize(("good", "bad"), [(60, 60), (150, 30)])
def test_the_interval_covers_the_truth(apart: float, good: int, bad: int) -> None:
    random, truth = np.random.default_rng(5), (1 + erf(apart / 2)) / 2
    areas = [area_between(random.normal(apart, 1, good), random.normal(0, 1, bad)) for _ in range(600)]
    assert 0.92 <= np.mean([one.low <= truth <= one.high for one in areas]) <= 0.985


def test_without_an_error_the_interval_is_as_wide_as_the_rows_are_few() -> None:
    found = area_between(np.arange(20.0) + 100, np.arange(30.0))
    assert (found.value, found.high) == (1, 1)
    assert found.low == pytest.approx(0.025 ** (1 / 20))
    assert area_between(np.arange(30.0), np.arange(20.0) + 100).high == pytest.approx(1 - 0.025 ** (1 / 20))
