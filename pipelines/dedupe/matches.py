"""Pairs of nodes on their way to being compared, and matches: pairs that are similar, of which each node's best and a
forest of what they join are kept.

A pair goes to the shard group of its first node, and on to that of its second node with what is compared of the first.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.filters.duplicates.components import spanning_forest
from winnow.pipelines.dedupe.clusters import EDGES
from winnow.pipelines.dedupe.nodes import shard_ranges, shards_of
from winnow.pipelines.dedupe.search import Search
from winnow.pipelines.running.row_arrays import (
    distinct_pairs,
    ids_column,
    run_starts,
    single_array,
    uint64_column,
)
from winnow.pipelines.running.scratch_parts import put_part
from winnow.schemas.rows.duplicates import ID_BYTES, Kind
from winnow.schemas.uint128 import Words

MATCHES = pa.schema(
    [
        pa.field("node", pa.uint64(), nullable=False),
        pa.field("other", pa.uint64(), nullable=False),
        pa.field("id", pa.binary(ID_BYTES), nullable=False),
        pa.field("matched", pa.binary(ID_BYTES), nullable=False),
        pa.field("similarity", pa.float64(), nullable=False),
        pa.field("back", pa.float64(), nullable=False),  # the other's similarity to this, of kinds where it may differ
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
    similarity = table["similarity"].to_numpy() + table["back"].to_numpy()
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


@dataclass(frozen=True)
class Pairs:
    """Pairs of nodes, with their ids."""

    first: Words
    second: Words
    id: pa.FixedSizeBinaryArray  # of the first
    other: pa.FixedSizeBinaryArray

    def columns(self) -> dict[str, pa.Array]:
        """Return the columns of a block of pairs."""
        return {"first": pa.array(self.first), "second": pa.array(self.second), "id": self.id, "other": self.other}

    def take(self, chosen: NDArray[np.int64]) -> "Pairs":
        """Return some of the pairs."""
        taken = pa.array(chosen)
        return Pairs(self.first[chosen], self.second[chosen], self.id.take(taken), self.other.take(taken))


def both_directions(
    search: Search,
    pairs: Pairs,
    similarities: tuple[NDArray[np.float64], NDArray[np.float64]],
    exactly: NDArray[np.bool_],
    chosen: NDArray[np.int64],
) -> list[tuple[pa.RecordBatch, NDArray[np.int64]]]:
    """Return the chosen pairs in both directions, as `MATCHES`, each with the shard group it is sent to.

    Args:
        search: The search.
        pairs: The pairs.
        similarities: Of each pair, the first one's similarity to the second, and the second's to the first.
        exactly: Whether they are known, not estimated.
        chosen: The positions of the similar pairs.
    """
    some = pairs.take(chosen)
    there, back = (pa.array(one[chosen]) for one in similarities)
    known = pa.array(exactly[chosen])
    first, second = pa.array(some.first), pa.array(some.second)
    one = pa.RecordBatch.from_arrays([first, second, some.id, some.other, there, back, known], schema=MATCHES)
    other = pa.RecordBatch.from_arrays([second, first, some.other, some.id, back, there, known], schema=MATCHES)
    return [
        (one, search.listed.group_of(shards_of(some.first))),
        (other, search.listed.group_of(shards_of(some.second))),
    ]


_SECONDS = pa.large_list(pa.field("item", pa.uint64(), nullable=False))

Columns = dict[str, pa.Array]


def with_firsts(
    search: Search,
    batches: Iterable[pa.RecordBatch],
    read: Callable[[int, Words], Iterator[tuple[slice, Columns]]],
) -> Iterator[tuple[pa.RecordBatch, NDArray[np.int64]]]:
    """Yield what is compared of the pairs' first nodes, once for each shard group with second nodes for them.

    Args:
        search: The search.
        batches: Pairs, as `first` and `second`; they may repeat.
        read: Yields columns for nodes of a shard, which are sorted and may repeat, part by part.
    """
    held = list(batches)
    first, second = distinct_pairs(uint64_column(held, "first"), uint64_column(held, "second"))
    shard_groups = search.listed.group_of(shards_of(second))
    runs = run_starts(first, shard_groups)
    bounds = np.append(runs, len(first))
    for shard, begin, end in shard_ranges(first[runs]):
        for part, columns in read(shard, first[runs[begin:end]]):
            start, stop = begin + part.start, begin + part.stop
            ends = bounds[start : stop + 1]
            seconds = pa.LargeListArray.from_arrays(ends - ends[0], pa.array(second[ends[0] : ends[-1]]))
            leading = {"first": pa.array(first[runs[start:stop]]), "seconds": seconds.cast(_SECONDS)}
            yield pa.RecordBatch.from_pydict(leading | columns), shard_groups[runs[start:stop]]


def by_second(batches: list[pa.RecordBatch]) -> tuple[pa.Table, Words, NDArray[np.int64]]:
    """Return batches of `with_firsts` as a table, the second nodes in order, and for each the line of its first."""
    rows = pa.Table.from_batches(batches).combine_chunks()
    seconds = single_array(rows["seconds"])
    second = seconds.flatten().to_numpy()
    of = np.repeat(np.arange(len(rows)), np.diff(seconds.offsets.to_numpy()))
    order = np.argsort(second, kind="stable")
    return rows, second[order], of[order]
