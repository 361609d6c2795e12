"""Writes layers of duplicates, shard by shard: the outcomes of rows, and `unmatched` for those without a match."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.filters.duplicates.kind import DuplicateKind, SearchResults
from winnow.pipelines.dedupe.compared import IDS, NodeStatuses, reader_of
from winnow.pipelines.dedupe.nodes import first_place, items_of, rows_of_places
from winnow.pipelines.dedupe.search import Search
from winnow.pipelines.reading.items import item_ids, rows_and_items
from winnow.pipelines.running.scratch_parts import read_part
from winnow.pipelines.running.tasks import TaskLine
from winnow.pipelines.running.worker import prepare_worker
from winnow.pipelines.store import layout
from winnow.pipelines.store.global_keys import GlobalKey
from winnow.pipelines.store.layers import LayerWriter, WrittenLayer, commit_layers
from winnow.schemas.rows.duplicates import ID_BYTES, OK, UNMATCHED, Kind, layer_of_kind
from winnow.schemas.statistics import layer_spec


@dataclass(frozen=True, slots=True)
class WriteTask(TaskLine):
    """A shard, by its number in the search, and the layers that it lacks."""

    shard: int
    missing: Mapping[str, str]  # the key of each missing layer, by layer


class WriteDuplicates(beam.DoFn):
    """Task → the shard's name, after its layers are committed. Safe to repeat."""

    def __init__(self, search: Search, keys: Mapping[Kind, GlobalKey]) -> None:
        self._search = search
        self._keys = keys

    def setup(self) -> None:
        """Prepare the process."""
        prepare_worker()

    def process(self, element: bytes) -> Iterator[str]:
        """Write and commit the layers."""
        task = WriteTask.from_json(element)
        one = self._search.covered[task.shard]
        written = [
            write_duplicates(self._search, kind, task.shard, key)
            for kind, key in self._keys.items()
            if layer_of_kind(kind) in task.missing
        ]
        commit_layers(self._search.store, one.shard, one.source, one.objects[layout.SAMPLES], written)
        yield one.shard


def write_duplicates(search: Search, kind: Kind, shard: int, key: GlobalKey) -> WrittenLayer:
    """Write one shard of a layer of duplicates."""
    one, of, reader = search.covered[shard], search.kinds[kind].kind, reader_of(search.kinds[kind])
    schema = of.schema
    found = read_part(search.store.objects, search.scratch, f"{kind}/outcomes", shard)
    places = found["place"].to_numpy()
    with LayerWriter(search.store, schema, layer_spec(of.layer, schema)) as writer:
        for at, batch in search.listed.read(shard, [*reader.status_columns, IDS]):
            ids = batch[IDS.name]
            first, last = np.searchsorted(places, (first_place(at), first_place(at + len(ids))))
            rows = rows_of_places(places[first:last]) - at
            part, statuses = found.slice(first, last - first), reader.statuses(batch)
            if statuses.counts is None:
                writer.write(_batch(schema, _node_columns(of, statuses.rows, ids, part, rows)))
            else:
                writer.write(_item_rows(of, statuses, ids, part, rows, items_of(places[first:last])))
        return writer.finish(of.layer, key.covered, one.shard, under=key.settings)


def _item_rows(
    kind: DuplicateKind,
    statuses: NodeStatuses,
    ids: pa.FixedSizeBinaryArray,
    found: pa.RecordBatch,
    rows: NDArray[np.int64],
    items: NDArray[np.int64],
) -> pa.RecordBatch:
    """Return rows of lists, from the outcomes of their items."""
    assert statuses.counts is not None
    assert statuses.items is not None
    counts = np.maximum(statuses.counts, 0)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    of, number = rows_and_items(counts)
    columns = _node_columns(
        kind, statuses.items, item_ids(ids.take(pa.array(of)), number), found, offsets[rows] + items
    )
    duplicated = np.bincount(rows, minlength=len(counts))
    matched = duplicated > 0
    row_statuses = pc.if_else(pa.array(matched), OK, pc.if_else(pc.equal(statuses.rows, OK), UNMATCHED, statuses.rows))
    starts, listed = pa.array(offsets, pa.int32()), pa.array(statuses.counts < 0)
    lists = {
        "items" if name == "status" else name: pa.ListArray.from_arrays(starts, column, mask=listed)
        for name, column in columns.items()
    }
    share = pa.array(duplicated / np.maximum(counts, 1), mask=counts == 0)
    return _batch(kind.schema, {**lists, "status": row_statuses, "share": share})


def _node_columns(
    kind: DuplicateKind,
    statuses: pa.StringArray,
    ids: pa.FixedSizeBinaryArray,
    found: pa.RecordBatch,
    at: NDArray[np.int64],
) -> dict[str, pa.Array]:
    """Return the columns of nodes; those at these positions have the outcomes that were found."""
    compared = pc.equal(statuses, OK)
    positions = np.full(len(ids), -1, np.int64)
    positions[at] = np.arange(found.num_rows)
    taken = pa.array(positions, mask=positions < 0)
    matched = pa.array(positions >= 0)
    outcomes = SearchResults(*(found[name].take(taken) for name in ("similarity", "back", "by")))
    own = {} if kind.distinct is None else {kind.distinct: found["texts"].take(taken)}
    own = {name: pc.if_else(compared, pc.coalesce(different, 1), None) for name, different in own.items()}
    return {
        "status": pc.if_else(matched, OK, pc.if_else(compared, UNMATCHED, statuses)),
        "cluster": pc.if_else(
            compared, pc.coalesce(found["cluster"].take(taken), ids), pa.scalar(None, pa.binary(ID_BYTES))
        ),
        "size": pc.if_else(compared, pc.coalesce(found["size"].take(taken), 1), None),
        "matched": found["matched"].take(taken),
        **own,
        **{one.name: one.of(outcomes) for one in kind.measures},
    }


def _batch(schema: pa.Schema, columns: Mapping[str, pa.Array]) -> pa.RecordBatch:
    arrays = [columns[field.name].cast(field.type) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
