"""What every machine of a cluster is asked before it reads anything: one line for each thing that would fail there.

A small job goes out to all workers. The first task of each process looks at its machine, and waits a moment, so that
tasks also reach machines whose workers start later. What it found travels on to a worker that can put it into the
store, as its own machine may be one that cannot. Of a machine that joins later, the errors of its tasks say what is
wrong.
"""

import os
import secrets
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import apache_beam as beam
from rich.console import Console

from winnow.pipelines.assets.cached import cache_folder
from winnow.pipelines.assets.node_files import taken, this_node
from winnow.pipelines.running.exchange import clear_scratch
from winnow.pipelines.running.on_node import host_name
from winnow.pipelines.running.version_handshake import unlike_driver, versions_here
from winnow.pipelines.running.worker import prepare_worker
from winnow.pipelines.store import layout
from winnow.pipelines.store.clock import put_at
from winnow.pipelines.store.generations import Store
from winnow.runners.engines.engine import Engine, staged
from winnow.runners.engines.failures import WorkerLostError
from winnow.runners.stages.running.warming_steps import PARTS, KernelFiles, due_steps, named_in, steps_of
from winnow.schemas.counts import count_of
from winnow.schemas.errors import StageError, WinnowError
from winnow.schemas.kernels import kernel_folder
from winnow.schemas.recipe import Recipe
from winnow.schemas.records import from_json, to_json

TASKS = 256  # more than a cluster has slots; all but the first of a process end at once
HOLD_SECONDS = 1.0  # that the first task of a process lasts at least
CLOCK_SECONDS = 300.0  # services refuse requests that are signed a quarter of an hour from their time
FREE_SHARDS = 2  # of which a worker's temporary folder takes the files: what it writes, and a file of an exchange
KERNEL_SECONDS = 0.5  # that compiling a kernel takes, about
_NAMED = 6  # machines in a line
_UNUSABLE = "the store cannot be used from here"
_PROCESS = secrets.token_hex(8)  # containers may share a host's name and process ids, forks this token


@dataclass(frozen=True, slots=True)
class NodeReport:
    """What one machine says of itself."""

    host: str
    problems: tuple[str, ...]
    kernels: int | None  # that are not compiled; None if it has no folder to keep them
    process: str = ""  # of the machine, that looked at it

    def merged(self, other: "NodeReport") -> "NodeReport":
        """What both say: a problem of any process is one of the machine."""
        kernels = None if self.kernels is None or other.kernels is None else max(self.kernels, other.kernels)
        return replace(self, problems=tuple(dict.fromkeys((*self.problems, *other.problems))), kernels=kernels)


@dataclass(frozen=True)
class NodeCheck:
    """What machines are asked. Picklable."""

    store: Store
    scratch: str
    named: frozenset[str]  # what the recipe names that kernels are for
    driver: str  # its versions

    def report(self) -> NodeReport:
        """Look at this machine."""
        if (unlike := unlike_driver(self.driver)) is not None:  # what else it says may mean something else
            return NodeReport(host_name(), (unlike,), 0, _process())
        problems = (*self._store(), *self._room())
        return NodeReport(host_name(), problems, 0 if problems else _kernels(self.named), _process())

    def put(self, report: NodeReport) -> None:
        """Put a report where the driver finds it."""
        self.store.objects.put(f"{self.scratch}/reports/{report.host}-{report.process}.json", to_json(report))

    def reports(self) -> list[NodeReport]:
        """Those that were put, one for each machine."""
        objects, found = self.store.objects, dict[str, NodeReport]()
        for info in objects.list(f"{self.scratch}/reports/"):
            report = from_json(NodeReport, objects.read(info.path), info.path)
            found[report.host] = report if report.host not in found else found[report.host].merged(report)
        return list(found.values())

    def _store(self) -> Iterator[str]:
        """The store can be written and read, at about the time that the clock here shows, and has what is missing."""
        objects, path = self.store.objects, f"{self.scratch}/probes/{host_name()}-{_process()}"
        content, now = secrets.token_bytes(64), time.time()
        try:
            objects.put(path, content)
            if objects.read(path) != content:
                yield f"{objects.root}: what was just written reads differently; use a store with consistent reads"
            there = put_at(objects, path)
            objects.delete(path)
        except (WinnowError, OSError) as error:
            yield f"{_UNUSABLE}: {error}"
            return
        if there is not None and abs(now - there) > CLOCK_SECONDS:
            ahead = "ahead of" if now > there else "behind"
            yield (
                f"the clock is {abs(now - there):.0f} s {ahead} the store's, whose service may refuse requests; run: "
                "timedatectl set-ntp true"
            )
        yield from _files()

    def _room(self) -> Iterator[str]:
        """The temporary folder takes what a task writes."""
        try:
            folder = tempfile.gettempdir()
        except FileNotFoundError:
            yield "no folder for temporary files can be written; set TMPDIR to one that can"
            return
        free, needed = shutil.disk_usage(folder).free, FREE_SHARDS * self.store.record.shard_bytes
        if free < needed:
            yield f"{folder} has {free >> 20:,} MiB left, but tasks need {needed >> 20:,} MiB; free some, or set TMPDIR"


