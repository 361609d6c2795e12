"""Jobs whose tasks send blocks through a row of exchanges; the last consumer stores what it makes of them.

On Beam, tasks and consumers are spread over workers. What one task could hold may be run in this process instead, by
the same functions: starting a pipeline costs more than a small job.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

import apache_beam as beam

from winnow.pipelines.running.blocks import AddressedBlock
from winnow.pipelines.running.job_steps import Batches, JobSteps, sending, task_numbers
from winnow.pipelines.running.on_node import naming_host
from winnow.pipelines.running.step_progress import report_partition

T = TypeVar("T")


@dataclass(frozen=True)
class ExchangeStep:
    """One exchange of a job: where its blocks come together."""

    name: str
    partitions: int  # the most that get blocks
    consume: Callable[[int, Batches], Iterator[AddressedBlock]]


@dataclass(frozen=True)
class StoreStep:
    """The last exchange of a job, whose consumer stores what it makes of the blocks."""

    name: str
    partitions: int
    consume: Callable[[int, Batches], Iterator[int]]


@dataclass(frozen=True)
class LinearJob:
    """Numbered tasks, then exchanges. All functions are picklable and may be called twice."""

    steps: JobSteps
    name: str  # of the step that runs the tasks
    tasks: int
    send: Callable[[int], Iterator[AddressedBlock]]
    between: tuple[ExchangeStep, ...]
    last: StoreStep

    @property
    def parts(self) -> Mapping[str, int]:
        """The tasks, and the partitions of each exchange, for the progress."""
        exchanges = {one.name: one.partitions for one in self.between}
        return {self.name: self.tasks} | exchanges | {self.last.name: self.last.partitions}

    def build(self, pipeline: beam.Pipeline) -> None:
        """Add the job to a pipeline."""
        blocks = task_numbers(pipeline, self.tasks) | self.name >> sending(self._sent)
        for one in self.between:
            blocks = self.steps.exchange(one.name, blocks, one.consume)
        self.steps.finish(self.last.name, blocks, self.last.consume)

    def _sent(self, task: int) -> Iterator[AddressedBlock]:
        """Run a task, and count it as finished."""
        with naming_host(self.steps.driver):
            yield from self.send(task)
            report_partition(self.steps.objects, self.steps.scratch, self.name)

    def run_in_process(self) -> None:
        """Run the job in this process, which holds all blocks of an exchange at once."""
        blocks = [block for task in range(self.tasks) for block in self.send(task)]
        for one in self.between:
            blocks = list(_consumed(blocks, one.consume))
        for _ in _consumed(blocks, self.last.consume):
            pass


@dataclass(frozen=True)
class StoringJob:
    """Numbered tasks that each store their own result."""

    steps: JobSteps
    name: str
    tasks: int
    store: Callable[[int], Iterator[int]]

    @property
    def parts(self) -> Mapping[str, int]:
        """The tasks, for the progress."""
        return {self.name: self.tasks}

    def build(self, pipeline: beam.Pipeline) -> None:
        """Add the job to a pipeline."""
        self.steps.store(self.name, task_numbers(pipeline, self.tasks), self.store)

    def run_in_process(self) -> None:
        """Run the job in this process."""
        for task in range(self.tasks):
            for _ in self.store(task):
                pass


Job = LinearJob | StoringJob


def _consumed(blocks: Iterable[AddressedBlock], consume: Callable[[int, Batches], Iterator[T]]) -> Iterator[T]:
    """Yield what a consumer makes of each partition's blocks, in order of origin and number as in an exchange."""
    partitions: dict[int, list[AddressedBlock]] = {}
    for block in blocks:
        partitions.setdefault(block.partition, []).append(block)
    for partition in sorted(partitions):
        ordered = sorted(partitions[partition], key=lambda block: (block.origin, block.number))
        yield from consume(partition, (block.batch for block in ordered))
