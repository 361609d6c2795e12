"""Publishes what a recipe's stages hold."""

from dataclasses import dataclass

from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.forgetting.scanning import scan_store
from winnow.pipelines.query.generation import former_keys, keys_read, read_as, recipe_name
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import LayerKeys, Store
from winnow.pipelines.store.publishing import Contents, publish_union
from winnow.pipelines.store.state import StoreState
from winnow.runners.stages.running.engine_jobs import EngineJobs
from winnow.runners.stages.running.stage_run import StageRun
from winnow.schemas.identity import fingerprint_of
from winnow.schemas.recipe import resolved_yaml
from winnow.schemas.records import Generation


@dataclass(frozen=True)
class Outcome:
    """The result of a run."""

    store: Store
    generation: Generation
    new: bool


def publish(run: StageRun, recipe: BoundRecipe, state: StoreState) -> Outcome:
    """Publish the next generation: the latest one and what the recipe's stages hold.

    Where rows are to be forgotten, tasks find them among those that are new.
    """
    store = run.store
    before: LayerKeys = {}
    former: LayerKeys = {}
    if (latest := state.held.record) is not None:
        before, former = keys_read(recipe, store, latest), former_keys(recipe, latest)
    contents = Contents(state.keys[layout.SAMPLES], state.tasks, state.layers, before, former)
    resolved = fingerprint_of(resolved_yaml(recipe.expanded))
    record, new = publish_union(store, recipe_name(recipe), resolved, contents, state.held)
    scan_store(store, record, EngineJobs(run, "forget"))
    return Outcome(store, read_as(recipe, store, record), new)
