"""Bins are read from bits, are in the order of values, and keep the promised distance."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.schemas.statistics.histogram import (
    RELATIVE_ERROR,
    SMALLEST_FLOAT,
    Histogram,
    bin_range,
    float_bins,
    integer_bins,
)

int64 = st.integers(-(2**63), 2**63 - 1)
finite = st.floats(allow_nan=False, allow_infinity=False)


def integer_bin(value: int) -> int:
    kind = np.uint64 if value >= 2**63 else np.int64
    return int(integer_bins(np.array([value], kind))[0])


def float_bin(value: float) -> int:
    return int(float_bins(np.array([value]))[0])


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, 0),
        (15, 15),
        (16, 16),
        (31, 31),
        (32, 32),
        (33, 32),
        (34, 33),
        (-34, -33),
        (2**53 - 1, 799),
        (2**53, 800),
        (2**63 - 1, 959),
        (-(2**63), -960),
        (2**64 - 1, 975),
    ],
)
def test_integer_bins_at_the_edges(value: int, expected: int) -> None:
    assert integer_bin(value) == expected


@given(st.integers(4, 62), st.integers(-1, 0))
def test_an_octave_begins_a_bin_exactly_at_its_power_of_two(power: int, offset: int) -> None:
    assert integer_bin(2**power) == 16 * (power - 3)
    assert integer_bin(2**power - 1) == 16 * (power - 3) - 1


@given(st.integers(0, 2**64 - 1))
def test_an_unsigned_integer_lies_in_the_range_of_its_bin(value: int) -> None:
    low, high = bin_range(int(integer_bins(np.array([value], np.uint64))[0]), "integer")
    assert low <= value <= high


@given(int64)
def test_the_middle_of_an_integers_bin_is_near_it(value: int) -> None:
    low, high = bin_range(integer_bin(value), "integer")
    assert low <= value <= high
    assert abs(low + (high - low) / 2 - value) <= RELATIVE_ERROR * abs(value)


@given(finite)
def test_the_middle_of_a_floats_bin_is_near_it(value: float) -> None:
    low, high = bin_range(float_bin(value), "float")
    assert low <= value <= high
    if abs(value) >= 2.2250738585072014e-308:
        assert abs(low + (high - low) / 2 - value) <= RELATIVE_ERROR * abs(value)


@given(finite, finite)
def test_bins_are_in_the_order_of_values(one: float, two: float) -> None:
    assert (float_bin(min(one, two))) <= float_bin(max(one, two))


def test_both_zeros_and_the_tiniest_floats_share_the_bin_of_zero() -> None:
    tiny = np.array([0.0, -0.0, 5e-324, -5e-324, SMALLEST_FLOAT])
    assert float_bins(tiny).tolist() == [0, 0, 0, 0, 1]


@given(st.lists(int64, min_size=1, max_size=200), st.sampled_from([0.0, 0.01, 0.05, 0.5, 0.95, 1.0]))
def test_a_quantile_is_within_the_error_of_a_sorted_list(values: list[int], fraction: float) -> None:
    histogram = Histogram("integer")
    histogram.add(integer_bins(np.array(values, np.int64)))
    rank = next(rank for rank in range(1, len(values) + 1) if rank >= fraction * len(values) - 1e-9)
    true = sorted(values)[rank - 1]
    found = histogram.quantile(fraction)
    assert found is not None
    assert abs(found - true) <= RELATIVE_ERROR * abs(true)


def test_the_twentieth_part_of_twenty_is_one() -> None:
    histogram = Histogram("integer")
    histogram.add(integer_bins(np.array([1, *[9] * 19])))
    assert histogram.quantile(0.05) == 1
    assert histogram.quantile(0.06) == 9


def test_far_apart_bins_take_no_memory_for_what_lies_between() -> None:
    histogram = Histogram("float")
    histogram.add(float_bins(np.array([-1e300, 1e300, 1e300])))
    assert sorted(histogram.counts.values()) == [1, 2]


def test_an_empty_histogram_has_no_quantile() -> None:
    assert Histogram("integer").quantile(0.5) is None
