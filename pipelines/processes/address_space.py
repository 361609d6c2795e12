"""Under a limit of address space (`ulimit -v`, `prlimit --as`), runs a command or says at once that it cannot run.

Native libraries handle such a limit badly. OpenBLAS takes a buffer for each of its threads while it is loaded, and
retries for ever if it gets none; gRPC aborts, or hangs, if it gets no thread. Most of the reserved memory is never
used: each thread has 8 MiB of stack and, from glibc, 64 MiB of heap. So under a limit threads share heaps, a command
that needs more than the limit does not begin, and a library that has no room is not loaded. Imports nothing but the
standard library, as it must run before other imports.

A command's own threads always share one heap: memory that threads free in their own heaps stays with the process.
"""

import ctypes
import mmap
import os
import resource
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from math import ceil
from types import ModuleType
from typing import Final

from winnow.pipelines.processes.identity import usable_cores
from winnow.schemas.errors import WinnowError

__all__ = [
    "OUT_OF_MEMORY",
    "lacks_memory",
    "prepare_for_memory_limit",
    "require_address_space",
    "require_room_for_threads",
    "share_one_heap",
]

OUT_OF_MEMORY: Final = (
    "out of memory; give the process more, use fewer --workers, or lower limits.batch_bytes and limits.max_text_bytes "
    "in the recipe"
)

_SIGNS: Final = ("MemoryError", "can't start new thread", "failed to map segment", "annot allocate memory")

_WITH_BLAS: Final = frozenset(("numpy", "scipy.linalg", "faiss"))
"""Packages that bring an OpenBLAS of their own."""

_LIBRARY_BYTES: Final = 80 << 20  # code, and the modules that are loaded with it
_THREAD_BYTES: Final = (32 << 20) + (8 << 20)  # its buffer and its stack

_HEAPS: Final = 2
_M_ARENA_MAX: Final = -8  # of glibc's mallopt

# Measured on two cores, as VmPeak: `plan` 1.86 GB, of pipelines the driver 2.33 GB and a worker 2.10 GB.
_COMMAND_BYTES: Final = 1800 << 20
_PIPELINE_BYTES: Final = 2400 << 20
_CORE_BYTES: Final = 64 << 20  # OpenBLAS, DuckDB and Arrow start a thread for each core
_BEAM_BYTES: Final = 400 << 20  # what a driver reserves while Beam runs a pipeline


def prepare_for_memory_limit() -> None:
    """Prepare this process, and those that it starts, for a limit of address space; without one, do nothing."""
    if _limit() is None:
        return
    os.environ.setdefault("MALLOC_ARENA_MAX", str(_HEAPS))  # for processes that it starts
    _share_heaps(_HEAPS)
    if not any(isinstance(one, _RoomForBlas) for one in sys.meta_path):
        sys.meta_path.insert(0, _RoomForBlas())


def share_one_heap() -> None:
    """Let all threads of this process allocate from one heap of glibc's, which gives back what they have freed.

    For the process of a command, whose threads wait for stores and workers: with a heap each, `dedupe` of 4,000 shards
    took 12 MiB more.
    """
    _share_heaps(1)


def _share_heaps(heaps: int) -> None:
    with suppress(AttributeError, OSError):  # a C library that is not glibc
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, heaps)


def require_address_space(command: str, *, pipelines: bool) -> None:
    """Refuse a command under a limit below what it reserves at its start (WinnowError): its libraries would not
    survive."""
    needed = (_PIPELINE_BYTES if pipelines else _COMMAND_BYTES) + usable_cores() * _CORE_BYTES
    limit = _limit()
    if limit is not None and limit < needed:
        raise WinnowError(
            f"this process may reserve {limit / 1e9:.1f} GB of address space (ulimit -v, prlimit --as), and "
            f"'winnow {command}' reserves {ceil(needed / 1e8) / 10} GB at its start, most of which it never uses; "
            "raise that limit, and bound memory that is used with a cgroup, for example "
            "systemd-run --user --scope -p MemoryMax=2G"
        )


def require_room_for_threads() -> None:
    """Raise MemoryError where Beam could not start its threads: it would abort, or wait for a missing one for ever."""
    if _limit() is not None:
        _require_room(_BEAM_BYTES, "Beam")


def lacks_memory(error: str) -> bool:
    """Whether an error report says that memory is missing, also for a thread or a library loaded late."""
    return any(sign in error for sign in _SIGNS)


class _RoomForBlas(MetaPathFinder):
    """Finds nothing; raises MemoryError where an import would not return."""

    def find_spec(self, fullname: str, *_: Sequence[str] | ModuleType | None) -> ModuleSpec | None:
        """None, so that the next finder is asked."""
        if fullname in _WITH_BLAS:
            _require_room(_LIBRARY_BYTES + _blas_threads() * _THREAD_BYTES, fullname)
        return None


def _require_room(size: int, library: str) -> None:
    try:
        mmap.mmap(-1, size).close()  # address space alone: no page is touched
    except (OSError, MemoryError) as error:
        raise MemoryError(f"no room for the {size >> 20} MiB that {library} needs") from error


def _blas_threads() -> int:
    """As OpenBLAS counts them."""
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        given = os.environ.get(variable, "")
        if given.isdecimal() and int(given):
            return int(given)
    return min(64, usable_cores())


def _limit() -> int | None:
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else limit
