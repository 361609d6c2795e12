"""A pass over all shards with a small result: tasks for ranges of shards, whose results the driver merges."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.pipelines.running.job_steps import JobSteps
from winnow.pipelines.running.linear_jobs import StoringJob
from winnow.pipelines.running.scratch_parts import put_part
from winnow.pipelines.running.shard_list import HIDDEN, Listed, ShardList, put_shard_list
from winnow.pipelines.store.facade import ObjectStore

ALONE_SHARDS, ALONE_ROWS = 256, 1 << 24
"""What one process gets through sooner than workers start: it is one task."""

TASK_SHARDS, TASK_ROWS = 64, 1 << 20  # of a task of more
MOST_TASKS = 1024
"""The driver reads one result a task."""


@dataclass(frozen=True)
class ShardPass:
    """Numbered tasks, each of which leaves its result in a scratch folder. Picklable, and tasks may run twice."""

    scratch: ObjectStore
    folder: str
    name: str
    tasks: int
    work: Callable[[int], bytes]

    @property
    def stage(self) -> str:
        """The name of the scratch folder, which progress shows."""
        return self.folder.rpartition("/")[2]

    @property
    def job(self) -> StoringJob:
        """The job that runs the tasks."""
        return StoringJob(JobSteps(self.scratch, self.folder), self.name, self.tasks, self._store)

    def results(self) -> Iterator[bytes]:
        """Yield the results of all tasks, in order."""
        return (self.scratch.read(self._path(number)) for number in range(self.tasks))

    def _store(self, number: int) -> Iterator[int]:
        self.scratch.put(self._path(number), self.work(number))
        yield number

    def _path(self, number: int) -> str:
        return f"{self.folder}/{self.name}/{number:08d}"


def listed_shards(
    scratch: ObjectStore, folder: str, kind: type[Listed], shards: list[Listed], hidden: Mapping[str, NDArray[np.int64]]
) -> ShardList[Listed]:
    """List the shards of a pass in its scratch folder, with as many groups as it has tasks.

    Args:
        scratch: Where the list lies.
        folder: The scratch folder.
        kind: The type of a listed shard.
        shards: The shards, in order.
        hidden: The forgotten rows of each shard that has some.
    """
    listed = []
    for number, shard in enumerate(shards):
        rows = hidden.get(shard.shard)
        if rows is not None and len(rows):
            put_part(scratch, folder, "hidden", number, pa.RecordBatch.from_arrays([pa.array(rows)], schema=HIDDEN))
            shard = replace(shard, hidden=len(rows))
        listed.append(shard)
    path = put_shard_list(scratch, folder.rpartition("/")[2], listed)
    return ShardList(scratch, path, folder, kind, tasks_for(len(listed), sum(one.rows for one in listed)))


def tasks_for(shards: int, rows: int) -> int:
    """The number of tasks for a pass over so many shards and rows."""
    if shards <= ALONE_SHARDS and rows <= ALONE_ROWS:
        return 1
    return max(1, min(MOST_TASKS, shards, max(-(-shards // TASK_SHARDS), -(-rows // TASK_ROWS))))
