"""How a worker process of any stage behaves: one thread a library, no life after its driver, a beat now and then."""

import logging
import os
import sys
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import pyarrow as pa

from winnow.pipelines.store import layout
from winnow.pipelines.store.facade import ObjectStore
from winnow.schemas.identity import canonical_json

THREAD_LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
"""Set to 1 in every worker: the processes are the parallelism, and pinned values need a fixed order (law 4)."""

DRIVER_VARIABLE = "WINNOW_DRIVER"
WATCH_SECONDS = 1.0
BEAT_SECONDS = 1.0


def main() -> None:
    """A local worker process: Beam's own harness, which ends with its driver however that ends."""
    driver = os.environ.get(DRIVER_VARIABLE)
    if driver:
        threading.Thread(target=_end_with, args=(int(driver),), name="driver-watch", daemon=True).start()
    from apache_beam.runners.worker import sdk_worker_main

    sdk_worker_main.main(sys.argv)


def settle() -> None:
    """Called from a DoFn's `setup`: safe to repeat."""
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)


def _end_with(driver: int) -> None:
    """Leave when the driver is gone: nothing that this process could still commit would be asked for."""
    while _alive(driver):
        time.sleep(WATCH_SECONDS)
    os._exit(1)


def _alive(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        if Path("/proc/self/stat").exists():
            return False
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True
    return state not in "ZX"


@dataclass(frozen=True, slots=True)
class Beat:
    """What a running task says of itself. Advisory: nothing is ever decided by it."""

    records: int
    rows: int
    bytes: int


class Heart:
    """Puts a task's beats, at most one a second."""

    def __init__(self, objects: ObjectStore, layer: str, task: str) -> None:
        self._objects = objects
        self._path = layout.heartbeat(layer, task)
        self._last = time.monotonic()
        self._beaten = False

    def __call__(self, records: int, rows: int, done: int) -> None:
        """Say how far the task is."""
        now = time.monotonic()
        if now - self._last < BEAT_SECONDS:
            return
        self._last = now
        self._objects.put(self._path, canonical_json(asdict(Beat(records, rows, done))).encode())
        self._beaten = True

    def stop(self) -> None:
        """The task is committed, or has failed."""
        if self._beaten:
            self._objects.delete(self._path)


if __name__ == "__main__":
    main()
