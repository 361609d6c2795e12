"""Water-filling in whole units, held against a pouring of one unit at a time."""

from decimal import Decimal
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from tests.messages import assert_refused
from winnow.scoring.mixture.filling import distributed, exactly, quantised


def one_at_a_time(weights: list[int], amount: int, most: list[int]) -> list[int]:
    """Each unit to the child that has the fewest for its weight and can take one more; the first of equal ones."""
    given = [0] * len(weights)
    for _ in range(amount):
        open_ = [place for place in range(len(weights)) if given[place] < most[place]]
        turn = min(open_, key=lambda place: (Fraction(2 * given[place] + 1, weights[place]), place))
        given[turn] += 1
    return given


children = st.lists(st.tuples(st.integers(1, 40), st.integers(0, 30)), min_size=1, max_size=8)


@given(children, st.floats(0, 1))
def test_it_gives_what_a_pouring_of_one_unit_at_a_time_gives(rows: list[tuple[int, int]], part: float) -> None:
    weights, most = [row[0] for row in rows], [row[1] for row in rows]
    amount = round(part * sum(most))
    assert distributed(weights, amount, most) == one_at_a_time(weights, amount, most)


@given(st.lists(st.integers(1, 10**12), min_size=1, max_size=8), st.integers(0, 60))
def test_without_bounds_as_well(weights: list[int], amount: int) -> None:
    assert distributed(weights, amount) == one_at_a_time(weights, amount, [amount] * len(weights))


large = st.lists(st.tuples(st.integers(1, 10**40), st.integers(0, 10**15)), min_size=1, max_size=30)


@given(large, st.fractions(0, 1))
def test_it_sums_keeps_its_bounds_and_shares_what_is_free_by_weight(
    rows: list[tuple[int, int]], part: Fraction
) -> None:
    weights, most = [row[0] for row in rows], [row[1] for row in rows]
    amount = int(part * sum(most))
    found = distributed(weights, amount, most)
    assert sum(found) == amount
    assert all(0 <= units <= cap for units, cap in zip(found, most, strict=True))
    free = [place for place in range(len(rows)) if found[place] < most[place]]
    if free:  # one level is within half a unit of each that is free, and above none that is full
        low = max(Fraction(2 * found[place] - 1, 2 * weights[place]) for place in range(len(rows)))
        high = min(Fraction(2 * found[place] + 1, 2 * weights[place]) for place in free)
        assert low <= high


@given(large, st.fractions(0, 1), st.integers(1, 5))
def test_more_to_pour_gives_no_child_less(rows: list[tuple[int, int]], part: Fraction, more: int) -> None:
    weights, most = [row[0] for row in rows], [row[1] for row in rows]
    amount = int(part * sum(most))
    after = distributed(weights, min(amount + more, sum(most)), most)
    assert all(now <= then for now, then in zip(distributed(weights, amount, most), after, strict=True))


def test_it_is_monotone_where_largest_remainders_are_not() -> None:
    weights = [1500, 1500, 900, 500, 500, 200]  # the apportionment of 25 and 26 seats that took one away
    smaller, larger = distributed(weights, 25), distributed(weights, 26)
    assert all(now <= then for now, then in zip(smaller, larger, strict=True))


def test_what_does_not_fit_is_refused() -> None:
    with assert_refused(ValueError, "6 units", "into 5"):
        distributed([1, 1], 6, [2, 3])


def test_weights_keep_twelve_digits_of_their_part() -> None:
    assert quantised([Decimal("0.8"), Decimal("0.2")]) == [8, 2]
    assert quantised([Decimal(2), Decimal(1)]) == [666666666667, 333333333333]
    assert quantised([Decimal("0.6"), Decimal("0.3")], digits=3) == [667, 333]


def test_the_smallest_weight_is_still_one() -> None:
    assert quantised([Decimal(1), Decimal("1e-5000")]) == [10**300, 1]


def test_a_setting_is_the_number_that_was_written() -> None:
    assert exactly(0.3) * 10 == 3
    assert exactly(1e-5) == Fraction(1, 100_000)
    assert exactly(4) == 4
