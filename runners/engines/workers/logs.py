"""Where workers print: a file whose name says which driver's it is: what a killed one left, a later one removes.

winnow-workers-<process>-<when it started>-….log    while it runs
winnow-failed-….log                                 kept: an error has named it
"""

import contextlib
import os
import re
import tempfile
from pathlib import Path

from winnow.pipelines.running.processes import started

_OURS = re.compile(r"winnow-workers-(?P<process>[0-9]+)-(?P<since>[0-9]*)-.*\.log")


def worker_log() -> Path:
    """A new file for what workers print; those of drivers that are gone are removed."""
    folder = Path(tempfile.gettempdir())
    remove_leftovers(folder)
    prefix = f"winnow-workers-{os.getpid()}-{started(os.getpid())}-"
    descriptor, name = tempfile.mkstemp(prefix=prefix, suffix=".log", dir=folder)
    os.close(descriptor)
    return Path(name)


def kept_log(log: Path) -> Path:
    """What a log is called that a person is told of."""
    return log.with_name(f"winnow-failed-{log.name.removeprefix('winnow-workers-')}")


def remove_leftovers(folder: Path) -> None:
    """Remove the logs of this user's drivers that were killed."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            named = _OURS.fullmatch(entry.name)
            if named is None or started(int(named["process"])) == named["since"]:
                continue
            with contextlib.suppress(OSError):  # another run has just removed it
                if entry.is_file(follow_symlinks=False) and entry.stat().st_uid == os.getuid():
                    os.unlink(entry.path)