def _files() -> Iterator[str]:
    """Take what the recipe needs from the store, or say what cannot be had."""
    node = this_node()
    for file in () if node is None else node.files:
        name = str(cache_folder() / file.name) if file.is_asset else file.name
        try:
            taken(name)
        except (WinnowError, OSError) as error:
            yield str(error)


def _process() -> str:
    return f"{os.getpid()}-{_PROCESS}"


def _kernels(named: frozenset[str]) -> int | None:
    """How many kernels are to be compiled here, at most; None if they cannot be kept."""
    folder = kernel_folder()
    if folder is None:
        return None
    files = KernelFiles.below(folder)
    due = [step for part in PARTS for step in due_steps(steps_of(part, named), files)]
    return files.missing(files.called_by(due)) if due else 0


_checked: set[str] = set()  # by this process
_checking = threading.Lock()  # an engine may give a process several tasks at once


class CheckNode(beam.DoFn):
    """Any number → the report of the machine that got it, if it was the first one of its process."""

    def __init__(self, check: NodeCheck) -> None:
        self._check = check

    def setup(self) -> None:
        """Prepare the process."""
        prepare_worker()

    def process(self, element: int) -> Iterator[bytes]:  # noqa: ARG002  # only how many there are matters
        """Look at the machine, once."""
        with _checking:
            if self._check.scratch in _checked:
                return
            _checked.add(self._check.scratch)
        began = time.monotonic()
        try:
            report = self._check.report()
        except BaseException:  # another try looks again
            _checked.discard(self._check.scratch)
            raise
        time.sleep(max(HOLD_SECONDS - (time.monotonic() - began), 0.0))
        yield to_json(report)


class PutReport(beam.DoFn):
    """A report → the machine's name, once the driver can read the report."""

    def __init__(self, check: NodeCheck) -> None:
        self._check = check

    def process(self, element: bytes) -> Iterator[str]:
        """Put it; where that fails, engines try other machines."""
        report = from_json(NodeReport, element, "a report of a machine")
        try:
            self._check.put(report)
        except (WinnowError, OSError) as error:
            raise StageError(f"{host_name()}: {_UNUSABLE}: {error}") from None
        yield report.host


_ready: set[tuple[Engine, str]] = set()


def check_nodes(engine: Engine, store: Store, recipe: Recipe, console: Console) -> None:
    """Ask the machines of a cluster, once a command, whether they can run the recipe.

    StageError with a line for each thing that would fail on one of them.
    """
    if (engine, store.objects.root) in _ready:
        return
    scratch = f"{layout.SCRATCH}nodes-{secrets.token_hex(4)}"
    check = NodeCheck(store, scratch, named_in(recipe), versions_here())
    wrong: list[str] = []
    try:
        try:
            engine.run(staged("nodes", partial(_build, check)), stage="nodes")
        except WorkerLostError:  # the caller tries again
            raise
        except WinnowError as error:
            wrong.append(str(error))
        reports = check.reports()
    finally:
        clear_scratch(store.objects, scratch)
    wrong += [f"{one.host}: {problem}" for one in reports for problem in one.problems]
    if wrong:
        raise StageError("\n".join(dict.fromkeys(wrong)))
    _print(reports, console)
    _ready.add((engine, store.objects.root))


def _build(check: NodeCheck, pipeline: beam.Pipeline) -> None:
    _ = (
        pipeline
        | "Nodes" >> beam.Create(range(TASKS), reshuffle=False).with_output_types(int)
        | "Spread" >> beam.Reshuffle().with_output_types(int)
        | "CheckNode" >> beam.ParDo(CheckNode(check)).with_output_types(bytes)
        | "Return" >> beam.Reshuffle().with_output_types(bytes)
        | "PutReport" >> beam.ParDo(PutReport(check)).with_output_types(str)
    )


def _print(reports: list[NodeReport], console: Console) -> None:
    """Say which machines are ready, and which will compile first."""
    names = [one.host for one in reports]
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    lines = [f"nodes    {count_of(len(names), 'machine')} ready: {', '.join(names[:_NAMED])}{more}"]
    for one in reports:
        if one.kernels is None:
            said = "no folder for compiled kernels, so each process compiles its own; set NUMBA_CACHE_DIR"
        elif one.kernels:
            minutes = f"{max(one.kernels * KERNEL_SECONDS / 60, 1):.0f} min"
            said = f"at most {one.kernels:,} kernels are not compiled, which takes some {minutes} when they are called"
        else:
            continue
        lines.append(f"nodes    {one.host}: {said}")
    for line in lines:
        console.print(line)
