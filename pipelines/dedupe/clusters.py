"""Turns forests of matching nodes into clusters, and sends each node the id and the size of its cluster.

Each shard group writes the spanning forest of its own edges. If all forests together are small, one task merges them;
otherwise rounds of star contraction do it, over edges that are partitioned by their ends (see
`filters.duplicates.components`). Either way a cluster ends as a star around its smallest node. Then:

1. Each shard group sends its share of a cluster to the partition of the star's centre.
2. That partition adds the shares up, names the cluster by its smallest id, and sends the result back.
3. A shard group whose nodes equal one in another shard group requests the result from there.

A task holds at most one shard group's nodes or one partition's edges; the driver holds neither.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
import orjson
import pyarrow as pa
from numpy.typing import NDArray

from winnow.filters.duplicates.components import Edges, downward, large_star, merge_forests, mirrored, small_star
from winnow.pipelines.dedupe.groups import empty_blocks
from winnow.pipelines.dedupe.nodes import shards_of
from winnow.pipelines.dedupe.search import Search
from winnow.pipelines.running.blocks import AddressedBlock
from winnow.pipelines.running.exchange import addressed_blocks, clear_scratch, partition_of_key, partitions_for
from winnow.pipelines.running.row_arrays import (
    distinct_pairs,
    find_in_sorted,
    ids_column,
    run_starts,
    single_array,
    uint64_column,
)
from winnow.pipelines.running.scratch_parts import find_part, put_part, read_part, read_parts
from winnow.pipelines.store.concurrency import map_objects
from winnow.schemas.rows.duplicates import ID_BYTES, Kind
from winnow.schemas.uint128 import Words, values_of

MAX_EDGES = 1 << 23
"""One task merges forests of up to this many edges in all, in about 70 bytes per edge."""

REQUESTS = "requests"
"""The prefix of the origin of blocks that request the clusters of nodes from another shard group."""

EDGE_BYTES = 32  # both directions of an edge

ROUNDS_A_JOB = 4
"""Rounds of star contraction that share a job: a cluster starts a job in tens of seconds, and a dozen rounds end nearly
every contraction. Rounds after the last one needed change nothing."""

EDGES = pa.schema([pa.field("first", pa.uint64(), nullable=False), pa.field("second", pa.uint64(), nullable=False)])
"""Edges of a forest or a star; the smaller node comes first."""

_CLUSTER = [
    pa.field("cluster", pa.binary(ID_BYTES), nullable=False),
    pa.field("size", pa.int64(), nullable=False),
    pa.field("texts", pa.int64(), nullable=False),
]
_NODE, _ROOT, _SHARD_GROUP = (pa.field(name, pa.uint64(), nullable=False) for name in ("node", "root", "shard_group"))
_PARTS = pa.schema([_ROOT, _SHARD_GROUP, *_CLUSTER])  # a shard group's share of a cluster
_NAMED_CLUSTER = pa.schema([_ROOT, *_CLUSTER])
_REQUESTED = pa.schema([_NODE, _SHARD_GROUP])
_ROOTS = pa.schema(
    [_NODE, _ROOT, pa.field("id", pa.binary(ID_BYTES), nullable=False), pa.field("size", pa.int64(), nullable=False)]
)
_CLUSTER_OF_NODE = pa.schema([_NODE, *_CLUSTER])

CUT = pa.schema(
    [
        *_CLUSTER_OF_NODE,
        pa.field("matched", pa.binary(ID_BYTES), nullable=False),
        pa.field("similarity", pa.float64(), nullable=False),
        pa.field("back", pa.float64(), nullable=False),
    ]
)
"""Nodes of chains that were cut: each one's new cluster, and its match there; its own id if it is alone."""

CUT_NODES, NAMED = "cut", "named"  # of kinds whose chains are cut
_FORESTS, _STARS, _JOINED = "forests", "stars", "joined.json"  # below the kind


def step_of(name: str, kind: Kind, suffix: str = "") -> str:
    """The name of a step of a search for one kind."""
    return f"{name}{suffix}.{kind}"


def forest_size(shard_group: int, edges: int) -> AddressedBlock:
    """Return the block that reports the size of a forest to `join_forests`."""
    return AddressedBlock(0, f"forest-{shard_group}", 0, pa.RecordBatch.from_arrays([pa.array([edges])], ["edges"]))


