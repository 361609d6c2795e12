"""`winnow law probe`: trains small language models on mixtures of families, and writes their losses as a table of runs.

The work folder has a record for each finished run and a checkpoint for each run in progress. An interrupted command
continues from there when it is run again, with the same results.
"""

import argparse
import fcntl
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.console import Console

from winnow.filters.extras import required_package
from winnow.runners.stages.law.files import output_path, write_file
from winnow.runners.stages.law.probe_data import PackedTexts, packed_texts
from winnow.runners.stages.law.probe_texts import texts_at
from winnow.runners.stages.law.probe_tokens import tokenizer_at
from winnow.runners.stages.law.views import print_warnings
from winnow.runners.tables.quantities import grouped
from winnow.runners.tables.table import Table, each, heads
from winnow.runners.tables.units import BYTES, COUNT
from winnow.runners.terminal.progress.status import Status
from winnow.runners.terminal.progress.status_line import StatusLine
from winnow.runners.terminal.tables import print_line, print_tables
from winnow.schemas.errors import SourceError, WinnowError
from winnow.schemas.recipe.nodes import MAX_FILE_BYTES
from winnow.schemas.records import from_json, to_json
from winnow.scoring.probe.grid import Grid, Run, default_grid, grid_from_yaml
from winnow.scoring.probe.streams import Stream, enough, require_enough, windows_of
from winnow.scoring.probe.training import (
    UNITS,
    RunResult,
    Training,
    checkpoint_bytes,
    deterministic,
    restore_checkpoint,
    runs_csv,
)

_MANY_PASSES: Final = 4.0
"""Up to four passes, repeated text is worth nearly as much as new text (arXiv 2305.16264)."""
_MUCH_UNKNOWN: Final = 0.01
"""The share of unknown tokens above which a family's losses are unreliable."""
_LOCK: Final = "lock"


@dataclass(frozen=True, slots=True)
class Work:
    """The work folder of a probe."""

    folder: Path

    def record(self, name: str) -> Path:
        """The path of a finished run's record."""
        return self.folder / "runs" / f"{name}.json"

    def checkpoint(self, name: str) -> Path:
        """The path of a checkpoint."""
        return self.folder / "runs" / f"{name}.safetensors"

    def clear_unfinished(self) -> None:
        """Remove unfinished files of a killed process. The caller must hold the lock."""
        for unfinished in (*self.folder.glob(".data-*"), *self.folder.glob("runs/.*")):
            if unfinished.is_dir():
                shutil.rmtree(unfinished)
            else:
                unfinished.unlink()

    def finished(self, name: str) -> RunResult | None:
        """The results of a run; None if it is not finished."""
        try:
            raw = self.record(name).read_bytes()
        except FileNotFoundError:
            return None
        return from_json(RunResult, raw, str(self.record(name)))


def run(options: argparse.Namespace, console: Console) -> int:
    """Pack the texts, train the remaining runs, and write the table."""
    output = output_path("--output", options.output)
    assert output is not None
    for option, value, most in (
        ("--threads", options.threads, 1024),
        ("--checkpoint-steps", options.checkpoint_steps, 10**9),
    ):
        if not 1 <= value <= most:
            raise WinnowError(f"{option} {value}: expected 1 to {most}")
    grid = default_grid() if options.grid is None else read_grid(options.grid)
    if not options.partial:
        _require_torch(options.device)
    tokenizer = None if grid.tokenizer is None else tokenizer_at(grid.tokenizer, Path(options.grid))
    work = Work(Path(options.work) if options.work else output.with_suffix(".work"))
    if not work.folder.parent.is_dir():
        raise WinnowError(f"--work {work.folder}: its folder does not exist; create it first")
    texts = texts_at(options.place, grid.families, grid.grouping)
    (work.folder / "runs").mkdir(parents=True, exist_ok=True)
    with _lock_folder(work.folder):
        work.clear_unfinished()
        packed = packed_texts(texts, grid, work.folder, tokenizer)
        families = _families(grid, packed, console)
        streams = packed.streams(families)
        require_enough(streams, grid.schedule.context)
        content = packed.content(families)
        runs = {one.name(content): one for one in grid.runs(families)}
        _print_texts(packed, families, runs, streams, grid, console)
        found = _finished(work, runs)
        if not options.partial:
            _train(options, work, runs, packed, console)
            found = _finished(work, runs)
    return _write(output, runs, found, UNITS if tokenizer is None else UNITS | tokenizer.units, console)


