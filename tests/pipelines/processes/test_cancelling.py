"""Work that is given up ends between its parts, in whatever threads they are done."""

import threading
from pathlib import Path

import duckdb
import pytest

from winnow.pipelines.processes.cancelling import (
    CancelledError,
    cancellable,
    cancelled_flag,
    check_cancelled,
    interrupted_if_cancelled,
)
from winnow.pipelines.store.concurrency import map_in_order, map_objects
from winnow.pipelines.store.local import LocalStore


def test_nothing_is_given_up_where_nobody_has_set_a_flag() -> None:
    check_cancelled()
    assert not cancelled_flag()()
    with cancellable(lambda: True), pytest.raises(CancelledError):
        check_cancelled()
    check_cancelled()
    assert list(map_in_order(str, range(9), 2)) == list(map(str, range(9)))


def test_threads_that_work_for_others_see_the_flag_of_these() -> None:
    flag = threading.Event().is_set
    with cancellable(flag):
        assert list(map_in_order(lambda _: cancelled_flag() == flag, range(9), 3)) == [True] * 9


@pytest.mark.parametrize("threads", [1, 3])
def test_a_pass_over_many_items_ends_at_the_next_one(threads: int) -> None:
    given_up, done = threading.Event(), []

    def work(number: int) -> None:
        done.append(number)
        if number == 5:
            given_up.set()

    with cancellable(given_up.is_set), pytest.raises(CancelledError):
        list(map_in_order(work, range(1000), threads))
    assert len(done) < 6 + 3 * threads


def test_a_pass_over_objects_of_a_disk_ends_at_the_next_one(tmp_path: Path) -> None:
    done: list[int] = []
    with cancellable(lambda: len(done) == 3), pytest.raises(CancelledError):
        list(map_objects(LocalStore(tmp_path), done.append, range(1000)))
    assert done == [0, 1, 2]


def test_a_query_is_interrupted() -> None:
    long = "SELECT count(*) FROM range(1000000000) a, range(1000000000) b WHERE a.range * b.range % 7 = 3"
    with (
        duckdb.connect() as engine,
        cancellable(lambda: True),
        pytest.raises(CancelledError),
        interrupted_if_cancelled(engine.interrupt),
    ):
        engine.execute(long)
