"""Tasks of a job that are described and answered by objects of the job's folder, and who runs such jobs.

A worker reads the task that it runs and nothing else, so neither a pipeline's graph nor a worker's memory grows with
the number of tasks. What a task finds returns through the folder as well, in the order of the tasks, whatever ran them.
Beam is imported when a job runs: a command whose answer is kept in the store needs none of it.
"""

import os
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

from winnow.pipelines.processes.run_folder import temporary_folder
from winnow.pipelines.running.blocks import AddressedBlock
from winnow.pipelines.running.tasks import TaskLine
from winnow.pipelines.store.local import LocalStore
from winnow.schemas.errors import StageError, WinnowError
from winnow.schemas.problems import shown
from winnow.schemas.records import from_json, to_json

if TYPE_CHECKING:
    from winnow.pipelines.running.job_steps import JobSteps
    from winnow.pipelines.running.linear_jobs import Job

TASK_BYTES = 16 << 20  # of what a task reads; fewer are not worth another task
TASK_ITEMS = 512  # described in one task
OPENING_BYTES = 64 << 10  # that could be read in the time in which an object is opened
MOST_TASKS = 4096  # of one kind: a larger store has larger tasks

ROWS_HERE = 50_000_000
"""Rows that one process chooses among or plans: some minutes, and 5 GB of its disk. Tasks do the same for more."""
ROWS_HERE_VARIABLE = "WINNOW_ROWS_HERE"
"""The environment variable that sets another number; every number gives the same results."""

Item = TypeVar("Item")
Result = TypeVar("Result")


def rows_here() -> int:
    """How many rows one process chooses among, or plans; beyond, tasks do."""
    written = os.environ.get(ROWS_HERE_VARIABLE, "")
    if not written:
        return ROWS_HERE
    if not written.isascii() or not written.isdigit():
        raise WinnowError(f"{ROWS_HERE_VARIABLE}: expected a number of rows, such as {ROWS_HERE}, not {shown(written)}")
    return int(written)


class Jobs(Protocol):
    """Where jobs run."""

    def folder(self, name: str) -> AbstractContextManager["JobSteps"]:
        """A new folder for the tasks of some jobs, which is removed at the end."""
        ...

    def reaches(self, place: str) -> bool:
        """Whether tasks can read what is at an address."""
        ...

    def run(self, job: "Job", size: int) -> None:
        """Run a job that reads `size` bytes."""
        ...


class LocalJobs:
    """Runs jobs in this process, one task after another."""

    @contextmanager
    def folder(self, name: str) -> Iterator["JobSteps"]:
        """A temporary folder of this machine."""
        from winnow.pipelines.running.job_steps import JobSteps

        with temporary_folder(name) as folder:
            yield JobSteps(LocalStore(Path(folder), durable=False), name)

    def reaches(self, place: str) -> bool:  # noqa: ARG002 - the protocol's
        """True."""
        return True

    def run(self, job: "Job", size: int) -> None:  # noqa: ARG002 - the protocol's
        """Run a job."""
        job.run_in_process()


HERE = LocalJobs()


@dataclass(frozen=True)
class TaskKind:
    """One kind of task. Picklable."""

    name: str
    task: type[TaskLine] | None  # how a task is described; None: by its number among those of the kind
    run: Callable[[int, Any], Generator[AddressedBlock, None, object]]
    """Runs the task of a number: sends blocks, and returns the record of what it found."""


@dataclass(frozen=True)
class TaskWithoutBlocks:
    """A task that sends no blocks."""

    run: Callable[[Any], object]

    def __call__(self, _: int, task: Any) -> Generator[AddressedBlock, None, object]:
        """Run it."""
        yield from ()
        return self.run(task)


@dataclass(frozen=True)
class NumberedTasks:
    """The tasks of a job, of several kinds. Picklable."""

    steps: "JobSteps"
    kinds: tuple[tuple[TaskKind, int], ...]  # with how many there are of each

    def send(self, number: int) -> Iterator[AddressedBlock]:
        """Run one task, and store what it found."""
        at = number
        for kind, count in self.kinds:
            if at < count:
                task: object = at
                if kind.task is not None:
                    task = kind.task.from_json(self.steps.objects.read(_path(self.steps, kind.name, "tasks", at)))
                found = yield from kind.run(number, task)
                self.steps.objects.put(_path(self.steps, kind.name, "found", at), to_json(found))
                return
            at -= count

    def store(self, number: int) -> Iterator[int]:
        """The same for tasks that send nothing."""
        for _ in self.send(number):
            pass
        yield number


@dataclass
class TaskFolder:
    """The tasks of a job while they are planned, and what they found once it has run."""

    steps: "JobSteps"
    size: int = 0  # bytes that they read
    _kinds: dict[str, tuple[TaskKind, int]] = field(default_factory=dict)

    def add(self, kind: TaskKind, task: TaskLine, size: int) -> None:
        """Describe one task, which reads `size` bytes."""
        number = self._kinds.get(kind.name, (kind, 0))[1]
        self.steps.objects.put(_path(self.steps, kind.name, "tasks", number), task.to_json())
        self._kinds[kind.name] = kind, number + 1
        self.size += size

    def add_numbers(self, kind: TaskKind, count: int, size: int) -> None:
        """Add `count` tasks that need no description, which read `size` bytes together."""
        self._kinds[kind.name] = kind, count
        self.size += size

    def run(self, jobs: Jobs, name: str) -> None:
        """Run the tasks, none of which sends blocks; `name` is that of the step, as shown."""
        from winnow.pipelines.running.linear_jobs import StoringJob

        if self.count:
            jobs.run(StoringJob(self.steps, name, self.count, self.numbered.store), self.size)

    @property
    def numbered(self) -> NumberedTasks:
        """The tasks as the job's workers get them."""
        return NumberedTasks(self.steps, tuple(self._kinds.values()))

    @property
    def count(self) -> int:
        """How many tasks there are."""
        return sum(count for _, count in self._kinds.values())

    def found(self, kind: str, result: type[Result]) -> Iterator[Result]:
        """What the tasks of a kind found, in their order."""
        for number in range(self._kinds[kind][1] if kind in self._kinds else 0):
            path = _path(self.steps, kind, "found", number)
            try:
                raw = self.steps.objects.read(path)
            except FileNotFoundError:
                raise StageError(f"{path} was never written; run the same command again") from None
            yield from_json(result, raw, path)


TasksAt: TypeAlias = Callable[[str], TaskFolder]
"""The tasks that read what is at an address."""


def slices(
    items: Iterable[Item], size: Callable[[Item], int], total: int = 0
) -> Iterator[tuple[tuple[Item, ...], int]]:
    """Items as the tasks of one kind get them, in order, with the bytes of each task.

    `size` gives the bytes of one item; `total` the approximate bytes of all, which only decides how many tasks there
    are.
    """
    most = max(TASK_BYTES, total // MOST_TASKS)
    held: list[Item] = []
    held_bytes = 0
    for item in items:
        held.append(item)
        held_bytes += size(item)
        if held_bytes >= most or len(held) >= TASK_ITEMS:
            yield tuple(held), held_bytes
            held, held_bytes = [], 0
    if held:
        yield tuple(held), held_bytes


def _path(steps: "JobSteps", kind: str, what: str, number: int) -> str:
    return f"{steps.scratch}/{what}/{kind}/{number:08d}.json"
