"""Runs the searches of kinds whose similar nodes are found in blocks: of values, or of pieces of values.

Nodes with equal digests are merged first (`groups`). Of each group one node sends its value, or the pieces of it, to
blocks. A block of values says which are similar (`filters.duplicates.searches.BlockSearch`); a block of pieces, which
are to be compared (`PieceSearch`).
"""

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.filters.duplicates.searches import BlockSearch, PieceSearch, Positions
from winnow.pipelines.dedupe.groups import values_of_groups
from winnow.pipelines.dedupe.matches import JOINED_ONLY, MATCHES, compared_pairs, send_pairs
from winnow.pipelines.dedupe.search import Search
from winnow.pipelines.dedupe.training import learnt
from winnow.pipelines.running.blocks import AddressedBlock
from winnow.pipelines.running.exchange import Route
from winnow.pipelines.running.row_arrays import ids_column, run_starts, uint64_column
from winnow.schemas.rows.duplicates import ID_BYTES, Kind
from winnow.schemas.uint128 import Words


def send_values(
    search: Search, kind: Kind, blocks: int, shard_group: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[AddressedBlock]:
    """Store the groups of equal nodes of a shard group, and send the value of one node of each group to its blocks."""
    asked, how, known = search.kinds[kind], _of_blocks(search, kind), learnt(search, kind)

    def sent() -> Iterator[tuple[pa.RecordBatch, Positions]]:
        for origin, lines in values_of_groups(search, kind, shard_group, batches):
            for sent in how.send(asked.settings, lines["value"], blocks, known):
                search.count(kind, sent.counted, f"sent-{origin}")
                some = lines.take(pa.array(sent.positions))
                yield some if sent.parts is None else some.append_column("part", pa.array(sent.parts)), sent.blocks

    return Route(search.listed.groups, blocks).send(shard_group, sent())


def join_values(
    search: Search, kind: Kind, blocks: int, block: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[AddressedBlock]:
    """Join the values of one block; send best matches and a forest to the shard groups of the nodes."""
    held = list(batches)
    if not held:
        return
    order = np.lexsort(ids_column(held, "id")[::-1])  # of several best matches, that of the smallest id comes first
    nodes, taken = uint64_column(held, "node")[order], pa.array(order)
    ids, values = (pa.concat_arrays([batch[name] for batch in held]).take(taken) for name in ("id", "value"))
    parts = np.zeros(len(order), np.int64)
    if "part" in held[0].schema.names:
        parts = np.concatenate([batch["part"].to_numpy() for batch in held])[order]
    found = _of_blocks(search, kind).join(search.kinds[kind].settings, values, parts, block, blocks)
    search.count(kind, found.counted, f"joined-{block:08d}")
    root, leaf = found.forest
    root, leaf = (np.where(nodes[root] < nodes[leaf], *ends) for ends in ((root, leaf), (leaf, root)))
    best = _lines(nodes, ids, (found.matched, found.nearest), found.similarity, exactly=found.exactly)
    joined = _lines(nodes, ids, (root, leaf), np.full(len(root), JOINED_ONLY), exactly=found.exactly)
    yield from search.to_shards(f"{kind}-pairs-{block}", [best, joined], "node")


def _of_blocks(search: Search, kind: Kind) -> BlockSearch:
    found = search.kinds[kind].search
    assert isinstance(found, BlockSearch)
    return found


def _lines(
    nodes: Words,
    ids: pa.FixedSizeBinaryArray,
    ends: tuple[Positions, Positions],
    similarity: NDArray[np.float64],
    *,
    exactly: bool,
) -> pa.RecordBatch:
    one, other = ends
    measured = [pa.array(similarity), pa.array(similarity), pa.array(np.full(len(one), exactly))]
    named = [ids.take(pa.array(end)).cast(pa.binary(ID_BYTES)) for end in ends]
    return pa.RecordBatch.from_arrays([pa.array(nodes[one]), pa.array(nodes[other]), *named, *measured], schema=MATCHES)


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

    return Route(search.listed.groups, blocks).send(shard_group, sent())


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
    yield from send_pairs(search, kind, block, np.minimum(first, second), np.maximum(first, second))


def judge_pairs(
    search: Search, kind: Kind, shard_group: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[AddressedBlock]:
    """Compare each pair of values, and send those that are similar to both nodes' shard groups."""
    how, settings = _by_pieces(search, kind), search.kinds[kind].settings
    edges: list[pa.RecordBatch] = []
    for found in compared_pairs(search, kind, batches):
        theirs = found.seconds["value"].dictionary_encode()  # a node may be the second of many pairs
        at = theirs.indices.to_numpy().astype(np.int64)
        ours, firsts = np.unique(found.of, return_inverse=True)
        values = found.firsts["value"].take(pa.array(ours))
        judged = how.judge(settings, values, theirs.dictionary, (firsts, at))
        similar = np.flatnonzero(judged.enough)
        exactly = np.ones(len(similar), np.bool_)
        edges += found.pairs.take(similar).matches(judged.there[similar], judged.back[similar], exactly)
    yield from search.to_shards(f"{kind}-judged-{shard_group}", edges, "node")


def _by_pieces(search: Search, kind: Kind) -> PieceSearch:
    found = search.kinds[kind].search
    assert isinstance(found, PieceSearch)
    return found
