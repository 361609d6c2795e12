"""Runs the searches of kinds whose similar nodes are found in blocks (`filters.duplicates.searches.BlockSearch`).

Nodes with equal digests are merged first (`groups`). Of each group one node sends its value to its blocks.
"""

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.filters.duplicates.searches import BlockSearch, Positions
from winnow.pipelines.dedupe.compared import IDS, reader_of
from winnow.pipelines.dedupe.groups import places_other_than_roots, put_members
from winnow.pipelines.dedupe.matches import JOINED_ONLY, MATCHES
from winnow.pipelines.dedupe.nodes import first_place, local_places, nodes_of, places_from, shards_of
from winnow.pipelines.dedupe.search import Search, read_shard
from winnow.pipelines.dedupe.training import learnt
from winnow.pipelines.running.blocks import AddressedBlock
from winnow.pipelines.running.exchange import addressed_blocks
from winnow.pipelines.running.row_arrays import ids_column, uint64_column
from winnow.schemas.rows.duplicates import ID_BYTES, Kind
from winnow.schemas.uint128 import Words

__all__ = ["join_values", "send_values", "values_of_groups", "values_of_nodes"]


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

    return addressed_blocks(f"{kind}-values-{shard_group}", sent(), blocks)


def values_of_groups(
    search: Search, kind: Kind, shard_group: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Store the groups of equal nodes of a shard group; yield the node, id and value of one node of each group.

    Each batch comes with a name that no other batch of the search has.
    """
    reader = reader_of(search.kinds[kind])
    for shard, members in put_members(search, kind, shard_group, batches):
        left_out = places_other_than_roots(members)
        for at, batch in read_shard(search, shard, [*reader.columns, IDS]):
            found = reader.compared(batch)
            places = places_from(found.places, at)
            chosen = np.flatnonzero(~np.isin(places, left_out))
            taken = pa.array(chosen)
            columns = [pa.array(nodes_of(shard, places[chosen])), found.ids.take(taken), found.values.take(taken)]
            yield f"{shard:08d}-{at:08d}", pa.RecordBatch.from_arrays(columns, ["node", "id", "value"])


def values_of_nodes(search: Search, kind: Kind, shard: int, nodes: Words) -> Iterator[tuple[slice, pa.RecordBatch]]:
    """Yield the ids and values of some nodes of a shard, part by part; they are sorted and may repeat."""
    reader, places = reader_of(search.kinds[kind]), local_places(nodes)
    for at, batch in read_shard(search, shard, [*reader.columns, IDS]):
        begin, end = np.searchsorted(places, (first_place(at), first_place(at + len(batch[IDS.name]))))
        if begin == end:
            continue
        found = reader.compared(batch)
        taken = pa.array(np.searchsorted(places_from(found.places, at), places[begin:end]))
        yield (
            slice(begin, end),
            pa.RecordBatch.from_arrays([found.ids.take(taken), found.values.take(taken)], ["id", "value"]),
        )


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
    sent = [
        (lines, search.listed.group_of(shards_of(lines["node"].to_numpy())))
        for lines in (
            _lines(nodes, ids, (found.matched, found.nearest), found.similarity, exactly=found.exactly),
            _lines(nodes, ids, (root, leaf), np.full(len(root), JOINED_ONLY), exactly=found.exactly),
        )
    ]
    yield from addressed_blocks(f"{kind}-pairs-{block}", sent, search.listed.groups)


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
