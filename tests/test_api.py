"""The public names, from Python."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import winnow
from tests.faults.crawl import write_crawl, write_recipe


def test_a_recipe_runs_and_its_store_is_read_from_python(tmp_path: Path) -> None:
    write_crawl(tmp_path, archives=1, pages=5, lines=50)
    recipe = winnow.load_recipe(write_recipe(tmp_path, "main"))
    assert isinstance(recipe, winnow.Recipe)
    outcome = winnow.run(recipe, workers=1)
    assert outcome.new
    assert not winnow.run(tmp_path / "recipe.yaml", workers=1).new
    store = winnow.open_store(tmp_path / "store")
    generation = store.require_latest()
    assert generation.tree_hash == outcome.generation.tree_hash
    rows = [batch for row in store.manifest(generation, "extract.main") for batch in store.batches(row, ["text"])]
    assert sum(batch.num_rows for batch in rows) == 5 + 40


def test_every_public_name_is_there() -> None:
    assert all(getattr(winnow, name) is not None for name in winnow.__all__)


@pytest.mark.processes
def test_a_clone_in_the_working_directory_does_not_hide_the_package(tmp_path: Path) -> None:
    """A clone is a folder `winnow` with another one inside, but no package itself."""
    root = Path(__file__).resolve().parents[1]
    for name in ("winnow", "schemas", "docs"):
        (tmp_path / "winnow" / name).mkdir(parents=True)
    done = subprocess.run(
        [sys.executable, "-c", "import winnow; print(winnow.open_store.__module__)"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == ["winnow.runners.notebook.opened_store"], done.stderr
    makefile = (root / "Makefile").read_text("utf-8")
    assert "editable_mode=compat" in makefile
    assert not re.findall(r"^\t.*--editable", makefile, re.MULTILINE)  # all by EDITABLE


@pytest.mark.processes
def test_a_script_is_not_told_what_beam_cannot_reach(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import winnow; winnow.run, winnow.operator; import apache_beam"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("", "")
