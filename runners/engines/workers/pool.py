"""A pool of workers on this machine for engines that request them over the network, each a forked process.

Beam's LOOPBACK uses threads of the driver instead, which share one interpreter lock, do not record their progress, and
crash the driver with them. Here each worker is a process, as with `local`.
"""

import os
import platform
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

import grpc  # type: ignore[import-untyped]  # publishes no types
from apache_beam.portability.api.org.apache.beam.model.fn_execution.v1 import beam_fn_api_pb2, beam_fn_api_pb2_grpc

from winnow.pipelines.processes.identity import started
from winnow.pipelines.running.fork_server import WorkerRequest
from winnow.pipelines.running.provisioning import RequestedWorker, provision_of
from winnow.pipelines.running.version_handshake import FOLDER_OPTION, OPTION, unlike_driver, versions_here
from winnow.pipelines.running.worker import DRIVER_VARIABLE, driver_mark
from winnow.runners.engines.failures import DIED, WorkerLostError
from winnow.runners.engines.workers.fork_server import FORK_SERVER
from winnow.schemas.errors import StageError, WinnowError

STOP_SECONDS = 5.0  # between asking a worker to end and killing it
_POLL_SECONDS = 0.01
_WATCH_SECONDS = 0.5
_THREADS = 16  # concurrent requests; each is short


class WorkerPool(beam_fn_api_pb2_grpc.BeamFnExternalWorkerPoolServicer):
    """Starts and stops workers at an engine's request."""

    def __init__(self, log: Path) -> None:
        self._log = str(log)
        self._lock = threading.Lock()
        self._workers: dict[str, tuple[int, str]] = {}  # by the engine's name: the process, and when it started
        self._closed = False

    def StartWorker(  # noqa: N802  # Beam's name
        self, request: beam_fn_api_pb2.StartWorkerRequest, _: grpc.ServicerContext
    ) -> beam_fn_api_pb2.StartWorkerResponse:
        """Start a worker; errors are returned to the engine."""
        wanted = RequestedWorker(
            request.worker_id,
            request.provision_endpoint.url,
            request.control_endpoint.url,
            request.logging_endpoint.url,
        )
        try:
            self._start(wanted)
        except WinnowError as error:
            name = f"{type(error).__module__}.{type(error).__name__}"  # as the last line of a traceback
            return beam_fn_api_pb2.StartWorkerResponse(error=f"{name}: {error}")
        except (grpc.RpcError, OSError, RuntimeError) as error:
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            return beam_fn_api_pb2.StartWorkerResponse(error=f"no worker {wanted.worker_id}: {reason}")
        return beam_fn_api_pb2.StartWorkerResponse()

    def StopWorker(  # noqa: N802  # Beam's name
        self, request: beam_fn_api_pb2.StopWorkerRequest, _: grpc.ServicerContext
    ) -> beam_fn_api_pb2.StopWorkerResponse:
        """Stop a worker, unless it has ended already."""
        with self._lock:
            worker = self._workers.pop(request.worker_id, None)
        if worker is not None:
            _end([worker])
        return beam_fn_api_pb2.StopWorkerResponse()

    @property
    def lost(self) -> int:
        """The number of workers that died without being stopped."""
        with self._lock:
            return sum(not _is_running(worker) for worker in self._workers.values())

    def close(self) -> None:
        """End all workers, and start no more."""
        with self._lock:
            self._closed = True
            workers = list(self._workers.values())
            self._workers.clear()
        _end(workers)

    def _start(self, wanted: RequestedWorker) -> None:
        provision = provision_of(wanted)
        if unlike := unlike_driver(provision.option(OPTION)):
            raise StageError(unlike)
        folder = provision.option(FOLDER_OPTION) or ""
        folder = folder if os.path.isdir(folder) else os.getcwd()
        settings = {**provision.variables(), "PIPELINE_OPTIONS": provision.options}
        with self._lock:
            if self._closed:
                raise RuntimeError("the driver is ending")
            process = FORK_SERVER.worker(WorkerRequest({**os.environ, **settings}, folder, self._log))
            self._workers[wanted.worker_id] = process, started(process) or ""


def forks_workers() -> bool:
    """Whether this system can fork workers safely."""
    return platform.system() == "Linux"


@contextmanager
def worker_pool(log: Path, port: int = 0) -> Iterator[tuple[str, WorkerPool]]:
    """A pool on a loopback port (0 for a free one) and its address. Workers print to `log` and end with the pool."""
    if not log.exists():
        log.touch()  # a worker takes a missing log for the end of the run, and ends
    pool = WorkerPool(log)
    # gRPC shares ports by default: a second pool would receive requests meant for the first.
    server = grpc.server(ThreadPoolExecutor(_THREADS), options=[("grpc.so_reuseport", 0)])
    beam_fn_api_pb2_grpc.add_BeamFnExternalWorkerPoolServicer_to_server(pool, server)
    try:
        address = f"127.0.0.1:{server.add_insecure_port(f'127.0.0.1:{port}')}"
    except RuntimeError:
        raise StageError(f"port {port} is taken by another program; choose a free one with --port") from None
    server.start()
    try:
        yield address, pool
    finally:
        pool.close()
        server.stop(None).wait()


class Losing(Protocol):
    """What can lose workers."""

    @property
    def lost(self) -> int:
        """How many are lost."""
        ...


@contextmanager
def worker_losses_reported(pool: Losing, end: Callable[[], object]) -> Iterator[None]:
    """Call `end` when a worker dies during a job, which would otherwise wait for it.

    A WorkerLostError replaces any error of the block if a worker died.
    """
    done = threading.Event()

    def watch() -> None:
        while not done.wait(_WATCH_SECONDS):
            if pool.lost:
                lost.set()
                end()
                return

    lost = threading.Event()
    watching = threading.Thread(target=watch, name="worker-watch", daemon=True)
    watching.start()
    try:
        yield
    except Exception as error:
        if lost.is_set():
            raise WorkerLostError(DIED) from error
        raise
    finally:
        done.set()
        watching.join()


def serve(port: int) -> None:
    """Run a pool until this process is terminated. Workers print to this process's output."""
    os.environ[DRIVER_VARIABLE] = driver_mark()  # workers end with this process, however it ends
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    with worker_pool(Path("/dev/stderr"), port) as (address, _):
        print(f"winnow-boot: ready to start workers at {address}; {versions_here()}", flush=True)
        ended.wait()
    FORK_SERVER.close()


def _is_running(worker: tuple[int, str]) -> bool:
    process, since = worker
    return bool(since) and started(process) == since


def _end(workers: list[tuple[int, str]]) -> None:
    """Ask all workers to end, then kill those that remain."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        for worker in workers:
            if _is_running(worker):
                with suppress(ProcessLookupError):
                    os.kill(worker[0], number)
        until = time.monotonic() + STOP_SECONDS
        while any(_is_running(worker) for worker in workers) and time.monotonic() < until:
            time.sleep(_POLL_SECONDS)
