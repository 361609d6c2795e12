"""Finds nodes with equal digests, and reads what is compared of the others.

Each shard sends one line per digest to the digest's partition, gets one line back, and expands it to its own nodes. So
a text that fills a store takes one line per shard, not one per copy.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.pipelines.dedupe.compared import IDS, reader_of
from winnow.pipelines.dedupe.nodes import first_place, local_places, nodes_of, places_from, shards_of
from winnow.pipelines.dedupe.search import Search
from winnow.pipelines.running.blocks import AddressedBlock
from winnow.pipelines.running.exchange import Route, partition_of_key
from winnow.pipelines.running.row_arrays import find_in_sorted, ids_column, run_starts, single_array, uint64_column
from winnow.pipelines.running.scratch_parts import put_part
from winnow.schemas.errors import StageError
from winnow.schemas.rows.duplicates import ID_BYTES, Kind
from winnow.schemas.uint128 import Words, values_of

NODE_BYTES = 48  # a digest, an id, a node and a count

MEMBERS = pa.schema(
    [
        pa.field("node", pa.uint64(), nullable=False),
        pa.field("root", pa.uint64(), nullable=False),  # the member with the smallest id
        pa.field("cluster", pa.binary(ID_BYTES), nullable=False),  # its id
        pa.field("matched", pa.binary(ID_BYTES), nullable=False),  # the smallest id of another member
        pa.field("size", pa.int64(), nullable=False),
    ]
)
"""The members of groups of two or more nodes."""

GROUP_SUMMARIES = MEMBERS.append(pa.field("here", pa.int64(), nullable=False))
"""One line per shard and digest: the shard's member with the smallest id, and how many members the shard has.

Here `matched` is the smallest id of another shard's member, or the root's own id if no other shard has a member.
"""

_NODES_AT_ONCE = 1 << 16
_NODES_TAKEN = 1 << 14  # with their values


@dataclass(frozen=True)
class _Groups:
    """Nodes sorted by digest and then id; nodes with a unique digest may be missing."""

    order: NDArray[np.int64]
    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]

    @classmethod
    def of(cls, digests: tuple[Words, Words], ids: tuple[Words, Words]) -> "_Groups":
        """Return the groups of two or more nodes."""
        (high, low), (id_high, id_low) = digests, ids
        order = np.argsort(high)
        same = high[order][1:] == high[order][:-1]
        tied = np.zeros(len(order), np.bool_)
        tied[1:] |= same
        tied[:-1] |= same
        order = order[tied]
        order = order[np.lexsort((id_low[order], id_high[order], low[order], high[order]))]
        starts = run_starts(high[order], low[order])
        sizes = np.diff(np.append(starts, len(order)))
        return cls(order, starts[sizes > 1], sizes[sizes > 1])

    @property
    def heads(self) -> NDArray[np.int64]:
        """The node with the smallest id of each group."""
        return self.order[self.starts]

    def members(self, groups: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the nodes of some groups, group after group."""
        sizes = self.sizes[groups]
        within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        found: NDArray[np.int64] = self.order[np.repeat(self.starts[groups], sizes) + within]
        return found


@dataclass(frozen=True)
class _Digests:
    """The nodes of a shard that have a digest."""

    places: NDArray[np.int64]  # in the shard, ascending
    digests: tuple[Words, Words]
    ids: tuple[Words, Words]

    @classmethod
    def of(cls, search: Search, kind: Kind, shard: int) -> "_Digests":
        places, held = [np.zeros(0, np.int64)], []
        reader = reader_of(search.kinds[kind])
        for at, batch in search.listed.read(shard, [*reader.columns, IDS]):
            found = reader.compared(batch)
            held.append(pa.RecordBatch.from_arrays([found.digests, found.ids], ["digest", "id"]))
            places.append(places_from(found.places, at))
        return cls(np.concatenate(places), ids_column(held, "digest"), ids_column(held, "id"))


def send_digests(shard_group: int, search: Search, kind: Kind, partitions: int) -> Iterator[AddressedBlock]:
    """Send each digest of each shard once, with the smallest id among its nodes, that node, and their number."""

    def batches() -> Iterator[tuple[pa.RecordBatch, NDArray[np.uint32]]]:
        for shard in search.listed.in_group(shard_group):
            for block in _digests_sent(search, kind, shard):
                yield block, partition_of_key(block["digest"], partitions)

    return Route(search.listed.groups, partitions).send(shard_group, batches())


