"""Kernels are compiled before a run needs them, once for a machine and version, and announced."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from winnow.runners.commands.main import Terminated, main
from winnow.runners.stages.running.warming import WARMING_VARIABLE, warm_kernels
from winnow.runners.stages.running.warming_steps import PARTS, KernelFiles, due_steps, named_in, steps_of
from winnow.schemas import kernels
from winnow.schemas.kernel_sources import all_kernels_key, imports_digest
from winnow.schemas.recipe import load_recipe

MEASURED = """\
import resource, subprocess, sys
status = subprocess.run(sys.argv[1:]).returncode
print("peak", resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
sys.exit(status)
"""


def winnow(folder: Path, cache: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run a command; the last line of stderr is the most that one of its processes held, in KiB."""
    environment = {name: value for name, value in os.environ.items() if name != WARMING_VARIABLE}
    return subprocess.run(
        [sys.executable, "-c", MEASURED, sys.executable, "-m", "winnow", *arguments],
        cwd=folder,
        env=environment | {kernels.FOLDER_VARIABLE: str(cache)},
        capture_output=True,
        text=True,
        check=True,
    )


def compiled(cache: Path) -> set[Path]:
    return set(cache.rglob("*.nbc"))


@pytest.mark.large
def test_a_run_after_fetching_compiles_nothing(tmp_path: Path) -> None:
    cache = tmp_path / "kernels"
    first = winnow(tmp_path, cache, "assets", "fetch")
    assert re.match(r"kernels +0 %  compiling for this machine, once: 0 of at most \d+\n", first.stderr)
    assert "not all could be compiled ahead" not in first.stderr
    assert int(first.stderr.split()[-1]) < 1 << 20
    before = compiled(cache)
    assert len(before) > 100
    files = KernelFiles.below(cache)
    assert files.missing(files.kernels) < 0.05 * sum(files.kernels.values())  # so the share shown is right
    winnow(tmp_path, cache, "demo", "--workers", "2")
    assert compiled(cache) == before
    assert "kernels  already compiled" in winnow(tmp_path, cache, "assets", "fetch").stdout


FAULTY = """\
version: 1
store: {path: store}
sources: {pages: {root: ROOT, files: ["*.jsonl"], class: web}}
annotate: [text.language, text.fineweb]
"""


@pytest.mark.parametrize(
    ("root", "rules", "message"),
    [
        (".", "keep: [{preset: multilingual}]", "text.fineweb2 is not measured"),
        ("missing", "", "missing"),
        (".", "mix: {unit: samples, budget: 5, families: {law: none.json}}", "none.json"),
        (".", "export: [{parquet: {path: out}}]", "'export' needs a mixture"),
    ],
)
def test_a_faulty_recipe_is_refused_before_anything_is_compiled(
    root: str,
    rules: str,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "r.yaml").write_text(FAULTY.replace("ROOT", root) + rules)
    (tmp_path / "pages.jsonl").write_text('{"text": "a page"}')
    monkeypatch.chdir(tmp_path)
    assert main(["run", "r.yaml"]) == 1  # what it imports keeps kernels where other tests of this process find them
    capfd.readouterr()
    monkeypatch.delenv(WARMING_VARIABLE)
    monkeypatch.setenv(kernels.FOLDER_VARIABLE, str(tmp_path / "kernels"))
    kernels.kernel_folder.cache_clear()
    try:
        assert main(["run", "r.yaml"]) == 1
    finally:
        kernels.kernel_folder.cache_clear()
    printed = capfd.readouterr()
    assert message in printed.err
    assert "compiling for this machine" not in printed.err
    assert not compiled(tmp_path)


@pytest.fixture
def own_kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder of kernels, that of this process."""
    monkeypatch.delenv(WARMING_VARIABLE)
    monkeypatch.setenv(kernels.FOLDER_VARIABLE, str(tmp_path))
    kernels.kernel_folder.cache_clear()
    yield tmp_path
    kernels.kernel_folder.cache_clear()


def test_an_interrupt_ends_what_compiles(own_kernels: Path, capfd: pytest.CaptureFixture[str]) -> None:
    seen = []

    def terminate(number: int, frame: object) -> None:
        seen.append(len(_compiling(own_kernels)))
        if len(seen) > 1 and min(seen[-2:]) >= len(PARTS):  # all have been started, perhaps with steps of theirs
            raise Terminated
        signal.setitimer(signal.ITIMER_REAL, 0.1)  # not before this look has ended, however busy the machine is

    before = signal.signal(signal.SIGALRM, terminate)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        with pytest.raises(Terminated):
            warm_kernels()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    ends = time.monotonic() + 30
    while _compiling(own_kernels) and time.monotonic() < ends:  # a killed process is gone when it is its turn
        time.sleep(0.05)
    assert _compiling(own_kernels) == []
    assert not list(own_kernels.glob("*.warm"))  # so the next command compiles
    assert "compiled in" not in capfd.readouterr().err


def _compiling(cache: Path) -> list[int]:
    """The processes that compile kernels into a folder."""
    wanted = f"{kernels.FOLDER_VARIABLE}={cache}".encode()
    found = []
    for one in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended
            if b"running.warming" in (one / "cmdline").read_bytes() and wanted in (one / "environ").read_bytes():
                found.append(int(one.name))
    return found


def test_nothing_is_started_where_all_is_compiled(own_kernels: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (own_kernels / f"{all_kernels_key()}.warm").touch()
    assert warm_kernels() == "already"
    assert capfd.readouterr() == ("", "")


_FIRST_STEP = """
import sys
from pathlib import Path
from winnow.runners.stages.running.warming_steps import KernelFiles, forked, run_step, steps_of, write_inputs

step, files = steps_of("stages")[0], KernelFiles.below(Path.cwd())
without = run_step(step, files)
print("step: " + ("failed" if without else "done") + (", marked" if files.marked(step) else ""), flush=True)
assert forked(write_inputs) == 0
print("step: " + ("failed" if run_step(step, files) else "done"), flush=True)
"""


def _first_step_apart(folder: Path) -> list[str]:
    """What becomes of a step without its inputs, then with them.

    In a new process: this one has threads, whose locks a fork would keep.
    """
    done = subprocess.run([sys.executable, "-c", _FIRST_STEP], cwd=folder, check=True, capture_output=True, text=True)
    return [line.removeprefix("step: ") for line in done.stdout.splitlines() if line.startswith("step: ")]


@pytest.mark.processes
def test_a_step_is_marked_when_it_has_ended_and_runs_again_only_where_kernels_that_it_called_have_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(WARMING_VARIABLE, "1")
    monkeypatch.chdir(tmp_path)
    files, steps = KernelFiles.below(tmp_path), steps_of("stages")
    assert due_steps(steps, files) == steps  # nothing is marked
    assert files.called_by(steps) == {*files.kernels}  # so anything may be called
    assert _first_step_apart(tmp_path) == ["failed", "done"]
    assert not files.is_due(steps[0])
    assert "filters/extraction/visible_text.py" in files.called_by(steps[:1]) != {*files.kernels}
    assert due_steps(steps[:1], files) == []
    assert due_steps(steps[:2], files) == steps[:2]  # the second goes on in the store of the first
    mark = tmp_path / steps[0].mark
    marked = json.loads(mark.read_text())
    for path in marked:
        mark.write_text(json.dumps({**marked, path: "of other sources"}))
        assert due_steps(steps[:1], files) == steps[:1]
    mark.write_text(json.dumps(marked))
    assert due_steps(steps[:1], files) == []


def test_nothing_is_compiled_where_what_has_changed_are_no_kernels(
    own_kernels: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    files = KernelFiles.below(own_kernels)
    for part in PARTS:
        for step in steps_of(part):
            files.mark(step, ["filters/extraction/visible_text.py"])
    assert warm_kernels() == "already"
    assert [one.name for one in own_kernels.glob("*.warm")] == [f"{all_kernels_key()}.warm"]
    assert capfd.readouterr() == ("", "")


def test_a_recipe_compiles_only_what_it_names(own_kernels: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (own_kernels / "r.yaml").write_text(
        'version: 1\nstore: {path: s}\nsources: {pages: {root: ., files: ["*"], class: web}}\nannotate: [text.length]\n'
    )
    recipe = load_recipe(str(own_kernels / "r.yaml"))
    assert named_in(recipe) == {"text.length"}
    files, needed = KernelFiles.below(own_kernels), [steps_of(part, named_in(recipe)) for part in PARTS]
    assert [len(steps) for steps in needed[:2]] == [3, 0]  # all stages, but neither extraction nor pictures
    (step,) = (step for steps in needed[2:] for step in steps)
    assert step.operators == ("text.length",)  # and not the other one of its step for all recipes
    assert step.whole is not None
    assert set(step.operators) < set(step.whole.operators)
    files.mark(step.whole, [])
    assert not files.is_due(step)  # all that it calls has been compiled with more
    for step in (one for steps in needed for one in steps):
        files.mark(step, [])
    assert warm_kernels(recipe) == "already"
    assert capfd.readouterr() == ("", "")
    (mark,) = own_kernels.glob("*.warm")
    assert mark.name != f"{all_kernels_key()}.warm"  # what other recipes call is still to be compiled


def test_an_operator_is_tried_anew_where_its_imports_have_changed_and_not_where_a_message_has(
    own_kernels: Path, tmp_path: Path
) -> None:
    source = tmp_path / "one.py"
    source.write_text('from winnow.filters.text import length\nraise ValueError("a message")\n')
    before = imports_digest(source)
    source.write_text('from winnow.filters.text import length\nraise ValueError("another")\n')
    assert imports_digest(source) == before
    source.write_text("from winnow.filters.text import (\n    length,\n    digest,\n)\n")
    assert imports_digest(source) != before
