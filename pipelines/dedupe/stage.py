"""The driver's side of a search for duplicates: what it covers, its layers' keys, and which layers exist already."""

import io
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict
from typing import TypeAlias

from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.binding.duplicates import SIGNATURE_LAYERS
from winnow.pipelines.dedupe.search import CoveredShard, Search, put_shards
from winnow.pipelines.dedupe.task import GlobalKey
from winnow.pipelines.dedupe.verdicts import find_verdicts
from winnow.pipelines.reading.columns import column_of
from winnow.pipelines.running.job_tasks import OPENING_BYTES, TASK_BYTES
from winnow.pipelines.running.shard_groups import groups_for
from winnow.pipelines.running.shard_list import MAX_SHARD_GROUPS, put_hidden_rows_of
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.hiding.scans import Hiding, load_hiding
from winnow.pipelines.store.manifests.rows import ManifestRows
from winnow.pipelines.store.state import StoreState
from winnow.schemas.identity import Json, canonical_json, digest, fingerprint_of
from winnow.schemas.records import Generation
from winnow.schemas.rows.duplicates import OF_ITEMS, Kind, layer_of_kind

VERSIONS: Mapping[Kind, int] = {
    "exact": 2,
    "url": 2,
    "near": 2,
    "image_bytes": 4,
    "pdq": 5,
    "embedding": 2,
    "vpdq": 2,
    "video_embedding": 1,
    "captions": 2,
}
"""The version of everything that decides the values of a kind's layer, given the signatures."""

GROUP_BYTES = TASK_BYTES  # that a group of shards has about: smaller shards come together, as each block has a price

_HASH_BYTES = 32
_MOST_ITEMS = 16  # that a row is taken to have on average: samples have texts beside their items


Covered: TypeAlias = Iterable[tuple[str, str, str]]
"""What a search of one kind reads of each shard, sorted by name: the name, the objects of samples and of signatures."""


def settings_of(recipe: BoundRecipe, kind: Kind) -> dict[str, Json]:
    """Return every setting that a layer of duplicates depends on."""
    config = recipe.config.dedupe
    assert config is not None
    if kind == "near":
        assert recipe.near is not None
        settings: dict[str, Json] = dict(asdict(recipe.near))
        del settings["max_bucket"]  # changes only a count
        return settings
    if kind == "pdq":
        assert config.pdq is not None
        return {"radius": config.pdq.radius, "min_quality": config.pdq.min_quality}
    if kind in recipe.cosines:
        return dict(asdict(recipe.cosines[kind]))
    if kind == "vpdq":
        assert config.vpdq is not None
        settings = dict(asdict(config.vpdq))
        del settings["max_cluster"]  # decides no value
        return settings
    others = {"exact": config.exact, "url": config.url, "image_bytes": config.image_bytes, "captions": config.captions}
    chosen = others[kind]
    assert chosen is not None
    return dict(asdict(chosen))


def load_stable_hiding(store: Store) -> Hiding:
    """Load the hidden rows, again if tombstones were added in the meantime."""
    hiding = load_hiding(store.objects)
    while (again := load_hiding(store.objects)).tombstones.keys() != hiding.tombstones.keys():
        hiding = again
    return hiding


def global_key(recipe: BoundRecipe, kind: Kind, covered: Covered, tombstones: Collection[str]) -> GlobalKey:
    """Return the key of a kind's layer over these shards, without the rows that tombstones hide."""
    settings = fingerprint_of(
        {"layer": layer_of_kind(kind), "version": VERSIONS[kind], "config": settings_of(recipe, kind)}
    )
    rows = fingerprint_of_rows(settings, covered)
    return GlobalKey(settings, f"{rows}-{fingerprint_of(sorted(tombstones))}" if tombstones else rows)


def fingerprint_of_rows(settings: str, covered: Covered) -> str:
    """Return `fingerprint_of({"settings": settings, "shards": […]})`; the shards need not be in memory together."""
    text = io.BytesIO()
    text.write(canonical_json({"settings": settings, "shards": []}).encode().removesuffix(b"]}"))
    for number, shard in enumerate(covered):
        text.write(b"," if number else b"")
        text.write(canonical_json(shard).encode())
    text.write(b"]}")
    return digest(text.getvalue(), size=8).hex()


def _without_tombstones(key: str) -> str:
    return key.partition("-")[0]


def signature_objects(state: StoreState, kind: Kind) -> Mapping[str, str]:
    """Return the object that has a kind's signatures of each shard."""
    if SIGNATURE_LAYERS[kind] == layout.SAMPLES:
        return state.samples
    return state.layers[SIGNATURE_LAYERS[kind]].objects


def state_keys(recipe: BoundRecipe, state: StoreState, tombstones: Collection[str]) -> dict[Kind, GlobalKey]:
    """Return the keys of every kind whose signatures exist."""
    keys: dict[Kind, GlobalKey] = {}
    samples = state.samples
    for kind in recipe.kinds:
        if SIGNATURE_LAYERS[kind] in (layout.SAMPLES, *state.layers):
            signed = signature_objects(state, kind)
            shards = ((shard, samples[shard], signed[shard]) for shard in sorted(samples))
            keys[kind] = global_key(recipe, kind, shards, tombstones)
    return keys


