"""What an engine does to run pipelines: one file an engine, one `Backend` in each."""

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
    """What the user asked for."""

    workers: int  # worker processes, at least 1
    flags: tuple[str, ...]  # Beam's own, as they stood after `--`
    stage: str = "pipeline"  # what runs, for a job's name


@dataclass(frozen=True, slots=True)
class Launch:
    """What Beam is told for one pipeline."""

    runner: PipelineRunner
    options: PipelineOptions


def say(engine: str, words: str) -> None:
    """A line for whoever watches, while an engine runs."""
    with suppress(OSError):  # nobody reads any more
        print(f"{engine}  {words}", flush=True)


class Backend(Protocol):
    """One engine."""

    @property
    def here(self) -> bool:
        """Whether every worker is a process of this machine: they inherit its environment."""
        ...

    def check(self, request: Request) -> None:
        """Say what is wrong before anything starts: a missing Java, an unknown flag, a master that is not there."""
        ...

    def launch(self, request: Request, log: Path) -> AbstractContextManager[Launch]:
        """What one pipeline needs, for as long as it runs; workers of this machine print into `log`."""
        ...

    def understood(self, message: str) -> WinnowError | None:
        """The error that a failed job's message means, where only this engine knows."""
        ...


@runtime_checkable
class Elsewhere(Protocol):
    """A backend whose workers see no disk of this machine."""

    def require_reachable(self, request: Request, places: Sequence[str]) -> None:
        """Refuse the first of these addresses that they do not see."""
        ...
