"""A preset's rules over a measure with other settings than the preset's: allowed, with a note."""

from pathlib import Path

from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.preflight.check import Finding, WholeRecipe, findings
from winnow.schemas.recipe import recipe_from_text

RECIPE = """\
version: 1
store: {path: s}
sources: {crawl: {root: crawl, files: ["*.warc.gz"], class: web}}
annotate: [{text.fineweb: {preset: fineweb}}, {text.fineweb: {as: text.late, short_line_chars: 50}}]
keep:
- {preset: fineweb}
"""


def noted(text: str) -> list[tuple[str, Finding]]:
    """What is found of a recipe, each with the name of its check."""
    return list(findings(WholeRecipe(recipe=bind(recipe_from_text(text)), is_plan=True)))


def test_the_presets_own_settings_need_no_note() -> None:
    assert noted(RECIPE) == []
    assert noted(RECIPE.replace("{preset: fineweb}}", "{}}")) == []


def test_other_settings_are_shown_beside_the_presets() -> None:
    assert noted(RECIPE.replace("{preset: fineweb}\n", "{preset: fineweb, layer: text.late}\n")) == [
        (
            "other-settings-than-a-preset",
            "recipe.yaml:6: keep[0]: fineweb measures text.late with short_line_chars 30, here 50",
        )
    ]


def test_evaluation_sets_that_a_recipe_must_name_are_no_difference(tmp_path: Path) -> None:
    (tmp_path / "quiz.txt").write_text("How many cows does the farmer have now?\n")
    measure = f"text.contamination: {{preset: contamination@afm-2024, sets: {{quiz: {{file: {tmp_path}/quiz.txt}}}}"
    recipe = RECIPE.replace("{text.fineweb: {preset: fineweb}}", f"{{{measure}}}}}")
    recipe = recipe.replace("{preset: fineweb}\n", "{preset: contamination@afm-2024}\n")
    assert noted(recipe) == []
    assert [said for _, said in noted(recipe.replace("}}}}", "}}, min_item_words: 5}}"))] == [
        "recipe.yaml:6: keep[0]: contamination@afm-2024 measures text.contamination with min_item_words 4, here 5"
    ]
