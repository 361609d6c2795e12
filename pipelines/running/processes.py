"""Which process is which: a process id that is used again is told apart by when its process started."""

import os
from pathlib import Path


def boot_id() -> str:
    """Which start of the machine this is; "" where the system does not say."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def started(process: int) -> str | None:
    """When the process started, in the kernel's ticks; None when there is none, "" where /proc does not exist."""
    try:
        text = Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):  # the second: it ended between the file's opening and its reading
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
