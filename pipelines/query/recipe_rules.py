"""The rules of a recipe, pinned to a generation of its store."""

from collections.abc import Sequence
from dataclasses import replace

from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.dedupe.stage import generation_keys
from winnow.pipelines.reading.text_edits import Edits, with_keys
from winnow.pipelines.rules.pinning import PinnedProgram, expected_keys, pin
from winnow.pipelines.score.stage import generation_scores
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.hiding.hidden_rows import hidden_rows
from winnow.schemas.errors import RecipeError
from winnow.schemas.records import Generation


def pinned_rules(
    recipe: BoundRecipe, store: Store, generation: Generation, more: Sequence[str] = ()
) -> PinnedProgram | None:
    """Pin the recipe's rules to a generation, with `more` layers in addition to those that the rules read.

    Returns None if the recipe has no rules and no guarded edits, nothing is forgotten, and `more` is empty. RecipeError
    if a rule cannot run, or a layer is missing or was made with other settings.
    """
    program = recipe.rules
    if not program.rules and not program.guarded_edits and not more and not hidden_rows(store, generation):
        return None
    keys = expected_keys(recipe.ingest(store), recipe.operators, store, generation)
    keys |= generation_keys(store, recipe, generation)
    keys |= generation_scores(store, recipe, generation, keys)
    return pin(store, generation, program, keys, recipe.file, more, recipe.operators)


def edits_as_exported(recipe: BoundRecipe, store: Store, generation: Generation) -> Edits:
    """The recipe's edits for texts that leave the store in another way than by an export, and as one applies them.

    A text for which an edit is not measured is left out. RecipeError if one is not measured by the recipe's settings:
    spans of others leave in the texts what the recipe takes out.
    """
    edits = with_keys([replace(one, when_null="drop") if one.when_null == "error" else one for one in recipe.edits])
    pinned_rules(recipe, store, generation, sorted({column.layer for column in edits.columns}))
    return edits


def pinned_if_measured(recipe: BoundRecipe | None, store: Store, generation: Generation) -> PinnedProgram | None:
    """The pinned rules; None if there is no recipe or no rule, or if they need columns that are not measured yet."""
    try:
        return None if recipe is None else pinned_rules(recipe, store, generation)
    except RecipeError:  # `winnow plan` reports what is missing
        return None
