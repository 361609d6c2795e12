"""The statistics of a layer over all its shards, merged once for each generation and kept in the store.

They are merged by key in the order of shards, then over keys in the order of sources, so they do not depend on how the
store has grown. What is kept is found by the key and the values of its objects, so it is valid as long as these are.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import TypeAlias

from winnow.pipelines.query.statistics_tasks import CountedShard, CountedShards, merge_statistics
from winnow.pipelines.running.job_tasks import Jobs
from winnow.pipelines.store import layout
from winnow.pipelines.store.concurrency import map_objects
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.hiding.redaction import redacted_batches
from winnow.pipelines.store.hiding.scans import NOTHING, HiddenRows
from winnow.pipelines.store.integrity.content import name_content, read_content
from winnow.pipelines.store.integrity.damage import DamagedError, MissingError
from winnow.pipelines.store.manifests.rows import ManifestRow, ManifestRows
from winnow.pipelines.store.tables import read_batches, read_schema
from winnow.schemas.errors import StoreError
from winnow.schemas.identity import content_name
from winnow.schemas.records import Generation
from winnow.schemas.statistics import ShardStatistics, by_layer_from_json, by_layer_to_json, layer_spec, merge_in_order

Hidden: TypeAlias = Mapping[str, HiddenRows]
"""The forgotten rows of each shard that has some."""


def statistics_by_key(
    store: Store, generation: Generation, layer: str, hidden: Hidden, jobs: Callable[[], Jobs]
) -> Iterator[tuple[tuple[str, ...], ShardStatistics]]:
    """The statistics of a layer under each of its keys, with the key's sources, in the order of sources.

    Where forgotten rows (`hidden`) wait for their purge, statistics are counted again. `jobs`: where the statistics of
    many shards are merged.
    """
    by_key = store.manifest(generation, layer).by_key()
    for key, rows in sorted(by_key.items(), key=lambda one: one[1].sources):
        if hidden and any(len(hidden.get(row.shard, NOTHING).pending) for row in rows):
            counted = map_objects(store.objects, partial(_counted, store, generation, layer, hidden), rows, 1)
            yield rows.sources, merge_in_order(counted)
        else:
            yield rows.sources, _kept(store, generation, layer, key, rows, jobs)


def _kept(
    store: Store, generation: Generation, layer: str, key: str, rows: ManifestRows, jobs: Callable[[], Jobs]
) -> ShardStatistics:
    """The stored result; if there is none, merged and stored."""
    for info in store.objects.list(_prefix(layer, key, rows)):
        with suppress(DamagedError, MissingError):
            return ShardStatistics.from_json(read_content(store.objects, info.path))
    together = _stored_together(store, generation, rows)
    shards = CountedShards({name: same for name, (_, same) in together.items()})
    merged = merge_statistics(store.objects, shards, partial(_read, store, generation), jobs)
    for name, (named, same) in together.items():
        raw = merged[name].to_json()
        with suppress(OSError, StoreError):  # the store may be one that this user can only read
            store.objects.put(f"{_prefix(name, named, same)}{content_name(raw)}.json", raw)
    return merged[layer]


def _prefix(layer: str, key: str, rows: ManifestRows) -> str:
    return layout.merged_statistics(layer, key, rows.hash)


def _stored_together(store: Store, generation: Generation, rows: ManifestRows) -> dict[str, tuple[str, ManifestRows]]:
    """By layer the key and objects of all, most of whose statistics lie in the same files as those of these.

    All of them are merged when one is asked for, so that each file is read once. A purge leaves files of its own to the
    objects that it has rewritten.
    """
    return {
        layer: (key, same)
        for layer in generation.layers
        for key, same in store.manifest(generation, layer).by_key().items()
        if same.alike(rows, ("shard",)) and 2 * same.shared_paths(rows, "statistics") > len(rows)
    }


def _counted(store: Store, generation: Generation, layer: str, hidden: Hidden, row: ManifestRow) -> ShardStatistics:
    """What was counted when the shard was written; counted again while forgotten rows are only hidden in it."""
    pending = hidden.get(row.shard, NOTHING).pending
    if not len(pending):
        return by_layer_from_json(_stored(store, generation, row.shard, row.statistics), (layer,))[layer]
    batches = redacted_batches(layer, read_batches(store.objects, row.object), pending)
    return ShardStatistics.of(layer_spec(layer, read_schema(store.objects, row.object)), batches)


def _read(store: Store, generation: Generation, shard: CountedShard, path: str) -> bytes:
    return _stored(store, generation, shard.shard, path)


def _stored(store: Store, generation: Generation, shard: str, path: str) -> bytes:
    """What was counted when a shard was written, from one file; counted again if that is lost or damaged."""
    try:
        return read_content(store.objects, path)
    except (DamagedError, MissingError):
        raw = _counted_again(store, generation, shard, path)
        if content_name(raw) == name_content(path):
            with suppress(OSError, StoreError):  # the store may be one that this user can only read
                store.objects.put(path, raw)
        return raw


def _counted_again(store: Store, generation: Generation, shard: str, path: str) -> bytes:
    """The statistics of every object of a shard whose statistics lay in a file."""
    record = store.generation_record(generation.number)
    counted: dict[str, ShardStatistics] = {}
    for layer in record.layers:
        for row in store.every_row(record, layer):
            if (row.shard, row.statistics) == (shard, path):
                spec = layer_spec(layer, read_schema(store.objects, row.object))
                counted[layer] = ShardStatistics.of(spec, read_batches(store.objects, row.object))
    return by_layer_to_json(counted)