def read_grid(name: str) -> Grid:
    """Read a grid file."""
    with open(name, "rb") as stream:
        raw = stream.read(MAX_FILE_BYTES + 1)
    if len(raw) > MAX_FILE_BYTES:
        raise WinnowError(f"{name}: more than {MAX_FILE_BYTES >> 20} MiB; too large for a grid file")
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        raise WinnowError(f"{name}: not UTF-8 text") from None
    return grid_from_yaml(text, name)


def _require_torch(device: str) -> None:
    """Raise if PyTorch, safetensors or the device is missing."""
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # makes CUDA's matrix products deterministic
    torch = required_package("winnow law probe", "torch", "torch")
    required_package("winnow law probe", "safetensors.torch", "torch")
    if device == "cuda" and not torch.cuda.is_available():
        raise WinnowError("--device cuda: PyTorch finds no such device; omit the flag to train on the CPU")


def _families(grid: Grid, packed: PackedTexts, console: Console) -> tuple[str, ...]:
    """The families to train on: the requested ones, or all with enough text."""
    if grid.families:
        return grid.among(packed.sizes)
    streams = packed.streams(tuple(packed.sizes))
    large = {name: packed.sizes[name] for name, one in streams.items() if enough(one, grid.schedule.context) is None}
    if len(large) < 2:
        require_enough(streams, grid.schedule.context)
    left = sorted(streams.keys() - large.keys())
    if left:
        print_warnings(console, [f"{', '.join(left[:12])}{' …' if len(left) > 12 else ''}: too little text, left out"])
    return grid.among(large)


def _finished(work: Work, runs: dict[str, Run]) -> dict[str, RunResult]:
    found = {name: work.finished(name) for name in runs}
    return {name: one for name, one in found.items() if one is not None}


def _train(
    options: argparse.Namespace, work: Work, runs: dict[str, Run], packed: PackedTexts, console: Console
) -> None:
    done = _finished(work, runs)
    todo = {name: one for name, one in runs.items() if name not in done}
    if done and todo:
        print_line(console, f"{grouped(len(done))} of {grouped(len(runs))} runs are finished already")
    progress = _Progress(tuple(runs.values()), tuple(todo.values()), packed.vocabulary)
    with deterministic(options.device, options.threads), StatusLine(console, progress.status(), progress.status):
        for name, one in todo.items():
            measured = _trained(options, work, name, one, packed, progress)
            write_file(work.record(name), to_json(measured))
            work.checkpoint(name).unlink(missing_ok=True)


def _trained(
    options: argparse.Namespace, work: Work, name: str, run: Run, packed: PackedTexts, progress: "_Progress"
) -> RunResult:
    """Train one run, resuming from its checkpoint if there is one."""
    streams = packed.streams(tuple(family for family, _ in run.shares))

    def new_training() -> Training:
        return Training(run, streams, options.device, options.threads, packed.vocabulary)

    training = new_training()
    checkpoint = work.checkpoint(name)
    # A run begun with other threads or on another device starts over, as sums would be rounded differently.
    if checkpoint.is_file() and not restore_checkpoint(training, checkpoint.read_bytes()):
        training = new_training()
    progress.begin(name, run, training.step)
    while not training.finished:
        training.advance()
        if training.step % options.checkpoint_steps == 0 and not training.finished:
            write_file(checkpoint, checkpoint_bytes(training))
        progress.advance(training.step)
    return training.measured(name)


