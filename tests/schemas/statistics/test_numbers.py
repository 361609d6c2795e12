"""Extremes and sums are exact whatever the order, and what is no number is counted apart."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.schemas.identity import canonical_json
from winnow.schemas.statistics import FloatStatistics, IntegerStatistics
from winnow.schemas.statistics.numbers import WrittenFloats, WrittenIntegers, exact_float_sum, exact_integer_sum
from winnow.schemas.typed_json import read_value

int64 = st.integers(-(2**63), 2**63 - 1)
floats = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(int64, max_size=50))
def test_integer_sums_do_not_overflow(values: list[int]) -> None:
    assert exact_integer_sum(np.array(values, np.int64)) == sum(values)


def test_unsigned_sums_do_not_overflow() -> None:
    assert exact_integer_sum(np.array([2**64 - 1] * 3, np.uint64)) == 3 * (2**64 - 1)


@given(st.lists(floats, min_size=1, max_size=50))
def test_float_sums_are_those_of_fractions(values: list[float]) -> None:
    assert exact_float_sum(np.array(values)) == sum(map(Fraction, values))


@given(st.lists(floats, min_size=1, max_size=50), st.randoms(use_true_random=False))
def test_the_order_of_floats_changes_no_byte(values: list[float], random: "np.random.Generator") -> None:
    shuffled = list(values)
    random.shuffle(shuffled)
    assert written(values) == written(shuffled)


def written(values: list[float]) -> str:
    statistics = FloatStatistics()
    statistics.add(np.array(values, np.float64))
    return canonical_json(statistics.to_json())


def test_what_a_sum_of_floats_would_lose_is_kept() -> None:
    statistics = FloatStatistics()
    statistics.add(np.array([1e300, 1.0, -1e300]))
    assert statistics.sum == 1
    assert statistics.mean() == 1 / 3


def test_nan_and_infinities_are_counted_apart() -> None:
    statistics = FloatStatistics()
    statistics.add(np.array([math.nan, math.inf, -math.inf, -math.inf, 2.0], np.float32))
    assert (statistics.nan, statistics.positive_infinity, statistics.negative_infinity) == (1, 1, 2)
    assert (statistics.count, statistics.minimum, statistics.maximum, statistics.mean()) == (1, 2.0, 2.0, 2.0)


def test_a_mean_beyond_the_floats_is_the_largest() -> None:
    statistics = FloatStatistics()
    statistics.add(np.array([1.7976931348623157e308] * 3))
    assert statistics.mean() == 1.7976931348623157e308


def test_quantiles_never_leave_the_extremes() -> None:
    statistics = IntegerStatistics()
    statistics.add(np.array([1000, 1001, 1002]))
    assert [statistics.quantile(fraction) for fraction in (0.0, 0.5, 1.0)] == [1002, 1002, 1002]
    assert (statistics.minimum, statistics.maximum, statistics.sum) == (1000, 1002, 3003)


@pytest.mark.parametrize("statistics", [IntegerStatistics(), FloatStatistics()])
def test_nothing_has_no_numbers(statistics: IntegerStatistics | FloatStatistics) -> None:
    statistics.add(np.array([], np.int64 if isinstance(statistics, IntegerStatistics) else np.float64))
    assert (statistics.count, statistics.minimum, statistics.mean(), statistics.quantile(0.5)) == (0, None, None, None)


@given(st.lists(floats, max_size=20))
def test_floats_are_read_as_they_were_written(values: list[float]) -> None:
    statistics = FloatStatistics()
    statistics.add(np.array(values, np.float64))
    read = FloatStatistics.from_json(read_value(WrittenFloats, statistics.to_json()))
    assert canonical_json(read.to_json()) == written(values)


@given(st.lists(int64, max_size=20))
def test_integers_are_read_as_they_were_written(values: list[int]) -> None:
    statistics = IntegerStatistics()
    statistics.add(np.array(values, np.int64))
    read = IntegerStatistics.from_json(read_value(WrittenIntegers, statistics.to_json()))
    assert read.to_json() == statistics.to_json()
