"""A note on rules of items that say nothing of the pictures that pages show."""

from pathlib import Path

import pytest

from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.preflight.check import WholeRecipe, preflight
from winnow.schemas.recipe import load_recipe

RECIPE = """
version: 1
store: {path: store}
sources: {a: {root: in, files: ["*.warc"], class: web}}
extract: {main: {}}
text: coalesce(extract.main.text, samples.text)
annotate: [image.quality, {page.interleaved: {FACTS}}]
items:
  - {drop: image.quality.contrast < 5, reason: flat, when_null: keep}
  - {drop: page.interleaved.shorter < 5, reason: small, when_null: keep}
"""


@pytest.mark.parametrize("facts", ["", "facts: [image.quality.contrast]"])
def test_measures_that_pages_lack_are_named(tmp_path: Path, facts: str) -> None:
    (tmp_path / "recipe.yaml").write_text(RECIPE.replace("FACTS", facts))
    notes = [
        note for note in preflight(WholeRecipe(recipe=bind(load_recipe(tmp_path / "recipe.yaml")))) if "facts" in note
    ]
    assert len(notes) == (0 if facts else 1)
    assert all("facts: [image.quality.contrast]}" in note and "recipe.yaml:7" in note for note in notes)
