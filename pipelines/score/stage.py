"""The driver's side of scores: which layers exist, which are missing, and their keys."""

from collections.abc import Mapping

from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.binding.scores import BoundScore, group_column, layers_of
from winnow.pipelines.running.row_layers import load_layers, pending_shards
from winnow.pipelines.score.keys import TraceLayer, score_key
from winnow.pipelines.score.weights import forgotten_by, weight_keys
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.global_keys import ignoring_forgotten
from winnow.pipelines.store.state import StoreState
from winnow.pipelines.store.store_index import StoreIndex
from winnow.schemas.records import Generation


def missing_layers(state: StoreState, bound: BoundScore) -> list[str]:
    """Return the layers that a score depends on and that do not exist."""
    return [layer for layer in _input_layers(bound) if layer != layout.SAMPLES and layer not in state.layers]


def _input_layers(bound: BoundScore) -> tuple[str, ...]:
    """Return the layers that a score depends on, apart from its trace."""
    columns = [*bound.columns]
    for condition in (bound.reference_rows, bound.trajectory_rows, bound.target_rows):
        if condition is not None:
            columns += condition.columns
    if (by := group_column(bound)) is not None:
        columns.append(by)
    return layers_of(tuple(columns))


def trace_layer(store: Store, bound: BoundScore, state: StoreState, forgotten: str | None = None) -> TraceLayer:
    """Return the trace of a score over the state, which has the layers that it depends on.

    `forgotten`: the result of `forgotten_by`, if it is known already.
    """
    for name in state.layers:
        state.note_keys(name)
    forgotten = forgotten_by(store) if forgotten is None else forgotten
    return TraceLayer(bound, weight_keys(bound, state, forgotten), forgotten)


def load_trace(state: StoreState, layer: TraceLayer) -> bool:
    """Add a trace to the state if every shard has it; return whether that is so."""
    return not pending_shards(state, [layer]) and not load_layers(state, [layer])


def load_score(store: Store, state: StoreState, bound: BoundScore, forgotten: str | None = None) -> bool:
    """Add a score's layer to the state if it exists for the state's traces; return whether it does."""
    key = score_key(bound, state, forgotten_by(store) if forgotten is None else forgotten)
    rows = key.all_rows(state, bound.entry.layer)
    if rows is None:
        return False
    state.layers[bound.entry.layer] = rows
    return True


def generation_scores(
    store: Store, recipe: BoundRecipe, generation: Generation, expected: Mapping[str, Mapping[str, str]]
) -> dict[str, dict[str, str]]:
    """Return the keys that a generation's layers of scores need to be readable, by layer and source.

    Layers from before rows were forgotten are accepted, as their values hold for all other rows. If a layer that a
    score depends on is out of date, no key is accepted. `expected`: the keys of other stages' layers, by layer and
    source.
    """
    named = {layer for entry in recipe.config.score for layer in (entry.layer, entry.trace)}
    if not named & generation.layers.keys():
        return {}
    state = state_of(store, generation)
    sources = state.shards.sources
    keys: dict[str, dict[str, str]] = {}
    forgotten = forgotten_by(store)
    for bound in recipe.scores:
        keys[bound.entry.trace] = dict.fromkeys(sources, _NO_KEY)
        keys[bound.entry.layer] = dict.fromkeys(sources, _NO_KEY)
        if missing_layers(state, bound) or _stale(bound, generation, expected):
            continue
        layer = trace_layer(store, bound, state, forgotten)
        found = generation.layers.get(layer.layer)
        keys[layer.layer] = {
            source: ignoring_forgotten(state.key(layer, source), None if found is None else found.keys.get(source))
            for source in sources
        }
        if bound.entry.trace in state.layers:
            found = generation.layers.get(bound.entry.layer)
            covered = score_key(bound, state, forgotten).covered
            keys[bound.entry.layer] = {
                source: ignoring_forgotten(covered, None if found is None else found.keys.get(source))
                for source in sources
            }
    return keys


_NO_KEY = "none"  # never equals a key


def _stale(bound: BoundScore, generation: Generation, expected: Mapping[str, Mapping[str, str]]) -> bool:
    """Whether a layer that a score depends on was made with other settings."""
    for layer in _input_layers(bound):
        found = generation.layers.get(layer)
        wanted = expected.get(layer, {})
        if found is not None and any(wanted.get(source, key) != key for source, key in found.keys.items()):
            return True
    return False


def state_of(store: Store, generation: Generation) -> StoreState:
    """Return the shards and layers of a generation."""
    layers = {layer: store.manifest(generation, layer) for layer in generation.layers if layer != layout.SAMPLES}
    samples = store.manifest(generation, layout.SAMPLES)
    return StoreState(StoreIndex(store.objects, None), store.tasks(generation), layers, samples)
