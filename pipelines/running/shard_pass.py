"""A pass over all shards with a small result: tasks for ranges of shards, whose results the driver merges."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from winnow.pipelines.running.job_steps import JobSteps
from winnow.pipelines.running.linear_jobs import StoringJob
from winnow.pipelines.store.facade import ObjectStore

TASK_SHARDS = 64
TASK_ROWS = 1 << 20
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


def tasks_for(shards: int, rows: int) -> int:
    """The number of tasks for a pass over so many shards and rows; 1 is not worth a pipeline."""
    return max(1, min(MOST_TASKS, shards, max(-(-shards // TASK_SHARDS), -(-rows // TASK_ROWS))))
