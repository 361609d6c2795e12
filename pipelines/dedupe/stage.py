"""The driver's side of a search for duplicates: what it covers, its layers' keys, and which layers exist already."""

import io
from collections.abc import Collection, Iterable, Mapping
from typing import TypeAlias

from winnow.filters.duplicates.kind import AskedKind
from winnow.filters.duplicates.searches import ShingleSearch
from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.dedupe.search import CoveredShard, Search, put_shards
from winnow.pipelines.dedupe.verdicts import find_verdicts
from winnow.pipelines.reading.columns import column_of
from winnow.pipelines.running.job_tasks import OPENING_BYTES, TASK_BYTES
from winnow.pipelines.running.shard_groups import groups_for
from winnow.pipelines.running.shard_list import MAX_SHARD_GROUPS, put_hidden_rows_of
from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.global_keys import GlobalKey, forgotten_in, ignoring_forgotten, with_forgotten
from winnow.pipelines.store.hiding.scans import Hiding, load_hiding
from winnow.pipelines.store.state import StoreState
from winnow.schemas.identity import canonical_json, digest, fingerprint_of
from winnow.schemas.records import Generation
from winnow.schemas.rows.duplicates import Kind, layer_of_kind

ROW_BYTES = 256  # that a row has at least when it is unpacked
GROUP_BYTES = TASK_BYTES  # that a group of shards has about: smaller shards come together, as each block has a price

_HASH_BYTES = 32


Covered: TypeAlias = Iterable[tuple[str, str, str]]
"""What a search of one kind reads of each shard, sorted by name: the name, the objects of samples and of signatures."""


def load_stable_hiding(store: Store) -> Hiding:
    """Load the hidden rows, again if tombstones were added in the meantime."""
    hiding = load_hiding(store.objects)
    while (again := load_hiding(store.objects)).tombstones.keys() != hiding.tombstones.keys():
        hiding = again
    return hiding


def global_key(recipe: BoundRecipe, kind: Kind, covered: Covered, tombstones: Collection[str]) -> GlobalKey:
    """Return the key of a kind's layer over these shards, without the rows that tombstones hide."""
    asked = recipe.searched[kind]
    settings = fingerprint_of({"layer": asked.kind.layer, "version": asked.kind.version, "config": asked.deciding})
    rows = fingerprint_of_rows(settings, covered)
    return GlobalKey(settings, with_forgotten(rows, forgotten_in(tombstones)))


def fingerprint_of_rows(settings: str, covered: Covered) -> str:
    """Return `fingerprint_of({"settings": settings, "shards": […]})`; the shards need not be in memory together."""
    text = io.BytesIO()
    text.write(canonical_json({"settings": settings, "shards": []}).encode().removesuffix(b"]}"))
    for number, shard in enumerate(covered):
        text.write(b"," if number else b"")
        text.write(canonical_json(shard).encode())
    text.write(b"]}")
    return digest(text.getvalue(), size=8).hex()


def signature_objects(state: StoreState, asked: AskedKind) -> Mapping[str, str]:
    """Return the object that has a kind's signatures of each shard."""
    return state.samples if asked.layer == layout.SAMPLES else state.layers[asked.layer].objects


def state_keys(recipe: BoundRecipe, state: StoreState, tombstones: Collection[str]) -> dict[Kind, GlobalKey]:
    """Return the keys of every kind whose signatures exist."""
    keys: dict[Kind, GlobalKey] = {}
    samples = state.samples
    for kind, asked in recipe.searched.items():
        if asked.layer in (layout.SAMPLES, *state.layers):
            signed = signature_objects(state, asked)
            shards = ((shard, samples[shard], signed[shard]) for shard in sorted(samples))
            keys[kind] = global_key(recipe, kind, shards, tombstones)
    return keys


def generation_keys(store: Store, recipe: BoundRecipe, generation: Generation) -> dict[str, dict[str, str]]:
    """Return the keys that a generation's layers of duplicates need to be readable, by layer and source."""
    keys: dict[str, dict[str, str]] = {}
    tombstones = load_hiding(store.objects).tombstones
    for kind, asked in recipe.searched.items():
        if asked.layer in generation.layers:
            rows = store.manifest(generation, asked.layer)
            covered = ((row.shard, row.samples, row.object) for row in rows)
            key = global_key(recipe, kind, covered, tombstones).covered
            found = generation.layers.get(layer_of_kind(kind))
            there = None if found is None else next(iter(found.keys.values()), None)
            key = ignoring_forgotten(key, there)
            keys[layer_of_kind(kind)] = dict.fromkeys(rows.sources, key)
    return keys


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
        rows = key.all_rows(state, layer_of_kind(kind))
        if rows is None:
            missing[kind] = key
        else:
            state.layers[layer_of_kind(kind)] = rows
    return missing


def make_search(
    store: Store, recipe: BoundRecipe, state: StoreState, keys: Mapping[Kind, GlobalKey], hiding: Hiding
) -> Search:
    """Return one search for these kinds over every shard, without the hidden rows."""
    kinds = {kind: recipe.searched[kind] for kind in keys}
    names = ["samples", *state.layers]
    text = tuple(column for name in recipe.config.text if (column := column_of(name, names)) is not None)
    layers = {*(one.layer for one in kinds.values()), *(column.layer for column in text)} - {layout.SAMPLES}
    objects = {layer: state.layers[layer].objects for layer in sorted(layers)}
    verdicts = {
        kind: find_verdicts(store.objects, how.scheme(one.settings))
        for kind, one in kinds.items()
        if isinstance(how := one.search, ShingleSearch)
    }
    name = fingerprint_of({kind: key.covered for kind, key in keys.items()})
    scratch = f"{layout.SCRATCH}dedupe/{name}"
    covered = (
        CoveredShard(
            row.shard,
            row.source,
            row.rows,
            {layout.SAMPLES: row.object, **{layer: objects[layer][row.shard] for layer in sorted(layers)}},
            verdicts={kind: found[row.shard] for kind, found in verdicts.items() if row.shard in found},
        )
        for row in state.shards
    )
    shards = put_hidden_rows_of(store.objects, scratch, covered, state, hiding)
    size = len(state.shards) * (1 + len(layers)) * OPENING_BYTES
    size += state.shards.bytes + sum(state.layers[layer].bytes for layer in layers)
    groups = groups_for(size, MAX_SHARD_GROUPS, GROUP_BYTES)
    listed, shuffle = put_shards(store.objects, shards), recipe.config.shuffle
    size = max(size, ROW_BYTES * state.shards.rows)  # of rows that are much alike, little is left when they are packed
    return Search(store, listed, scratch, kinds, text, groups, size, shuffle)


def estimated_items(state: StoreState, kinds: Iterable[AskedKind], rows: int) -> dict[Kind, int]:
    """Return about how many items there are, for kinds that compare items; work is divided by it, and nothing else.

    Each item has a hash of at least 32 bytes, which cannot be compressed. Of those sent in pieces, pieces are counted.
    """
    found: dict[Kind, int] = {}
    for asked in kinds:
        if not asked.kind.unit.of_items:
            continue
        size = state.shards.bytes if asked.layer == layout.SAMPLES else state.layers[asked.layer].bytes
        count = max(rows, size // _HASH_BYTES)
        found[asked.kind.name] = count if asked.kind.sent_in_pieces else min(count, rows * asked.kind.unit.most)
    return found
