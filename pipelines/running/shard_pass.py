"""A pass over all shards with a small result: tasks for ranges of shards, whose results the driver merges."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.pipelines.running.scratch_parts import put_part
from winnow.pipelines.running.shard_list import HIDDEN, Listed, ShardList
from winnow.schemas.identity import canonical_json, content_name

if TYPE_CHECKING:
    from winnow.pipelines.running.job_steps import JobSteps
    from winnow.pipelines.running.linear_jobs import StoringJob

ALONE_SHARDS, ALONE_ROWS = 256, 1 << 24
"""What one process gets through sooner than workers start: it is one task."""

TASK_SHARDS, TASK_ROWS = 64, 1 << 20  # of a task of more
MOST_TASKS = 1024
"""The driver reads one result a task."""


@dataclass(frozen=True)
class ShardPass:
    """Numbered tasks, each of which leaves its result in a scratch folder. Picklable, and tasks may run twice."""

    steps: "JobSteps"
    name: str
    tasks: int
    work: Callable[[int], bytes]

    @property
    def job(self) -> "StoringJob":
        """The job that runs the tasks."""
        from winnow.pipelines.running.linear_jobs import StoringJob  # a kept result is read without Beam

        return StoringJob(self.steps, self.name, self.tasks, self._store)

    def results(self) -> Iterator[bytes]:
        """Yield the results of all tasks, in order."""
        return (self.steps.objects.read(self._path(number)) for number in range(self.tasks))

    def _store(self, number: int) -> Iterator[int]:
        self.steps.objects.put(self._path(number), self.work(number))
        yield number

    def _path(self, number: int) -> str:
        return f"{self.steps.scratch}/{self.name}/{number:08d}"


def listed_shards(
    steps: "JobSteps", kind: type[Listed], shards: list[Listed], hidden: Mapping[str, NDArray[np.int64]]
) -> ShardList[Listed]:
    """List the shards of a pass in its folder, with as many groups as it has tasks.

    Args:
        steps: The passes' folder.
        kind: The type of a listed shard.
        shards: The shards, in order.
        hidden: The forgotten rows of each shard that has some.
    """
    listed = []
    for number, shard in enumerate(shards):
        rows = hidden.get(shard.shard)
        if rows is not None and len(rows):
            part = pa.RecordBatch.from_arrays([pa.array(rows)], schema=HIDDEN)
            put_part(steps.objects, steps.scratch, "hidden", number, part)
            shard = replace(shard, hidden=len(rows))
        listed.append(shard)
    raw = b"\n".join(canonical_json(asdict(shard)).encode() for shard in listed)
    path = f"{steps.scratch}/shards.{content_name(raw)}.jsonl"
    steps.objects.put(path, raw)
    return ShardList(steps.objects, path, steps.scratch, kind, tasks_for(len(listed), sum(one.rows for one in listed)))


def tasks_for(shards: int, rows: int) -> int:
    """The number of tasks for a pass over so many shards and rows."""
    if shards <= ALONE_SHARDS and rows <= ALONE_ROWS:
        return 1
    return max(1, min(MOST_TASKS, shards, max(-(-shards // TASK_SHARDS), -(-rows // TASK_ROWS))))
