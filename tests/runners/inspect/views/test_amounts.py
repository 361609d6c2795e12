"""The funnel, the mixture and language families say what `winnow plan`, `stats`, `mix` and brute force say."""

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.faults.winnow import ended, run_here
from tests.runners.inspect.views.sites_store import ask, opened, recipe, rows_of
from winnow.runners.inspect.view import AskedError, UnavailableError
from winnow.schemas.languages.counts import family_of


@pytest.fixture(scope="module")
def mixed(sites: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store, with a mixture that is drawn."""
    folder = tmp_path_factory.mktemp("mixed") / "copy"
    shutil.copytree(sites, folder)
    accepted = "dedupe:\n  guard: {max_loss: 1, max_unequal: 1}\n"
    (folder / "recipe.yaml").write_text(
        recipe(more="mix: {unit: tokens, tokenizer: bytes}\n").replace("dedupe:\n", accepted)
    )
    ended(run_here(folder, "mix", "recipe.yaml"))
    return folder


def steps_of(answer: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {step["name"]: step for step in answer["steps"]}


def test_the_funnel_counts_as_the_plan_and_row_by_row(mixed: Path) -> None:
    shown = opened(mixed / "recipe.yaml")
    rows = rows_of(shown)
    plan = json.loads(ended(run_here(mixed, "plan", "recipe.yaml", "--json")))
    answer = ask(shown, "funnel")
    steps = steps_of(answer)
    assert answer["units"] == ["rows", "bytes", "tokens"]
    assert list(steps) == ["records", "samples", "eligible", "unique", "kept", "drawn"]
    lists = {rule["reason"]: rule["list"] for rule in plan["rules"]["rules"]}
    gone: set[str | None] = set()
    for name, phase in (("samples", ""), ("eligible", "eligible"), ("unique", "dedupe"), ("kept", "keep")):
        own = {reason for reason, of in lists.items() if of == phase}
        gone |= own
        left = [row for row in rows if row["reason"] not in gone]
        size = sum(row["text.length.bytes"] for row in left)
        assert steps[name]["values"] == {"rows": len(left), "bytes": size, "tokens": size}
        if phase:
            counts = Counter(row["reason"] for row in rows if row["reason"] in own)
            assert {one["reason"]: one["rows"] for one in steps[name]["lost"]} == counts
            for one in steps[name]["lost"]:
                lost = sum(row["text.length.bytes"] for row in rows if row["reason"] == one["reason"])
                assert one["values"] == {"rows": one["rows"], "bytes": lost, "tokens": lost}
    assert steps["kept"]["values"]["rows"] == plan["rules"]["kept"]["rows"]
    assert steps["kept"]["values"]["bytes"] == plan["rules"]["kept"]["bytes"]
    mixture = ask(shown, "mixture")
    assert steps["drawn"]["values"] == {
        "rows": sum(one["samples"] for one in mixture["outputs"]),
        "tokens": sum(one["given"] for one in mixture["outputs"]),
    }


def test_a_filter_leaves_the_steps_that_rows_are_counted_by(mixed: Path) -> None:
    shown = opened(mixed / "recipe.yaml")
    some = [row for row in rows_of(shown) if row["text.language.code"] == "rus_Cyrl"]
    steps = steps_of(ask(shown, "funnel", filter={"language": "rus_Cyrl"}))
    assert list(steps) == ["samples", "eligible", "unique", "kept"]
    assert steps["samples"]["values"]["rows"] == len(some)
    assert steps["kept"]["values"]["rows"] == sum(row["kept"] for row in some)


def test_the_mixture_is_that_of_the_plan(mixed: Path) -> None:
    found = ask(opened(mixed / "recipe.yaml"), "mixture")
    ended(run_here(mixed, "mix", "recipe.yaml", "--plan-only", "--output", "plan.json"))
    plan = json.loads((mixed / "plan.json").read_text())
    assert found["unit"] == plan["unit"] == "tokens"
    for output, of in zip(plan["outputs"], found["by_output"], strict=True):
        assert (of["name"], of["budget"]) == (output["name"], output["budget"])
        given = {one["stratum"]: (one["asked"], one["given"], one["samples"]) for one in of["strata"]}
        assert given == {
            " / ".join(part for part in one["stratum"].values() if part): (
                one["asked"],
                one["given"]["units"],
                one["given"]["samples"],
            )
            for one in output["strata"]
        }


def test_families_have_their_rows_and_their_planned_and_given_shares(mixed: Path) -> None:
    shown = opened(mixed / "recipe.yaml")
    rows = rows_of(shown)
    found = ask(shown, "families")
    for name, counts in (
        ("documents", Counter(family_of(row["text.language.code"] or "unknown") for row in rows)),
        ("kept", Counter(family_of(row["text.language.code"] or "unknown") for row in rows if row["kept"])),
    ):
        assert {one["family"]: one[name] for one in found["families"]} == {
            one["family"]: counts[one["family"]] for one in found["families"]
        }
    mixture = {one["name"]: one for one in ask(shown, "mixture")["by_output"]}
    for output in found["outputs"]:
        by_family: Counter[str] = Counter()
        for one in mixture[output["name"]]["strata"]:
            by_family[one["family"]] += one["given"]
        assert {one["family"]: one["given"] for one in output["families"]} == by_family
        assert sum(one["share_given"] for one in output["families"]) == pytest.approx(1)
        assert sum(one["share_asked"] for one in output["families"]) == pytest.approx(1)


def test_what_is_not_there_yet_is_said_with_the_command_that_makes_it(sites: Path, mixed: Path, tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match="no section 'mix'"):
        ask(opened(sites / "recipe.yaml"), "mixture")
    with pytest.raises(UnavailableError, match="run: winnow inspect RECIPE"):
        ask(opened(sites / "store"), "mixture")
    (mixed / "other.yaml").write_text(
        (mixed / "recipe.yaml").read_text().replace("tokenizer: bytes}", "tokenizer: bytes, seed: 9}")
    )
    folder = tmp_path / "copy"
    shutil.copytree(sites, folder, ignore=shutil.ignore_patterns("store"))
    (folder / "recipe.yaml").write_text((mixed / "recipe.yaml").read_text())
    ended(run_here(folder, "ingest", "recipe.yaml"))
    shown = opened(folder / "recipe.yaml")
    with pytest.raises(UnavailableError, match=r"run: winnow mix .*recipe\.yaml"):
        ask(shown, "mixture")
    with pytest.raises(UnavailableError, match="run: winnow annotate RECIPE"):
        ask(shown, "families")
    answer = ask(shown, "funnel")
    assert answer["undecided"]
    assert list(steps_of(answer)) == ["records", "samples"]


PHOTOS = """\
version: 1
store: {path: store}
sources: {photos: {root: photos, files: ["*.jpg"], format: image_folder, class: public}}
annotate: [image.geometry]
keep: [{drop: list_max(image.geometry.height) < 100 or samples.source.path = 'b.jpg', reason: low, when_null: drop}]
"""


def test_pictures_are_counted_in_pixels_by_the_funnel_and_by_the_simulator(photos: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(photos, folder)
    (folder / "recipe.yaml").write_text(PHOTOS)
    shown = opened(folder / "recipe.yaml")
    assert ask(shown, "units")["units"] == ["bytes", "pixels"]
    steps = steps_of(ask(shown, "funnel"))
    whole, left = (steps[name]["values"]["pixels"] for name in ("samples", "kept"))
    assert (steps["kept"]["values"]["rows"], steps["samples"]["values"]["rows"]) == (1, 3)
    lost = {one["reason"]: one["values"]["pixels"] for one in steps["kept"]["lost"]}
    assert lost == {"low": whole - left}
    assert whole > left > 10_000
    found = ask(shown, "simulate", changes=[{"reason": "low", "remove": True}], unit="pixels")
    assert found["kept"] == {"before": {"rows": 1, "pixels": left}, "after": {"rows": 3, "pixels": whole}}
    assert [(one["amount_before"], one["amount_after"]) for one in found["by_source"]] == [(left, whole)]
    with pytest.raises(AskedError, match="no row has seconds"):
        ask(shown, "simulate", changes=[{"reason": "low", "remove": True}], unit="seconds")
