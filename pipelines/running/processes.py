"""Which process is which, by when it started, and how many threads a library may start in one.

Imports nothing but the standard library: libraries read their limits when they are loaded.
"""

import os
from pathlib import Path

THREAD_LIMITS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "RAYON_NUM_THREADS",
)
"""Set to 1 in every worker: the processes are the parallelism, and pinned values need a fixed order (law 4)."""


def boot_id() -> str:
    """The id of this boot of the machine; "" if unknown."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def started(process: int) -> str | None:
    """When the process started, in kernel ticks; None if it does not exist, "" without /proc."""
    try:
        text = Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):  # the second: it ended between opening and reading the file
        if Path("/proc/self/stat").exists():
            return None
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return None
        except PermissionError:
            return ""
        return ""
    state, *rest = text.rpartition(")")[2].split()
    return None if state in "ZX" else rest[18]


def limit_threads() -> None:
    """Sets one thread per library, unless the environment says otherwise."""
    for variable in THREAD_LIMITS:
        os.environ.setdefault(variable, "1")
