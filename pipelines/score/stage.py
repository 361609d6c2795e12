"""Scores as their driver sees them: what stands, what is owed, and under which keys."""

from collections.abc import Mapping

from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.binding.scores import BoundScore, by_column, layers_of
from winnow.pipelines.dedupe.stage import existing_layer
from winnow.pipelines.running.row_layers import RowLayerTask, load_layers, pending_shards
from winnow.pipelines.score.keys import TraceLayer, score_key
from winnow.pipelines.score.weights import forgotten_by, weight_keys, without_forgotten
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.state import StoreState
from winnow.schemas.errors import WinnowError
from winnow.schemas.records import Generation, LayerCommit, ObjectRecord


def lacking_layers(state: StoreState, bound: BoundScore) -> list[str]:
    """The layers that a score is made of and that do not stand."""
    return [one for one in _made_of(bound) if one != layout.SAMPLES and one not in state.layers]


def _made_of(bound: BoundScore) -> tuple[str, ...]:
    """The layers that a score is made of, its trace aside."""
    columns = [*bound.columns]
    for condition in (bound.trusted, bound.looked):
        if condition is not None:
            columns += condition.columns
    if (by := by_column(bound)) is not None:
        columns.append(by)
    return layers_of(tuple(columns))


def trace_layer(store: Store, bound: BoundScore, state: StoreState, forgotten: str | None = None) -> TraceLayer:
    """The trace of a score over what the state holds; the layers that it is made of must stand.

    Args:
        store: Where they are.
        bound: The score.
        state: What it is made of.
        forgotten: What has been forgotten, where that was read already (`forgotten_by`).
    """
    for name in state.layers:
        state.keys[name] = {commit.source: commit.key for commit in state.layers[name]}
    forgotten = forgotten_by(store) if forgotten is None else forgotten
    return TraceLayer(bound, weight_keys(bound, state, forgotten), forgotten)


def owed_traces(store: Store, state: StoreState, layer: TraceLayer) -> list[RowLayerTask]:
    """The shards that have no trace yet."""
    return pending_shards(store, state, [layer])


def take_trace(store: Store, state: StoreState, layer: TraceLayer) -> bool:
    """Take a trace into the state if it stands for every shard; returns whether it does."""
    return not pending_shards(store, state, [layer]) and not load_layers(store, state, [layer])


def take_score(store: Store, state: StoreState, bound: BoundScore, forgotten: str | None = None) -> bool:
    """Take what a score makes of rows into the state if it stands over the traces that the state has."""
    key = score_key(bound, state, forgotten_by(store) if forgotten is None else forgotten)
    names = [record.shard for _, record in state.shards]
    commits = existing_layer(store, bound.entry.layer, key, names)
    if commits is None:
        return False
    state.layers[bound.entry.layer] = commits
    return True


def take_scores(store: Store, recipe: BoundRecipe, state: StoreState) -> None:
    """Take into the state every layer of the recipe's scores that stands, as the recipe asks for it."""
    if not recipe.config.score:
        return
    try:
        scores = recipe.scores
    except WinnowError:
        return  # what is wrong with it is said by the stage that makes it
    forgotten = forgotten_by(store)
    for bound in scores:
        if bound.entry.layer in state.layers or lacking_layers(state, bound):
            continue
        if take_trace(store, state, trace_layer(store, bound, state, forgotten)):
            take_score(store, state, bound, forgotten)


def generation_scores(
    store: Store, recipe: BoundRecipe, generation: Generation, expected: Mapping[str, Mapping[str, str]]
) -> dict[str, dict[str, str]]:
    """The keys that a generation's layers of scores have when they may be read, by layer and source.

    Those that were made before rows were forgotten are true of all other rows. Those that are made of a layer that is
    not what the recipe asks for now have no key that could be right.

    Args:
        store: Where they are.
        recipe: What is asked for.
        generation: What there is.
        expected: The keys of other stages' layers, by layer and source.
    """
    named = {layer for entry in recipe.config.score for layer in (entry.layer, entry.trace)}
    if not named & generation.layers.keys():
        return {}
    state = state_of(store, generation)
    sources = sorted({source for source, _ in state.shards})
    keys: dict[str, dict[str, str]] = {}
    forgotten = forgotten_by(store)
    for bound in recipe.scores:
        keys[bound.entry.trace] = dict.fromkeys(sources, _NONE)
        keys[bound.entry.layer] = dict.fromkeys(sources, _NONE)
        if lacking_layers(state, bound) or _stale(bound, generation, expected):
            continue
        layer = trace_layer(store, bound, state, forgotten)
        found = generation.layers.get(layer.layer)
        keys[layer.layer] = {
            source: _leniently(state.key(layer, source), None if found is None else found.keys.get(source))
            for source in sources
        }
        if bound.entry.trace in state.layers:
            found = generation.layers.get(bound.entry.layer)
            covered = score_key(bound, state, forgotten).covered
            keys[bound.entry.layer] = {
                source: _leniently(covered, None if found is None else found.keys.get(source)) for source in sources
            }
    return keys


_NONE = "none"  # no key is that


def _leniently(key: str, found: str | None) -> str:
    """The key that is there where it differs in nothing but what was forgotten."""
    return found if found is not None and without_forgotten(found) == without_forgotten(key) else key


def _stale(bound: BoundScore, generation: Generation, expected: Mapping[str, Mapping[str, str]]) -> bool:
    """Whether a layer that a score is made of was made with other settings."""
    for layer in _made_of(bound):
        found = generation.layers.get(layer)
        wanted = expected.get(layer, {})
        if found is not None and any(wanted.get(source, key) != key for source, key in found.keys.items()):
            return True
    return False


def state_of(store: Store, generation: Generation) -> StoreState:
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
    return StoreState(store.tasks(generation), layers)
