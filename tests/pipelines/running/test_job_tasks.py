"""Tasks of a job: how the work is divided, and what comes back."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.pipelines.running.job_tasks import (
    HERE,
    MOST_TASKS,
    TASK_BYTES,
    TASK_ITEMS,
    TaskFolder,
    TaskKind,
    TaskWithoutBlocks,
    slices,
)
from winnow.pipelines.running.tasks import TaskLine
from winnow.schemas.errors import StageError

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Sum(TaskLine):
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Found:
    total: int


def add(task: Sum) -> Found:
    return Found(sum(task.numbers))


def square(number: int) -> Found:
    return Found(number * number)


@given(st.lists(st.integers(0, 40 * MIB), max_size=300))
def test_tasks_hold_every_item_in_order_and_none_is_much_larger_than_another(sizes: list[int]) -> None:
    tasks = list(slices(sizes, lambda size: size))
    assert [size for some, _ in tasks for size in some] == sizes
    for some, total in tasks:
        assert total == sum(some)
        assert total - some[-1] < TASK_BYTES
        assert len(some) <= TASK_ITEMS


def test_two_workers_share_a_store_that_starts_them() -> None:
    """The objects of 100 MiB are several tasks: one would keep one worker busy and leave the other idle."""
    tasks = list(slices([5 * MIB] * 20, lambda size: size))
    assert max(total for _, total in tasks) <= sum(total for _, total in tasks) / 4


def test_a_larger_store_has_larger_tasks() -> None:
    total = 4 * MOST_TASKS * TASK_BYTES
    assert len(list(slices([64 * MIB] * 64, lambda size: size, total))) == 64
    assert len(list(slices([MIB] * 640, lambda size: size, total))) == 10


def test_results_come_back_in_the_order_of_their_tasks() -> None:
    with HERE.folder("test") as steps:
        tasks = TaskFolder(steps)
        described = TaskKind("sums", Sum, TaskWithoutBlocks(add))
        for numbers in ((1, 2), (), (7,)):
            tasks.add(described, Sum(numbers), 1)
        tasks.add_numbers(TaskKind("squares", None, TaskWithoutBlocks(square)), 4, 1)
        with pytest.raises(StageError, match="run the same command again"):
            list(tasks.found("sums", Found))
        tasks.run(HERE, "Both")
        assert [one.total for one in tasks.found("sums", Found)] == [3, 0, 7]
        assert [one.total for one in tasks.found("squares", Found)] == [0, 1, 4, 9]
        assert list(tasks.found("none of these", Found)) == []
