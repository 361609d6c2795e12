"""Scores as their driver sees them: what stands, what is owed, and under which keys."""

from winnow.pipelines.annotate.stage import State, load_layers, owed_shards
from winnow.pipelines.annotate.task import AnnotationTask
from winnow.pipelines.dedupe.stage import standing_layer
from winnow.pipelines.score.binding import BoundScore, bind_scores, by_column, layers_of
from winnow.pipelines.score.keys import TraceLayer, score_key
from winnow.pipelines.score.weights import weight_keys
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.schemas.errors import WinnowError
from winnow.schemas.recipe import Recipe
from winnow.schemas.records import Generation, LayerCommit, ObjectRecord


def lacking_layers(state: State, bound: BoundScore) -> list[str]:
    """The layers that a score is made of and that do not stand."""
    columns = [*bound.columns]
    for condition in (bound.trusted, bound.looked):
        if condition is not None:
            columns += condition.columns
    if (by := by_column(bound)) is not None:
        columns.append(by)
    return [one for one in layers_of(tuple(columns)) if one != layout.SAMPLES and one not in state.layers]


def trace_layer(bound: BoundScore, state: State) -> TraceLayer:
    """The trace of a score over what the state holds; the layers that it is made of must stand."""
    for name in state.layers:
        state.keys[name] = {commit.source: commit.key for commit in state.layers[name]}
    return TraceLayer(bound, weight_keys(bound, state))


def owed_traces(store: Store, state: State, layer: TraceLayer) -> list[AnnotationTask]:
    """The shards that have no trace yet."""
    return owed_shards(store, state, [layer])


def take_trace(store: Store, state: State, layer: TraceLayer) -> bool:
    """Take a trace into the state if it stands for every shard; returns whether it does."""
    return not owed_shards(store, state, [layer]) and not load_layers(store, state, [layer])


def take_score(store: Store, state: State, bound: BoundScore) -> bool:
    """Take what a score makes of rows into the state if it stands over the traces that the state has."""
    key = score_key(bound, state)
    names = [record.shard for _, record in state.shards]
    commits = standing_layer(store, bound.entry.layer, key, names)
    if commits is None:
        return False
    state.layers[bound.entry.layer] = commits
    return True


def take_scores(store: Store, recipe: Recipe, state: State) -> None:
    """Take into the state every layer of the recipe's scores that stands, as the recipe asks for it."""
    if not recipe.score:
        return
    try:
        scores = bind_scores(recipe)
    except WinnowError:
        return  # what is wrong with it is said by the stage that makes it
    for bound in scores:
        if bound.entry.layer in state.layers or lacking_layers(state, bound):
            continue
        if take_trace(store, state, trace_layer(bound, state)):
            take_score(store, state, bound)


def generation_scores(store: Store, recipe: Recipe, generation: Generation) -> dict[str, dict[str, str]]:
    """The keys that a generation's layers of scores have when they may be read, by layer and source."""
    named = {entry.layer for entry in recipe.score} | {entry.trace for entry in recipe.score}
    if not named & generation.layers.keys():
        return {}
    state = state_of(store, generation)
    keys: dict[str, dict[str, str]] = {}
    for bound in bind_scores(recipe):
        if lacking_layers(state, bound):
            continue
        layer = trace_layer(bound, state)
        sources = sorted({source for source, _ in state.shards})
        keys[layer.layer] = {source: state.key(layer, source) for source in sources}
        if bound.entry.trace in state.layers:
            keys[bound.entry.layer] = dict.fromkeys(sources, score_key(bound, state).covered)
    return keys


def state_of(store: Store, generation: Generation) -> State:
    """What a generation names."""
    layers: dict[str, list[LayerCommit]] = {}
    for layer in generation.layers:
        if layer != layout.SAMPLES:
            layers[layer] = [
                LayerCommit(
                    layer=layer,
                    key=row.key,
                    shard=row.shard,
                    source=row.source,
                    object=ObjectRecord(row.object, row.rows, 0, ""),
                    samples=row.samples,
                    statistics=row.statistics,
                    fingerprint="",
                )
                for row in store.manifest(generation, layer)
            ]
    return State(store.tasks(generation), layers)
