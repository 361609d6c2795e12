"""The list of checks: found by their folder, and made by `winnow plan` and by every command that they concern."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.preflight import checks
from winnow.pipelines.preflight.check import WholeRecipe, every_check, findings
from winnow.runners.commands.main import main
from winnow.schemas.problems import Problem
from winnow.schemas.recipe import load_recipe

RECIPE = """\
version: 1
store: {path: store, seed: SEED}
sources: {lines: {root: in, files: ["*"], class: web}}
annotate: [text.length]
mix: {unit: samples}
export: [{jsonl: {path: out}}]
"""
ONE_FILE = '''\
"""A check of somebody's own."""

from winnow.pipelines.preflight.check import AskedOperators, Check, ExportFolders, NewInput, WholeRecipe
from winnow.schemas.problems import Problem


def lucky(about):
    if about.recipe.config.store.seed == 13:
        yield Problem(about.recipe.config.store.place, "store.seed", "13 is unlucky")


def told(about):
    yield f"{type(about).__name__} is told"


NEEDED = (WholeRecipe, AskedOperators, NewInput, ExportFolders)
CHECKS = (
    Check("lucky-seeds", WholeRecipe, lucky, "annotate", order=0),
    *(Check(f"told-{one.__name__}", one, told, "mix") for one in NEEDED),
)
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A recipe, and a package beside winnow's with one more file of checks."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.jsonl").write_text('{"text": "Some words."}\n')
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "lucky_seeds.py").write_text(ONE_FILE)
    monkeypatch.setattr(checks, "__path__", [*checks.__path__, str(tmp_path / "more")])
    monkeypatch.chdir(tmp_path)
    every_check.cache_clear()
    yield tmp_path
    every_check.cache_clear()
    sys.modules.pop(f"{checks.__name__}.lucky_seeds", None)  # a fork server imports what its starter has imported


def write(seed: int) -> None:
    Path("recipe.yaml").write_text(RECIPE.replace("SEED", str(seed)))


@pytest.mark.parametrize("command", ["plan", "run", "annotate", "mix", "export"])
def test_a_check_in_one_new_file_is_made_by_each_command_that_it_concerns(
    folder: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write(13)
    assert main([command, "recipe.yaml"]) == 1
    assert capsys.readouterr().err.splitlines()[-1] == "winnow: recipe.yaml:2: store.seed: 13 is unlucky"
    assert not (folder / "store").exists()


def test_a_stage_before_makes_no_check_of_a_later_one(folder: Path) -> None:
    write(13)
    recipe = bind(load_recipe("recipe.yaml"))
    assert list(findings(WholeRecipe(recipe=recipe, last="ingest"))) == []
    ((name, found),) = findings(WholeRecipe(recipe=recipe, last="annotate"))
    assert (name, isinstance(found, Problem)) == ("lucky-seeds", True)


@pytest.mark.parametrize("command", ["plan", "run"])
def test_what_is_noted_is_told_by_plan_and_run(folder: Path, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    write(12)
    assert main([command, "recipe.yaml", "--workers", "1"]) == 0
    said = capsys.readouterr()
    for needed in ("WholeRecipe", "AskedOperators", "NewInput", "ExportFolders"):
        assert f"{needed} is told" in said.out + said.err


def test_each_check_has_a_name_of_its_own() -> None:
    names = [one.name for one in every_check()]
    assert len({*names}) == len(names) > 15