def generation_keys(store: Store, recipe: BoundRecipe, generation: Generation) -> dict[str, dict[str, str]]:
    """Return the keys that a generation's layers of duplicates need to be readable, by layer and source.

    A layer from before rows were forgotten is accepted: its values hold for all other rows, and readers skip the
    forgotten ones.
    """
    keys: dict[str, dict[str, str]] = {}
    tombstones = load_hiding(store.objects).tombstones
    for kind in recipe.kinds:
        if SIGNATURE_LAYERS[kind] in generation.layers:
            rows = store.manifest(generation, SIGNATURE_LAYERS[kind])
            covered = ((row.shard, row.samples, row.object) for row in rows)
            key = global_key(recipe, kind, covered, tombstones).covered
            found = generation.layers.get(layer_of_kind(kind))
            key_there = next(iter(found.keys.values()), key) if found is not None else key
            if _without_tombstones(key_there) == _without_tombstones(key):
                key = key_there
            keys[layer_of_kind(kind)] = dict.fromkeys(rows.sources, key)
    return keys


def global_rows(state: StoreState, layer: str, key: GlobalKey) -> ManifestRows:
    """Return the objects of a global layer; an interrupted run may have written those of some shards."""
    return state.find(layer, dict.fromkeys(state.keys[layout.SAMPLES], key.covered), under=key.settings)


def existing_layer(state: StoreState, layer: str, key: GlobalKey) -> ManifestRows | None:
    """Return the objects of a global layer if every shard has one, else None."""
    found = global_rows(state, layer, key)
    return found if len(found) == len(state.shards) else None


def load_existing_layers(
    store: Store, recipe: BoundRecipe, state: StoreState, tombstones: Collection[str] | None = None
) -> dict[Kind, GlobalKey]:
    """Add every existing layer of duplicates to the state; return the keys of the kinds that are missing.

    Args:
        store: Where the layers are.
        recipe: The recipe that asks for them.
        state: The shards that the layers must cover, and where the layers are added.
        tombstones: The tombstones that the layers must respect; None for all that exist now.
    """
    missing: dict[Kind, GlobalKey] = {}
    if tombstones is None:
        tombstones = load_hiding(store.objects).tombstones
    for kind, key in state_keys(recipe, state, tombstones).items():
        if layer_of_kind(kind) in state.layers:  # written or loaded in this run
            continue
        rows = existing_layer(state, layer_of_kind(kind), key)
        if rows is None:
            missing[kind] = key
        else:
            state.layers[layer_of_kind(kind)] = rows
    return missing


def make_search(
    store: Store, recipe: BoundRecipe, state: StoreState, keys: Mapping[Kind, GlobalKey], hiding: Hiding
) -> Search:
    """Return one search for these kinds over every shard, without the hidden rows."""
    kinds = {kind: SIGNATURE_LAYERS[kind] for kind in keys}
    names = ["samples", *state.layers]
    text = tuple(column for name in recipe.config.text if (column := column_of(name, names)) is not None)
    layers = {*kinds.values(), *(column.layer for column in text)} - {layout.SAMPLES}
    objects = {layer: state.layers[layer].objects for layer in sorted(layers)}
    near = recipe.near if "near" in keys else None
    verdicts = {} if near is None else find_verdicts(store.objects, near.scheme)
    name = fingerprint_of({kind: key.covered for kind, key in keys.items()})
    scratch = f"{layout.SCRATCH}dedupe/{name}"
    covered = (
        CoveredShard(
            row.shard,
            row.source,
            row.rows,
            {layout.SAMPLES: row.object, **{layer: objects[layer][row.shard] for layer in sorted(layers)}},
            verdicts=verdicts.get(row.shard, ()),
        )
        for row in state.shards
    )
    shards = put_hidden_rows_of(store.objects, scratch, covered, state, hiding)
    size = len(state.shards) * (1 + len(layers)) * OPENING_BYTES
    size += state.shards.bytes + sum(state.layers[layer].bytes for layer in layers)
    groups = groups_for(size, MAX_SHARD_GROUPS, GROUP_BYTES)
    config = recipe.config.dedupe
    pdq = config.pdq if config is not None and "pdq" in keys else None
    vpdq = config.vpdq if config is not None and "vpdq" in keys else None
    listed = put_shards(store.objects, shards)
    cosines = {kind: found for kind, found in recipe.cosines.items() if kind in keys}
    return Search(store, listed, scratch, kinds, text, near, pdq, cosines, vpdq, groups)


def estimated_items(state: StoreState, kinds: Iterable[Kind], rows: int) -> dict[Kind, int]:
    """Return about how many items there are, for kinds that compare items; work is divided by it, and nothing else.

    Each item has a hash of at least 32 bytes, which cannot be compressed. Of videos, frames are counted.
    """
    found: dict[Kind, int] = {}
    for kind in kinds:
        if kind not in OF_ITEMS:
            continue
        if SIGNATURE_LAYERS[kind] == layout.SAMPLES:
            size = state.shards.bytes
        else:
            size = state.layers[SIGNATURE_LAYERS[kind]].bytes
        found[kind] = max(rows, size // _HASH_BYTES)
        if kind != "vpdq":
            found[kind] = min(found[kind], rows * _MOST_ITEMS)
    return found
