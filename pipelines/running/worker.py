"""Governs a worker process of any stage: one thread per library, ends with its driver, sends heartbeats."""

import io
import logging
import os
import sys
import threading
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Self

import pyarrow as pa

from winnow.pipelines.assets.node_files import taken
from winnow.pipelines.processes.identity import started
from winnow.pipelines.store import layout
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.local import LocalStore
from winnow.pipelines.store.memory import MemoryStore
from winnow.schemas.environment.local_files import take_files_with
from winnow.schemas.identity import canonical_json

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

DRIVER_VARIABLE = "WINNOW_DRIVER"
WATCH_SECONDS = 1.0
BEAT_SECONDS = 1.0
BUCKET_BEAT_SECONDS = 10.0  # on an object store, where every request costs

take_files_with(taken)  # every process that works has imported this module


def main() -> None:
    """Runs a local worker process: Beam's own harness, ended with its driver however that ends."""
    sys.stdout, sys.stderr = log_to(1), log_to(2)
    process, _, since = os.environ.get(DRIVER_VARIABLE, "").partition(":")
    if process:
        threading.Thread(target=_end_with, args=(int(process), since), name="driver-watch", daemon=True).start()
    from apache_beam.runners.worker import sdk_worker_main

    status = 1
    try:
        sdk_worker_main.main(sys.argv)
        status = 0
    finally:
        # Skips the interpreter's shutdown, in which threads of native libraries can deadlock
        # after the watch above has stopped.
        os._exit(status)


class _Log(io.FileIO):
    """Drops what a full disk does not take."""

    def write(self, data: "ReadableBuffer") -> int:
        try:
            return super().write(data)
        except OSError:
            return memoryview(data).nbytes


def log_to(descriptor: int) -> io.TextIOWrapper:
    """A stream to an open file that never fails.

    Beam prints a task's error before it answers its driver, which would wait for the answer for ever.
    """
    log = io.BufferedWriter(_Log(descriptor, "w", closefd=False))
    return io.TextIOWrapper(log, encoding="utf-8", errors="backslashreplace", line_buffering=True)


def prepare_worker() -> None:
    """Prepares a worker; called from a DoFn's `setup`, safe to repeat."""
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    logging.getLogger("trafilatura").setLevel(logging.CRITICAL)


def driver_mark() -> str:
    """The mark by which workers recognise their driver."""
    return f"{os.getpid()}:{started(os.getpid())}"


def _end_with(process: int, since: str) -> None:
    """Exits when the driver is gone, since nothing committed from then on would be used."""
    while started(process) == since:
        time.sleep(WATCH_SECONDS)
    os._exit(1)


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """The progress of a running task. Advisory: no decision depends on it."""

    records: int
    rows: int
    bytes: int


def heartbeat_seconds(objects: ObjectStore) -> float:
    """The least number of seconds between heartbeats."""
    return BEAT_SECONDS if isinstance(objects, LocalStore | MemoryStore) else BUCKET_BEAT_SECONDS


class HeartbeatWriter:
    """Puts a task's heartbeats while a block runs, at most one per second, or per ten seconds on an object store."""

    def __init__(self, objects: ObjectStore, commit: str) -> None:
        """`commit`: the path of the task's commit."""
        self._objects = objects
        self._path = layout.heartbeat(commit)
        self._seconds = heartbeat_seconds(objects)
        self._last = time.monotonic()
        self._has_written = False

    def __call__(self, records: int, rows: int, done: int) -> None:
        """Reports the task's progress."""
        now = time.monotonic()
        if now - self._last < self._seconds:
            return
        self._last = now
        self._objects.put(self._path, canonical_json(asdict(Heartbeat(records, rows, done))).encode())
        self._has_written = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._has_written:
            self._objects.delete(self._path)


if __name__ == "__main__":
    main()
