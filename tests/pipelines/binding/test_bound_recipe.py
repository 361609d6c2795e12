"""A recipe is bound once per command, and never sent to workers."""

import io
import pickle
from typing import Any

import pytest

from winnow.pipelines.binding.bound_recipe import BoundRecipe, bind
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.memory import MemoryStore
from winnow.schemas.errors import RecipeError
from winnow.schemas.recipe import Recipe, recipe_from_text
from winnow.schemas.records import StoreRecord

RECIPE = """
version: 1
store: {path: store}
sources: {pages: {root: ., files: ["*.jsonl"], class: web, licence: unknown}}
annotate: [text.length, text.secrets]
eligible: [{drop: text.length.lines < 2, reason: short, when_null: keep}]
edits: [text.secrets]
dedupe: {exact: {}, near: {min_similarity: 0.8}}
mix: {tokenizer: bytes}
"""


def bound(text: str = RECIPE) -> BoundRecipe:
    return bind(recipe_from_text(text))


@pytest.mark.parametrize(
    "part",
    ["measurements", "columns", "operators", "rules", "edits", "scores", "tokens", "mixture", "searched", "sources"],
)
def test_a_part_is_bound_once(part: str) -> None:
    recipe = bound()
    assert getattr(recipe, part) is getattr(recipe, part)


def test_a_faulty_part_raises_each_time_and_other_parts_can_be_bound() -> None:
    recipe = bound(RECIPE.replace("text.length.lines <", "text.length.lnies <"))
    for _ in range(2):
        with pytest.raises(RecipeError, match="did you mean"):
            _ = recipe.rules
    assert [one.layer for one in recipe.operators] == ["text.length", "text.secrets", "text.digest", "text.minhash"]


def test_near_settings_of_the_recipe_override_its_preset() -> None:
    near = bound().searched["near"].settings
    assert (near.min_similarity, near.bands, near.scheme.hashes) == (0.8, 14, 112)


def test_a_bound_recipe_cannot_be_pickled() -> None:
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(bound())


def test_parts_for_workers_hold_no_recipe() -> None:
    class RecipeFinder(pickle.Pickler):
        def reducer_override(self, value: Any) -> Any:
            assert not isinstance(value, Recipe)
            return NotImplemented

    recipe = bound()
    store = Store(MemoryStore("bound"), StoreRecord("s", 7, 65_536, 256 << 20, 16_384, 64 << 20, 64 << 20))
    assert recipe.tokens is not None
    for part in (
        recipe.rules,
        recipe.edits,
        recipe.tokens.bound,
        recipe.ingest(store).sources,
        recipe.searched["near"],
    ):
        RecipeFinder(io.BytesIO()).dump(part)
