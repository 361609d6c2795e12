"""Finds the generation that a recipe reads: of all keys that the store holds, those of the recipe's own settings."""

from collections.abc import Mapping
from pathlib import PurePath

from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.binding.tokens import TOKENS_LAYER
from winnow.pipelines.dedupe.stage import generation_keys
from winnow.pipelines.rules.pinning import expected_keys
from winnow.pipelines.score.stage import generation_scores
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import LayerKeys, Store, as_published, as_read
from winnow.pipelines.store.global_keys import without_forgotten
from winnow.schemas.errors import WinnowError
from winnow.schemas.records import Generation, GenerationRecord
from winnow.schemas.rows.duplicates import DUPLICATES, layer_of_kind
from winnow.schemas.rows.extraction import EXTRACTED


def recipe_name(recipe: BoundRecipe) -> str:
    """The name of a recipe in its store: that of its file, so an edited recipe is still the same one."""
    return PurePath(recipe.file).name


def layer_names(recipe: BoundRecipe) -> frozenset[str]:
    """Every layer that a recipe has, made or not."""
    config = recipe.config
    names = {f"{EXTRACTED}{entry.name}" for entry in config.extract} | {
        measurement.entry.layer for measurement in recipe.measurements
    }
    names |= {layer_of_kind(kind) for kind in recipe.kinds}
    names |= {layer for entry in config.score for layer in (entry.layer, entry.trace)}
    return frozenset(names | ({TOKENS_LAYER} if config.mix is not None else set()))


def require_latest_for(recipe: BoundRecipe | None, store: Store) -> Generation:
    """The latest generation as a recipe reads it, or without a recipe as the one that published it does; StoreError
    with the command to run if there is none yet."""
    record = store.require_record()
    return as_published(record) if recipe is None else read_as(recipe, store, record)


def read_as(recipe: BoundRecipe, store: Store, record: GenerationRecord) -> Generation:
    """A generation as a recipe reads it.

    Token counts with another tokenizer or other edits are left out: nothing that reads them would notice.
    """
    keys = keys_read(recipe, store, record)
    if TOKENS_LAYER in keys:
        expected = _tokens_keys(recipe, keys)
        if any(expected.get(source) != key for source, key in keys[TOKENS_LAYER].items()):
            del keys[TOKENS_LAYER]
    return as_read(record, keys)


def _tokens_keys(recipe: BoundRecipe, keys: LayerKeys) -> dict[str, str]:
    """The keys of the recipe's token counts, by source, where they can be told."""
    try:
        layer = recipe.tokens
    except WinnowError:  # the key of pseudonyms is not here; the stage that needs it reports that
        return {}
    if layer is None or any(name not in keys for name in layer.reads):
        return {}
    return {
        source: layer.key({name: keys[name][source] for name in layer.reads})
        for source in sorted(keys[layout.SAMPLES])
        if all(source in keys[name] for name in layer.reads)
    }


def keys_read(recipe: BoundRecipe, store: Store, record: GenerationRecord) -> dict[str, dict[str, str]]:
    """The keys under which a recipe reads the layers of a generation, by layer and source.

    A layer has the key that the recipe's settings lead to, if the generation has that. Otherwise it has the recipe's
    last known key, so that a reader can say that the layer was made with other settings.
    """
    keys = _known_keys(recipe, record)
    try:
        context, operators = recipe.ingest(store), recipe.operators
        if any(bound.covers is not None for bound in operators):  # the keys of what they read come first
            _prefer(keys, record, expected_keys(context, (), store, None))
        expected = expected_keys(context, operators, store, as_read(record, keys))
    except WinnowError:  # a source or a model is not here: reading needs neither
        return keys
    _prefer(keys, record, expected)
    _prefer(keys, record, {TOKENS_LAYER: _tokens_keys(recipe, keys)})
    _prefer(keys, record, generation_keys(store, recipe, as_read(record, keys)))
    for _ in ("traces", "scores made of them"):
        found = as_read(record, keys)
        _prefer(keys, record, generation_scores(store, recipe, found, expected | _found(found, DUPLICATES)))
    return keys


def _known_keys(recipe: BoundRecipe, record: GenerationRecord) -> dict[str, dict[str, str]]:
    """The keys that the recipe read last, or if it is new, those of the recipe that published the generation."""
    names = layer_names(recipe) | {layout.SAMPLES}
    own = record.recipes.get(recipe_name(recipe))
    if own is not None:
        known = {**own.former, **own.layers}
        return {layer: dict(keys) for layer, keys in known.items() if layer in names}
    sources = {source.name for source in recipe.config.sources}
    return {
        layer: {source: key for source, key in keys.items() if source in sources}
        for layer, keys in record.recipes[record.recipe].layers.items()
        if layer in names
    }


def former_keys(recipe: BoundRecipe, record: GenerationRecord) -> dict[str, Mapping[str, str]]:
    """The last keys of the layers that a recipe no longer lists: it may list them again."""
    own = record.recipes.get(recipe_name(recipe))
    names = layer_names(recipe) | {layout.SAMPLES}
    known = {} if own is None else {**own.former, **own.layers}
    return {layer: keys for layer, keys in known.items() if layer not in names}


def _found(generation: Generation, prefix: str) -> dict[str, Mapping[str, str]]:
    return {layer: entry.keys for layer, entry in generation.layers.items() if layer.startswith(prefix)}


def _prefer(keys: dict[str, dict[str, str]], record: GenerationRecord, expected: LayerKeys) -> None:
    """Replace keys by the expected ones that the generation has."""
    for layer, by_source in expected.items():
        if layer not in record.layers:
            continue
        there = record.layers[layer].keys.keys()
        for source, key in by_source.items():
            now = keys.get(layer, {}).get(source)
            same = [one for one in sorted(there) if without_forgotten(one) == without_forgotten(key)]
            if key in there:
                keys.setdefault(layer, {})[source] = key
            elif same and now not in same:  # from before rows were forgotten: its values hold for all other rows
                keys.setdefault(layer, {})[source] = same[-1]
