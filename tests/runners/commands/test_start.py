"""What a command loads: help nothing heavy, and only what runs pipelines loads Beam."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.faults.winnow import ended, run_here
from tests.messages import assert_told
from winnow.runners.commands.main import main
from winnow.runners.commands.manage import operators

HEAVY = ("apache_beam", "duckdb", "numba", "numpy", "pyarrow", "rich", "torch")
RECIPE = "version: 1\nstore: {path: store}\nsources: {pages: {root: pages, files: ['*.txt'], class: web}}\n"
CODE = """
import json, sys
from winnow.runners.commands.main import main
watched, *commands = json.loads(sys.argv[1])
statuses = set()
for command in commands:
    try:
        statuses.add(main(command))
    except SystemExit as end:
        statuses.add(end.code)
print(*statuses, sorted(set(watched) & set(sys.modules)), file=sys.stderr)
"""


def loaded(*commands: list[str], cwd: Path | None = None, watched: tuple[str, ...] = HEAVY) -> str:
    """The statuses of commands in one process, and which of the heavy packages they loaded."""
    done = subprocess.run(
        [sys.executable, "-c", CODE, json.dumps([watched, *commands])],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stderr.splitlines()[-1]


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["run", "--help"], ["law", "fit", "--help"]])
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    slow = () if arguments == ["--version"] else ("importlib.metadata",)  # as long as all of help
    assert loaded(arguments, watched=(*HEAVY, *slow)) == "0 []"


@pytest.mark.processes
def test_what_runs_no_pipeline_loads_no_beam(tmp_path: Path) -> None:
    folder = tmp_path
    (folder / "pages").mkdir()
    (folder / "pages" / "one.txt").write_text("A page of plain text.")
    (folder / "recipe.yaml").write_text(RECIPE)
    ended(run_here(folder, "run", "recipe.yaml", "--workers", "1"))
    watched = ("apache_beam", "duckdb")
    of_recipe = [[name, "recipe.yaml", *more] for name, *more in (["plan"], ["stats"], ["report"], ["gc"])]
    alone = [["operators"], ["assets"], ["engines"], ["curve", "fineweb"], ["law", "published"]]
    assert loaded(*of_recipe, *alone, cwd=folder, watched=watched) == "0 ['duckdb']"


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("can't start new thread"),
        ImportError("cygrpc.so: failed to map segment from shared object"),
    ],
)
def test_a_lack_of_memory_is_one_line_however_it_shows(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def lacking(_: object) -> int:
        raise error

    monkeypatch.setattr(operators, "COMMAND", replace(operators.COMMAND, run=lacking))
    assert main(["operators"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert_told(line, "process more")


def test_other_errors_are_not_taken_for_a_lack_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def faulty(_: object) -> int:
        raise RuntimeError("a fault")

    monkeypatch.setattr(operators, "COMMAND", replace(operators.COMMAND, run=faulty))
    with pytest.raises(RuntimeError, match="a fault"):
        main(["operators"])
