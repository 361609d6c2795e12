"""Writes one table of a shard, its rows and their statistics, and commits the layers that a task wrote."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import pyarrow as pa

from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.integrity.sealed import put_record_if_absent
from winnow.pipelines.store.tables import TableWriter
from winnow.schemas.environment.fingerprint import current_fingerprint
from winnow.schemas.identity import content_name
from winnow.schemas.records import LayerPart, LayersCommit
from winnow.schemas.statistics import ShardStatistics, StatisticsSpec, by_layer_to_json


@dataclass(frozen=True, slots=True)
class WrittenLayer:
    """A published table of a layer, or of the samples, and what was counted in it."""

    part: LayerPart
    statistics: ShardStatistics


class LayerWriter:
    """One table of a shard with its statistics."""

    def __init__(self, store: Store, schema: pa.Schema, statistics: StatisticsSpec) -> None:
        self._store = store
        self._table = TableWriter(
            store.objects,
            schema,
            row_group_rows=store.record.row_group_rows,
            row_group_bytes=store.record.row_group_bytes,
        )
        self._statistics = ShardStatistics.of(statistics, ())

    def write(self, batch: pa.RecordBatch) -> None:
        """Adds rows."""
        self._table.write(batch)
        self._statistics.add(batch)

    def finish(self, layer: str, key: str, shard: str, *, under: str | None = None) -> WrittenLayer:
        """Publishes the table.

        A global layer's key changes whenever its coverage changes; its objects are stored `under` a key that does not,
        so that shards with unchanged values keep their objects.
        """

        def name(content: str) -> str:
            if layer == layout.SAMPLES:
                return layout.samples_object(shard, content)
            return layout.layer_object(layer, under or key, shard, content)

        return WrittenLayer(LayerPart(layer, key, self._table.finish(name)), self._statistics)

    def discard(self) -> None:
        """Discards what was written but not published."""
        self._table.discard()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.discard()


def put_statistics(store: Store, shard: str, written: Sequence[WrittenLayer]) -> str:
    """Puts the statistics of the tables that a task wrote of a shard, as one object; returns its path."""
    raw = by_layer_to_json({one.part.layer: one.statistics for one in written})
    path = layout.statistics_object(shard, content_name(raw))
    store.objects.put_if_absent(path, raw)
    return path


def commit_layers(store: Store, shard: str, source: str, samples: str, written: Sequence[WrittenLayer]) -> None:
    """Commits all layers that a task wrote for a shard, in one record, unless they are committed already."""
    statistics = put_statistics(store, shard, written)
    parts = tuple(one.part for one in written)
    commit = LayersCommit(shard, source, samples, statistics, parts, current_fingerprint().name)
    name = layout.set_name({part.layer: part.key for part in parts})
    put_record_if_absent(store.objects, layout.layer_commit(name, shard), commit)
