"""Where an engine's Python workers come from, as the engine is told it.

EXTERNAL    a pool of this process, whose workers are forked from the fork server: where the engine is on this machine
LOOPBACK    threads of this process: the same, where a process that has imported much is not safe to fork
PROCESS     `winnow-boot`, on each machine of a cluster, at the path where it is on this one
"""

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from apache_beam.options.pipeline_options import PipelineOptions, PortableOptions

from winnow.runners.engines.workers.pool import WorkerPool, forks_workers, worker_pool
from winnow.schemas.errors import WinnowError

BOOT = "winnow-boot"


@dataclass(frozen=True, slots=True)
class Workers:
    """Workers for one pipeline."""

    settings: Mapping[str, object]  # Beam's options that say so
    pool: WorkerPool | None = None  # where they are this process's own


@dataclass(frozen=True, slots=True)
class Supply:
    """Where they come from, as it was asked for."""

    here: bool  # from this process
    environment: str | None  # Beam's kind of them, only if it was said: then nothing is decided by here
    commanded: str | None  # what the cluster's machines start them with

    @staticmethod
    def asked(options: PipelineOptions, *, here: bool) -> "Supply":
        """By Beam's flags."""
        portable = options.view_as(PortableOptions)
        return Supply(here, portable.environment_type, portable.lookup_environment_option("process_command"))

    def check(self) -> None:
        """Say what is missing before anything starts."""
        if self.environment is None and not self.here and self.commanded is None:
            boot_command()

    @contextmanager
    def workers(self, log: Path) -> Iterator[Workers]:
        """For as long as one pipeline runs; those of this process print into `log`."""
        if self.environment is not None:
            yield Workers({})
        elif not self.here:
            command = self.commanded or boot_command()
            yield Workers({"environment_type": "PROCESS", "environment_options": [f"process_command={command}"]})
        elif not forks_workers():
            yield Workers({"environment_type": "LOOPBACK"})
        else:
            with worker_pool(log) as (address, pool):
                yield Workers({"environment_type": "EXTERNAL", "environment_config": address}, pool)


def boot_command() -> Path:
    """Where `winnow-boot` is on this machine, and by agreement on each of the cluster.

    Raises:
        WinnowError: It is not on this machine.
    """
    beside = Path(sys.executable).with_name(BOOT)
    found = str(beside) if os.access(beside, os.X_OK) else shutil.which(BOOT)
    if found is None:
        raise WinnowError(
            f"no {BOOT} beside {sys.executable}, by which a cluster's machines start workers; install winnow again, or "
            f"say where they have it: --environment_type=PROCESS --environment_options=process_command=/…/{BOOT}"
        )
    return Path(found)
