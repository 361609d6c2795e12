"""Fits all families; large tables in several processes, each with one thread of linear algebra.

A second BLAS thread doubles the CPU time of such small matrices without saving time. Families are independent, so
processes that each fit some of them do save time.
"""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait
from typing import Final

from winnow.pipelines.processes.identity import usable_cores
from winnow.schemas.environment.modules import SAFE_PATH
from winnow.schemas.errors import WinnowError
from winnow.scoring.scaling_law.fitting import FamilyFit, FitConfig, LawFit, fit_family
from winnow.scoring.scaling_law.required_runs import require_determined
from winnow.scoring.scaling_law.runs import RunTable

SMALL: Final = 50_000
"""The rows times resamples that one process fits while another would start."""
_ONE_THREAD: Final = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")

Part = Sequence[tuple[int, RunTable]]


def fit_families(table: RunTable, config: FitConfig, fitted: Callable[[str], None]) -> LawFit:
    """Fit all families, in the table's order; `fitted` is called with the name of each finished family.

    SourceError, one line per family and problem, if the table does not determine the law.
    """
    require_determined(table, config.mode, config.min_seeds)
    families = [table.of(family) for family in table.families]
    fits: dict[int, FamilyFit] = {}
    small = len(table) * config.resamples <= SMALL
    for place, fit in _in_this_process(families, config) if small else _in_processes(families, config):
        fits[place] = fit
        fitted(fit.family)
    return LawFit(table, config, tuple(fits[place] for place in range(len(families))))


def _in_this_process(families: Sequence[RunTable], config: FitConfig) -> Iterator[tuple[int, FamilyFit]]:
    for place, rows in enumerate(families):
        yield place, fit_family(rows, config)


def _in_processes(families: Sequence[RunTable], config: FitConfig) -> Iterator[tuple[int, FamilyFit]]:
    count = min(usable_cores(), len(families))
    parts = [list(enumerate(families))[number::count] for number in range(count)]
    with _workers(parts, config) as left:
        while left:
            for end in wait(list(left)):
                assert isinstance(end, Connection)
                try:
                    found = end.recv()
                except EOFError:
                    why = "a process of the fit was killed, perhaps for lack of memory; try again"
                    raise WinnowError(why) from None
                if isinstance(found, WinnowError):
                    raise found
                yield found
                left[end] -= 1
                if not left[end]:
                    del left[end]


@contextmanager
def _workers(parts: Sequence[Part], config: FitConfig) -> Iterator[dict[Connection, int]]:
    """Start a process per part; yields the connections to them, with the number of pending fits."""
    spawn = multiprocessing.get_context("spawn")
    left: dict[Connection, int] = {}
    started = []
    try:
        with _single_threaded_children():
            for part in parts:
                here, there = spawn.Pipe(duplex=False)
                worker = spawn.Process(target=_fit_part, args=(there, part, config), daemon=True)
                worker.start()
                there.close()
                started.append(worker)
                left[here] = len(part)
        yield left
    finally:
        for worker in started:
            worker.terminate()
            worker.join()


def _fit_part(end: Connection, part: Part, config: FitConfig) -> None:
    try:
        for place, rows in part:
            end.send((place, fit_family(rows, config)))
    except WinnowError as error:
        end.send(error)


@contextmanager
def _single_threaded_children() -> Iterator[None]:
    """Let processes started within use one thread and ignore keyboard interrupts."""
    before = {name: os.environ.get(name) for name in (*_ONE_THREAD, *SAFE_PATH)}
    os.environ.update(dict.fromkeys(_ONE_THREAD, "1") | SAFE_PATH)  # read when a process loads its libraries
    main = threading.current_thread() is threading.main_thread()
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN) if main else None
    try:
        yield
    finally:
        if main:
            signal.signal(signal.SIGINT, handler)
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
