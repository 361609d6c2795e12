"""Pairs of nodes on their way to being compared, and matches: pairs that are similar, of which each node's best and a
forest of what they join are kept.

A pair goes to the shard group of its first node, and on to that of its second node with what is compared of the first.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.filters.duplicates.components import spanning_forest
from winnow.filters.duplicates.searches import Positions
from winnow.pipelines.dedupe.clusters import edges_batch, edges_of
from winnow.pipelines.dedupe.groups import values_of_nodes
from winnow.pipelines.dedupe.nodes import shard_ranges, shards_of
from winnow.pipelines.dedupe.search import Search
from winnow.pipelines.running.blocks import AddressedBlock, in_chunks
from winnow.pipelines.running.exchange import addressed_blocks
from winnow.pipelines.running.row_arrays import distinct_pairs, ids_column, run_starts, single_array, uint64_column
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

Likeness = NDArray[np.float64]
Read: TypeAlias = Callable[[Search, Kind, int, Words], Iterator[tuple[slice, pa.RecordBatch]]]
"""Reads ids, digests and values of nodes of a shard, which are sorted and may repeat, part by part."""

_SECONDS = pa.large_list(pa.field("item", pa.uint64(), nullable=False))
_HELD_BYTES = 64 << 20  # what is compared of first nodes, held at once

JOINED_ONLY: Final = -1.0
"""The similarity of lines that only join two nodes, of which the smaller comes first; each of them has another line
with its best match."""


def put_matches(search: Search, kind: Kind, shard_group: int, batches: Iterable[pa.RecordBatch]) -> Iterator[int]:
    """Store the best match of each node of a shard group, and its edges' spanning forest; yield the forest's size."""
    held = list(batches)
    nodes, others = uint64_column(held, "node"), uint64_column(held, "other")
    mine = nodes < others
    forest = edges_batch(spanning_forest(nodes[mine], others[mine]))
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
    yield len(forest)


@dataclass(frozen=True)
class Pairs:
    """Pairs of nodes, with their ids."""

    first: Words
    second: Words
    id: pa.FixedSizeBinaryArray  # of the first
    other: pa.FixedSizeBinaryArray

    def take(self, chosen: Positions) -> "Pairs":
        """Return some of the pairs."""
        taken = pa.array(chosen)
        return Pairs(self.first[chosen], self.second[chosen], self.id.take(taken), self.other.take(taken))

    def matches(self, there: Likeness, back: Likeness, exactly: NDArray[np.bool_]) -> list[pa.RecordBatch]:
        """Return the pairs in both directions, as `MATCHES`.

        Args:
            there: The first one's similarity to the second.
            back: The second's to the first.
            exactly: Whether they are known, not estimated.
        """
        first, second, known = pa.array(self.first), pa.array(self.second), pa.array(exactly)
        one = [first, second, self.id, self.other, pa.array(there), pa.array(back), known]
        other = [second, first, self.other, self.id, pa.array(back), pa.array(there), known]
        return [pa.RecordBatch.from_arrays(columns, schema=MATCHES) for columns in (one, other)]


@dataclass(frozen=True)
class ComparedPairs:
    """Pairs whose second nodes are in one shard, and what is compared of them: digests and values."""

    shard: int
    pairs: Pairs
    firsts: pa.RecordBatch
    of: Positions  # the line of each pair's first node
    seconds: pa.RecordBatch  # a line for each pair


def send_pairs(search: Search, kind: Kind, partition: int, first: Words, second: Words) -> Iterator[AddressedBlock]:
    """Send pairs that are to be compared to the shard groups of their first nodes."""
    return search.to_shards(f"{kind}-pairs-{partition}", [edges_batch((first, second))], "first")


def send_firsts(
    search: Search, kind: Kind, read: Read, shard_group: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[AddressedBlock]:
    """Send what is compared of the pairs' first nodes, once to each shard group with second nodes for them."""
    first, second = distinct_pairs(*edges_of(batches))
    shard_groups = search.listed.group_of(shards_of(second))
    runs = run_starts(first, shard_groups)
    bounds = np.append(runs, len(first))

    def sent() -> Iterator[tuple[pa.RecordBatch, Positions]]:
        for shard, begin, end in shard_ranges(first[runs]):
            for part, found in read(search, kind, shard, first[runs[begin:end]]):
                start, stop = begin + part.start, begin + part.stop
                ends = bounds[start : stop + 1]
                seconds = pa.LargeListArray.from_arrays(ends - ends[0], pa.array(second[ends[0] : ends[-1]]))
                columns = [pa.array(first[runs[start:stop]]), seconds.cast(_SECONDS), *found.columns]
                names = ["first", "seconds", *found.schema.names]
                yield pa.RecordBatch.from_arrays(columns, names), shard_groups[runs[start:stop]]

    yield from addressed_blocks(f"{kind}-firsts-{shard_group}", sent(), search.listed.groups)


def compared_pairs(
    search: Search, kind: Kind, batches: Iterable[pa.RecordBatch], read: Read = values_of_nodes
) -> Iterator[ComparedPairs]:
    """Yield the pairs that `send_firsts` has sent to a shard group, sorted by the second node, part by part."""
    for chunk in in_chunks(batches, _HELD_BYTES):
        rows = pa.Table.from_batches(chunk).combine_chunks().to_batches()[0]
        second = rows["seconds"].flatten().to_numpy()
        of = np.repeat(np.arange(len(rows)), np.diff(rows["seconds"].offsets.to_numpy()))
        order = np.argsort(second, kind="stable")
        second, of, nodes = second[order], of[order], rows["first"].to_numpy()
        for shard, begin, end in shard_ranges(second):
            for part, found in read(search, kind, shard, second[begin:end]):
                mine = of[begin:end][part]
                ids = rows["id"].take(pa.array(mine))
                pairs = Pairs(nodes[mine], second[begin:end][part], ids, found["id"])
                yield ComparedPairs(shard, pairs, rows, mine, found)
