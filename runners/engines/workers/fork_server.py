"""The driver's side of the fork server: requests workers."""

import atexit
import os
import subprocess
import sys
import threading

from winnow.pipelines.processes.identity import cpu_seconds
from winnow.pipelines.running import fork_server
from winnow.pipelines.running.fork_server import WorkerRequest
from winnow.schemas.environment.modules import module_path, python_module

IMPORTED_FROM = ("PYTHONPATH", "PYTHONHOME", "PATH", "LD_LIBRARY_PATH")
"""Environment variables that affect imports: if one changes, the fork server is restarted."""


class ForkServer:
    """The fork server of this process, started with the first worker."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._environment: tuple[object, ...] = ()

    def worker(self, request: WorkerRequest) -> int:
        """The process id of a new worker."""
        surroundings = (os.getpid(), *(request.environment.get(name) for name in IMPORTED_FROM))
        with self._lock:
            for _ in range(2):  # retry once if the fork server was killed, for example for lack of memory
                if self._process is None or self._environment != surroundings:
                    self._end()
                    self._process, self._environment = _start(request), surroundings
                if answer := _send(self._process, request):
                    return int(answer)
                self._end()
        raise RuntimeError("no worker process could be started")

    @property
    def cpu_seconds(self) -> float:
        """Its CPU time, and that of its workers that have ended; 0 if it does not run."""
        with self._lock:
            return 0.0 if self._process is None else cpu_seconds(self._process.pid)

    def close(self) -> None:
        """Wait for its end, so that the workers' CPU time counts as that of this process's children."""
        with self._lock:
            self._end()

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None and self._environment[0] == os.getpid():  # not in a fork of the driver
            process.communicate()


def _start(request: WorkerRequest) -> subprocess.Popen[bytes]:
    """Start a fork server with this process's environment."""
    modules = sorted(name for name in sys.modules if name.startswith("winnow.pipelines."))
    with open(request.log, "ab") as log:
        return subprocess.Popen(
            python_module(fork_server.__name__, *modules),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env={**request.environment, **module_path()},
        )


def _send(process: subprocess.Popen[bytes], request: WorkerRequest) -> bytes:
    """Send a request for a worker; the answer is empty if the fork server has ended."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(request.line())
        process.stdin.flush()
    except BrokenPipeError:
        return b""
    return process.stdout.readline()


FORK_SERVER = ForkServer()
atexit.register(FORK_SERVER.close)
