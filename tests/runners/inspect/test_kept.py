"""What views keep: made once, dropped by age beyond a number of bytes, and waited for by whoever needs it."""

import threading
from dataclasses import dataclass

import pytest

from winnow.runners.inspect.cancelling import CancelledError, cancellable
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
