"""Thresholds: the number of samples on each side, and the nearest ones."""

import json
from pathlib import Path

import pytest

from tests.messages import assert_told
from winnow import run
from winnow.pipelines.binding.bound_recipe import bind
from winnow.runners.commands.main import main
from winnow.runners.stages.samples.threshold_samples import recipe_thresholds
from winnow.schemas.recipe import load_recipe
from winnow.schemas.rules.conditions import Cut, cuts_of, with_limit

RECIPE = """
version: 1
store: {path: store, shard_rows: 7, row_group_rows: 3, task_bytes: 1 KiB}
sources:
  lines: {root: ., files: ["*.jsonl"], class: public, key: id}
annotate: [{text.length: {where: "samples.source.record <> 'r05'"}}]
keep:
  - {drop: text.length.characters < 20 or 30 < text.length.characters, reason: length, when_null: keep}
"""


def test_thresholds_are_found_in_any_form_of_condition() -> None:
    assert cuts_of("not (a.x <= -1 and 2.5 > a.y) or a.z between 1e-3 and 1_000") == (
        Cut("a.x", "<=", -1.0),
        Cut("a.y", "<", 2.5),
        Cut("a.z", ">=", 0.001),
        Cut("a.z", "<=", 1000.0),
    )
    assert cuts_of("thresholds.t.y >= a.x and a.z > thresholds.t.z") == (
        Cut("a.x", "<=", None, "thresholds.t.y"),
        Cut("a.z", ">", None, "thresholds.t.z"),
    )
    assert cuts_of("a.x > a.y or a.s = 'text' or a.s > 'text' or a.x + 1 > 3") == ()


def test_a_threshold_is_moved_where_it_stands_and_nothing_else() -> None:
    condition = "a.s = 'é 3' and (a.x <= -1 or 2.5 > a.y) or a.z between 1e-3 and 1_000 or a.x<= - 1"
    moved = [
        with_limit(condition, cut, limit) for cut, limit in zip(cuts_of(condition), (7, 0.25, -2, 1e20), strict=True)
    ]
    assert moved == [
        "a.s = 'é 3' and (a.x <= 7 or 2.5 > a.y) or a.z between 1e-3 and 1_000 or a.x<= 7",
        "a.s = 'é 3' and (a.x <= -1 or 0.25 > a.y) or a.z between 1e-3 and 1_000 or a.x<= - 1",
        "a.s = 'é 3' and (a.x <= -1 or 2.5 > a.y) or a.z between -2 and 1_000 or a.x<= - 1",
        "a.s = 'é 3' and (a.x <= -1 or 2.5 > a.y) or a.z between 1e-3 and 1e+20 or a.x<= - 1",
    ]


@pytest.mark.parametrize("order", [1, -1])
def test_the_nearest_samples_on_both_sides_are_found(tmp_path: Path, order: int) -> None:
    rows = [json.dumps({"id": f"r{number:02}", "text": "x" * number}) for number in range(1, 50)]
    (tmp_path / "a.jsonl").write_text("\n".join(rows[::order]) + "\n")
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    recipe = load_recipe(tmp_path / "recipe.yaml")
    outcome = run(recipe, workers=1)
    low, high = recipe_thresholds(bind(recipe), outcome.store, outcome.generation)
    assert (low.cut, low.met, low.unmet, low.null) == (Cut("text.length.characters", "<", 20.0), 18, 30, 1)
    assert [sample.value for sample in low.met_samples] == [19, 18, 17, 16, 15, 14, 13, 12, 11, 10]
    assert [sample.value for sample in low.unmet_samples] == [20, 21, 22, 23, 24, 25, 26, 27, 28, 29]
    assert [len(sample.text) for sample in low.met_samples] == [19, 18, 17, 16, 15, 14, 13, 12, 11, 10]
    assert (high.met, high.unmet) == (19, 29)
    assert high.met_samples[0].source == "lines"


LANGUAGES = {
    "eng_Latn": "The old bridge over the river was closed for repairs in the spring, and the town waited. ",
    "deu_Latn": "Die alte Brücke über den Fluss wurde im Frühjahr gesperrt, und die Stadt musste warten. ",
    "fra_Latn": "Le vieux pont sur la rivière a été fermé au printemps, et toute la ville a dû attendre. ",
}
TABLED = """
version: 1
store: {path: store, shard_rows: 7, row_group_rows: 3, task_bytes: 2 KiB}
sources:
  first: {root: ., files: ["first.jsonl"], class: public, key: id}
  second: {root: ., files: ["second.jsonl"], class: public, key: id}
annotate: [text.language, text.length]
thresholds: {lengths: {file: lengths.csv, key: text.language.code}}
keep:
  - {drop: text.length.characters < thresholds.lengths.least, reason: short, when_null: keep}
  - {drop: text.length.characters > 100_000, reason: long, when_null: keep}
"""


