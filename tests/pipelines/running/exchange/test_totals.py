"""What was announced is compared with what arrived."""

import random

import pytest

from tests.messages import assert_refused
from winnow.pipelines.running.exchange.totals import (
    Announced,
    ExchangeError,
    Run,
    Total,
    check_arrival,
    total_of,
    total_of_runs,
)

ANNOUNCED = [("a", 0, 10), ("a", 1, 5), ("b", 0, 7)]
RUNS = [Run("a", 0, 2, 15), Run("b", 0, 1, 7)]


def test_blocks_and_the_runs_that_hold_them_have_one_total() -> None:
    total = total_of(ANNOUNCED)
    assert (total.blocks, total.rows) == (3, 22)
    assert total == total_of_runs(RUNS)
    assert total == total_of([*reversed(ANNOUNCED), ("a", 1, 5)])
    assert Total.decode(total.encode()) == total


@pytest.mark.parametrize(
    ("runs", "message"),
    [
        ([Run("a", 0, 1, 10), Run("b", 0, 1, 7)], "3 blocks … 22 rows … found 2"),
        ([Run("a", 1, 1, 5), Run("b", 0, 1, 7)], "0 of 'a' … missing"),
        ([Run("a", 0, 2, 14), Run("b", 0, 1, 7)], "3 blocks … 22 rows … found 3"),
        ([Run("a", 0, 2, 15), Run("c", 0, 1, 7)], "partition 3: expected 3 blocks"),
        ([], "found 0 with 0"),
    ],
)
def test_anything_else_is_an_error(runs: list[Run], message: str) -> None:
    check_arrival(3, total_of(ANNOUNCED), RUNS)
    with assert_refused(ExchangeError, message):
        check_arrival(3, total_of(ANNOUNCED), runs)


def test_blocks_without_a_total_are_an_error() -> None:
    with assert_refused(ExchangeError, "partition 3", "blocks"):
        check_arrival(3, None, RUNS)


def test_one_block_announced_with_two_sizes_is_an_error() -> None:
    with assert_refused(ExchangeError, "1 of 'a'", "5 rows", "6"):
        total_of([*ANNOUNCED, ("a", 1, 6)])


def test_announcements_combine_in_any_order_and_grouping() -> None:
    combine = Announced()
    announced = [(f"origin {number % 7}", number // 7, number) for number in range(50)]
    shuffled = random.Random(1).sample([*announced, *announced], 100)
    accumulators = []
    for start in range(0, 100, 30):
        accumulator = combine.create_accumulator()
        for element in shuffled[start : start + 30]:
            accumulator = combine.add_input(accumulator, element)
        accumulators.append(combine.compact(accumulator))
    coder = combine.get_accumulator_coder()
    merged = combine.merge_accumulators(coder.decode(coder.encode(part)) for part in accumulators)
    assert combine.extract_output(merged) == total_of(announced).encode()
