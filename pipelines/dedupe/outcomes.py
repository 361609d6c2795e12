"""Turns groups, matches and clusters into the outcome of each node; clusters are named by their smallest id."""

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from winnow.pipelines.dedupe.clusters import CUT, CUT_NODES, Clusters
from winnow.pipelines.dedupe.groups import put_members
from winnow.pipelines.dedupe.nodes import local_places
from winnow.pipelines.dedupe.search import Search
from winnow.pipelines.running.row_arrays import find_in_sorted, ids_column, uint64_column
from winnow.pipelines.running.scratch_parts import find_part, put_part, read_part
from winnow.schemas.rows.duplicates import ID_BYTES, Kind
from winnow.schemas.uint128 import values_of

OUTCOMES = pa.schema(
    [
        pa.field("place", pa.int64(), nullable=False),  # in its shard
        pa.field("cluster", pa.binary(ID_BYTES), nullable=False),
        pa.field("size", pa.int64(), nullable=False),
        pa.field("texts", pa.int64(), nullable=False),
        pa.field("matched", pa.binary(ID_BYTES), nullable=False),
        pa.field("similarity", pa.float64(), nullable=False),
        pa.field("back", pa.float64(), nullable=False),
        pa.field("by", pa.string(), nullable=False),
    ]
)
"""The nodes that have duplicates."""


def put_equal_outcomes(
    search: Search, kind: Kind, shard_group: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[int]:
    """Store, for each shard of a shard group, the outcomes of nodes that equal others."""
    for shard, members in put_members(search, kind, shard_group, batches):
        ones = pa.array(np.ones(members.num_rows, np.int64))
        outcomes = _equal_outcomes(members, members["cluster"], members["size"], ones)
        put_part(search.store.objects, search.scratch, f"{kind}/outcomes", shard, outcomes)
        yield shard


def put_near_outcomes(search: Search, kind: Kind, shard_group: int, batches: Iterable[pa.RecordBatch]) -> Iterator[int]:
    """Store, for each shard of a shard group, the outcomes of nodes with near duplicates, given their clusters."""
    clusters = Clusters.read(batches)
    cut = None
    if search.chains(kind) is not None:
        cut = find_part(search.store.objects, search.scratch, f"{kind}/{CUT_NODES}", shard_group)
    for shard in search.listed.in_group(shard_group):
        members = read_part(search.store.objects, search.scratch, f"{kind}/members", shard)
        matches = read_part(search.store.objects, search.scratch, f"{kind}/matches", shard)
        if cut is not None:
            matches = _rematched(matches, cut)
        outcomes = _near_outcomes(clusters, members, matches)
        put_part(search.store.objects, search.scratch, f"{kind}/outcomes", shard, outcomes)
        yield shard


def _rematched(matches: pa.RecordBatch, cut: pa.RecordBatch) -> pa.RecordBatch:
    """Return the matches, those of nodes in chains that were cut within their new clusters."""
    at, there = find_in_sorted(uint64_column([cut], "node"), uint64_column([matches], "node"))
    taken = pa.array(at, mask=~there)
    columns = {
        name: pc.coalesce(cut[name].take(taken), matches[name]) if name in CUT.names[1:] else matches[name]
        for name in matches.schema.names
    }
    return pa.RecordBatch.from_arrays(list(columns.values()), schema=matches.schema)


def _equal_outcomes(members: pa.RecordBatch, clusters: pa.Array, sizes: pa.Array, texts: pa.Array) -> pa.RecordBatch:
    """Return the outcomes of nodes that equal others, in these clusters."""
    count = members.num_rows
    places = pa.array(local_places(members["node"].to_numpy()))
    by = pa.array(["equal"] * count, pa.string())
    same = pa.array(np.ones(count))
    return pa.RecordBatch.from_arrays(
        [places, clusters, sizes, texts, members["matched"], same, same, by], schema=OUTCOMES
    )


def _near_outcomes(clusters: Clusters, members: pa.RecordBatch, matches: pa.RecordBatch) -> pa.RecordBatch:
    """Return the outcomes of a shard's nodes: an equal one comes before the best match."""
    at, near = find_in_sorted(clusters.nodes, uint64_column([members], "root"))
    high, low = ids_column([members], "cluster")
    sizes, texts = members["size"].to_numpy().copy(), np.ones(members.num_rows, np.int64)
    theirs = clusters.take(at[near])
    high[near], low[near], sizes[near], texts[near] = theirs.high, theirs.low, theirs.sizes, theirs.texts
    equal = _equal_outcomes(members, values_of(high, low), pa.array(sizes), pa.array(texts))
    nodes = uint64_column([matches], "node")
    joined = clusters.of(nodes).texts > 1  # what was cut off alone has no match
    alone = np.flatnonzero(joined & ~np.isin(nodes, uint64_column([members], "node")))
    taken = matches.take(pa.array(alone))
    by = np.where(taken["exactly"].to_numpy(zero_copy_only=False), "jaccard", "estimate")
    others = pa.RecordBatch.from_arrays(
        [
            pa.array(local_places(nodes[alone])),
            *clusters.of(nodes[alone]).columns(),
            taken["matched"],
            taken["similarity"],
            taken["back"],
            pa.array(by.tolist(), pa.string()),
        ],
        schema=OUTCOMES,
    )
    table = pa.Table.from_batches([equal, others]).sort_by("place").combine_chunks()
    found = table.to_batches()
    return found[0] if found else equal
