"""A preset's rules over a measure with other settings than the preset's: allowed, with a note."""

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
