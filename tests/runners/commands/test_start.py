"""What a command loads: help nothing heavy, and only what runs pipelines loads Beam."""

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("apache_beam", "duckdb", "numba", "numpy", "pyarrow", "torch")
RECIPE = "version: 1\nstore: {path: store}\nsources: {pages: {root: pages, files: ['*.txt'], class: web}}\n"
CODE = """
import sys
from winnow.runners.commands.main import main
try:
    status = main(sys.argv[2:])
except SystemExit as end:
    status = end.code
print(status, sorted(set(sys.argv[1].split(",")) & set(sys.modules)), file=sys.stderr)
"""


def loaded(*arguments: str, cwd: Path | None = None, watched: tuple[str, ...] = HEAVY) -> str:
    """The status of a command, and which of the heavy packages it loaded."""
    done = subprocess.run(
        [sys.executable, "-c", CODE, ",".join(watched), *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stderr.splitlines()[-1]


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["run", "--help"], ["law", "fit", "--help"]])
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    assert loaded(*arguments) == "0 []"


def test_what_runs_no_pipeline_loads_no_beam(tmp_path: Path) -> None:
    folder = tmp_path
    (folder / "pages").mkdir()
    (folder / "pages" / "one.txt").write_text("A page of plain text.")
    (folder / "recipe.yaml").write_text(RECIPE)
    beam = ("apache_beam",)
    assert loaded("run", "recipe.yaml", "--workers", "1", cwd=folder, watched=beam) == "0 ['apache_beam']"
    for command in (["plan"], ["stats"], ["audit"], ["report"], ["gc", "--dry-run"]):
        assert loaded(command[0], "recipe.yaml", *command[1:], cwd=folder, watched=beam) == "0 []", command
    for alone in (["operators"], ["assets"], ["engines"], ["curve", "fineweb"], ["law", "published"]):
        assert loaded(*alone, cwd=folder, watched=beam) == "0 []", alone
