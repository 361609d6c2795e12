"""A preset's rules over a measure with other settings than the preset's: allowed, with a note."""

from tests.messages import assert_told_each
from winnow.pipelines.binding.rule_presets import preset_notes
from winnow.schemas.recipe import recipe_from_text

RECIPE = """\
version: 1
store: {path: s}
sources: {crawl: {root: crawl, files: ["*.warc.gz"], class: web}}
annotate: [{text.fineweb: {preset: fineweb}}, {text.fineweb: {as: text.late, short_line_chars: 50}}]
keep:
- {preset: fineweb}
"""


def test_the_presets_own_settings_need_no_note() -> None:
    assert preset_notes(recipe_from_text(RECIPE)) == []
    assert preset_notes(recipe_from_text(RECIPE.replace("{preset: fineweb}}", "{}}"))) == []


def test_other_settings_are_shown_beside_the_presets() -> None:
    assert_told_each(
        preset_notes(recipe_from_text(RECIPE.replace("{preset: fineweb}\n", "{preset: fineweb, layer: text.late}\n"))),
        ("recipe.yaml:6", "keep[0]", "text.late", "short_line_chars"),
    )
