"""Jobs whose tasks send blocks through a row of exchanges; the last consumer stores what it makes of them.

On Beam, tasks and consumers are spread over workers. What one task could hold may be run in this process instead, by
the same functions: starting a pipeline costs more than a small job.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import apache_beam as beam

from winnow.pipelines.running.blocks import AddressedBlock
from winnow.pipelines.running.exchange import Route
from winnow.pipelines.running.flows import F, Ground, Here, OnBeam
from winnow.pipelines.running.job_steps import Batches, JobSteps, task_numbers
from winnow.pipelines.running.step_progress import report_partition


@dataclass(frozen=True)
class ExchangeStep:
    """One exchange of a job: where its blocks come together."""

    name: str
    partitions: int  # the most that get blocks
    consume: Callable[[int, Batches], Iterator[AddressedBlock]]
    route: Route | None = None  # by which its blocks are sent, if they may have relays

    @property
    def relays(self) -> str:
        """The name of the step of its relays."""
        return f"Relays.{self.name}"


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
        parts = {self.name: self.tasks}
        for one in self.between:
            parts |= {} if one.route is None else one.route.steps(one.relays)
            parts[one.name] = one.partitions
        return parts | {self.last.name: self.last.partitions}

    def build(self, pipeline: beam.Pipeline) -> None:
        """Add the job to a pipeline."""
        self._lay_out(OnBeam(self.steps, pipeline), self._sent)

    def run_in_process(self) -> None:
        """Run the job in this process, which holds all blocks of an exchange at once."""
        self._lay_out(Here(), self.send)

    def _lay_out(self, ground: Ground[F], send: Callable[[int], Iterator[AddressedBlock]]) -> None:
        flow = ground.numbers(self.tasks).send(self.name, send)
        for one in self.between:
            flow = flow if one.route is None else flow.relayed(one.relays, one.route)
            flow = flow.exchange(one.name, one.consume)
        flow.finish(self.last.name, self.last.consume)

    def _sent(self, task: int) -> Iterator[AddressedBlock]:
        """Run a task, and count it as finished."""
        yield from self.send(task)
        report_partition(self.steps.objects, self.steps.scratch, self.name)


@dataclass(frozen=True)
class StoringJob:
    """Numbered tasks that each store their own result."""

    steps: JobSteps
    name: str
    tasks: int
    store: Callable[[int], Iterator[int]]
    hints: Mapping[str, str] = field(default_factory=dict)  # Beam's, for the resources of its workers

    @property
    def parts(self) -> Mapping[str, int]:
        """The tasks, for the progress."""
        return {self.name: self.tasks}

    def build(self, pipeline: beam.Pipeline) -> None:
        """Add the job to a pipeline."""
        self.steps.store(self.name, task_numbers(pipeline, self.tasks), self.store, self.hints)

    def run_in_process(self) -> None:
        """Run the job in this process."""
        for task in range(self.tasks):
            for _ in self.store(task):
                pass


Job = LinearJob | StoringJob