def join_forests(
    search: Search, kind: Kind, max_edges: int, _: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[AddressedBlock]:
    """Merge all forests and send the resulting stars. If the forests are too large, only record that."""
    edges = sum(int(batch["edges"][0].as_py()) for batch in batches)
    joined = edges <= max_edges
    search.store.objects.put(f"{search.scratch}/{kind}/{_JOINED}", orjson.dumps({"edges": edges, "joined": joined}))
    if joined:
        parts = read_parts(search.store.objects, search.scratch, f"{kind}/{_FORESTS}", search.listed.groups)
        yield from empty_blocks(search.listed.groups, "stars", EDGES)
        yield from _send_stars(search, "joined", merge_forests([edges_of([part]) for part in parts]))


def unjoined_edges(search: Search, kind: Kind) -> int:
    """Return the total number of edges if the forests were too large for one task, else 0."""
    record = orjson.loads(search.store.objects.read(f"{search.scratch}/{kind}/{_JOINED}"))
    return 0 if record["joined"] else int(record["edges"])


def star_partitions(edges: int) -> int:
    """Return how many partitions to spread this many edges over."""
    return partitions_for(edges * EDGE_BYTES)


def max_star_rounds(edges: int) -> int:
    """Return the number of rounds after which something must be wrong; in practice a dozen is enough."""
    return 2 * edges.bit_length() + 8


@dataclass(frozen=True)
class StarRound:
    """One round of star contraction: makes fewer and shorter edges of those of the round before.

    The first round of a job reads the table that the job before wrote, or the forests; the last one writes a table.
    """

    search: Search
    kind: Kind
    number: int
    partitions: int

    @property
    def steps(self) -> tuple[str, str]:
        """The names of its exchanges."""
        return step_of("Upward", self.kind, f"-{self.number}"), step_of("Downward", self.kind, f"-{self.number}")

    @property
    def sources(self) -> int:
        """The number of edge tables that the round reads."""
        return self.partitions if self.number else self.search.listed.groups

    def send_edges(self, part: int) -> Iterator[AddressedBlock]:
        """Send the edges of one table to the partitions of both of their ends."""
        what = f"{self.kind}/{_STARS}-{self.number - 1}" if self.number else f"{self.kind}/{_FORESTS}"
        yield from self._send_edges(
            part, edges_of([read_part(self.search.store.objects, self.search.scratch, what, part)])
        )

    def _send_edges(self, part: int, edges: Edges) -> Iterator[AddressedBlock]:
        if part == 0:
            yield from empty_blocks(self.partitions, "stars", EDGES)
        yield from self._send(f"edges-{part}", mirrored(*edges))

    def join_upward(self, partition: int, batches: Iterable[pa.RecordBatch]) -> Iterator[AddressedBlock]:
        """Join the larger neighbours of each node to its smallest one, and send these edges by their larger end."""
        first, second = distinct_pairs(*edges_of(batches))
        note = f"{self._notes}{partition:08d}.json"
        self.search.store.objects.put(note, orjson.dumps(_unsettled(first, second)))
        if partition == 0:
            yield from empty_blocks(self.partitions, "stars", EDGES)
        yield from self._send(f"upward-{partition}", downward(*large_star(first, second)))

    def pass_on(self, partition: int, batches: Iterable[pa.RecordBatch]) -> Iterator[AddressedBlock]:
        """Join each node and its smaller neighbours to the smallest of them, and send those edges to the next round."""
        return self._send_edges(partition, small_star(*edges_of(batches)))

    def join_downward(self, partition: int, batches: Iterable[pa.RecordBatch]) -> Iterator[int]:
        """Join them likewise, and write those edges as a table."""
        batch = edges_batch(small_star(*edges_of(batches)))
        put_part(
            self.search.store.objects, self.search.scratch, f"{self.kind}/{_STARS}-{self.number}", partition, batch
        )
        yield partition

    @property
    def finished(self) -> bool:
        """Whether the round began with stars around their smallest nodes, and so changed nothing."""
        objects = self.search.store.objects
        notes = map_objects(objects, objects.read, [info.path for info in objects.list(self._notes)])
        return not any(map(orjson.loads, notes))

    def clear(self) -> None:
        """Delete what it sent and read."""
        objects, scratch = self.search.store.objects, self.search.scratch
        for name in self.steps:
            clear_scratch(objects, f"{scratch}/exchange/{name}")
        if self.number:
            clear_scratch(objects, f"{scratch}/{self.kind}/{_STARS}-{self.number - 1}")

    def send_stars(self, part: int) -> Iterator[AddressedBlock]:
        """Send the stars of a table that the round wrote to the shard groups of their outer nodes."""
        left = read_part(self.search.store.objects, self.search.scratch, f"{self.kind}/{_STARS}-{self.number}", part)
        if part == 0:
            yield from empty_blocks(self.search.listed.groups, "stars", EDGES)
        yield from _send_stars(self.search, f"stars-{part}", edges_of([left]))

    @property
    def _notes(self) -> str:
        return f"{self.search.scratch}/{self.kind}/unsettled-{self.number}/"

    def _send(self, origin: str, edges: Edges) -> Iterator[AddressedBlock]:
        partition_of = partition_of_key(pa.array(edges[0]), self.partitions)
        return addressed_blocks(origin, [(edges_batch(edges), partition_of)], self.partitions)


def star_rounds(search: Search, kind: Kind, first: int, partitions: int) -> tuple[StarRound, ...]:
    """The rounds of the job that begins with this one."""
    return tuple(StarRound(search, kind, number, partitions) for number in range(first, first + ROUNDS_A_JOB))


def _unsettled(first: Words, second: Words) -> int:
    """Return how many nodes are neither a star's centre nor an outer node; every edge is there in both directions."""
    starts = run_starts(first)
    if not len(starts):
        return 0
    lesser = np.logical_or.reduceat(second < first, starts)
    return int(np.count_nonzero(lesser & (np.diff(np.append(starts, len(first))) > 1)))


def send_clusters(
    search: Search, kind: Kind, shard_group: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[AddressedBlock]:
    """Send a shard group's share of each cluster to the partition of its centre, and requests to other shard groups."""
    centres, outer = edges_of(batches)
    shards = search.listed.in_group(shard_group)
    matches = [read_part(search.store.objects, search.scratch, f"{kind}/matches", shard) for shard in shards]
    members = [read_part(search.store.objects, search.scratch, f"{kind}/members", shard) for shard in shards]
    nodes, roots = uint64_column(matches, "node"), uint64_column(matches, "node").copy()
    roots[np.searchsorted(nodes, outer)] = centres
    sizes = np.ones(len(nodes), np.int64)
    member_nodes, member_roots = uint64_column(members, "node"), uint64_column(members, "root")
    at, there = find_in_sorted(nodes, member_nodes)
    sizes[at[there]] = np.concatenate([part["size"].to_numpy() for part in members])[there]
    named = single_array(pa.Table.from_batches(matches).column("id"))
    batch = pa.RecordBatch.from_arrays([pa.array(nodes), pa.array(roots), named, pa.array(sizes)], schema=_ROOTS)
    put_part(search.store.objects, search.scratch, f"{kind}/roots", shard_group, batch)
    known = _sum_clusters(roots, ids_column(matches, "id"), sizes, np.ones(len(nodes), np.int64))
    here = np.full(len(known.nodes), shard_group, np.uint64)
    parts = pa.RecordBatch.from_arrays([pa.array(known.nodes), pa.array(here), *known.columns()], schema=_PARTS)
    where = partition_of_key(pa.array(known.nodes), search.listed.groups)
    yield from addressed_blocks(f"clusters-{shard_group}", [(parts, where)], search.listed.groups)

    wanted = np.unique(member_roots[member_roots != member_nodes])
    shard_groups = search.listed.group_of(shards_of(wanted))
    wanted, shard_groups = wanted[shard_groups != shard_group], shard_groups[shard_groups != shard_group]
    me = np.full(len(wanted), shard_group, np.uint64)
    requested = pa.RecordBatch.from_arrays([pa.array(wanted), pa.array(me)], schema=_REQUESTED)
    yield AddressedBlock(shard_group, f"{REQUESTS}-empty-{shard_group}", 0, requested.slice(0, 0))
    yield from addressed_blocks(f"{REQUESTS}-{shard_group}", [(requested, shard_groups)], search.listed.groups)


def merge_clusters(search: Search, partition: int, batches: Iterable[pa.RecordBatch]) -> Iterator[AddressedBlock]:
    """Add up the shares of each cluster, and send the result back to the shard groups."""
    held = list(batches)
    roots, shard_groups = uint64_column(held, "root"), uint64_column(held, "shard_group").astype(np.int64)
    sizes, texts = (np.concatenate([batch[name].to_numpy() for batch in held]) for name in ("size", "texts"))
    named = _sum_clusters(roots, ids_column(held, "cluster"), sizes, texts).of(roots)
    block = pa.RecordBatch.from_arrays([pa.array(roots), *named.columns()], schema=_NAMED_CLUSTER)
    yield from addressed_blocks(f"names-{partition}", [(block, shard_groups)], search.listed.groups)


def send_node_clusters(
    search: Search, kind: Kind, shard_group: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[AddressedBlock]:
    """Send the cluster of each node of a shard group to the shard group itself and to those that requested it."""
    held = list(batches)
    requested = [batch for batch in held if batch.schema.equals(_REQUESTED)]
    names = [batch for batch in held if batch.schema.equals(_NAMED_CLUSTER)]
    if search.chains(kind) is not None:
        stored = find_part(search.store.objects, search.scratch, f"{kind}/{NAMED}", shard_group)
        names += [] if stored is None else [stored]
    named = Clusters.read(names, "root")
    roots = read_part(search.store.objects, search.scratch, f"{kind}/roots", shard_group)
    nodes = roots["node"].to_numpy()
    own = named.of(roots["root"].to_numpy())
    if cut := [batch for batch in held if batch.schema.equals(CUT)]:
        whole = pa.Table.from_batches(cut).sort_by("node").combine_chunks().to_batches()[0]
        put_part(search.store.objects, search.scratch, f"{kind}/{CUT_NODES}", shard_group, whole)
        own = own.replaced(np.searchsorted(nodes, whole["node"].to_numpy()), Clusters.read([whole]))
    wanted, shard_groups = uint64_column(requested, "node"), uint64_column(requested, "shard_group").astype(np.int64)
    at, there = find_in_sorted(nodes, wanted)
    clusters = pa.RecordBatch.from_arrays([pa.array(nodes), *own.columns()], schema=_CLUSTER_OF_NODE)
    answers = clusters.take(pa.array(at[there]))
    yield AddressedBlock(shard_group, f"clusters-empty-{shard_group}", 0, clusters.slice(0, 0))
    blocks = [(clusters, np.full(len(nodes), shard_group)), (answers, shard_groups[there])]
    yield from addressed_blocks(f"node-clusters-{shard_group}", blocks, search.listed.groups)


@dataclass(frozen=True)
class Clusters:
    """Nodes, sorted, and the cluster of each."""

    nodes: Words
    high: Words  # the cluster's smallest id
    low: Words
    sizes: NDArray[np.int64]
    texts: NDArray[np.int64]

    @classmethod
    def read(cls, batches: Iterable[pa.RecordBatch], node: str = "node") -> Self:
        """Read batches of `send_node_clusters`, in any order."""
        held = list(batches)
        nodes, (high, low) = uint64_column(held, node), ids_column(held, "cluster")
        order = np.argsort(nodes)
        none = np.zeros(0, np.int64)
        sizes, texts = (np.concatenate([none, *(part[name].to_numpy() for part in held)]) for name in ("size", "texts"))
        return cls(nodes[order], high[order], low[order], sizes[order], texts[order])

    def take(self, at: NDArray[np.int64]) -> "Clusters":
        """Return the nodes at these positions."""
        return Clusters(self.nodes[at], self.high[at], self.low[at], self.sizes[at], self.texts[at])

    def of(self, nodes: Words) -> "Clusters":
        """Return the clusters of these nodes, all of which must be there."""
        return self.take(np.searchsorted(self.nodes, nodes))

    def replaced(self, at: NDArray[np.int64], others: "Clusters") -> "Clusters":
        """Return the same nodes, those at these positions in other clusters."""
        columns = [(name, getattr(self, name).copy()) for name in ("high", "low", "sizes", "texts")]
        for name, column in columns:
            column[at] = getattr(others, name)
        return Clusters(self.nodes, **dict(columns))

    def columns(self) -> tuple[pa.Array, pa.Array, pa.Array]:
        """Return the columns cluster, size and texts."""
        return values_of(self.high, self.low), pa.array(self.sizes), pa.array(self.texts)


def _sum_clusters(
    roots: Words, ids: tuple[Words, Words], sizes: NDArray[np.int64], texts: NDArray[np.int64]
) -> Clusters:
    """Return one line per root, with its smallest id and its sums."""
    high, low = ids
    order = np.lexsort((low, high, roots))
    starts = run_starts(roots[order])
    if not len(starts):
        return Clusters(roots, high, low, sizes, texts)
    first = order[starts]
    total_sizes, total_texts = np.add.reduceat(sizes[order], starts), np.add.reduceat(texts[order], starts)
    return Clusters(roots[first], high[first], low[first], total_sizes, total_texts)


def _send_stars(search: Search, origin: str, stars: Edges) -> Iterator[AddressedBlock]:
    return search.to_shards(origin, [edges_batch(stars)], "second")


def edges_of(batches: Iterable[pa.RecordBatch]) -> Edges:
    """Return the edges of batches of `EDGES`, or of others with such columns."""
    held = list(batches)
    return uint64_column(held, "first"), uint64_column(held, "second")


def edges_batch(edges: Edges) -> pa.RecordBatch:
    """Return edges as `EDGES`."""
    return pa.RecordBatch.from_arrays([pa.array(edges[0]), pa.array(edges[1])], schema=EDGES)
