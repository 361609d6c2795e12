"""What a decision takes by rows and by shards is judged by slopes."""

import pytest

from benchmarks.measuring.counted import Counted
from benchmarks.mimic.growth import FULL, TINY, Run, limits_of


def run(rows: int, shards: int, mebibytes: int, requests: int = 0) -> Run:
    counted = Counted(1.0, mebibytes << 20, {"read": requests}, {})
    return Run(rows * shards, shards, counted, wall_seconds=1.0, workers_cpu_seconds=1.0)


def test_rows_are_judged_at_a_billion_and_shards_by_one_more() -> None:
    runs = [run(FULL, 16, 200), run(FULL, 64, 999), run(FULL, 272, 216), run(TINY, 1000, 200, 50), run(TINY, 2024, 201)]
    rows, shards, requests = limits_of(runs)
    assert rows.value == pytest.approx((216 + 16 * (1e9 / FULL - 272) / 256) / 1024)
    assert (shards.value, shards.kept) == (1024, True)
    assert (requests.value, requests.kept) == (-50 / 1024, True)
    assert not limits_of([*runs[:3], run(TINY, 1000, 200), run(TINY, 2000, 300, 7000)])[2].kept
