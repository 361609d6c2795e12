"""Runs scores: prepares weights, scores each row at each checkpoint, and decides which rows to keep."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

from rich.console import Console

from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.binding.scores import BoundScore
from winnow.pipelines.dedupe.stage import load_existing_layers
from winnow.pipelines.forgetting.purging import finish_purge
from winnow.pipelines.media.score_inputs import Inputs
from winnow.pipelines.media.thumbnails import picture_source
from winnow.pipelines.preflight.check import AskedScores, preflight
from winnow.pipelines.reading.columns import MEDIA
from winnow.pipelines.running.row_layers import load_layers, pending_shards
from winnow.pipelines.score.examples import ScoredShard
from winnow.pipelines.score.keys import TraceLayer
from winnow.pipelines.score.preparing import Preparation, PreparingJob, prepare, put_given
from winnow.pipelines.score.stage import load_trace, missing_layers, trace_layer
from winnow.pipelines.score.trace import TraceContext, TraceRows
from winnow.pipelines.score.weights import (
    WeightsContext,
    make_reference,
    make_weights,
    record_use,
    shards_to_prepare,
)
from winnow.pipelines.store.generations import Store, open_store
from winnow.pipelines.store.leases.command_lease import slice_lease, writing_lease
from winnow.pipelines.store.leases.lease import Share
from winnow.pipelines.store.location import open_location
from winnow.pipelines.store.state import StoreState
from winnow.runners.engines.engine import Engine
from winnow.runners.stages.deciding import decide
from winnow.runners.stages.publishing import Outcome, publish
from winnow.runners.stages.recording import record_rows
from winnow.runners.stages.running.engine_jobs import EngineJobs
from winnow.runners.stages.running.stage_run import CompletedTasks, StageRun
from winnow.runners.stages.slices import Slice, SliceDone, require_no_purge, sliced
from winnow.runners.stages.store_stages import current_state
from winnow.runners.terminal.progress.stage import inputs_of
from winnow.runners.terminal.tables import print_remarks
from winnow.schemas.errors import ScoreError, StageError, StoreError
from winnow.schemas.records import StoredWeights


def store_of_checked(recipe: BoundRecipe, console: Console) -> Store:
    """The store of a recipe whose scores are checked before anything is trained or read.

    RecipeError if a score, its task or a file is unusable; ScoreError if there is no score.
    """
    _ = recipe.rules
    if not recipe.scores:
        raise ScoreError(
            f"{recipe.file}: has no scores; add one, such as score: {{mimic: {{task: next_byte, reference: "
            f"{{train_on: …}}}}}}"
        )
    print_remarks(console, preflight(AskedScores(recipe=recipe, scores=recipe.scores)))
    return open_store(open_location(recipe.store_address))


def score(recipe: BoundRecipe, engine: Engine, console: Console) -> Outcome:
    """Score the rows of the latest generation, and publish the result.

    Raises:
        StoreError: A layer that a score needs is not measured yet.
    """
    store = store_of_checked(recipe, console)
    run = StageRun(console, engine, store, recipe=recipe)
    run.warm(recipe.config)
    with writing_lease(store.objects):
        state = _ready_state(recipe, store)
        for bound in recipe.scores:
            _trace(run, recipe, state, bound)
            decide(run, state, bound)
        return publish(run, recipe, state)


def score_slice(recipe: BoundRecipe, part: Slice, engine: Engine, console: Console) -> SliceDone:
    """Score a slice of the latest generation's shards; rows are kept or dropped only when all slices are done.

    StoreError if a layer that a score needs is missing, or another slice is preparing its weights.
    """
    store = store_of_checked(recipe, console)
    with part.share(store, "score"):
        require_no_purge(store)
        state = _existing_state(recipe, store)
        mine = sliced(state, part)
        run = StageRun(console, engine, store, part.name, recipe)
        run.warm(recipe.config)
        for bound in recipe.scores:
            _trace(run, recipe, state, bound, mine)
    return SliceDone("score", part, len(mine.shards), len(state.shards), "shards")


def train_reference(recipe: BoundRecipe, name: str | None, console: Console) -> tuple[BoundScore, StoredWeights, Store]:
    """Train the reference of one score if it does not exist yet; nothing is scored.

    ScoreError if there is no score of this name, or there are several and none is named.
    """
    store = store_of_checked(recipe, console)
    bound = _named(recipe.scores, name)
    if bound.kind.measures:
        raise ScoreError(f"score.{bound.entry.name}: {bound.kind.name} measures without weights; nothing is trained")
    with writing_lease(store.objects):
        state = _ready_state(recipe, store)
        layer = _ready_layer(store, recipe, state, bound)
        context = WeightsContext(store, shards_to_prepare(bound, state), _inputs(recipe, bound), console.print)
        if bound.adapted:
            return bound, make_weights(context, bound.task(), bound, layer.weights)[0], store
        return bound, make_reference(context, bound.task(), bound, layer.weights.reference, None), store


def _named(scores: tuple[BoundScore, ...], name: str | None) -> BoundScore:
    names = ", ".join(bound.entry.name for bound in scores)
    if name is None and len(scores) > 1:
        raise ScoreError(f"the recipe has several scores ({names}); name one with --score")
    found = scores[0] if name is None else next((bound for bound in scores if bound.entry.name == name), None)
    if found is None:
        raise ScoreError(f"--score {name}: the recipe has no such score; known: {names}")
    return found


def _ready_state(recipe: BoundRecipe, store: Store) -> StoreState:
    finish_purge(store)
    return _existing_state(recipe, store)


def _existing_state(recipe: BoundRecipe, store: Store) -> StoreState:
    state = current_state(recipe, store)
    load_layers(state, recipe.operators)
    load_existing_layers(store, recipe, state)
    return state


def _ready_layer(store: Store, recipe: BoundRecipe, state: StoreState, bound: BoundScore) -> TraceLayer:
    if missing := missing_layers(state, bound):
        stages = " && ".join(
            f"winnow {stage} {recipe.file}"
            for stage in ("annotate", "dedupe")
            if any(layer.startswith("dedupe.") == (stage == "dedupe") for layer in missing)
        )
        raise StoreError(
            f"{store.root}: {', '.join(missing)} must be measured before samples are scored; run: {stages}"
        )
    return trace_layer(store, bound, state)


def _inputs(recipe: BoundRecipe, bound: BoundScore) -> Inputs:
    return Inputs(picture_source(recipe.config) if MEDIA in bound.inputs else None, frames=bound.entry.frames)


def _trace(
    run: StageRun, recipe: BoundRecipe, state: StoreState, bound: BoundScore, mine: StoreState | None = None
) -> None:
    """Update the trace of a score for the rows of the state, or for the shards in `mine`."""
    layer = _ready_layer(run.store, recipe, state, bound)
    shards = state if mine is None else mine
    pending = pending_shards(shards, [layer])
    expected = shards.keys[layer.layer]
    ran = CompletedTasks()
    if pending:
        context = _context(run, recipe, state, bound, layer)
        if not bound.kind.measures:
            record_use(run.store, bound, layer.weights, {one[layer.layer] for one in pending.missing.values()})
        ran = run.tasks(
            layer.layer,
            pending.lines,
            TraceRows(context),
            state.held.begin(pending.missing),
            state.held,
            inputs_of(pending.samples),
            hints=bound.entry.hints,
        )
    if not load_trace(shards, layer):
        if shards.keys[layer.layer] != expected:  # the user's own function is part of the key
            raise StageError(
                f"{layer.layer}: its code or packages changed while rows were scored, so these scores do not count; "
                f"leave them unchanged and run again: winnow score {recipe.file}"
            )
        raise StageError(f"{layer.layer}: shards ended without a commit; run again")
    record_rows(run, shards, "score", layer.layer, f"score.{bound.entry.task}", pending, ran, bound.passes)


def _context(
    run: StageRun, recipe: BoundRecipe, state: StoreState, bound: BoundScore, layer: TraceLayer
) -> TraceContext:
    """The inputs of workers, including the weights, which are created if necessary."""
    inputs = _inputs(recipe, bound)
    if bound.kind.measures:
        return TraceContext(run.store, bound, None, (), None, inputs)
    shards = shards_to_prepare(bound, state)
    plants = not run.part or run.part.startswith("1-")  # once, of all slices
    preparation = Preparation(run.store, bound, layer.weights, inputs, plants)
    with _weights_lock(run, preparation):
        if not run.engine.uses_nodes:
            return prepare(preparation, shards, run.console.print)
        put_given(preparation, shards, run.console.print)
        _prepare_elsewhere(run, preparation, shards)
    traced = preparation.made()
    if traced is None:
        raise StageError(
            f"{bound.entry.layer}: its weights are not in the store; run again: winnow score {recipe.file}"
        )
    return traced


def _prepare_elsewhere(run: StageRun, preparation: Preparation, shards: Sequence[ScoredShard]) -> None:
    """Prepare a score on a worker, which may have a device that this machine lacks."""
    jobs = EngineJobs(run, preparation.bound.entry.layer)
    with jobs.folder("weights") as steps:
        preparing = PreparingJob.of(steps, preparation, shards)
        jobs.on_engine(preparing.job)
        for line in preparing.told():
            run.console.print(line)


def _weights_lock(run: StageRun, preparation: Preparation) -> AbstractContextManager[object]:
    """A lock, so that one slice prepares missing weights; other slices wait for it or end with a message."""
    if not run.part or preparation.made() is not None:
        return nullcontext()
    return slice_lease(lambda: Share(run.store.objects, f"weights.{preparation.bound.entry.name}"))
