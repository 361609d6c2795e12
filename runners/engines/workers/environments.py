"""Chooses where an engine's Python workers are started.

EXTERNAL    a pool of this process, with workers from the fork server: for engines on this machine
LOOPBACK    threads of this process: the same, on systems where forking is not safe
PROCESS     `winnow-boot` on each machine of a cluster, at the same path as on this machine
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

    settings: Mapping[str, object]  # Beam's options that select them
    pool: WorkerPool | None = None  # if they belong to this process


@dataclass(frozen=True, slots=True)
class WorkerSource:
    """The source of workers, by the user's flags."""

    is_local: bool  # whether this process starts them
    environment: str | None  # Beam's environment type, if given by the user; it takes precedence
    commanded: str | None  # the command that starts workers on the cluster's machines

    @staticmethod
    def from_options(options: PipelineOptions, *, is_local: bool) -> "WorkerSource":
        """The source of workers by Beam's flags."""
        portable = options.view_as(PortableOptions)
        return WorkerSource(is_local, portable.environment_type, portable.lookup_environment_option("process_command"))

    def check(self) -> None:
        """Raise before anything starts if something is missing."""
        if self.environment is None and not self.is_local and self.commanded is None:
            boot_command()

    @contextmanager
    def workers(self, log: Path) -> Iterator[Workers]:
        """Provide workers while one pipeline runs; those of this process print to `log`."""
        if self.environment is not None:
            yield Workers({})
        elif not self.is_local:
            command = self.commanded or boot_command()
            yield Workers({"environment_type": "PROCESS", "environment_options": [f"process_command={command}"]})
        elif not forks_workers():
            yield Workers({"environment_type": "LOOPBACK"})
        else:
            with worker_pool(log) as (address, pool):
                yield Workers({"environment_type": "EXTERNAL", "environment_config": address}, pool)


def boot_command() -> Path:
    """The path of `winnow-boot` here, assumed for the cluster's machines too; WinnowError if it is not installed."""
    sibling = Path(sys.executable).with_name(BOOT)
    found = str(sibling) if os.access(sibling, os.X_OK) else shutil.which(BOOT)
    if found is None:
        raise WinnowError(
            f"no {BOOT} beside {sys.executable}, which starts workers on a cluster's machines; reinstall winnow, or "
            f"give the path on those machines: --environment_type=PROCESS "
            f"--environment_options=process_command=/…/{BOOT}"
        )
    return Path(found)
