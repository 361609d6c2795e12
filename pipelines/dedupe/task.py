"""Writes one shard of a layer of duplicates: the outcomes of its rows, and `unmatched` for those without a match."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from winnow.pipelines.dedupe.compared import status_columns, statuses_of
from winnow.pipelines.dedupe.search import Search, read_shard
from winnow.pipelines.query.columns import Column
from winnow.pipelines.running.scratch_parts import read_part
from winnow.pipelines.running.tasks import TaskLine
from winnow.pipelines.store import layout
from winnow.pipelines.store.layers import LayerWriter, WrittenLayer
from winnow.schemas.rows.duplicates import HASH_BITS, ID_BYTES, OK, UNMATCHED, Kind, layer_of_kind, schema_of_kind
from winnow.schemas.statistics import layer_spec


@dataclass(frozen=True, slots=True)
class GlobalKey:
    """The key of a layer over the whole store: that of its settings, which names its objects, and that of all input."""

    settings: str
    covered: str


@dataclass(frozen=True, slots=True)
class WriteTask(TaskLine):
    """A shard, by its number in the search, and the layers that it lacks."""

    shard: int
    missing: Mapping[str, str]  # the key of each missing layer, by layer


def write_duplicates(search: Search, kind: Kind, shard: int, key: GlobalKey) -> WrittenLayer:
    """Write one shard of a layer of duplicates."""
    one = search.covered[shard]
    layer, schema = layer_of_kind(kind), schema_of_kind(kind)
    found = read_part(search.store.objects, search.scratch, f"{kind}/outcomes", shard)
    rows = found["row"].to_numpy()
    with LayerWriter(search.store, schema, layer_spec(layer, schema)) as writer:
        for at, batch in read_shard(search, shard, [*status_columns(search, kind), Column(layout.SAMPLES, "id")]):
            first, last = np.searchsorted(rows, (at, at + len(batch["samples.id"])))
            part = found.slice(first, last - first)
            writer.write(_layer_rows(schema, statuses_of(search, kind, batch), batch["samples.id"], part, at))
        return writer.finish(layer, key.covered, one.shard, under=key.settings)


def _layer_rows(schema: pa.Schema, statuses: pa.Array, ids: pa.Array, found: pa.RecordBatch, at: int) -> pa.RecordBatch:
    count = len(ids)
    compared = pc.equal(statuses, OK)
    positions = np.full(count, -1, np.int64)
    positions[found["row"].to_numpy() - at] = np.arange(found.num_rows)
    taken = pa.array(positions, mask=positions < 0)
    matched = pa.array(positions >= 0)
    distinct = pc.if_else(compared, pc.coalesce(found["texts"].take(taken), 1), None)
    similarity = found["similarity"].take(taken)
    columns = {
        "status": pc.if_else(matched, OK, pc.if_else(compared, UNMATCHED, statuses)),
        "cluster": pc.if_else(
            compared, pc.coalesce(found["cluster"].take(taken), ids), pa.scalar(None, pa.binary(ID_BYTES))
        ),
        "size": pc.if_else(compared, pc.coalesce(found["size"].take(taken), 1), None),
        "texts": distinct,
        "hashes": distinct,
        "matched": found["matched"].take(taken),
        "similarity": similarity,
        "distance": pc.round(pc.multiply(pc.subtract(1.0, similarity), HASH_BITS)).cast(pa.int16()),
        "by": found["by"].take(taken),
    }
    return pa.RecordBatch.from_arrays([columns[field.name] for field in schema], schema=schema)
