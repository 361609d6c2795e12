"""From forests to clusters: which rows are joined, directly or through others, and what each is told of its cluster.

A place leaves the forest of its own edges. Where all forests together are small, one task merges them; past that,
rounds of star contraction do so over edges that are spread by their ends (see `filters.duplicates.components`). Either
way a cluster ends as a star around its smallest row, and travels on: what each place knows of a star to the partition
of its centre, there to be summed up and named by the smallest id; the name back to the places that have a part of it;
and from the place of a text that stands for its equals to the places of these.

No task holds more than a place's rows, or a partition's edges; and the driver none of them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
import orjson
import pyarrow as pa
from numpy.typing import NDArray

from winnow.filters.duplicates.components import Edges, downward, large_star, merge_forests, mirrored, small_star
from winnow.pipelines.dedupe.arrays import distinct_pairs, found_among, ids_column, shards_of, starts_of, words_column
from winnow.pipelines.dedupe.covered import Search
from winnow.pipelines.dedupe.scratch import put_part, read_part, read_parts
from winnow.pipelines.running.blocks import AddressedBlock
from winnow.pipelines.running.exchange import addressed_blocks, clear_scratch, partition_of_key, partitions_for
from winnow.pipelines.store.together import each
from winnow.schemas.rows.duplicates import ID_BYTES
from winnow.schemas.uint128 import Words, values_of

MOST_EDGES = 1 << 23
"""Forests of so many edges in all are merged by one task, in about 70 bytes an edge."""

ASKS = "asks"
"""How the origin of blocks begins that ask a place for what its rows are told."""

EDGE_BYTES = 32  # as both of its ends see it

EDGES = pa.schema([pa.field("first", pa.uint64(), nullable=False), pa.field("second", pa.uint64(), nullable=False)])
"""Of a forest or a star the smallest row comes first."""

_CLUSTER = [
    pa.field("cluster", pa.binary(ID_BYTES), nullable=False),
    pa.field("size", pa.int64(), nullable=False),
    pa.field("texts", pa.int64(), nullable=False),
]
_ROW, _ROOT, _PLACE = (pa.field(name, pa.uint64(), nullable=False) for name in ("row", "root", "place"))
_PARTS = pa.schema([_ROOT, _PLACE, *_CLUSTER])  # what a place knows of a cluster
_NAMED = pa.schema([_ROOT, *_CLUSTER])
_ASKED = pa.schema([_ROW, _PLACE])
_ROOTS = pa.schema([_ROW, _ROOT])
_TOLD = pa.schema([_ROW, *_CLUSTER])

_FORESTS, _STARS, _JOINED = "near/forests", "near/stars", "near/joined.json"


def forest_size(place: int, edges: int) -> AddressedBlock:
    """What `join_forests` is told of a forest."""
    return AddressedBlock(0, f"forest-{place}", 0, pa.RecordBatch.from_arrays([pa.array([edges])], ["edges"]))


def join_forests(
    search: Search, most_edges: int, _: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[AddressedBlock]:
    """Merge all forests, and send the stars that come of it; where they are too large leave word of it instead."""
    edges = sum(int(batch["edges"][0].as_py()) for batch in batches)
    joined = edges <= most_edges
    search.store.objects.put(f"{search.scratch}/{_JOINED}", orjson.dumps({"edges": edges, "joined": joined}))
    if joined:
        parts = read_parts(search.store.objects, search.scratch, _FORESTS, search.places)
        yield from _heard(search.places, "stars", EDGES)
        yield from _sent_stars(search, "joined", merge_forests([_edges_of([part]) for part in parts]))


def unjoined_edges(search: Search) -> int:
    """How many edges the forests have in all that were too large to be merged at once; 0 where they were not."""
    told = orjson.loads(search.store.objects.read(f"{search.scratch}/{_JOINED}"))
    return 0 if told["joined"] else int(told["edges"])


def star_partitions(edges: int) -> int:
    """Over how many partitions so many edges are spread."""
    return partitions_for(edges * EDGE_BYTES)


def star_rounds(edges: int) -> int:
    """After how many rounds something is wrong; a dozen is what is seen."""
    return 2 * edges.bit_length() + 8


@dataclass(frozen=True)
class StarRound:
    """One round of star contraction: edges of the round before, or of the forests, to fewer and shorter ones."""

    search: Search
    number: int
    partitions: int

    @property
    def sources(self) -> int:
        """How many tables of edges it begins with."""
        return self.partitions if self.number else self.search.places

    def send_edges(self, part: int) -> Iterator[AddressedBlock]:
        """The edges of one table to the partitions of both of their ends."""
        what = f"{_STARS}-{self.number - 1}" if self.number else _FORESTS
        edges = _edges_of([read_part(self.search.store.objects, self.search.scratch, what, part)])
        if part == 0:
            yield from _heard(self.partitions, "stars", EDGES)
        yield from self._sent(f"edges-{part}", mirrored(*edges))

    def join_upward(self, partition: int, batches: Iterable[pa.RecordBatch]) -> Iterator[AddressedBlock]:
        """The greater neighbours of each row joined to the least of all, and sent from their greater ends."""
        first, second = distinct_pairs(*_edges_of(batches))
        note = f"{self._notes}{partition:08d}.json"
        self.search.store.objects.put(note, orjson.dumps(_unsettled(first, second)))
        if partition == 0:
            yield from _heard(self.partitions, "stars", EDGES)
        yield from self._sent(f"upward-{partition}", downward(*large_star(first, second)))

    def join_downward(self, partition: int, batches: Iterable[pa.RecordBatch]) -> Iterator[int]:
        """Each row and its lesser neighbours joined to the least of these; left as a table."""
        batch = _edges_batch(small_star(*_edges_of(batches)))
        put_part(self.search.store.objects, self.search.scratch, f"{_STARS}-{self.number}", partition, batch)
        yield partition

    @property
    def settled(self) -> bool:
        """Whether what the round began with, and so what it left, are stars around their smallest rows."""
        objects = self.search.store.objects
        notes = each(objects, objects.read, [info.path for info in objects.list(self._notes)])
        return not any(map(orjson.loads, notes))

    def clear_before(self) -> None:
        """Drop what led to this round."""
        objects, scratch = self.search.store.objects, self.search.scratch
        for name in (f"Upward-{self.number}", f"Downward-{self.number}"):
            clear_scratch(objects, f"{scratch}/exchange/{name}")
        if self.number:
            clear_scratch(objects, f"{scratch}/{_STARS}-{self.number - 1}")

    def send_stars(self, part: int) -> Iterator[AddressedBlock]:
        """The stars of a table that the round left, to the places of their outer rows."""
        left = read_part(self.search.store.objects, self.search.scratch, f"{_STARS}-{self.number}", part)
        if part == 0:
            yield from _heard(self.search.places, "stars", EDGES)
        yield from _sent_stars(self.search, f"stars-{part}", _edges_of([left]))

    @property
    def _notes(self) -> str:
        return f"{self.search.scratch}/near/unsettled-{self.number}/"

    def _sent(self, origin: str, edges: Edges) -> Iterator[AddressedBlock]:
        partition_of = partition_of_key(pa.array(edges[0]), self.partitions)
        return addressed_blocks(origin, [(_edges_batch(edges), partition_of)], self.partitions)


def _unsettled(first: Words, second: Words) -> int:
    """How many rows are neither the smallest of a star nor an outer row of one; every edge is seen from both ends."""
    starts = starts_of(first)
    if not len(starts):
        return 0
    lesser = np.logical_or.reduceat(second < first, starts)
    return int(np.count_nonzero(lesser & (np.diff(np.append(starts, len(first))) > 1)))


def send_clusters(search: Search, place: int, batches: Iterable[pa.RecordBatch]) -> Iterator[AddressedBlock]:
    """What a place has of each cluster, to the partition of its centre; and what it asks of other places."""
    centres, outer = _edges_of(batches)
    shards = search.shards_at(place)
    matches = [read_part(search.store.objects, search.scratch, "near/matches", shard) for shard in shards]
    members = [read_part(search.store.objects, search.scratch, "near/members", shard) for shard in shards]
    rows, roots = words_column(matches, "row"), words_column(matches, "row").copy()
    roots[np.searchsorted(rows, outer)] = centres
    batch = pa.RecordBatch.from_arrays([pa.array(rows), pa.array(roots)], schema=_ROOTS)
    put_part(search.store.objects, search.scratch, "near/roots", place, batch)

    sizes = np.ones(len(rows), np.int64)
    member_rows, member_roots = words_column(members, "row"), words_column(members, "root")
    at, there = found_among(rows, member_rows)
    sizes[at[there]] = np.concatenate([part["size"].to_numpy() for part in members])[there]
    known = _summed(roots, ids_column(matches, "id"), sizes, np.ones(len(rows), np.int64))
    here = np.full(len(known.rows), place, np.uint64)
    parts = pa.RecordBatch.from_arrays([pa.array(known.rows), pa.array(here), *known.columns()], schema=_PARTS)
    where = partition_of_key(pa.array(known.rows), search.places)
    yield from addressed_blocks(f"clusters-{place}", [(parts, where)], search.places)

    wanted = np.unique(member_roots[member_roots != member_rows])
    places = search.place_of(shards_of(wanted))
    wanted, places = wanted[places != place], places[places != place]
    me = np.full(len(wanted), place, np.uint64)
    asked = pa.RecordBatch.from_arrays([pa.array(wanted), pa.array(me)], schema=_ASKED)
    yield AddressedBlock(place, f"{ASKS}-hello-{place}", 0, asked.slice(0, 0))
    yield from addressed_blocks(f"{ASKS}-{place}", [(asked, places)], search.places)


def name_clusters(search: Search, partition: int, batches: Iterable[pa.RecordBatch]) -> Iterator[AddressedBlock]:
    """Sum up what the places have of each cluster, and tell them."""
    held = list(batches)
    roots, places = words_column(held, "root"), words_column(held, "place").astype(np.int64)
    sizes, texts = (np.concatenate([batch[name].to_numpy() for batch in held]) for name in ("size", "texts"))
    named = _summed(roots, ids_column(held, "cluster"), sizes, texts).of(roots)
    block = pa.RecordBatch.from_arrays([pa.array(roots), *named.columns()], schema=_NAMED)
    yield from addressed_blocks(f"names-{partition}", [(block, places)], search.places)


def tell_clusters(search: Search, place: int, batches: Iterable[pa.RecordBatch]) -> Iterator[AddressedBlock]:
    """What each row of a place is told of its cluster, to the place itself and to those that asked for the row."""
    held = list(batches)
    asked = [batch for batch in held if batch.schema.equals(_ASKED)]
    named = Clusters.read([batch for batch in held if batch.schema.equals(_NAMED)], "root")
    roots = read_part(search.store.objects, search.scratch, "near/roots", place)
    rows = roots["row"].to_numpy()
    own = named.of(roots["root"].to_numpy())
    wanted, places = words_column(asked, "row"), words_column(asked, "place").astype(np.int64)
    at, there = found_among(rows, wanted)
    told = pa.RecordBatch.from_arrays([pa.array(rows), *own.columns()], schema=_TOLD)
    answers = told.take(pa.array(at[there]))
    yield AddressedBlock(place, f"told-hello-{place}", 0, told.slice(0, 0))
    blocks = [(told, np.full(len(rows), place)), (answers, places[there])]
    yield from addressed_blocks(f"told-{place}", blocks, search.places)


@dataclass(frozen=True)
class Clusters:
    """Rows, sorted, and the cluster of each."""

    rows: Words
    high: Words  # the cluster's smallest id
    low: Words
    sizes: NDArray[np.int64]
    texts: NDArray[np.int64]

    @classmethod
    def read(cls, batches: Iterable[pa.RecordBatch], row: str = "row") -> Self:
        """From what a place is told, in any order."""
        held = list(batches)
        rows, (high, low) = words_column(held, row), ids_column(held, "cluster")
        order = np.argsort(rows)
        none = np.zeros(0, np.int64)
        sizes, texts = (np.concatenate([none, *(part[name].to_numpy() for part in held)]) for name in ("size", "texts"))
        return cls(rows[order], high[order], low[order], sizes[order], texts[order])

    def at(self, places: NDArray[np.int64]) -> "Clusters":
        """What stands at these places."""
        return Clusters(self.rows[places], self.high[places], self.low[places], self.sizes[places], self.texts[places])

    def of(self, rows: Words) -> "Clusters":
        """The same for these rows, all of which are there."""
        return self.at(np.searchsorted(self.rows, rows))

    def columns(self) -> tuple[pa.Array, pa.Array, pa.Array]:
        """Cluster, size and texts."""
        return values_of(self.high, self.low), pa.array(self.sizes), pa.array(self.texts)


def _summed(roots: Words, ids: tuple[Words, Words], sizes: NDArray[np.int64], texts: NDArray[np.int64]) -> Clusters:
    """One line for each root, with the smallest id and the sums."""
    high, low = ids
    order = np.lexsort((low, high, roots))
    starts = starts_of(roots[order])
    if not len(starts):
        return Clusters(roots, high, low, sizes, texts)
    first = order[starts]
    whole, different = np.add.reduceat(sizes[order], starts), np.add.reduceat(texts[order], starts)
    return Clusters(roots[first], high[first], low[first], whole, different)


def _sent_stars(search: Search, origin: str, stars: Edges) -> Iterator[AddressedBlock]:
    places = search.place_of(shards_of(stars[1]))
    return addressed_blocks(origin, [(_edges_batch(stars), places)], search.places)


def _heard(partitions: int, what: str, schema: pa.Schema) -> Iterator[AddressedBlock]:
    """An empty block to every partition, so that each is heard of."""
    empty = pa.RecordBatch.from_pylist([], schema=schema)
    return (AddressedBlock(partition, f"{what}-hello", 0, empty) for partition in range(partitions))


def _edges_of(batches: Iterable[pa.RecordBatch]) -> Edges:
    held = list(batches)
    return words_column(held, "first"), words_column(held, "second")


def _edges_batch(edges: Edges) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array(edges[0]), pa.array(edges[1])], schema=EDGES)
