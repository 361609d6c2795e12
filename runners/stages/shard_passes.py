"""Runs passes over the shards of a store: on an engine, or in this process if one task does it all."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from winnow.pipelines.running.exchange import clear_scratch
from winnow.pipelines.running.run_folder import temporary_folder
from winnow.pipelines.running.shard_pass import ShardPass
from winnow.pipelines.store.command_lease import writing
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.local import LocalStore
from winnow.runners.engines.engine import Engine
from winnow.runners.stages.stage_run import StageRun
from winnow.runners.terminal.job_progress import JobProgress

HERE = Engine()
"""The processes of this machine."""


@dataclass(frozen=True)
class ShardPasses:
    """Passes that leave their results in one place."""

    run: StageRun
    scratch: ObjectStore

    def results(self, one: ShardPass) -> Iterator[bytes]:
        """Run a pass; return the results of its tasks, in order."""
        if one.tasks == 1:
            one.job.run_here()
        else:
            with JobProgress(self.scratch, one.folder, one.stage, one.job.parts).shown(self.run.console):
                self.run.job(one.stage, one.job.build)
        return one.results()


@contextmanager
def shard_passes(
    store: Store, folder: str, engine: Engine = HERE, console: Console | None = None
) -> Iterator[ShardPasses]:
    """Passes whose results lie in a temporary folder, or in the store if workers are on other machines.

    Args:
        store: The store.
        folder: The scratch folder of the passes.
        engine: Where tasks run.
        console: Where progress is printed; the error output if there is none.
    """
    run = StageRun(console or Console(stderr=True, highlight=False), engine, store)
    if engine.backend.is_local:
        with temporary_folder("shards") as temporary:
            yield ShardPasses(run, LocalStore(Path(temporary)))
        return
    with writing(store.objects):
        clear_scratch(store.objects, folder)  # left by a command that was stopped
        yield ShardPasses(run, store.objects)
        clear_scratch(store.objects, folder)
