"""Runs the searches of kinds that find pairs by pieces of values (`filters.duplicates.searches.PieceSearch`).

Pairs of nodes with a piece in common go to the shard group of the first, and on to that of the second with the first
one's value, which is compared with that of the second.
"""

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from winnow.filters.duplicates.searches import PieceSearch, Positions
from winnow.pipelines.dedupe.clusters import EDGES
from winnow.pipelines.dedupe.joins import values_of_groups, values_of_nodes
from winnow.pipelines.dedupe.matches import Pairs, both_directions, by_second, with_firsts
from winnow.pipelines.dedupe.nodes import shard_ranges, shards_of
from winnow.pipelines.dedupe.search import Search
from winnow.pipelines.running.blocks import AddressedBlock, in_chunks
from winnow.pipelines.running.exchange import addressed_blocks
from winnow.pipelines.running.row_arrays import ids_column, run_starts, single_array, uint64_column
from winnow.schemas.rows.duplicates import Kind
from winnow.schemas.uint128 import Words

__all__ = ["find_pairs", "judge_pairs", "send_firsts", "send_pieces"]

_VALUE_BYTES = 64 << 20  # values of first nodes held at once


def send_pieces(
    search: Search, kind: Kind, blocks: int, shard_group: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[AddressedBlock]:
    """Store the groups of equal nodes of a shard group, and send the pieces of one node of each group."""
    how = _by_pieces(search, kind)

    def sent() -> Iterator[tuple[pa.RecordBatch, Positions]]:
        for _, lines in values_of_groups(search, kind, shard_group, batches):
            for some in how.cut(lines["value"], blocks):
                of = pa.array(some.positions)
                columns = [lines["node"].take(of), lines["id"].take(of), some.pieces]
                yield pa.RecordBatch.from_arrays(columns, ["node", "id", "piece"]), some.blocks

    return addressed_blocks(f"{kind}-pieces-{shard_group}", sent(), blocks)


def find_pairs(
    search: Search, kind: Kind, blocks: int, block: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[AddressedBlock]:
    """Send the pairs of nodes that a block of pieces finds to the shard groups of their first nodes."""
    held = list(batches)
    if not held:
        return
    high, low = ids_column(held, "id")
    order = np.lexsort((low, high))  # which pairs a common piece gives does not depend on where nodes are stored
    starts = run_starts(high[order], low[order])
    numbers = np.zeros(len(order), np.int64)
    numbers[order] = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(order))))
    nodes = uint64_column(held, "node")[order[starts]]
    pieces = pa.concat_arrays([batch["piece"] for batch in held])
    found = _by_pieces(search, kind).pair(search.kinds[kind].settings, pieces, numbers, block, blocks)
    search.count(kind, found.counted, f"paired-{block:08d}")
    first, second = nodes[found.first], nodes[found.second]
    first, second = np.minimum(first, second), np.maximum(first, second)
    edges = pa.RecordBatch.from_arrays([pa.array(first), pa.array(second)], schema=EDGES)
    shard_groups = search.listed.group_of(shards_of(first))
    yield from addressed_blocks(f"{kind}-pairs-{block}", [(edges, shard_groups)], search.listed.groups)


def send_firsts(
    search: Search, kind: Kind, shard_group: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[AddressedBlock]:
    """Send the values of the pairs' first nodes, once to each shard group with second nodes for them."""

    def read(shard: int, nodes: Words) -> Iterator[tuple[slice, dict[str, pa.Array]]]:
        for part, found in values_of_nodes(search, kind, shard, nodes):
            yield part, {"id": found["id"], "value": found["value"]}

    yield from addressed_blocks(
        f"{kind}-firsts-{shard_group}", with_firsts(search, batches, read), search.listed.groups
    )


def judge_pairs(
    search: Search, kind: Kind, shard_group: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[AddressedBlock]:
    """Compare each pair of values, and send those that are similar to both nodes' shard groups."""
    how, settings = _by_pieces(search, kind), search.kinds[kind].settings
    edges: list[tuple[pa.RecordBatch, Positions]] = []
    for chunk in in_chunks(batches, _VALUE_BYTES):
        rows, second, of = by_second(chunk)
        values, ids, nodes = single_array(rows["value"]), single_array(rows["id"]), rows["first"].to_numpy()
        for shard, begin, end in shard_ranges(second):
            for part, found in values_of_nodes(search, kind, shard, second[begin:end]):
                mine = of[begin:end][part]
                pairs = Pairs(nodes[mine], second[begin:end][part], ids.take(pa.array(mine)), found["id"])
                theirs = found["value"].dictionary_encode()  # a node may be the second of many pairs
                at = theirs.indices.to_numpy().astype(np.int64)
                ours, firsts = np.unique(mine, return_inverse=True)
                judged = how.judge(settings, values.take(pa.array(ours)), theirs.dictionary, (firsts, at))
                exactly = np.ones(len(mine), np.bool_)
                similar = np.flatnonzero(judged.enough)
                edges += both_directions(search, pairs, (judged.there, judged.back), exactly, similar)
    yield from addressed_blocks(f"{kind}-judged-{shard_group}", edges, search.listed.groups)


def _by_pieces(search: Search, kind: Kind) -> PieceSearch:
    found = search.kinds[kind].search
    assert isinstance(found, PieceSearch)
    return found
