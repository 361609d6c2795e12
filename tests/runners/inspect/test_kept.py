"""What views keep: made once, dropped by age beyond a number of bytes, and waited for by whoever needs it."""

import threading
from collections.abc import Hashable
from contextlib import suppress
from dataclasses import dataclass

import pytest

from winnow.pipelines.processes.cancelling import CancelledError, cancellable, check_cancelled
from winnow.runners.inspect.kept import Kept


@dataclass(frozen=True)
class Some:
    nbytes: int


def test_the_longest_unused_is_dropped_first_and_what_stays_never() -> None:
    kept = Kept(max_bytes=100)
    kept.get("frame", lambda: Some(50), stays=True)
    for name in ("a", "b"):
        kept.get(name, lambda: Some(20))
    kept.find("a")
    kept.get("c", lambda: Some(20))
    assert [key for key, _ in kept.items()] == ["frame", "a", "c"]
    kept.get("large", lambda: Some(80))
    assert [key for key, _ in kept.items()] == ["frame", "large"]
    assert kept.nbytes == 130


def test_a_value_is_made_once_and_one_that_does_not_wait_leaves_it_to_the_others() -> None:
    kept, go, made = Kept(), threading.Event(), []

    def make() -> Some:
        go.wait(30)
        made.append(1)
        return Some(1)

    assert kept.begin("value", make) is None
    with cancellable(lambda: True), pytest.raises(CancelledError):
        kept.get("value", make)
    found: list[Some] = []
    waiting = [threading.Thread(target=lambda: found.append(kept.get("value", make))) for _ in range(3)]
    for thread in waiting:
        thread.start()
    go.set()
    for thread in waiting:
        thread.join()
    assert found == [Some(1)] * 3
    assert made == [1]
    assert kept.begin("value", make) == Some(1)


def test_what_cannot_be_made_is_told_to_each_that_asks_and_tried_again() -> None:
    kept = Kept()

    def fail() -> Some:
        raise ValueError("no")

    for _ in range(2):
        with pytest.raises(ValueError, match="no"):
            kept.get("value", fail)
    assert kept.get("value", lambda: Some(3)) == Some(3)


class Work:
    """Something that takes until it is given up, or told to end."""

    def __init__(self) -> None:
        self.begun, self.end, self.given_up = threading.Event(), threading.Event(), threading.Event()

    def __call__(self) -> Some:
        self.begun.set()
        try:
            while not self.end.wait(0.01):
                check_cancelled()
        except CancelledError:
            self.given_up.set()
            raise
        return Some(1)


def asks(kept: Kept, work: Work, key: Hashable) -> tuple[threading.Thread, threading.Event]:
    """A request that waits for work, and what cancels it."""
    cancelled = threading.Event()

    def get() -> None:
        with cancellable(cancelled.is_set), suppress(CancelledError):
            kept.get(key, work)

    thread = threading.Thread(target=get)
    thread.start()
    assert work.begun.wait(20)
    return thread, cancelled


def test_work_that_nobody_waits_for_is_given_up_and_begun_anew_for_the_next() -> None:
    kept, work = Kept(), Work()
    requests = [asks(kept, work, "value") for _ in range(2)]
    requests[0][1].set()
    requests[0][0].join(20)
    assert not work.given_up.wait(0.2)
    requests[1][1].set()
    assert work.given_up.wait(20)
    requests[1][0].join(20)
    assert kept.get("value", lambda: Some(7)) == Some(7)


def test_the_newest_work_of_a_kind_ends_the_older() -> None:
    kept, older, newer, other = Kept(), Work(), Work(), Work()
    assert kept.begin(1, older, newest_of="slider") is None
    assert older.begun.wait(20)
    thread, _ = asks(kept, other, 2)
    assert kept.begin(3, newer, newest_of="slider") is None
    assert older.given_up.wait(20)
    for work in (newer, other):
        work.end.set()
    thread.join(20)
    kept.wait()
    assert (kept.find(1), kept.find(2), kept.find(3)) == (None, Some(1), Some(1))


def test_what_stays_is_made_to_its_end_and_all_is_given_up_at_the_end() -> None:
    kept, work = Kept(), Work()
    with cancellable(lambda: True), pytest.raises(CancelledError):
        kept.get("frame", work, stays=True)
    assert not work.given_up.wait(0.2)
    kept.end_all()
    assert work.given_up.wait(20)


def test_who_waits_for_some_time_alone_gets_the_value_later() -> None:
    kept, go = Kept(), threading.Event()

    def make() -> Some:
        go.wait(30)
        return Some(1)

    assert kept.within("value", make, 0.01) is None
    go.set()
    assert kept.within("value", make, 30) == Some(1)
    assert kept.within("value", make, 0) == Some(1)

    def fail() -> Some:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        kept.within("other", fail, 30)
