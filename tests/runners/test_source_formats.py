"""A source format of an installed third-party package: commands read its files, and no file of winnow knows it."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from shutil import copytree

import pytest

from tests.faults.winnow import ended, run, run_here
from tests.messages import assert_told, assert_told_each
from winnow.pipelines.binding.sources import bind_source
from winnow.pipelines.ingest.formats import find_format
from winnow.pipelines.ingest.formats.source_format import OpenFile
from winnow.pipelines.ingest.records import ReadLimits, Span
from winnow.pipelines.ingest.tiling.claims import Claim
from winnow.schemas.recipe import recipe_from_text

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "winnow_fortune"
RECIPE = """
version: 1
store: {path: store}
sources:
  sayings: {root: sayings, files: ["*.fortune"], class: own, format: fortune}
annotate: [text.length]
"""
FORTUNES = [f"A saying of several words, and the number of it is {number}.\n%\n".encode() for number in range(20)]
RAW = b"".join([*FORTUNES, b"%\n", b"\xff\n%\n", b"The last one."])


@pytest.fixture(scope="module")
def fortune(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The package where pip installed it; found by this process, and by those that it starts."""
    folder = tmp_path_factory.mktemp("packages")
    tree = copytree(EXAMPLE, folder / "tree")  # a copy, as building leaves things behind
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
    subprocess.run([*pip, f"--target={folder / 'site'}", str(tree)], check=True, capture_output=True)
    paths = [str(folder / "site"), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
        patch.syspath_prepend(folder / "site")
        yield


@pytest.fixture
def sayings(tmp_path: Path, fortune: None) -> Path:
    (tmp_path / "sayings").mkdir()
    for name in ("one.fortune", "two.fortune"):
        (tmp_path / "sayings" / name).write_bytes(RAW)
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    return tmp_path


def test_look_and_init_know_its_files_and_write_its_name(sayings: Path) -> None:
    (found,) = json.loads(ended(run_here(sayings, "look", "sayings", "--json")))["sources"]
    assert (found["content"], found["files"], found["rows_read"]) == ("fortune", ["*.fortune"], 42)
    assert found["dropped"] == {"empty": 2}
    assert found["quarantined"] == {"bad_utf8": 2}
    ended(run_here(sayings, "init", "sayings", "--output", "made.yaml"))
    assert "format: fortune" in (sayings / "made.yaml").read_text()
    ended(run_here(sayings, "plan", "made.yaml"))


@pytest.mark.processes
def test_ingest_reads_it_in_processes_of_its_own_and_the_audit_proves_every_range(sayings: Path) -> None:
    ended(run(sayings, "run", "recipe.yaml", "--workers", "2"))
    (source,) = json.loads(ended(run_here(sayings, "stats", "store", "--json")))["sources"]
    assert (source["samples"], source["quarantined"]) == (42, {"bad_utf8": 2})
    said = ended(run_here(sayings, "audit", "recipe.yaml"))
    assert f"2 source files, {2 * len(RAW):,} bytes: every range is accounted for exactly once" in said.replace(
        "\n", " "
    )


def test_the_audit_counts_with_the_format_s_own_counter(fortune: None) -> None:
    file = OpenFile(io.BytesIO(b"a\n%\nb\n%\n"), "x.fortune", 8, ReadLimits())
    found = find_format("fortune")
    assert found.check_claims(file, [Claim(Span(0, 4), True), Claim(Span(4, 4), True)]) == []
    assert_told_each(found.check_claims(file, [Claim(Span(0, 8), True)]), ("1 records", "2"))
    assert found.check_claims(file, [Claim(Span(0, 4), True)]) != []


def test_samples_of_another_version_are_others(sayings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = recipe_from_text(RECIPE.replace("root: sayings", f"root: {sayings / 'sayings'}"))
    source = bind_source(recipe, recipe.sources[0])
    first = source.key(ReadLimits())
    module = import_module("winnow_fortune")
    monkeypatch.setattr(module, "FORMAT", replace(module.FORMAT, version=2))
    assert source.key(ReadLimits()) != first


def test_files_of_other_names_and_auto_are_read_as_before(sayings: Path) -> None:
    (sayings / "auto.yaml").write_text(RECIPE.replace(", format: fortune", "").replace("store}", "other}"))
    ended(run_here(sayings, "ingest", "auto.yaml", "--workers", "1"))
    (source,) = json.loads(ended(run_here(sayings, "stats", "other", "--json")))["sources"]
    assert source["samples"] == 2  # a file with an unknown ending is one record


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"name": "fortunes"}, "source format but"),
        ({"is_auto": True}, "source format but"),
        (None, "source format … 'fortune'"),
    ],
)
def test_a_broken_package_is_named(
    sayings: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, object] | None, said: str
) -> None:
    module = import_module("winnow_fortune")
    if change is None:
        monkeypatch.delattr(module, "FORMAT")
    else:
        monkeypatch.setattr(module, "FORMAT", replace(module.FORMAT, **change))
    assert_told(ended(run_here(sayings, "plan", "recipe.yaml"), 1), said)
