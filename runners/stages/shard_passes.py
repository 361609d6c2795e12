"""Runs passes over the shards of a store: on an engine, or in this process if one task does it all.

Imports Beam only when a pass runs: a command that finds its result in the store needs none of it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import Console

from winnow.pipelines.running.shard_pass import ShardPass
from winnow.pipelines.store.generations import Store

if TYPE_CHECKING:
    from winnow.pipelines.running.job_steps import JobSteps
    from winnow.runners.engines.engine import Engine
    from winnow.runners.stages.engine_jobs import EngineJobs


@dataclass(frozen=True)
class ShardPasses:
    """Passes that leave their results in one folder."""

    jobs: "EngineJobs"
    steps: "JobSteps"

    def results(self, one: ShardPass) -> Iterator[bytes]:
        """Run a pass; return the results of its tasks, in order."""
        if one.tasks == 1:
            one.job.run_here()
        else:
            self.jobs.start(one.job)
        return one.results()


@contextmanager
def shard_passes(
    store: Store, name: str, engine: "Engine | None" = None, console: Console | None = None
) -> Iterator[ShardPasses]:
    """Passes with a folder for their results, which is removed at the end.

    Args:
        store: The store.
        name: What they do, for the progress.
        engine: Where tasks run; the processes of this machine if not given.
        console: Where progress is printed; the error output if there is none.
    """
    from winnow.runners.engines.engine import Engine
    from winnow.runners.stages.engine_jobs import EngineJobs
    from winnow.runners.stages.stage_run import StageRun

    shown = console or Console(stderr=True, highlight=False)
    jobs = EngineJobs(StageRun(shown, engine or Engine(), store), name)
    with jobs.folder(name) as steps:
        yield ShardPasses(jobs, steps)
