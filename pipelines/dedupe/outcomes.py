"""From groups, matches and clusters to what each row's layer says: clusters are named by their smallest id."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import orjson
import pyarrow as pa

from winnow.pipelines.dedupe.arrays import found_among, ids_column, rows_of, words_column
from winnow.pipelines.dedupe.clusters import Clusters
from winnow.pipelines.dedupe.covered import Search
from winnow.pipelines.dedupe.groups import keep_members
from winnow.pipelines.dedupe.scratch import put_part, read_part
from winnow.pipelines.store.together import each
from winnow.schemas.rows.duplicates import ID_BYTES, Kind
from winnow.schemas.uint128 import values_of

OUTCOMES = pa.schema(
    [
        pa.field("row", pa.int64(), nullable=False),  # in its shard
        pa.field("cluster", pa.binary(ID_BYTES), nullable=False),
        pa.field("size", pa.int64(), nullable=False),
        pa.field("texts", pa.int64(), nullable=False),
        pa.field("matched", pa.binary(ID_BYTES), nullable=False),
        pa.field("similarity", pa.float64(), nullable=False),
        pa.field("by", pa.string(), nullable=False),
    ]
)
"""What is said of a row that has duplicates."""


@dataclass(frozen=True, slots=True)
class Buckets:
    """What the buckets of a search looked like."""

    buckets: int = 0
    hot_buckets: int = 0
    hot_rows: int = 0


def count_buckets(search: Search) -> Buckets:
    """The sums over the partitions of a search for near duplicates."""
    objects = search.store.objects
    paths = [info.path for info in objects.list(f"{search.scratch}/near/buckets/")]
    parts = [orjson.loads(part) for part in each(objects, objects.read, paths)]
    return Buckets(*(sum(part[name] for part in parts) for name in ("buckets", "hot_buckets", "hot_rows")))


def settle_equal(search: Search, kind: Kind, place: int, batches: Iterable[pa.RecordBatch]) -> Iterator[int]:
    """Leave for each shard of a place what is said of its rows that equal others."""
    for shard, members in keep_members(search, kind, place, batches):
        ones = pa.array(np.ones(members.num_rows, np.int64))
        outcomes = _equal(members, members["cluster"], members["size"], ones)
        put_part(search.store.objects, search.scratch, f"{kind}/outcomes", shard, outcomes)
        yield shard


def settle_near(search: Search, place: int, batches: Iterable[pa.RecordBatch]) -> Iterator[int]:
    """Leave for each shard of a place what is said of its rows that have duplicates, from what it is told of them."""
    clusters = Clusters.read(batches)
    for shard in search.shards_at(place):
        members = read_part(search.store.objects, search.scratch, "near/members", shard)
        matches = read_part(search.store.objects, search.scratch, "near/matches", shard)
        outcomes = _near(clusters, members, matches)
        put_part(search.store.objects, search.scratch, "near/outcomes", shard, outcomes)
        yield shard


def _equal(members: pa.RecordBatch, clusters: pa.Array, sizes: pa.Array, texts: pa.Array) -> pa.RecordBatch:
    """What is said of rows that equal others, in these clusters."""
    count = members.num_rows
    rows = pa.array(rows_of(members["row"].to_numpy()))
    by = pa.array(["equal"] * count, pa.string())
    return pa.RecordBatch.from_arrays(
        [rows, clusters, sizes, texts, members["matched"], pa.array(np.ones(count)), by], schema=OUTCOMES
    )


def _near(clusters: Clusters, members: pa.RecordBatch, matches: pa.RecordBatch) -> pa.RecordBatch:
    """What is said of a shard's rows: equal texts first, then the best match."""
    at, near = found_among(clusters.rows, words_column([members], "root"))
    high, low = ids_column([members], "cluster")
    sizes, texts = members["size"].to_numpy().copy(), np.ones(members.num_rows, np.int64)
    theirs = clusters.at(at[near])
    high[near], low[near], sizes[near], texts[near] = theirs.high, theirs.low, theirs.sizes, theirs.texts
    equal = _equal(members, values_of(high, low), pa.array(sizes), pa.array(texts))
    others = words_column([matches], "row")
    alone = np.flatnonzero(~np.isin(others, words_column([members], "row")))
    taken = matches.take(pa.array(alone))
    by = np.where(taken["exactly"].to_numpy(zero_copy_only=False), "jaccard", "estimate")
    alike = pa.RecordBatch.from_arrays(
        [
            pa.array(rows_of(others[alone])),
            *clusters.of(others[alone]).columns(),
            taken["matched"],
            taken["similarity"],
            pa.array(by.tolist(), pa.string()),
        ],
        schema=OUTCOMES,
    )
    table = pa.Table.from_batches([equal, alike]).sort_by("row").combine_chunks()
    found = table.to_batches()
    return found[0] if found else equal
