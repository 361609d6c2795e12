"""Runs jobs of a command on the engine, or in this process if they are small."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from winnow.pipelines.running.exchange import clear_scratch
from winnow.pipelines.running.job_steps import JobSteps
from winnow.pipelines.running.job_tasks import HERE
from winnow.pipelines.running.linear_jobs import Job
from winnow.pipelines.store import layout
from winnow.runners.stages.running.stage_run import StageRun
from winnow.runners.terminal.progress.job import JobProgress
from winnow.schemas.errors import WinnowError

HERE_BYTES = 64 << 20  # read in about the time that a pipeline takes to start


@dataclass(frozen=True)
class EngineJobs:
    """Runs the jobs of a command."""

    run_on: StageRun
    stage: str  # as shown
    here_bytes: int = HERE_BYTES

    @contextmanager
    def folder(self, name: str) -> Iterator[JobSteps]:
        """A temporary folder if all workers are on this machine, else one in the store."""
        if self.run_on.engine.backend.is_local:
            with HERE.folder(name) as steps:
                yield replace(steps, shuffle=self.run_on.shuffle)
            return
        objects, scratch = self.run_on.store.objects, f"{layout.SCRATCH}{name}-{secrets.token_hex(4)}"
        try:
            yield JobSteps(objects, scratch, self.run_on.shuffle)
        finally:
            clear_scratch(objects, scratch)

    def reaches(self, place: str) -> bool:
        """Whether workers can read what is at an address; if not, this process does."""
        try:
            self.run_on.engine.require_reachable(place)
        except WinnowError:
            return False
        return True

    def run(self, job: Job, size: int) -> None:
        """Run a job that reads so many bytes."""
        if size <= self.here_bytes:
            job.run_in_process()
        else:
            self.on_engine(job)

    def on_engine(self, job: Job) -> None:
        """Run a job on the engine, however small it is."""
        with JobProgress(job.steps.objects, job.steps.scratch, self.stage, job.parts).shown(self.run_on.console):
            self.run_on.job(self.stage, job.build, max(job.parts.values()))