class _Progress:
    """How far the runs are: their steps, weighed by what a step of each costs."""

    def __init__(self, runs: tuple[Run, ...], todo: tuple[Run, ...], vocabulary: int) -> None:
        self._vocabulary, self._all, self._number = vocabulary, len(runs), len(runs) - len(todo)
        self._left = sum(
            self._cost(run, run.steps) for run in todo
        )  # what this process has to do, and what it has done
        self._done, self._tokens, self._step, self._began = 0.0, 0, 0, time.monotonic()
        self._run, self._name = todo[0] if todo else None, ""

    def _cost(self, run: Run, steps: int) -> float:
        return float(steps * run.schedule.step_tokens) * (run.shape.parameters + self._vocabulary * run.shape.width)

    def begin(self, name: str, run: Run, step: int) -> None:
        """A run is begun, or resumed at a step."""
        self._name, self._run, self._step = name, run, step
        self._number += 1
        self._left -= self._cost(run, step)

    def advance(self, step: int) -> None:
        """The run has come to a step."""
        assert self._run is not None
        self._step, self._tokens = step, self._tokens + self._run.schedule.step_tokens
        self._done += self._cost(self._run, 1)

    def status(self) -> Status:
        """What is shown of it."""
        speed = round(self._tokens / max(time.monotonic() - self._began, 1e-3))
        steps = 0 if self._run is None else self._run.steps
        facts = (f"run {self._number} of {self._all}", f"step {grouped(self._step)} of {grouped(steps)}")
        return Status("probe", (*facts, f"{grouped(speed)} tokens/s", self._name), self._done / max(self._left, 1.0))


def _write(
    output: Path, runs: dict[str, Run], found: dict[str, RunResult], units: Mapping[str, str], console: Console
) -> int:
    """Write the table of finished runs, in the order of the grid."""
    measured = [found[name] for name in runs if name in found]
    diverged = [one for one in measured if one.diverged]
    for one in diverged:
        print_warnings(console, [f"run {one.run} diverged and is left out; give its model a lower learning_rate"])
    if len(measured) == len(diverged):
        raise WinnowError("no run is finished, so there is no table to write")
    write_file(output, runs_csv(measured, units).encode())
    missing = len(runs) - len(measured)
    if missing:
        print_warnings(
            console, [f"{grouped(missing)} of {grouped(len(runs))} runs are not finished and not in the table"]
        )
    versions = {(one.torch, one.device, one.threads) for one in measured}
    if len(versions) > 1:
        print_warnings(console, ["runs were trained by different versions of PyTorch, devices or threads"])
    print_line(console, f"runs  {output}")
    sizes = len({one.n for one in measured}), len({one.d for one in measured})
    mode = "" if min(sizes) >= 3 else " --mode gamma"
    print_line(console, f"next  winnow law fit {output}{mode}")
    return 0


def _print_texts(
    packed: PackedTexts,
    families: tuple[str, ...],
    runs: dict[str, Run],
    streams: dict[str, Stream],
    grid: Grid,
    console: Console,
) -> None:
    """Print each family's amount of text, and how often the longest run repeats it."""
    context = grid.schedule.context
    most = dict.fromkeys(families, 0.0)
    for one in runs.values():
        for family, share in one.shares:
            windows = windows_of(streams[family].train, context)
            most[family] = max(most[family], share * one.d / context / windows)
    used = [one for one in packed.index.families if one.family in families]
    size, of = (BYTES, "") if packed.tokenizer is None else (COUNT, "tokens ")
    rows = [(one.family, one.documents, one.train, one.held_out, f"{most[one.family]:.2g}") for one in used]
    sizes = each(size, f"{of}to train on", f"{of}held out")
    columns = heads("family", ("documents", COUNT), *sizes, ("most passes", COUNT))
    lost = [item for item in packed.index.lost.items() if item[1]]
    without = Table("Samples without text", heads("reason", ("samples", COUNT)), lost)
    print_tables(console, Table("Texts", columns, rows), without)
    print_warnings(
        console,
        [
            f"{family}: a run uses its text {passes:.1f} times; the law counts each {streams[family].unit} as new"
            for family, passes in most.items()
            if passes > _MANY_PASSES
        ],
    )
    print_warnings(
        console,
        [
            f"{one.family}: the tokenizer cannot encode {one.unknown_share:.1%} of its text; use another tokenizer"
            for one in used
            if one.unknown_share > _MUCH_UNKNOWN
        ],
    )


@contextmanager
def _lock_folder(folder: Path) -> Iterator[None]:
    """Lock a work folder for one process; the system releases the lock when the process ends."""
    with open(folder / _LOCK, "wb") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SourceError(
                f"{folder}: another probe uses this folder; wait for it, or give another --work"
            ) from None
        yield
