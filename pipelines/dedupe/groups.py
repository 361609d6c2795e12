"""Rows of equal digests: one line a shard and digest to the digest's partition, what it means back, expanded there.

A text that fills a store is thus as many lines as there are shards, not as there are copies.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.pipelines.dedupe.arrays import (
    found_among,
    ids_column,
    one_array,
    references,
    rows_of,
    shards_of,
    starts_of,
    words_column,
)
from winnow.pipelines.dedupe.covered import Search, read_shard
from winnow.pipelines.dedupe.scratch import put_part
from winnow.pipelines.query.columns import Column
from winnow.pipelines.running.blocks import AddressedBlock
from winnow.pipelines.running.exchange import addressed_blocks, partition_of_key
from winnow.pipelines.store import layout
from winnow.schemas.errors import StageError
from winnow.schemas.rows.duplicates import ID_BYTES, Kind
from winnow.schemas.uint128 import Words, values_of

ROW_BYTES = 48  # of a digest, an id, a row's number and a count

MEMBERS = pa.schema(
    [
        pa.field("row", pa.uint64(), nullable=False),
        pa.field("root", pa.uint64(), nullable=False),  # the member of the smallest id
        pa.field("cluster", pa.binary(ID_BYTES), nullable=False),  # its id
        pa.field("matched", pa.binary(ID_BYTES), nullable=False),  # the smallest id of another member
        pa.field("size", pa.int64(), nullable=False),
    ]
)
"""What is kept of each member of a group of two or more."""

TOLD = MEMBERS.append(pa.field("here", pa.int64(), nullable=False))
"""What a shard is told of a digest: of its member of the smallest id, and how many members it has itself.

Here `matched` is the smallest id of another shard's member, and the root's own where no other shard has one.
"""

_ROWS_AT_ONCE = 1 << 16


@dataclass(frozen=True)
class _Groups:
    """Rows of equal digests side by side, the smallest id first; a row that is alone need not be among them."""

    order: NDArray[np.int64]
    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]

    @classmethod
    def of(cls, digests: tuple[Words, Words], ids: tuple[Words, Words]) -> "_Groups":
        """The groups of two or more."""
        (high, low), (id_high, id_low) = digests, ids
        order = np.argsort(high)
        same = high[order][1:] == high[order][:-1]
        tied = np.zeros(len(order), np.bool_)
        tied[1:] |= same
        tied[:-1] |= same
        order = order[tied]
        order = order[np.lexsort((id_low[order], id_high[order], low[order], high[order]))]
        starts = starts_of(high[order], low[order])
        sizes = np.diff(np.append(starts, len(order)))
        return cls(order, starts[sizes > 1], sizes[sizes > 1])

    @property
    def heads(self) -> NDArray[np.int64]:
        """Of each group the row of the smallest id."""
        return self.order[self.starts]

    def members(self, groups: NDArray[np.int64]) -> NDArray[np.int64]:
        """The rows of some groups, one group behind another."""
        sizes = self.sizes[groups]
        within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        found: NDArray[np.int64] = self.order[np.repeat(self.starts[groups], sizes) + within]
        return found


@dataclass(frozen=True)
class _Digests:
    """The rows of a shard that have a digest."""

    rows: NDArray[np.int64]  # where they stand in their shard
    digests: tuple[Words, Words]
    ids: tuple[Words, Words]

    @classmethod
    def of(cls, search: Search, kind: Kind, shard: int) -> "_Digests":
        layer = search.kinds[kind]
        rows, held = [np.zeros(0, np.int64)], []
        for at, batch in read_shard(search, shard, [Column(layer, "digest"), Column(layout.SAMPLES, "id")]):
            digests = batch[f"{layer}.digest"]
            there = np.flatnonzero(digests.is_valid().to_numpy(zero_copy_only=False))
            taken = pa.array(there)
            columns = [digests.take(taken), batch["samples.id"].take(taken)]
            held.append(pa.RecordBatch.from_arrays(columns, ["digest", "id"]))
            rows.append(at + there)
        return cls(np.concatenate(rows), ids_column(held, "digest"), ids_column(held, "id"))


def send_digests(search: Search, kind: Kind, shard: int, partitions: int) -> Iterator[AddressedBlock]:
    """A shard's digests, each once: with the smallest id that has it there, its row, and how many rows have it."""
    found = _Digests.of(search, kind, shard)
    groups = _Groups.of(found.digests, found.ids)
    counts = np.ones(len(found.rows), np.int64)
    counts[groups.members(np.arange(len(groups.starts)))] = 0
    counts[groups.heads] = groups.sizes
    sent = np.flatnonzero(counts)

    def batches() -> Iterator[tuple[pa.RecordBatch, NDArray[np.uint32]]]:
        for begin in range(0, len(sent), _ROWS_AT_ONCE):
            part = sent[begin : begin + _ROWS_AT_ONCE]
            digests = values_of(*(words[part] for words in found.digests))
            ids = values_of(*(words[part] for words in found.ids))
            rows = pa.array(references(shard, found.rows[part]))
            block = pa.RecordBatch.from_arrays(
                [digests, ids, rows, pa.array(counts[part])], ["digest", "id", "row", "count"]
            )
            yield block, partition_of_key(digests, partitions)

    return addressed_blocks(f"{kind}-digests-{shard}", batches(), partitions)


