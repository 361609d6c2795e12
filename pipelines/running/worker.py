"""How a worker process of any stage behaves: one thread a library, no life after its driver, a beat now and then."""

import logging
import os
import sys
import threading
import time
from dataclasses import asdict, dataclass

import pyarrow as pa

from winnow.pipelines.running.processes import started
from winnow.pipelines.store import layout
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.local import LocalStore
from winnow.pipelines.store.memory import MemoryStore
from winnow.schemas.identity import canonical_json

DRIVER_VARIABLE = "WINNOW_DRIVER"
WATCH_SECONDS = 1.0
BEAT_SECONDS = 1.0
BUCKET_BEAT_SECONDS = 10.0  # on an object store, where every request costs


def main() -> None:
    """A local worker process: Beam's own harness, which ends with its driver however that ends."""
    process, _, since = os.environ.get(DRIVER_VARIABLE, "").partition(":")
    if process:
        threading.Thread(target=_end_with, args=(int(process), since), name="driver-watch", daemon=True).start()
    from apache_beam.runners.worker import sdk_worker_main

    status = 1
    try:
        sdk_worker_main.main(sys.argv)
        status = 0
    finally:
        # Without the interpreter's farewell, in which threads of native libraries can wait for each other for ever,
        # and the watch above no longer runs.
        os._exit(status)


def settle() -> None:
    """Called from a DoFn's `setup`: safe to repeat."""
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)


def driver_mark() -> str:
    """What a driver tells its workers to know it by."""
    return f"{os.getpid()}:{started(os.getpid())}"


def _end_with(process: int, since: str) -> None:
    """Leave when the driver is gone: nothing that this process could still commit would be asked for."""
    while started(process) == since:
        time.sleep(WATCH_SECONDS)
    os._exit(1)


@dataclass(frozen=True, slots=True)
class Beat:
    """What a running task says of itself. Advisory: nothing is ever decided by it."""

    records: int
    rows: int
    bytes: int


class Heart:
    """Puts a task's beats, at most one a second, or one in ten on an object store."""

    def __init__(self, objects: ObjectStore, layer: str, task: str) -> None:
        self._objects = objects
        self._path = layout.heartbeat(layer, task)
        self._seconds = BEAT_SECONDS if isinstance(objects, LocalStore | MemoryStore) else BUCKET_BEAT_SECONDS
        self._last = time.monotonic()
        self._beaten = False

    def __call__(self, records: int, rows: int, done: int) -> None:
        """Say how far the task is."""
        now = time.monotonic()
        if now - self._last < self._seconds:
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
