"""From groups, matches and forests to what each row's layer says: clusters are named by their smallest id."""

from dataclasses import dataclass

import numpy as np
import orjson
import pyarrow as pa

from winnow.filters.duplicates.components import components, merge_forests
from winnow.pipelines.dedupe.arrays import Words, ids_column, rows_of, starts_of, values_of, words_column
from winnow.pipelines.dedupe.covered import Search
from winnow.pipelines.dedupe.scratch import put_part, read_part, read_parts
from winnow.schemas.duplicates import ID_BYTES, Kind

OUTCOMES = pa.schema(
    [
        pa.field("row", pa.int64(), nullable=False),  # in its shard
        pa.field("cluster", pa.binary(ID_BYTES), nullable=False),
        pa.field("size", pa.int64(), nullable=False),
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
    parts = [orjson.loads(objects.read(info.path)) for info in objects.list(f"{search.scratch}/near/buckets/")]
    return Buckets(*(sum(part[name] for part in parts) for name in ("buckets", "hot_buckets", "hot_rows")))


def settle_outcomes(search: Search, kind: Kind) -> None:
    """Leave for each shard what is said of its rows that have duplicates."""
    clusters = _Clusters.of(search) if kind == "near" else None
    for shard in range(len(search.covered)):
        members = read_part(search.store.objects, search.scratch, f"{kind}/members", shard)
        if clusters is None:
            batch = _equal(members, members["cluster"], members["size"])
        else:
            batch = clusters.outcomes(members, _matches(search, shard))
        put_part(search.store.objects, search.scratch, f"{kind}/outcomes", shard, batch)


def _matches(search: Search, shard: int) -> pa.RecordBatch:
    return read_part(search.store.objects, search.scratch, "near/matches", shard)


def _equal(members: pa.RecordBatch, clusters: pa.Array, sizes: pa.Array) -> pa.RecordBatch:
    """What is said of rows that equal others, in these clusters."""
    count = members.num_rows
    rows = pa.array(rows_of(members["row"].to_numpy()))
    by = pa.array(["equal"] * count, pa.string())
    return pa.RecordBatch.from_arrays(
        [rows, clusters, sizes, members["matched"], pa.array(np.ones(count)), by], schema=OUTCOMES
    )


@dataclass(frozen=True)
class _Clusters:
    """The rows that have a near duplicate, sorted, and the cluster of each.

    Of a group of equal texts only the root is here. All of this is in the driver's memory: 40 bytes a row.
    """

    rows: Words
    high: Words  # the cluster's smallest id
    low: Words
    sizes: np.ndarray

    @classmethod
    def of(cls, search: Search) -> "_Clusters":
        count = len(search.covered)
        objects, scratch = search.store.objects, search.scratch
        forests = (
            (part["first"].to_numpy(), part["second"].to_numpy())
            for part in read_parts(objects, scratch, "near/forests", search.places)
            if part.num_rows
        )
        rows, roots = components(*merge_forests([_empty(), *forests]))
        high, low = np.zeros(len(rows), np.uint64), np.zeros(len(rows), np.uint64)
        weights = np.ones(len(rows), np.int64)
        for shard in range(count):
            matches = _matches(search, shard)
            at = np.searchsorted(rows, matches["row"].to_numpy())
            high[at], low[at] = ids_column([matches], "id")
            members = read_part(objects, scratch, "near/members", shard)
            at, there = _found(rows, words_column([members], "row"))
            weights[at[there]] = members["size"].to_numpy()[there]
        order = np.lexsort((low, high, roots))
        starts = starts_of(roots[order])
        lengths = np.diff(np.append(starts, len(order)))
        sizes = np.add.reduceat(weights[order], starts) if len(order) else weights
        back = np.empty(len(order), np.int64)
        back[order] = np.repeat(np.arange(len(starts)), lengths)
        first = order[starts]
        return cls(rows, high[first][back], low[first][back], sizes[back])

    def outcomes(self, members: pa.RecordBatch, matches: pa.RecordBatch) -> pa.RecordBatch:
        """What is said of a shard's rows: equal texts first, then the best match."""
        rows = words_column([members], "row")
        at, near = _found(self.rows, words_column([members], "root"))
        high, low = ids_column([members], "cluster")
        sizes = members["size"].to_numpy().copy()
        high[near], low[near], sizes[near] = self.high[at[near]], self.low[at[near]], self.sizes[at[near]]
        equal = _equal(members, values_of(high, low), pa.array(sizes))
        others = words_column([matches], "row")
        alone = np.flatnonzero(~np.isin(others, rows))
        at = np.searchsorted(self.rows, others[alone])
        taken = matches.take(pa.array(alone))
        by = np.where(taken["exactly"].to_numpy(zero_copy_only=False), "jaccard", "estimate")
        alike = pa.RecordBatch.from_arrays(
            [
                pa.array(rows_of(others[alone])),
                values_of(self.high[at], self.low[at]),
                pa.array(self.sizes[at]),
                taken["matched"],
                taken["similarity"],
                pa.array(by.tolist(), pa.string()),
            ],
            schema=OUTCOMES,
        )
        table = pa.Table.from_batches([equal, alike]).sort_by("row").combine_chunks()
        found = table.to_batches()
        return found[0] if found else equal


def _found(rows: Words, wanted: Words) -> tuple[np.ndarray, np.ndarray]:
    """Where each wanted row would stand among sorted ones, and which are there."""
    at = np.searchsorted(rows, wanted)
    there = np.zeros(len(wanted), np.bool_)
    inside = at < len(rows)
    there[inside] = rows[at[inside]] == wanted[inside]
    return at, there


def _empty() -> tuple[Words, Words]:
    return np.zeros(0, np.uint64), np.zeros(0, np.uint64)
