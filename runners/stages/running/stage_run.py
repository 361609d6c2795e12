"""Runs one stage on the engine until all its tasks are committed."""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import apache_beam as beam
from rich.console import Console

from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.processes.run_folder import temporary_folder
from winnow.pipelines.running.ledger.worker_deaths import STRIKES, Mark, read_marks, record_deaths
from winnow.pipelines.running.run_tasks import RunTasks
from winnow.pipelines.running.tasks import put_task_list
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.hash_set import HashSet
from winnow.pipelines.store.store_index import StoreIndex
from winnow.runners.engines.engine import Engine, staged
from winnow.runners.engines.failures import WorkerLostError
from winnow.runners.engines.workers.fork_server import FORK_SERVER
from winnow.runners.stages.running.nodes import ready_nodes
from winnow.runners.stages.running.warming import warm_kernels
from winnow.runners.terminal.progress.stage import StageProgress, TaskInput, prefix_of
from winnow.schemas.errors import StageError
from winnow.schemas.recipe import Recipe, Shuffle

TRIES = 3  # of a job whose worker died
LOSSES = 4  # consecutive deaths without a new commit or a skipped row; a row is skipped after three
SKIPPED = 8  # rows that one operator may kill its worker on: each costs three workers, some four seconds
TASKS_A_SKIPPED_ROW = 4  # committed tasks that allow it one more: a rare bad row stops no long stage


@dataclass(frozen=True, slots=True)
class CompletedTasks:
    """Tasks that were run and committed, and their time."""

    names: frozenset[str] = frozenset()
    seconds: float = 0.0
    cpu_seconds: float | None = None  # None if workers do not belong to this process

    def __add__(self, other: "CompletedTasks") -> "CompletedTasks":
        both = self.cpu_seconds is not None and other.cpu_seconds is not None
        cpu = (self.cpu_seconds or 0.0) + (other.cpu_seconds or 0.0) if both else None
        return CompletedTasks(self.names | other.names, self.seconds + other.seconds, cpu)


class Clock:
    """Measures time on an engine, for display and the run log only."""

    def __init__(self, engine: Engine) -> None:
        self._is_local = engine.name == "local"
        self._began, self._cpu = time.monotonic(), _cpu_seconds()

    def ran(self, names: Iterable[str]) -> CompletedTasks:
        """The result for these tasks: the time since the clock was created."""
        cpu = _cpu_seconds() - self._cpu if self._is_local else None
        return CompletedTasks(frozenset(names), time.monotonic() - self._began, cpu)


def _cpu_seconds() -> float:
    """The CPU time of this process and of those that it has started and that have ended, such as workers."""
    ended = os.times()
    return time.process_time() + ended.children_user + ended.children_system + FORK_SERVER.cpu_seconds


