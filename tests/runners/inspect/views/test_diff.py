"""What another recipe, generation or store keeps: the view says what `winnow diff` and lists of dropped samples say."""

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.faults.winnow import ended, run_here
from tests.runners.inspect.views.sites_store import ask, opened, recipe, rows_of
from winnow.pipelines.store.location import open_store_at
from winnow.runners.inspect.view import AskedError, UnavailableError
from winnow.runners.inspect.views import diff


@pytest.fixture(scope="module")
def folder(sites: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the store, with a second recipe over it."""
    copy = tmp_path_factory.mktemp("compared") / "copy"
    shutil.copytree(sites, copy)
    (copy / "second.yaml").write_text(recipe(long=300).replace("[source, longest]", "[shortest]"))
    return copy


def dropped(folder: Path, name: str) -> dict[str, str]:
    file = folder.parent / f"{name}.parquet"
    ended(run_here(folder, "plan", name, "--decisions", str(file)))
    return {row["id"].hex(): row["reason"] for row in pq.read_table(file).to_pylist()}


def test_two_recipes_differ_as_the_command_says_and_row_by_row(folder: Path) -> None:
    shown = opened(folder / "recipe.yaml")
    assert ask(shown, "diff")["choices"]["recipes"] == ["second.yaml"]
    found = ask(shown, "diff", other="second.yaml", samples=5)
    told: dict[str, Any] = json.loads(
        ended(run_here(folder, "diff", "recipe.yaml", "second.yaml", "--json", "--samples", "5"))
    )
    for name in ("total", "cells", "reasons", "unit", "only_old", "only_new"):
        assert found[name] == told[name]
    for name in ("lost", "gained"):
        assert [{key: one[key] for key in told[name][0]} for one in found[name]] == told[name]
        assert all(one["preview"] for one in found[name])
    old, new = dropped(folder, "recipe.yaml"), dropped(folder, "second.yaml")
    languages = {row["id"]: row["text.language.code"] or "unknown" for row in rows_of(shown)}
    assert {(one["reason"], one["language"]): one["rows"] for one in found["dropped_by"]} == Counter(
        (reason, languages[name]) for name, reason in new.items() if name not in old
    )
    assert {(one["reason"], one["language"]): one["rows"] for one in found["kept_again"]} == Counter(
        (reason, languages[name]) for name, reason in old.items() if name not in new
    )


@pytest.mark.processes
def test_an_earlier_generation_and_another_store_are_compared(folder: Path, tmp_path: Path) -> None:
    shown = opened(folder / "recipe.yaml")
    number = shown.generation.number
    same = ask(shown, "diff", other=str(number))
    assert (same["total"]["lost"], same["total"]["gained"], same["lost"]) == (0, 0, [])
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    shutil.copytree(copy / "store", copy / "other")
    ended(run_here(copy, "forget", "recipe.yaml", "--domain", "site2.example"))
    fewer = opened(copy / "recipe.yaml")
    assert ask(fewer, "diff")["choices"]["stores"] == ["other", "store"]
    found = ask(fewer, "diff", other="other")
    there = {row["id"] for row in rows_of(fewer)}
    gone = {row["id"] for row in rows_of(shown)} - there
    assert gone
    assert found["total"]["gained"] >= sum(name not in dropped(folder, "recipe.yaml") for name in gone)
    assert {one["id"] for one in found["gained"]} <= there


def test_nothing_outside_of_the_recipes_folder_is_opened(folder: Path) -> None:
    shown = opened(folder / "recipe.yaml")
    (folder / "link.yaml").unlink(missing_ok=True)
    (folder / "link.yaml").symlink_to("/etc/hostname")
    for other in ("../copy/../x.yaml", "/etc/passwd", "link.yaml", "none.yaml", ".", "a\0b", "99", "x" * 5000, ""):
        with pytest.raises(AskedError):
            ask(shown, "diff", other=other)
    (folder / "link.yaml").unlink()
    with pytest.raises(UnavailableError, match="winnow inspect RECIPE"):
        ask(opened(folder / "store"), "diff", other="second.yaml")


def test_a_recipe_whose_rules_are_not_measured_says_so(folder: Path) -> None:
    more = recipe() + "  - {drop: text.c4.sentences < 3, reason: few, when_null: keep}\n"
    (folder / "more.yaml").write_text(more.replace("text.length]", "text.length, text.c4]"))
    with pytest.raises(UnavailableError, match="run: winnow annotate"):
        ask(opened(folder / "recipe.yaml"), "diff", other="more.yaml")
    (folder / "more.yaml").unlink()


def test_a_folder_beside_the_recipe_that_cannot_be_read_is_no_choice(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "locked").mkdir(exist_ok=True)

    def opening(path: Path) -> object:
        if path.name == "locked":
            raise PermissionError(13, "Permission denied")
        return open_store_at(path)

    monkeypatch.setattr(diff, "open_store_at", opening)
    assert ask(opened(folder / "recipe.yaml"), "diff")["choices"]["stores"] == ["store"]
