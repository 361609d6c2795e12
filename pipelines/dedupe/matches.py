"""Matches: pairs of similar nodes, and from these the best match of each node and a forest of what they join."""

from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np
import pyarrow as pa

from winnow.filters.duplicates.components import spanning_forest
from winnow.pipelines.dedupe.clusters import EDGES
from winnow.pipelines.dedupe.nodes import shards_of
from winnow.pipelines.dedupe.search import Search
from winnow.pipelines.running.row_arrays import ids_column, run_starts, single_array, uint64_column
from winnow.pipelines.running.scratch_parts import put_part
from winnow.schemas.rows.duplicates import ID_BYTES, Kind

MATCHES = pa.schema(
    [
        pa.field("node", pa.uint64(), nullable=False),
        pa.field("other", pa.uint64(), nullable=False),
        pa.field("id", pa.binary(ID_BYTES), nullable=False),
        pa.field("matched", pa.binary(ID_BYTES), nullable=False),
        pa.field("similarity", pa.float64(), nullable=False),
        pa.field("exactly", pa.bool_(), nullable=False),  # known, not estimated
    ]
)

JOINED_ONLY: Final = -1.0
"""The similarity of lines that only join two nodes, of which the smaller comes first; each of them has another line
with its best match."""


def put_matches(search: Search, kind: Kind, shard_group: int, batches: Iterable[pa.RecordBatch]) -> Iterator[int]:
    """Store the best match of each node of a shard group, and its edges' spanning forest; yield the forest's size."""
    held = list(batches)
    nodes, others = uint64_column(held, "node"), uint64_column(held, "other")
    mine = nodes < others
    first, second = spanning_forest(nodes[mine], others[mine])
    forest = pa.RecordBatch.from_arrays([pa.array(first), pa.array(second)], schema=EDGES)
    put_part(search.store.objects, search.scratch, f"{kind}/forests", shard_group, forest)
    table = pa.Table.from_batches(held, schema=MATCHES).combine_chunks()
    high, low = ids_column(held, "matched")
    similarity = table["similarity"].to_numpy()
    order = np.lexsort((low, high, -similarity, nodes))
    best = order[run_starts(nodes[order])]
    kept = table.take(pa.array(best))
    numbers = shards_of(nodes[best])
    for shard in search.listed.in_group(shard_group):
        begin, end = np.searchsorted(numbers, (shard, shard + 1))
        part = kept.slice(begin, end - begin)
        batch = pa.RecordBatch.from_arrays([single_array(part[name]) for name in MATCHES.names], schema=MATCHES)
        put_part(search.store.objects, search.scratch, f"{kind}/matches", shard, batch)
    yield len(first)