@dataclass(frozen=True)
class StageRun:
    """The context of a running stage."""

    console: Console
    engine: Engine
    store: Store
    part: str = ""  # the name of the slice; empty for the whole stage
    recipe: BoundRecipe | None = None  # whose files workers on other machines need; None if they need none

    @cached_property
    def workers(self) -> Engine:
        """The engine; machines other than this one are ready for the stage."""
        return ready_nodes(self.engine, self.store, self.recipe, self.console)

    @property
    def shuffle(self) -> Shuffle:
        """How blocks travel, as the recipe says."""
        return "auto" if self.recipe is None else self.recipe.config.shuffle

    def __post_init__(self) -> None:
        self.engine.require_reachable(self.store.root)

    def warm(self, *recipes: Recipe) -> None:
        """Compile the kernels that recipes call, or all of them, unless they are compiled."""
        warm_kernels(*recipes, quiet=self.console.quiet)

    def tasks(
        self,
        stage: str,
        elements: Callable[[], Iterable[tuple[str, bytes]]],
        worker: beam.DoFn,
        awaited: Mapping[str, str],
        held: StoreIndex,
        inputs: Mapping[str, TaskInput] | None = None,
        hints: Mapping[str, str] | None = None,
        *,
        here: bool = False,
    ) -> "CompletedTasks":
        """Run tasks until all are committed; tasks whose worker died are run again. Returns the tasks that were run,
        and their time.

        `elements` makes each task's input line, with its name; `worker` runs one task; `awaited`: the path of each
        task's commit; `held` takes over the commits; `inputs`: each task's input bytes, if known; `hints`: Beam's
        resource hints; `here`: run them in this process, as they are small and nothing in them can crash it.
        """
        clock = Clock(self.engine)
        objects = self.store.objects
        if here:
            with StageProgress(self.console, objects, stage, awaited, inputs or {}, held.note):
                done = self._committed(awaited)
                for name, task in elements():
                    for _ in worker.process(task) if name not in done else ():
                        pass
            return clock.ran(awaited)
        where = f"{stage}/{self.part}" if self.part else stage  # the task lists of two slices may be equal
        with temporary_folder("marks") as folder:
            marks = Path(folder)
            losses = 0
            skipped: Counter[str] = Counter()
            before = len(self._committed(awaited))
            while True:
                done = self._committed(awaited)
                path = put_task_list(objects, where, (task for name, task in elements() if name not in done))
                try:
                    with StageProgress(self.console, objects, stage, awaited, inputs or {}, held.note):
                        self.workers.run(
                            partial(_build, stage, RunTasks(objects, path, worker, hints)),
                            marks,
                            stage=stage,
                            tasks=len(awaited) - len(done),
                        )
                    objects.delete(path)
                    return clock.ran(awaited)
                except WorkerLostError as error:
                    found = read_marks(marks)
                    condemned = record_deaths(objects, found)
                    for mark in condemned:
                        place = mark.position
                        self.console.print(
                            f"{stage}: {place.path} at {place.offset}: skipped, as it repeatedly killed its worker"
                            + _during([mark]),
                        )
                        skipped[mark.doing] += 1
                    _require_rare(stage, skipped, found, (len(done) - before) // TASKS_A_SKIPPED_ROW)
                    losses = 0 if condemned or self._committed(awaited) > done else losses + 1
                    if losses > LOSSES:
                        raise WorkerLostError(f"{stage}: {error}") from error
                    self.console.print(
                        f"{stage}: a worker process died{_during(found)}; running the remaining tasks again"
                    )

    def job(self, stage: str, build: Callable[[beam.Pipeline], object], tasks: int) -> None:
        """Run a pipeline that stores its results only at its end; if a worker dies, it is run again from the start.

        `tasks`: those of its widest step.
        """
        for attempt in range(1, TRIES + 1):
            try:
                self.workers.run(staged(stage, build), stage=stage, tasks=tasks)
                return
            except WorkerLostError:
                if attempt == TRIES:
                    raise
                self.console.print(f"{stage}: a worker process died; running it again")

    def _committed(self, awaited: Mapping[str, str]) -> set[str]:
        prefixes = sorted({prefix_of(path) for path in awaited.values()})
        there = HashSet(info.path for prefix in prefixes for info in self.store.objects.list(prefix))
        return {name for name, path in awaited.items() if path in there}


def _require_rare(stage: str, skipped: Mapping[str, int], marks: Sequence[Mark], more: int) -> None:
    """Raise if an operator kills its worker on every row, which would take seconds a row without end."""
    for name, rows in skipped.items():
        if rows >= SKIPPED + more:
            lists = " and ".join(sorted({f"{layout.POISON}{mark.source}" for mark in marks if mark.doing == name}))
            raise StageError(
                f"{stage}: {name or 'reading'} killed its worker on {rows} different rows, {STRIKES} times each; they "
                f"are recorded in the store's {lists or layout.POISON} and left out from now on. If {name or 'winnow'} "
                "is at fault, correct it or remove it from the recipe, and delete that folder to have the rows tried "
                "again; if the rows are, run the same command again to go on behind them"
            )


def _during(marks: Sequence[Mark]) -> str:
    """The operators that were at work where marks were left: one of them killed its worker."""
    names = dict.fromkeys(mark.doing for mark in marks if mark.doing)
    return f" in {' or '.join(names)}" if names else ""


def _build(stage: str, tasks: RunTasks, pipeline: beam.Pipeline) -> None:
    pipeline | stage >> tasks
