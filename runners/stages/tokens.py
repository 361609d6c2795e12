"""Runs the token count of edited texts, which a mixture needs."""

from rich.console import Console

from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.binding.tokens import TOKENS_LAYER, TokensLayer, try_tokens
from winnow.pipelines.forgetting.purging import finish_purge
from winnow.pipelines.mix.tokens import TokensContext, lacking_layers, owed_counts, take_tokens
from winnow.pipelines.mix.transforms import CountTokens
from winnow.pipelines.running.row_layers import load_layers
from winnow.pipelines.store.generations import open_store
from winnow.pipelines.store.lease import Lease
from winnow.pipelines.store.location import open_location
from winnow.pipelines.store.state import StoreState
from winnow.runners.engines.engine import Engine
from winnow.runners.estimating.recording import record_rows
from winnow.runners.stages.stage_run import CompletedTasks, StageRun
from winnow.runners.stages.store_stages import Outcome, current_state, publish
from winnow.schemas.errors import RecipeError, StageError, StoreError


def measure_tokens(recipe: BoundRecipe, engine: Engine, console: Console) -> Outcome:
    """Count the tokens of the latest generation with the recipe's tokenizer, and publish the result.

    Raises:
        RecipeError: The recipe has no mixture, or its tokenizer or edits cannot be used.
        StoreError: A layer that the edits read is not measured yet.
    """
    _ = recipe.rules
    layer = recipe.tokens
    if layer is None:
        raise RecipeError(f"{recipe.file}: has no 'mix'; add one to count tokens")
    operators = recipe.operators
    try_tokens(recipe.config, layer)
    store = open_store(open_location(recipe.place))
    run = StageRun(console, engine, store)
    with Lease(store.objects):
        finish_purge(store)
        state = current_state(recipe, store)
        load_layers(store, state, operators)
        if lacking := lacking_layers(state, layer):
            raise StoreError(
                f"{store.root}: {', '.join(lacking)} must be measured before texts are edited; run: "
                f"winnow annotate {recipe.file}"
            )
        count_texts(run, recipe, layer, state)
        return publish(recipe, store, state)


def count_texts(run: StageRun, recipe: BoundRecipe, layer: TokensLayer, state: StoreState) -> None:
    """Update the layer for the rows of the state."""
    ran = CompletedTasks()
    if owed := owed_counts(run.store, state, layer):
        ran = run.tasks(
            TOKENS_LAYER,
            {task.shard: task.to_json() for task in owed},
            CountTokens(TokensContext(run.store, layer.bound, layer.columns)),
            {task.shard: (TOKENS_LAYER, task.owed[TOKENS_LAYER]) for task in owed},
            {},
        )
    if not take_tokens(run.store, recipe, state):
        raise StageError(f"{TOKENS_LAYER}: shards ended without a commit; run again")
    record_rows(run, state, "mix", TOKENS_LAYER, "mix.tokens", owed, ran)
