"""A process that has imported what workers need, and forks each worker from itself.

A worker started from scratch imports Beam, numba and the libraries of its stage, a second or two of CPU: longer
than the tasks of a small pipeline take, and one command runs many pipelines. The fork server imports once per
command. Measured with two workers: a pipeline of almost no data takes 0.7 s of CPU with forked workers and 2.5 s with
new ones, and `winnow demo` starts 73 workers, so new ones would add some 65 s of CPU to its 157.

A line of JSON on standard input, a `WorkerRequest`, requests a worker; the answer is a line with its process id. The
fork server ends when its input does, which is when the driver ends. It runs nothing itself, so a worker inherits only
loaded memory: no thread, no connection, no model. While idle it prepares what workers would otherwise
each build: numba's own modules, and tables of characters.
"""

import gc
import json
import os
import select
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from importlib import import_module
from typing import NoReturn

from winnow.pipelines.processes.address_space import prepare_for_memory_limit
from winnow.pipelines.running import worker

IDLE_SECONDS = 0.2  # longer than the interval between the workers of one pipeline


@dataclass(frozen=True, slots=True)
class WorkerRequest:
    """What distinguishes a worker from the fork server."""

    environment: dict[str, str]
    folder: str
    log: str  # a file for its output
    path: list[str] = field(default_factory=lambda: list(sys.path))  # where its driver finds modules

    def line(self) -> bytes:
        """The request line."""
        return json.dumps(asdict(self)).encode() + b"\n"


def main() -> NoReturn:
    """Imports the modules named as arguments, then forks workers until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to the whole group; the driver decides
    signal.signal(signal.SIGCHLD, _reap_workers)
    prepare_for_memory_limit()
    for module in ("apache_beam.runners.worker.sdk_worker_main", *sys.argv[1:]):
        import_module(module)
    _freeze_memory()
    steps = list(_STEPS)
    while line := _asked(steps):
        request = WorkerRequest(**json.loads(line))
        process = os.fork()
        if not process:
            _run_worker(request)
        os.write(1, b"%d\n" % process)
    os._exit(0)  # skips the interpreter's slow teardown of all imports


def _freeze_memory() -> None:
    """Prepares the memory that workers share."""
    gc.collect()
    gc.freeze()  # else a worker's garbage collector would touch, and so copy, shared pages


def _asked(steps: list[Callable[[], object]]) -> bytes:
    """The next request line; runs the remaining preparation steps until it arrives. Requests never overlap."""
    while steps and not select.select([sys.stdin.buffer], [], [], IDLE_SECONDS)[0]:
        steps.pop(0)()
        _freeze_memory()
    return sys.stdin.buffer.readline()


def _load_numba() -> None:
    """Loads what numba loads at the first call of any kernel."""
    from numba.core.registry import cpu_target

    cpu_target.typing_context.refresh()
    cpu_target.target_context.refresh()


def _make_forms() -> None:
    """Builds the table of normal forms. Imported here: every command imports this module, and few need numba."""
    from winnow.filters.duplicates.normal_form import forms

    forms()


_STEPS: Sequence[Callable[[], object]] = (_load_numba, _make_forms)


def _reap_workers(*_: object) -> None:
    """Reaps the workers that have ended, so that their usage is counted."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _run_worker(request: WorkerRequest) -> NoReturn:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    nothing = os.open(os.devnull, os.O_RDONLY)
    try:
        log = os.open(request.log, os.O_WRONLY | os.O_APPEND)
    except FileNotFoundError:  # the driver has removed it: the run is over and needs no worker
        os._exit(0)
    for opened, standard in ((nothing, 0), (log, 1), (log, 2)):
        os.dup2(opened, standard)
    os.chdir(request.folder)
    sys.path[:] = request.path
    os.environ.clear()
    os.environ.update(request.environment)
    worker.main()
    os._exit(1)  # never reached: a worker ends by itself


if __name__ == "__main__":
    main()