def _digests_sent(search: Search, kind: Kind, shard: int) -> Iterator[pa.RecordBatch]:
    found = _Digests.of(search, kind, shard)
    groups = _Groups.of(found.digests, found.ids)
    counts = np.ones(len(found.places), np.int64)
    counts[groups.members(np.arange(len(groups.starts)))] = 0
    counts[groups.heads] = groups.sizes
    sent = np.flatnonzero(counts)
    for begin in range(0, len(sent), _NODES_AT_ONCE):
        part = sent[begin : begin + _NODES_AT_ONCE]
        digests, ids = (values_of(*(words[part] for words in which)) for which in (found.digests, found.ids))
        nodes = pa.array(nodes_of(shard, found.places[part]))
        yield pa.RecordBatch.from_arrays(
            [digests, ids, nodes, pa.array(counts[part])], ["digest", "id", "node", "count"]
        )


def group_digests(
    search: Search, kind: Kind, partition: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[AddressedBlock]:
    """Send a summary of every digest that two or more nodes have to the shard groups that have it."""
    held = list(batches)
    digests, ids = ids_column(held, "digest"), ids_column(held, "id")
    nodes = uint64_column(held, "node")
    counts = np.concatenate([np.zeros(0, np.int64), *(batch["count"].to_numpy() for batch in held)])
    groups = _Groups.of(digests, ids)
    every = np.arange(len(groups.starts))
    members = groups.members(every)
    of = np.repeat(every, groups.sizes)
    sizes = np.bincount(of, counts[members], len(every)).astype(np.int64)
    root = groups.heads[of]
    matched = np.where(members == root, groups.order[groups.starts + 1][of], root)
    # Digests that only one shard has, and more than once.
    inside = counts > 1
    inside[members] = False
    alone = np.flatnonzero(inside)
    members, root, matched = (np.concatenate([one, alone]) for one in (members, root, matched))
    if not len(members):
        return
    summaries = pa.RecordBatch.from_arrays(
        [
            pa.array(nodes[members]),
            pa.array(nodes[root]),
            values_of(*(words[root] for words in ids)),
            values_of(*(words[matched] for words in ids)),
            pa.array(np.concatenate([sizes[of], counts[alone]])),
            pa.array(counts[members]),
        ],
        schema=GROUP_SUMMARIES,
    )
    yield from search.to_shards(f"{kind}-groups-{partition}", [summaries], "node")


def empty_blocks(partitions: int, name: str, schema: pa.Schema) -> Iterator[AddressedBlock]:
    """Yield an empty block for every partition, so that each runs even if nothing is sent to it."""
    empty = pa.RecordBatch.from_pylist([], schema=schema)
    return (AddressedBlock(partition, f"{name}-empty", 0, empty) for partition in range(partitions))


def put_members(
    search: Search, kind: Kind, shard_group: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Store the members of each shard of a shard group, sorted by node; yield them with the shard's number."""
    summaries = pa.Table.from_batches(batches, schema=GROUP_SUMMARIES).sort_by("node").combine_chunks()
    numbers = shards_of(summaries["node"].to_numpy())
    for shard in search.listed.in_group(shard_group):
        first, last = np.searchsorted(numbers, (shard, shard + 1))
        columns = [single_array(column) for column in summaries.slice(first, last - first).columns]
        part = _expand_members(search, kind, shard, pa.RecordBatch.from_arrays(columns, schema=GROUP_SUMMARIES))
        put_part(search.store.objects, search.scratch, f"{kind}/members", shard, part)
        yield shard, part


def _expand_members(search: Search, kind: Kind, shard: int, summaries: pa.RecordBatch) -> pa.RecordBatch:
    """Return all members of a shard, from the summaries that name those with the smallest ids."""
    here = summaries["here"].to_numpy()
    single, several = np.flatnonzero(here == 1), np.flatnonzero(here > 1)
    if not len(several):
        return summaries.select(MEMBERS.names)
    found = _Digests.of(search, kind, shard)
    groups = _Groups.of(found.digests, found.ids)
    heads, summarised = nodes_of(shard, found.places[groups.heads]), uint64_column([summaries], "node")
    by_node = np.argsort(heads)
    at, there = find_in_sorted(heads[by_node], summarised[several])
    of = by_node[at[there]]
    if not np.all(there) or np.any(groups.sizes[of] != here[several]):
        name = search.covered[shard].shard
        raise StageError(f"dedupe: shard {name} changed while it was searched; run the same command again")
    summary_heads = local_places(summarised)
    places = np.concatenate([summary_heads[single], found.places[groups.members(of)]])
    lines = np.concatenate([single, np.repeat(several, groups.sizes[of])])
    order = np.argsort(places)
    places, lines = places[order], lines[order]
    cluster, matched = ids_column([summaries], "cluster"), ids_column([summaries], "matched")
    seconds = groups.order[groups.starts[of] + 1]
    _match_within_shard(summaries, several, (found.ids[0][seconds], found.ids[1][seconds]), cluster, matched)
    is_head = places == summary_heads[lines]
    high, low = (np.where(is_head, matched[half][lines], cluster[half][lines]) for half in (0, 1))
    taken = pa.array(lines)
    return pa.RecordBatch.from_arrays(
        [
            pa.array(nodes_of(shard, places)),
            summaries["root"].take(taken),
            summaries["cluster"].take(taken),
            values_of(high, low),
            summaries["size"].take(taken),
        ],
        schema=MEMBERS,
    )


def _match_within_shard(
    summaries: pa.RecordBatch,
    several: NDArray[np.int64],
    seconds: tuple[Words, Words],
    cluster: tuple[Words, Words],
    matched: tuple[Words, Words],
) -> None:
    """Match a root with the second id of its own shard unless another shard has a smaller one."""
    is_root = summaries["node"].to_numpy()[several] == summaries["root"].to_numpy()[several]
    (high, low), own, other = seconds, *((words[0][several], words[1][several]) for words in (cluster, matched))
    nowhere = (other[0] == own[0]) & (other[1] == own[1])
    smaller = (high < other[0]) | ((high == other[0]) & (low < other[1]))
    nearer = is_root & (nowhere | smaller)
    matched[0][several[nearer]], matched[1][several[nearer]] = high[nearer], low[nearer]


def values_of_groups(
    search: Search, kind: Kind, shard_group: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Store the groups of equal nodes of a shard group; yield the node, id and value of one node of each group.

    Each batch comes with a name that no other batch of the search has.
    """
    reader = reader_of(search.kinds[kind])
    for shard, members in put_members(search, kind, shard_group, batches):
        others = members.filter(pc.not_equal(members["node"], members["root"]))
        left_out = local_places(others["node"].to_numpy())
        for at, batch in search.listed.read(shard, [*reader.searched, IDS]):
            found = reader.compared(batch)
            places = places_from(found.places, at)
            chosen = np.flatnonzero(~np.isin(places, left_out))
            taken = pa.array(chosen)
            columns = [pa.array(nodes_of(shard, places[chosen])), found.ids.take(taken), found.values.take(taken)]
            yield f"{shard:08d}-{at:08d}", pa.RecordBatch.from_arrays(columns, ["node", "id", "value"])


def values_of_nodes(search: Search, kind: Kind, shard: int, nodes: Words) -> Iterator[tuple[slice, pa.RecordBatch]]:
    """Yield the ids, digests and values of some nodes of a shard, part by part; they are sorted and may repeat."""
    reader, places = reader_of(search.kinds[kind]), local_places(nodes)
    for at, batch in search.listed.read(shard, [*reader.searched, IDS]):
        first, last = np.searchsorted(places, (first_place(at), first_place(at + len(batch[IDS.name]))))
        if first == last:
            continue
        found = reader.compared(batch)
        held = pa.RecordBatch.from_arrays([found.ids, found.digests, found.values], ["id", "digest", "value"])
        there = places_from(found.places, at)
        for begin in range(first, last, _NODES_TAKEN):
            part = slice(begin, min(begin + _NODES_TAKEN, last))
            yield part, held.take(pa.array(np.searchsorted(there, places[part])))
