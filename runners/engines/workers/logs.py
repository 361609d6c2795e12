"""The log files of workers. The name contains the driver's process, so that a later run can remove leftovers.

winnow-workers-<process>-<when it started>-….log    while it runs
winnow-failed-….log                                 kept, as an error message names it
"""

import contextlib
import os
import re
import tempfile
from pathlib import Path

from winnow.pipelines.running.processes import started

_OURS = re.compile(r"winnow-workers-(?P<process>[0-9]+)-(?P<since>[0-9]*)-.*\.log")


def worker_log() -> Path:
    """A new log file for workers; removes those of drivers that have ended."""
    folder = Path(tempfile.gettempdir())
    remove_leftovers(folder)
    prefix = f"winnow-workers-{os.getpid()}-{started(os.getpid())}-"
    descriptor, name = tempfile.mkstemp(prefix=prefix, suffix=".log", dir=folder)
    os.close(descriptor)
    return Path(name)


def kept_log(log: Path) -> Path:
    """Rename a log that an error message names, so that it is kept."""
    return log.with_name(f"winnow-failed-{log.name.removeprefix('winnow-workers-')}")


def remove_leftovers(folder: Path) -> None:
    """Remove the logs of this user's killed drivers."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            named = _OURS.fullmatch(entry.name)
            if named is None or started(int(named["process"])) == named["since"]:
                continue
            with contextlib.suppress(OSError):  # another run may have removed it
                if entry.is_file(follow_symlinks=False) and entry.stat().st_uid == os.getuid():
                    os.unlink(entry.path)
