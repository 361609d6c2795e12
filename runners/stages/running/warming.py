"""Compiling kernels before they are needed: once per machine and version, announced, and never in the middle of a run.

A kernel is compiled when it is first called, some 200 seconds of a core for all of them. Four processes at a time run
a few dozen texts through what a recipe may ask for: two through operators that need nothing but their settings, one
through deduplication, scores, a mixture and its exports, one through main content and copies of media. Neither a
compiler nor a model gives its memory back, so each step has a process that is forked from one that has imported
everything. What they compile is kept for every process after them (`winnow.schemas.kernels`), and steps whose kernels
are as they were are left out. `winnow assets fetch` does this ahead; commands that run pipelines do it for what their
recipe names, where it is due.
"""

import gc
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from hashlib import blake2b
from importlib import import_module
from pathlib import Path
from typing import Literal

from winnow.pipelines.processes.run_folder import temporary_folder
from winnow.runners.stages.running.warming_steps import (
    PARTS,
    KernelFiles,
    due_steps,
    forked,
    named_in,
    run_step,
    steps_of,
    write_inputs,
)
from winnow.runners.terminal.console import TerminalConsole, is_drawn_on
from winnow.runners.terminal.progress.status import Status
from winnow.runners.terminal.progress.status_line import StatusLine
from winnow.schemas.environment.modules import module_path, python_module
from winnow.schemas.kernel_sources import all_kernels_key
from winnow.schemas.kernels import kernel_folder
from winnow.schemas.problems import one_line
from winnow.schemas.recipe import Recipe, load_recipe

WARMING_VARIABLE = "WINNOW_WARMING"
"""Set in the processes that compile, and by people who want no compiling ahead."""

TOLD_FROM = 0.15
"""The share of kernels before which no time left is said: processes start, import and write their inputs first."""

Warmed = Literal["already", "done", "partly"]
"""Whether all kernels were there, all are compiled now, or some could not be compiled ahead."""

_ERRORS = "errors.txt"
_IMPORTS = (  # of every step; none starts a thread
    "apache_beam.runners.portability.fn_api_runner",
    "duckdb",
    "numba",
    "pyarrow.parquet",
    "winnow.filters.text.language",
    "winnow.runners.commands.core.run",
    "winnow.runners.commands.main",
    "winnow.runners.stages.recipe_run",
)
_THIS = "winnow.runners.stages.running.warming"  # also where this file is run as `__main__`


def warm_kernels(*recipes: Recipe, quiet: bool = False) -> Warmed:
    """Compile what is not compiled yet, and say so on stderr; nothing is done where it cannot be kept.

    A failure is no error: what could not be compiled ahead is compiled when it is called.

    Args:
        recipes: Only what they call is compiled; everything without one.
        quiet: No line is printed.
    """
    folder = kernel_folder()
    if folder is None or os.environ.get(WARMING_VARIABLE):
        return "already"
    named = frozenset[str]().union(*map(named_in, recipes)) if recipes else None
    every, mark = (folder / f"{all_kernels_key()}{of}.warm" for of in ("", _digest(named)))
    if every.exists() or mark.exists():
        return "already"
    files, began = KernelFiles.below(folder), time.monotonic()
    due = {part: due_steps(steps_of(part, named), files) for part in PARTS}
    parts = [part for part, steps in due.items() if steps]
    if not parts:  # what has changed are no kernels
        mark.touch()
        return "already"
    console = TerminalConsole(stderr=True, quiet=quiet)
    called = files.called_by(step for steps in due.values() for step in steps)
    whole = files.missing(called)

    def compiled() -> int:
        return whole - files.missing(called)

    def status() -> Status:
        fact = f"compiling for this machine, once: {compiled()} of at most {whole}"
        if not whole:  # operators have changed, which may call what is not compiled yet
            fact = "checking what is left to compile for this machine"
        share = min(compiled() / max(whole, 1), 0.99)  # kernels of missing extras never are
        return Status("kernels", (fact,), share, told_from=TOLD_FROM)

    if not is_drawn_on(console):
        console.print(status().line())
    with temporary_folder("kernels") as scratch, StatusLine(console, status(), status):
        reasons = [_last_line(folder) for folder in _failed(Path(scratch), parts, named)]
    mark.touch()  # also after a failure: trying again in each run would cost more than compiling what is called
    console.print(f"kernels  {compiled()} compiled in {time.monotonic() - began:.0f} s, kept in {folder}")
    for reason in reasons:
        what = f"kernels  not all could be compiled ahead; the rest is compiled when it is called: {reason}"
        console.print(what)
    return "partly" if reasons else "done"


def _digest(named: frozenset[str] | None) -> str:
    return "" if named is None else f".{blake2b(repr(sorted(named)).encode(), digest_size=12).hexdigest()}"


def _failed(scratch: Path, parts: Sequence[str], named: frozenset[str] | None) -> list[Path]:
    """Compile what parts need; returns the folders of the parts in which something failed."""
    for part in parts:
        (scratch / part).mkdir(parents=True)
    running: dict[str, subprocess.Popen[bytes]] = {}
    failed = []
    try:
        for part in parts:
            running[part] = _process(part, scratch / part, named)
        while running:
            for part, process in list(running.items()):
                try:
                    status = process.wait(timeout=0.1)
                except subprocess.TimeoutExpired:
                    continue
                del running[part]
                if status:
                    failed.append(scratch / part)
    finally:
        for process in running.values():  # interrupted: none may go on compiling, and writing to a folder that goes
            _end(process)
    return failed


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End a part and the steps forked from it, however long a kernel keeps them from listening."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _process(part: str, folder: Path, named: frozenset[str] | None) -> "subprocess.Popen[bytes]":
    with (folder / _ERRORS).open("ab") as errors:
        return subprocess.Popen(
            python_module(_THIS, part, *sorted(named or ())),
            cwd=folder,
            env={**os.environ, **module_path(), WARMING_VARIABLE: "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            process_group=0,  # with the processes forked from it
        )


def _last_line(folder: Path) -> str:
    """What a process said last before it failed."""
    lines = (folder / _ERRORS).read_text("utf-8", "replace").splitlines()
    return one_line(next((line for line in reversed(lines) if line.strip()), "no reason given"))


def main(part: str, named: frozenset[str] | None) -> int:
    """Run the steps of one part that are due, in the working folder."""
    folder = kernel_folder()
    assert folder is not None
    files = KernelFiles.below(folder)
    if forked(write_inputs):  # encoders and tokenizers start threads
        return 1
    for module in _IMPORTS:
        import_module(module)
    gc.freeze()  # a compiler makes objects by the million: each full collection would look at all modules again
    return int(sum(run_step(step, files) for step in due_steps(steps_of(part, named), files)) > 0)


if __name__ == "__main__":
    if sys.argv[1:2] and sys.argv[1] in PARTS:
        sys.exit(main(sys.argv[1], frozenset(sys.argv[2:]) or None))
    sys.exit(warm_kernels(*map(load_recipe, sys.argv[1:])) == "partly")
