"""The log files of workers: in the driver's temporary folder, which goes with it, or with the next run if it is killed.

A log that an error message names is kept beside the folders of runs.
"""

import os
import tempfile
from pathlib import Path

from winnow.pipelines.processes.run_folder import FAILED, run_folder
from winnow.schemas.environment.temporary_root import temporary_root

_NAMED = "workers-"


def worker_log() -> Path:
    """A new log file for workers."""
    descriptor, name = tempfile.mkstemp(prefix=_NAMED, suffix=".log", dir=run_folder())
    os.close(descriptor)
    return Path(name)


def kept_log(log: Path) -> Path:
    """The name for a log that an error message names; `winnow gc --purge` removes such logs."""
    return temporary_root() / f"{FAILED}{os.getpid()}-{log.name.removeprefix(_NAMED)}"
