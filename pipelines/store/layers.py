"""Writes one table of a shard, its rows and their statistics, and commits the layers that a task wrote."""

from collections.abc import Sequence
from typing import Self

import pyarrow as pa

from winnow.pipelines.store import layout
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.sealed import put_record_if_absent
from winnow.pipelines.store.tables import TableWriter
from winnow.schemas.fingerprint import current_fingerprint
from winnow.schemas.identity import content_name
from winnow.schemas.records import LayerPart, LayersCommit, ObjectRecord
from winnow.schemas.statistics import ShardStatistics, StatisticsSpec


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

    def finish(self, layer: str, key: str, shard: str) -> tuple[ObjectRecord, str]:
        """Publishes the table and its statistics; returns the object and the statistics' path."""

        def name(content: str) -> str:
            if layer == layout.SAMPLES:
                return layout.samples_object(shard, content)
            return layout.layer_object(layer, key, shard, content)

        written = self._table.finish(name)
        raw = self._statistics.to_json()
        path = layout.statistics_object(layer, shard, content_name(raw))
        self._store.objects.put_if_absent(path, raw)
        return written, path

    def part(self, layer: str, key: str, shard: str, *, under: str | None = None) -> LayerPart:
        """Publishes a layer's object for a shard; returns what its task commits.

        A global layer's key changes whenever its coverage changes; its objects are stored `under` a key that does not,
        so that shards with unchanged values keep their objects.
        """
        written, statistics = self.finish(layer, under or key, shard)
        return LayerPart(layer, key, written, statistics)

    def discard(self) -> None:
        """Discards what was written but not published."""
        self._table.discard()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.discard()


def commit_layers(store: Store, shard: str, source: str, samples: str, parts: Sequence[LayerPart]) -> None:
    """Commits all layers that a task wrote for a shard, in one record, unless they are committed already."""
    commit = LayersCommit(shard, source, samples, tuple(parts), current_fingerprint().name)
    name = layout.set_name({part.layer: part.key for part in parts})
    put_record_if_absent(store.objects, layout.layer_commit(name, shard), commit)
