"""The statistics of a layer over all its shards, merged once for each generation and kept in the store.

They are merged by key in the order of shards, then over keys in the order of sources, so they do not depend on how the
store has grown. What is kept is found by the key and the values of its objects, so it is valid as long as these are.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TypeAlias

from winnow.pipelines.store import layout
from winnow.pipelines.store.content import name_content, read_content
from winnow.pipelines.store.damage import DamagedError, MissingError
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.hiding.neutral import neutral_stream
from winnow.pipelines.store.hiding.scans import NOTHING, HiddenRows
from winnow.pipelines.store.manifests import ManifestRow
from winnow.pipelines.store.tables import read_batches, read_schema
from winnow.pipelines.store.together import AT_ONCE, each
from winnow.schemas.errors import StoreError
from winnow.schemas.identity import content_name
from winnow.schemas.records import Generation, values_hash
from winnow.schemas.statistics import ShardStatistics, layer_spec, merge_in_order

Hidden: TypeAlias = Mapping[str, HiddenRows]
"""The forgotten rows of each shard that has some."""


def statistics_by_key(
    store: Store, generation: Generation, layer: str, hidden: Hidden
) -> Iterator[tuple[tuple[str, ...], ShardStatistics]]:
    """The statistics of a layer under each of its keys, with the key's sources, in the order of sources.

    Args:
        store: The store.
        generation: The generation.
        layer: The layer.
        hidden: The forgotten rows; where some wait for their purge, the others are counted again.
    """
    by_key: dict[str, list[ManifestRow]] = {}
    for row in store.manifest(generation, layer):
        by_key.setdefault(row.key, []).append(row)
    named = {key: tuple(sorted({row.source for row in rows})) for key, rows in by_key.items()}
    for key in sorted(by_key, key=named.__getitem__):
        rows = by_key[key]
        if any(len(hidden.get(row.shard, NOTHING).pending) for row in rows):
            yield named[key], _merged(store, layer, rows, hidden)
        else:
            yield named[key], _kept(store, layer, key, rows)


def _kept(store: Store, layer: str, key: str, rows: list[ManifestRow]) -> ShardStatistics:
    """What was merged before; merged and stored if that is not there."""
    prefix = layout.merged_statistics(layer, key, values_hash({row.shard: row.values for row in rows}))
    for info in store.objects.list(prefix):
        with suppress(DamagedError, MissingError):
            return ShardStatistics.from_json(read_content(store.objects, info.path))
    merged = _merged(store, layer, rows, {})
    raw = merged.to_json()
    with suppress(OSError, StoreError):  # the store may be one that this user can only read
        store.objects.put(f"{prefix}{content_name(raw)}.json", raw)
    return merged


def _merged(store: Store, layer: str, rows: Iterable[ManifestRow], hidden: Hidden) -> ShardStatistics:
    at_once = 1 if any(len(one.pending) for one in hidden.values()) else AT_ONCE  # whole shards may have to be read
    return merge_in_order(each(store.objects, lambda row: _counted(store, layer, row, hidden), rows, at_once))


def _counted(store: Store, layer: str, row: ManifestRow, hidden: Hidden) -> ShardStatistics:
    """What was counted when the shard was written; counted again while forgotten rows are only hidden in it."""
    pending = hidden.get(row.shard, NOTHING).pending
    if not len(pending):
        return _stored(store, layer, row)
    batches = neutral_stream(layer, read_batches(store.objects, row.object), pending)
    return ShardStatistics.of(layer_spec(layer, read_schema(store.objects, row.object)), batches)


def _stored(store: Store, layer: str, row: ManifestRow) -> ShardStatistics:
    """What was counted when the shard was written; counted and stored again if that is lost or damaged."""
    try:
        raw = read_content(store.objects, row.statistics)
    except (DamagedError, MissingError):
        batches = read_batches(store.objects, row.object)
        raw = ShardStatistics.of(layer_spec(layer, read_schema(store.objects, row.object)), batches).to_json()
        if content_name(raw) == name_content(row.statistics):
            with suppress(OSError, StoreError):  # the store may be one that this user can only read
                store.objects.put(row.statistics, raw)
    return ShardStatistics.from_json(raw)
