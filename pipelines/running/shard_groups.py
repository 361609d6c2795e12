"""Passes over all shards of a store: one task for each group of shards, with a small result that the driver merges."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from winnow.pipelines.running.job_tasks import OPENING_BYTES, TASK_BYTES, Jobs, TaskFolder, TaskKind, TaskWithoutBlocks
from winnow.pipelines.running.shard_list import (
    MAX_SHARD_GROUPS,
    Listed,
    ShardList,
    put_hidden_rows,
    put_shard_list,
)

if TYPE_CHECKING:
    from winnow.pipelines.running.job_steps import JobSteps

Result = TypeVar("Result")

MOST_GROUPS = 1024
"""The driver merges one result a group."""

ROW_BYTES = 4  # that a pass reads of each row, about: a few narrow columns
NO_ROWS = np.zeros(0, np.int64)


def groups_for(size: int, most: int, group_bytes: int = TASK_BYTES) -> int:
    """The number of groups, at most `most`, for shards of which `size` bytes are read; small shards share a group."""
    return max(1, min(most, -(-size // group_bytes)))


def successive_groups(sizes: NDArray[np.int64], most: int = MAX_SHARD_GROUPS) -> list[range]:
    """Groups of successive items of about equal sizes, at most `most`, by the size of each item alone.

    They are the places that send the blocks of an exchange. A group is larger than the others by at most one item.
    """
    sizes = np.maximum(sizes, 1)
    total = int(sizes.sum())
    if not total:
        return []
    each = -(-total // groups_for(total, most))
    group_of = (np.cumsum(sizes) - sizes) // each  # by where an item begins
    starts = np.flatnonzero(np.diff(group_of, prepend=-1)).tolist()
    return [range(first, last) for first, last in itertools.pairwise([*starts, len(sizes)])]


def group_shards(
    steps: "JobSteps", kind: type[Listed], shards: Iterable[Listed], hidden: Mapping[str, NDArray[np.int64]]
) -> ShardList[Listed]:
    """List the shards of a pass, in order, in its folder, in as many groups as it has tasks.

    `kind`: the type of a listed shard; `hidden`: the forgotten rows of each shard that has some.
    """
    objects, scratch = steps.objects, steps.scratch
    if hidden:
        shards = put_hidden_rows(objects, scratch, list(shards), lambda one: hidden.get(one.shard, NO_ROWS))
    listed = ShardList(objects, put_shard_list(objects, "shards", shards, f"{scratch}/"), scratch, kind)
    return replace(listed, most_groups=groups_for(_size(listed.all), MOST_GROUPS, TASK_BYTES))


def over_groups(
    steps: "JobSteps",
    jobs: Jobs,
    name: str,
    shards: ShardList[Listed],
    work: Callable[[int], object],
    result: type[Result],
) -> Iterator[Result]:
    """Run one task for each group of shards; yield the results, of type `result`, in order.

    `name`: that of the pass, as shown. `work`: does the work of a group, by its number; picklable, and may run twice.
    """
    tasks = TaskFolder(steps)
    tasks.add_numbers(TaskKind(name, None, TaskWithoutBlocks(work)), shards.groups, _size(shards.all))
    tasks.run(jobs, name)
    return tasks.found(name, result)


def _size(shards: Sequence[Listed]) -> int:
    return sum(len(shard.objects) * OPENING_BYTES + shard.rows * ROW_BYTES for shard in shards)