@pytest.fixture(scope="module")
def by_language(lid_model: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """English is short below 500 characters, German below 300; French has no threshold."""
    folder = tmp_path_factory.mktemp("near")
    rows = [
        {"id": f"{code[:3]}{number:02}", "text": (text * 12)[: 96 + 53 * number]}
        for code, text in LANGUAGES.items()
        for number in range(16)
    ]
    for name, some in (("first", rows[1::2][::-1]), ("second", rows[::2])):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in some))
    (folder / "lengths.csv").write_text("text.language.code,least\ndeu_Latn,300\neng_Latn,500\n")
    (folder / "recipe.yaml").write_text(TABLED)
    run(load_recipe(folder / "recipe.yaml"), workers=1)
    return folder / "recipe.yaml"


def printed(capsys: pytest.CaptureFixture[str], *command: str | Path) -> str:
    status = main([*map(str, command)])
    said = capsys.readouterr()
    assert status == 0, said.err
    return said.out


def test_each_sample_is_as_near_as_the_threshold_of_its_own_language(
    by_language: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (short,) = json.loads(printed(capsys, "stats", by_language, "--near", "short", "--json"))
    assert (short["cut"]["value"], short["cut"]["table"]) == (None, "thresholds.lengths.least")
    assert (short["met"] + short["unmet"], short["null"]) == (32, 16)  # French has none
    near = [*short["met_samples"], *short["unmet_samples"]]
    assert {(one["language"], one["limit"]) for one in near} == {("eng_Latn", 500), ("deu_Latn", 300)}
    assert all(one["value"] < one["limit"] for one in short["met_samples"])
    assert all(one["value"] >= one["limit"] for one in short["unmet_samples"])
    for side in ("met_samples", "unmet_samples"):
        distances = [abs(one["value"] - one["limit"]) for one in short[side]]
        assert distances == sorted(distances)


@pytest.mark.parametrize(
    ("options", "counts", "seen"),
    [
        (["--language", "deu_Latn"], (4, 12, 0), {("deu_Latn", "first"), ("deu_Latn", "second")}),
        (["--language", "fra_Latn"], (0, 0, 16), set()),
        (["--source", "second"], (6, 10, 8), {("eng_Latn", "second"), ("deu_Latn", "second")}),
        (["--source", "first", "--language", "eng_Latn"], (4, 4, 0), {("eng_Latn", "first")}),
    ],
)
def test_the_samples_of_a_language_or_a_source_are_counted_alone(
    options: list[str],
    counts: tuple[int, int, int],
    seen: set[tuple[str, str]],
    by_language: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (short,) = json.loads(printed(capsys, "stats", by_language, "--near", "short", "--json", *options))
    assert (short["met"], short["unmet"], short["null"]) == counts
    near = [*short["met_samples"], *short["unmet_samples"]]
    assert {(one["language"], one["source"]) for one in near} == seen


def test_samples_of_a_reason_are_listed(by_language: Path, capsys: pytest.CaptureFixture[str]) -> None:
    listed = json.loads(printed(capsys, "show", by_language, "--reason", "short", "--language", "eng_Latn", "--json"))
    assert {(one["language"], *one["reasons"]) for one in listed} == {("eng_Latn", "short")}
    assert [one["id"] for one in listed] == sorted(one["id"] for one in listed)
    assert len(listed) == 8
    every = json.loads(printed(capsys, "show", by_language, "--source", "second", "--json"))
    assert {one["source"] for one in every} == {"second"}
    assert {bool(one["reasons"]) for one in every} == {True, False}
    text = printed(capsys, "show", by_language, listed[0]["id"])
    assert "short: text.length.characters is " in text
    assert " < 500 (thresholds.lengths.least for this sample)" in text


@pytest.mark.parametrize(
    ("command", "line"),
    [
        (
            ["stats", "--near", "short", "--language", "deu_Lat"],
            "--language … deu_Lat … 'deu_Latn'",
        ),
        (["stats", "--near", "short", "--source", "secnd"], "--source … 'second'"),
        (["stats", "--source", "second"], "--language … --source … --near"),
        (["show", "--reason", "shrt"], "--reason … 'short'"),
        (["show", "abc", "--reason", "short"], "show: … --url … --reason"),
        (["show"], "show: … --url … URL"),
    ],
)
def test_what_is_not_there_is_said(
    command: list[str], line: str, by_language: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command[0], str(by_language), *command[1:]]) == 1
    assert_told(capsys.readouterr().err, line)