def group_digests(
    search: Search, kind: Kind, partition: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[AddressedBlock]:
    """What is told of every digest of two rows or more, to the places of the shards that have it."""
    held = list(batches)
    digests, ids = ids_column(held, "digest"), ids_column(held, "id")
    rows = words_column(held, "row")
    counts = np.concatenate([np.zeros(0, np.int64), *(batch["count"].to_numpy() for batch in held)])
    groups = _Groups.of(digests, ids)
    every = np.arange(len(groups.starts))
    members = groups.members(every)
    of = np.repeat(every, groups.sizes)
    sizes = np.bincount(of, counts[members], len(every)).astype(np.int64)
    root = groups.heads[of]
    matched = np.where(members == root, groups.order[groups.starts + 1][of], root)
    # A digest that one shard alone has, and more than once there.
    inside = counts > 1
    inside[members] = False
    alone = np.flatnonzero(inside)
    members, root, matched = (np.concatenate([one, alone]) for one in (members, root, matched))
    if not len(members):
        return
    told = pa.RecordBatch.from_arrays(
        [
            pa.array(rows[members]),
            pa.array(rows[root]),
            values_of(*(words[root] for words in ids)),
            values_of(*(words[matched] for words in ids)),
            pa.array(np.concatenate([sizes[of], counts[alone]])),
            pa.array(counts[members]),
        ],
        schema=TOLD,
    )
    places = search.place_of(shards_of(rows[members]))
    yield from addressed_blocks(f"{kind}-groups-{partition}", [(told, places)], search.places)


def hello(search: Search, kind: str, schema: pa.Schema) -> Iterator[AddressedBlock]:
    """An empty block to every place, so that each is heard of even where nothing is told to it."""
    empty = pa.RecordBatch.from_pylist([], schema=schema)
    return (AddressedBlock(place, f"{kind}-hello", 0, empty) for place in range(search.places))


def keep_members(
    search: Search, kind: Kind, place: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Leave the members that each shard of a place has, in order of rows; gives the shard's number with them."""
    told = pa.Table.from_batches(batches, schema=TOLD).sort_by("row").combine_chunks()
    numbers = shards_of(told["row"].to_numpy())
    for shard in search.shards_at(place):
        first, last = np.searchsorted(numbers, (shard, shard + 1))
        columns = [one_array(column) for column in told.slice(first, last - first).columns]
        part = _expanded(search, kind, shard, pa.RecordBatch.from_arrays(columns, schema=TOLD))
        put_part(search.store.objects, search.scratch, f"{kind}/members", shard, part)
        yield shard, part


def _expanded(search: Search, kind: Kind, shard: int, told: pa.RecordBatch) -> pa.RecordBatch:
    """Every member that a shard has, from what it was told of those of the smallest ids."""
    here = told["here"].to_numpy()
    single, several = np.flatnonzero(here == 1), np.flatnonzero(here > 1)
    if not len(several):
        return told.select(MEMBERS.names)
    found = _Digests.of(search, kind, shard)
    groups = _Groups.of(found.digests, found.ids)
    heads, told_rows = references(shard, found.rows[groups.heads]), words_column([told], "row")
    by_row = np.argsort(heads)
    at, there = found_among(heads[by_row], told_rows[several])
    of = by_row[at[there]]
    if not np.all(there) or np.any(groups.sizes[of] != here[several]):
        name = search.covered[shard].shard
        raise StageError(f"dedupe: shard {name} changed while it was searched; run the same command again")
    told_heads = rows_of(told_rows)
    rows = np.concatenate([told_heads[single], found.rows[groups.members(of)]])
    lines = np.concatenate([single, np.repeat(several, groups.sizes[of])])
    order = np.argsort(rows)
    rows, lines = rows[order], lines[order]
    cluster, matched = ids_column([told], "cluster"), ids_column([told], "matched")
    seconds = groups.order[groups.starts[of] + 1]
    _bring_nearer(told, several, (found.ids[0][seconds], found.ids[1][seconds]), cluster, matched)
    is_head = rows == told_heads[lines]
    high, low = (np.where(is_head, matched[half][lines], cluster[half][lines]) for half in (0, 1))
    taken = pa.array(lines)
    return pa.RecordBatch.from_arrays(
        [
            pa.array(references(shard, rows)),
            told["root"].take(taken),
            told["cluster"].take(taken),
            values_of(high, low),
            told["size"].take(taken),
        ],
        schema=MEMBERS,
    )


def _bring_nearer(
    told: pa.RecordBatch,
    several: NDArray[np.int64],
    seconds: tuple[Words, Words],
    cluster: tuple[Words, Words],
    matched: tuple[Words, Words],
) -> None:
    """Let a root match the second id of its own shard where no other shard has a smaller one."""
    is_root = told["row"].to_numpy()[several] == told["root"].to_numpy()[several]
    (high, low), own, other = seconds, *((words[0][several], words[1][several]) for words in (cluster, matched))
    nowhere = (other[0] == own[0]) & (other[1] == own[1])
    smaller = (high < other[0]) | ((high == other[0]) & (low < other[1]))
    nearer = is_root & (nowhere | smaller)
    matched[0][several[nearer]], matched[1][several[nearer]] = high[nearer], low[nearer]


def not_roots(members: pa.RecordBatch) -> NDArray[np.int64]:
    """Where in their shard the rows are that a root stands for."""
    others = members.filter(pc.not_equal(members["row"], members["root"]))
    return rows_of(others["row"].to_numpy())
