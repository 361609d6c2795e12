"""Thresholds: the number of samples on each side, and the nearest ones."""

import json
from pathlib import Path

import pytest

from winnow import run
from winnow.pipelines.binding.bound_recipe import bind
from winnow.runners.terminal.samples.threshold_samples import recipe_thresholds
from winnow.schemas.recipe import load_recipe
from winnow.schemas.rules.conditions import Cut, cuts_of

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
    assert cuts_of("a.x > a.y or a.s = 'text' or a.s > 'text' or a.x + 1 > 3") == ()


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
