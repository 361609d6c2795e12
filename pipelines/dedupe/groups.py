"""Rows of equal digests: sent to the digest's partition, grouped by sorting, told to the shard of each member."""

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from winnow.pipelines.blocks import AddressedBlock
from winnow.pipelines.columns import Column
from winnow.pipelines.dedupe.arrays import (
    ids_column,
    one_array,
    references,
    rows_of,
    shards_of,
    starts_of,
    values_of,
    words_column,
)
from winnow.pipelines.dedupe.covered import Search, read_shard
from winnow.pipelines.dedupe.scratch import put_part
from winnow.pipelines.exchange import addressed_blocks, partition_of_key
from winnow.pipelines.store import layout
from winnow.schemas.duplicates import ID_BYTES, Kind

ROW_BYTES = 40  # of a digest, an id and a row's number

MEMBERS = pa.schema(
    [
        pa.field("row", pa.uint64(), nullable=False),
        pa.field("root", pa.uint64(), nullable=False),  # the member of the smallest id
        pa.field("cluster", pa.binary(ID_BYTES), nullable=False),  # its id
        pa.field("matched", pa.binary(ID_BYTES), nullable=False),  # the smallest id of another member
        pa.field("size", pa.int64(), nullable=False),
    ]
)
"""What a member of a group of two or more is told."""


def send_digests(search: Search, kind: Kind, shard: int, partitions: int) -> Iterator[AddressedBlock]:
    """A shard's rows by their digests."""
    layer = search.kinds[kind]

    def batches() -> Iterator[tuple[pa.RecordBatch, np.ndarray]]:
        for at, batch in read_shard(search, shard, [Column(layer, "digest"), Column(layout.SAMPLES, "id")]):
            digests = batch[f"{layer}.digest"]
            there = np.flatnonzero(digests.is_valid().to_numpy(zero_copy_only=False))
            taken = pa.array(there)
            digests = digests.take(taken)
            block = pa.RecordBatch.from_arrays(
                [digests, batch["samples.id"].take(taken), pa.array(references(shard, at + there))],
                ["digest", "id", "row"],
            )
            yield block, partition_of_key(digests, partitions)

    return addressed_blocks(f"{kind}-digests-{shard}", batches(), partitions)


def group_digests(
    search: Search, kind: Kind, partition: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[AddressedBlock]:
    """The members of every group of two or more, to their shards' places."""
    held = list(batches)
    high, low = ids_column(held, "digest")
    id_high, id_low = ids_column(held, "id")
    rows = words_column(held, "row")
    order = np.argsort(high)
    same = high[order][1:] == high[order][:-1]
    tied = np.append(same, False) | np.append(False, same)
    order = order[tied]
    order = order[np.lexsort((id_low[order], id_high[order], low[order], high[order]))]
    high, low, id_high, id_low, rows = (column[order] for column in (high, low, id_high, id_low, rows))
    starts = starts_of(high, low)
    sizes = np.diff(np.append(starts, len(rows)))
    starts, sizes = starts[sizes > 1], sizes[sizes > 1]
    if not len(starts):
        return
    group = np.repeat(np.arange(len(starts)), sizes)
    place = np.arange(len(group)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    members = starts[group] + place
    root = starts[group]
    matched = np.where(place == 0, root + 1, root)
    told = pa.RecordBatch.from_arrays(
        [
            pa.array(rows[members]),
            pa.array(rows[root]),
            values_of(id_high[root], id_low[root]),
            values_of(id_high[matched], id_low[matched]),
            pa.array(sizes[group]),
        ],
        schema=MEMBERS,
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
    """Leave what each shard of a place was told, in order of rows; gives the shard's number with it."""
    told = pa.Table.from_batches(batches, schema=MEMBERS).sort_by("row").combine_chunks()
    numbers = shards_of(told["row"].to_numpy())
    for shard in search.shards_at(place):
        first, last = np.searchsorted(numbers, (shard, shard + 1))
        part = pa.RecordBatch.from_arrays(
            [one_array(column) for column in told.slice(first, last - first).columns],
            schema=MEMBERS,
        )
        put_part(search.store.objects, search.scratch, f"{kind}/members", shard, part)
        yield shard, part


def not_roots(members: pa.RecordBatch) -> np.ndarray:
    """Where in their shard the rows are that a root stands for."""
    others = members.filter(pc.not_equal(members["row"], members["root"]))
    return rows_of(others["row"].to_numpy())
