"""Running a Beam pipeline to its end on the engine that the user named."""

import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.runner import PipelineRunner

from winnow.pipelines.ledger.strikes import MARKS_VARIABLE
from winnow.pipelines.worker import DRIVER_VARIABLE, THREAD_LIMITS, driver_mark
from winnow.runners.beam_flags import beam_options
from winnow.runners.forked import worker_environment
from winnow.runners.worker_logs import kept_log, worker_log
from winnow.schemas.errors import StageError, WinnowError

RUNNERS = ("local", "portable")

Build = Callable[[beam.Pipeline], object]


@contextmanager
def led_away(log: Path) -> Iterator[None]:
    """Keep what worker processes print off the user's terminal.

    They inherit this process's standard error, so that is what is led into the file while they run.
    """
    sys.stderr.flush()
    terminal = os.dup(2)
    with open(log, "wb") as stream:
        os.dup2(stream.fileno(), 2)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(terminal, 2)
        os.close(terminal)


class WorkerLostError(StageError):
    """A worker process died under a task; what it had not committed must be run again."""


@dataclass(frozen=True, slots=True)
class Engine:
    """Where stages run: `local` is FnApiRunner by name; `portable` is the path that Spark and Flink take."""

    name: str = "local"
    workers: int = 0  # 0: one a core
    flags: tuple[str, ...] = ()

    @property
    def processes(self) -> int:
        """How many workers there are."""
        return self.workers or os.cpu_count() or 1

    def run(self, build: Build, marks: Path | None = None) -> None:
        """Run one pipeline; an error of a worker arrives here as the line that it is.

        In the folder `marks` the workers leave word of the record that each is at.
        """
        for variable in THREAD_LIMITS:
            os.environ.setdefault(variable, "1")
        os.environ[DRIVER_VARIABLE] = driver_mark()
        if marks is not None:
            os.environ[MARKS_VARIABLE] = str(marks)
        log = worker_log()
        keep = False
        try:
            pipeline = beam.Pipeline(runner=self._runner(log), options=self._options())
            # For files of transforms in other languages, of which there are none: a killed run would leave it there.
            os.rmdir(pipeline.local_tempdir)
            build(pipeline)
            try:
                with led_away(log):
                    pipeline.run().wait_until_finish()
            except Exception as error:  # Beam raises bare RuntimeErrors that hold a worker's traceback as text
                found = _known(error)
                if found is None:
                    log, keep = log.replace(kept_log(log)), True
                    found = StageError(f"{_last_line(str(error))} (the workers' own words: {log})")
                raise found from error
        finally:
            os.environ.pop(MARKS_VARIABLE, None)
            if not keep:
                log.unlink(missing_ok=True)

    def _runner(self, log: Path) -> PipelineRunner:
        if self.name == "local":
            from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner

            if self.processes == 1:
                return FnApiRunner()  # by name: DirectRunner may turn into another runner
            return FnApiRunner(default_environment=worker_environment(log))
        if self.name == "portable":
            from apache_beam.runners.portability.portable_runner import PortableRunner

            return PortableRunner()
        raise WinnowError(f"unknown runner {self.name!r}; there are: {', '.join(RUNNERS)}")

    def _options(self) -> PipelineOptions:
        if self.name == "portable":
            return beam_options(self.flags, job_endpoint="embed", environment_type="LOOPBACK")
        return beam_options(self.flags, direct_num_workers=self.processes)


def parse_workers(text: str) -> int:
    """A number of workers from the command line."""
    if not text.isdigit() or int(text) > 1024:
        raise WinnowError(f"--workers {text}: expected a number from 1 to 1024, or 0 for one a core")
    return int(text)


def named_engine(name: str, workers: int, flags: Sequence[str]) -> Engine:
    """The engine for these arguments, checked before anything starts."""
    engine = Engine(name, workers, tuple(flags))
    engine._runner(Path(os.devnull))
    engine._options()
    return engine


def _known(error: Exception) -> WinnowError | None:
    """The error that a worker raised, if it is one that a user can act on."""
    if isinstance(error, WinnowError):
        return type(error)(_without_step(str(error)))
    if isinstance(error, OSError):
        return StageError(_system_error(str(error)))
    text = str(error)
    raised = re.findall(r"^(?:\S*\.)?(\w+(?:Error|Exception)): (.*)$", text, re.MULTILINE)
    for name, message in raised:
        kind = next((kind for kind in _kinds() if kind.__name__ == name), None)
        if kind is not None:
            return kind(_without_step(message))
    for name, message in raised:
        if name in {"OSError", "IOError", "FileNotFoundError", "PermissionError"}:
            return StageError(_system_error(message))
    if re.search(r"Channel closed prematurely|worker .*(?:died|exited)|Socket closed|SDK Harness.*disconnected", text):
        return WorkerLostError("a worker process died; what was committed stays, run the same command again")
    return None


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return _without_step(lines[-1] if lines else "the pipeline failed without a message")


def _kinds() -> list[type[WinnowError]]:
    found: list[type[WinnowError]] = []
    pending: list[type[WinnowError]] = [WinnowError]
    while pending:
        kind = pending.pop()
        found.append(kind)
        pending += kind.__subclasses__()
    return found


def _without_step(message: str) -> str:
    line = re.sub(r" \[while running '[^']*'\](?: with exceptions:.*)?", "", message.splitlines()[0]).strip()
    quoted = re.fullmatch(r"(['\"])((?:(?!\1).)*)\1", line)  # as a whole, as a KeyError says its key
    return line if quoted is None else quoted[2]


def _system_error(message: str) -> str:
    line = _without_step(message)
    if "No space left" in line:
        return f"{line}: nothing of the unfinished tasks was committed; make room and run the same command again"
    return line
