"""Which process is which, by when it started, and how many threads a library may start in one.

Imports nothing but the standard library: libraries read their limits when they are loaded.
"""

import hashlib
import os
import platform
import re
from dataclasses import dataclass
from functools import lru_cache
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


def cpu_seconds(process: int) -> float:
    """The CPU time of a process and of its children that have ended; 0 without /proc, or if it does not exist."""
    try:
        times = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:15]
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return sum(map(int, times)) / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Process:
    """A process of one machine, or of one container, as named in the files that it writes."""

    where: str
    boot: str
    number: int
    start: str

    @classmethod
    def this(cls) -> "Process":
        """The running process."""
        return _process(os.getpid())

    @classmethod
    def of(cls, file: str) -> "Process | None":
        """The process that wrote a file of this name; None if the name does not say it."""
        found = _WRITER.match(file)
        return None if found is None else cls(found["where"], found["boot"], int(found["number"]), found["start"])

    @property
    def prefix(self) -> str:
        """The beginning of the names of its files."""
        return f"{self.where}-{self.boot}-{self.number}-{self.start}-"

    @property
    def is_visible(self) -> bool:
        """Whether this process could see it."""
        return self.where == Process.this().where

    @property
    def is_running(self) -> bool:
        """Whether it still runs; only for a process that is here."""
        return self.boot == Process.this().boot and started(self.number) == self.start


_WRITER = re.compile(r"(?P<where>[0-9a-f]{8})-(?P<boot>[0-9a-f]{8})-(?P<number>[0-9]{1,10})-(?P<start>[0-9]*)-")


@lru_cache(maxsize=1)
def _process(number: int) -> Process:
    try:
        space = os.readlink("/proc/self/ns/pid")  # containers may share a host's name, but number their own processes
    except OSError:
        space = ""
    return Process(_digest(f"{platform.node()} {space}"), _digest(boot_id()), number, started(number) or "")


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=4).hexdigest()


def limit_threads() -> None:
    """Sets one thread per library, unless the environment says otherwise."""
    for variable in THREAD_LIMITS:
        os.environ.setdefault(variable, "1")


def usable_cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
