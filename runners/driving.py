"""Driving one stage on the engine until everything that was owed is committed."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import apache_beam as beam
from rich.console import Console

from winnow.pipelines.ledger.strikes import put_strikes, read_marks
from winnow.pipelines.store.commits import committed_names
from winnow.pipelines.store.generations import Store
from winnow.pipelines.tasks import RunTasks, put_task_list
from winnow.runners.engines import Engine, WorkerLostError
from winnow.runners.progress import StageProgress

LOSSES = 4  # deaths in a row without a new commit or a row left out: the fourth strike on one row never comes


@dataclass(frozen=True)
class StageRun:
    """What every stage's driver needs."""

    console: Console
    engine: Engine
    store: Store

    def tasks(
        self,
        stage: str,
        elements: Mapping[str, bytes],
        worker: beam.DoFn,
        awaited: Mapping[str, tuple[str, str]],
        sizes: Mapping[str, int],
        hints: Mapping[str, str] | None = None,
    ) -> None:
        """Run a list of tasks to the last commit; tasks whose worker died are run again.

        Args:
            stage: Its name, for people.
            elements: Each task's line, by the task's name.
            worker: Runs one task.
            awaited: The layer and key of the commit that each task ends with.
            sizes: Bytes of input of each task, as far as they are known.
            hints: What workers ask a runner for, as Beam's resource hints.
        """
        objects = self.store.objects
        with TemporaryDirectory(prefix="winnow-marks-") as folder:
            marks = Path(folder)
            losses = 0
            while True:
                done = self._committed(awaited)
                path = put_task_list(objects, stage, [task for name, task in elements.items() if name not in done])
                try:
                    with StageProgress(self.console, objects, stage, awaited, sizes):
                        self.engine.run(partial(_build, stage, RunTasks(objects, path, worker, hints)), marks)
                    objects.delete(path)
                    break
                except WorkerLostError as error:
                    condemned = put_strikes(objects, read_marks(marks))
                    for place in condemned:
                        self.console.print(
                            f"{stage}: {place.path} at {place.offset}: left out, its worker died on it", soft_wrap=True
                        )
                    losses = 0 if condemned or self._committed(awaited) > done else losses + 1
                    if losses > LOSSES:
                        raise WorkerLostError(f"{stage}: {error}") from error
                    self.console.print(f"{stage}: a worker process died; running what is left again")

    def _committed(self, awaited: Mapping[str, tuple[str, str]]) -> set[str]:
        found: set[str] = set()
        for layer, key in set(awaited.values()):
            names = committed_names(self.store.objects, layer, key)
            found |= {name for name in names if awaited.get(name) == (layer, key)}
        return found


def _build(stage: str, tasks: RunTasks, pipeline: beam.Pipeline) -> None:
    pipeline | stage >> tasks
