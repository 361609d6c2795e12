"""The interface of engines: each engine is one file with one `Backend`."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.runner import PipelineRunner

from winnow.schemas.errors import WinnowError

Build = Callable[[beam.Pipeline], object]


@dataclass(frozen=True, slots=True)
class Request:
    """The user's choice of workers and flags."""

    workers: int  # worker processes, at least 1
    flags: tuple[str, ...]  # Beam's own flags, given after `--`
    stage: str = "pipeline"  # used in a job's name
    node: str = ""  # what workers on other machines need, as they are told it
    tasks: int | None = None  # of the pipeline's widest step; None if unknown

    @property
    def busy(self) -> int:
        """The workers that have something to do."""
        return self.workers if self.tasks is None else max(1, min(self.workers, self.tasks))


@dataclass(frozen=True, slots=True)
class Launch:
    """Beam's options and runner for one pipeline."""

    runner: PipelineRunner
    options: PipelineOptions


def print_notice(engine: str, words: str) -> None:
    """Print a progress line of an engine."""
    with suppress(OSError):  # the reader may have closed the output
        print(f"{engine}  {words}", flush=True)


class Backend(Protocol):
    """One engine."""

    @property
    def is_local(self) -> bool:
        """Whether all workers are processes of this machine and inherit its environment."""
        ...

    def uses_nodes(self, request: Request) -> bool:  # noqa: ARG002
        """Whether workers are on other machines than this one."""
        return False

    def check(self, request: Request) -> None:
        """Raise before anything starts if something is wrong: Java is missing, a flag is unknown, a master does not
        answer."""
        ...

    def launch(self, request: Request, log: Path) -> AbstractContextManager[Launch]:
        """Provide what one pipeline needs while it runs; workers on this machine print to `log`."""
        ...

    def translated_error(self, message: str) -> WinnowError | None:  # noqa: ARG002
        """Translate a failed job's message into an error, if it is specific to this engine."""
        return None


@runtime_checkable
class RemoteBackend(Protocol):
    """A backend whose workers cannot access this machine's disks."""

    def require_reachable(self, request: Request, places: Sequence[str]) -> None:
        """Raise for the first address that workers cannot access."""
        ...
