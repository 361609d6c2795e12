"""Runs a Beam pipeline on the engine that the user selected."""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import cast

import apache_beam as beam
from apache_beam.pvalue import PBegin, PDone

from winnow.pipelines.processes.address_space import OUT_OF_MEMORY, lacks_memory, require_room_for_threads
from winnow.pipelines.processes.identity import limit_threads
from winnow.pipelines.running.ledger.worker_deaths import MARKS_VARIABLE
from winnow.pipelines.running.worker import DRIVER_VARIABLE, driver_mark
from winnow.runners.engines.backend import Backend, Build, RemoteBackend, Request
from winnow.runners.engines.failures import last_line, user_error
from winnow.runners.engines.names import BACKENDS, RUNNERS
from winnow.runners.engines.workers.logs import kept_log, worker_log
from winnow.schemas.errors import StageError, WinnowError
from winnow.schemas.problems import suggestion


@dataclass(frozen=True, slots=True)
class Engine:
    """Where stages run."""

    name: str = "local"
    workers: int = 0  # 0: one per core
    flags: tuple[str, ...] = ()
    node: str = ""  # what workers on other machines need, as they are told it

    @property
    def uses_nodes(self) -> bool:
        """Whether workers are on other machines than this one."""
        return self.backend.uses_nodes(self.request)

    @property
    def processes(self) -> int:
        """The number of worker processes."""
        return self.workers or os.cpu_count() or 1

    @property
    def backend(self) -> Backend:
        """The backend of this name."""
        if self.name not in BACKENDS:
            raise WinnowError(f"unknown runner {self.name!r}{suggestion(self.name.lower(), RUNNERS)}")
        module, name = BACKENDS[self.name]
        return cast(Backend, getattr(import_module(f"winnow.runners.engines.{module}"), name))

    @property
    def request(self) -> Request:
        """The request for the backend."""
        return Request(self.processes, self.flags, node=self.node)

    def require_reachable(self, *places: str) -> None:
        """Raise for folders of this machine that workers cannot access."""
        if isinstance(backend := self.backend, RemoteBackend):
            backend.require_reachable(self.request, places)

    def run(
        self, build: Build, marks: Path | None = None, *, stage: str = "pipeline", tasks: int | None = None
    ) -> None:
        """Run one pipeline; a worker's error is raised here as one line.

        Workers on this machine record their current row in the folder `marks`. `tasks`: those of its widest step; no
        more workers are started on this machine.
        """
        backend = self.backend
        limit_threads()
        require_room_for_threads()
        os.environ[DRIVER_VARIABLE] = driver_mark()
        if marks is not None:
            os.environ[MARKS_VARIABLE] = str(marks)
        log = worker_log()
        keep = False
        try:
            with backend.launch(replace(self.request, stage=stage, tasks=tasks), log) as launch:
                pipeline = beam.Pipeline(runner=launch.runner, options=launch.options)
                # Beam's folder for files of cross-language transforms; there are none, and a killed run would leave it
                # behind.
                os.rmdir(pipeline.local_tempdir)
                build(pipeline)
                try:
                    with worker_output_redirected(log):
                        pipeline.run().wait_until_finish()
                except Exception as error:  # Beam raises plain RuntimeErrors with a worker's traceback as text
                    found = user_error(error) or backend.translated_error(str(error))
                    if found is None:
                        log, keep = log.replace(kept_log(log)), True
                        line = last_line(str(error))
                        message = f"{OUT_OF_MEMORY}: {line}" if lacks_memory(line) else line
                        found = StageError(f"{message} (workers' log: {log})")
                    raise found from error
        finally:
            os.environ.pop(MARKS_VARIABLE, None)
            if not keep:
                log.unlink(missing_ok=True)


class _Stage(beam.PTransform[PBegin, PDone]):
    """A pipeline inside of one step, whose name all of its steps begin with."""

    def __init__(self, build: Build) -> None:
        super().__init__()
        self._build = build

    def expand(self, begin: PBegin) -> PDone:
        """Called by Beam."""
        self._build(begin.pipeline)
        return PDone(begin.pipeline)


def staged(stage: str, build: Build) -> Build:
    """A pipeline whose steps have names that begin with the stage, as the pages of engines show them."""
    return lambda pipeline: pipeline | stage >> _Stage(build)


@contextmanager
def worker_output_redirected(log: Path) -> Iterator[None]:
    """Redirect what worker processes print from the user's terminal to a file.

    Workers inherit this process's standard error, so it is redirected while they run.
    """
    sys.stderr.flush()
    terminal = os.dup(2)
    with open(log, "ab") as stream:
        os.dup2(stream.fileno(), 2)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(terminal, 2)
        os.close(terminal)


def named_engine(name: str, workers: int, flags: Sequence[str]) -> Engine:
    """The engine for these arguments, checked."""
    engine = Engine(name, workers, tuple(flags))
    engine.backend.check(engine.request)
    return engine
