"""Finds pictures whose PDQ hashes differ in few bits: every pair within the radius, and no other.

Each hash goes to the partitions of its bands (`filters.duplicates.hamming_partitions`) with its row's number and id, 56
bytes: 0.9 kB a hash where bands are not split, 3.1 kB where each is split into 32. A partition sends at most two lines
a hash, however many pairs it finds.
"""

from collections.abc import Iterable, Iterator

import numpy as np
import orjson
import pyarrow as pa
from numpy.typing import NDArray

from winnow.filters.duplicates.hamming_partitions import (
    band_values,
    join_partition,
    partition_count,
    send_to_partitions,
)
from winnow.pipelines.dedupe.compared import HASH_BYTES, digest_columns, hashes_of
from winnow.pipelines.dedupe.groups import put_members, rows_other_than_roots
from winnow.pipelines.dedupe.matches import JOINED_ONLY, MATCHES
from winnow.pipelines.dedupe.search import Search, read_shard
from winnow.pipelines.query.columns import Column
from winnow.pipelines.running.blocks import AddressedBlock
from winnow.pipelines.running.exchange import addressed_blocks, partitions_for
from winnow.pipelines.running.row_arrays import global_rows, ids_column, shard_numbers, uint64_column
from winnow.pipelines.store import layout
from winnow.schemas.rows.duplicates import HASH_BITS, ID_BYTES
from winnow.schemas.uint128 import Words

__all__ = ["join_hashes", "send_hashes", "split_bits"]

_LINE_BYTES = HASH_BYTES + 8 + ID_BYTES
_MAX_SPLIT = 8


def split_bits(rows: int) -> int:
    """By how many of its bits each band is split, for so many rows."""
    a_band = partitions_for(rows * _LINE_BYTES)
    return min((a_band - 1).bit_length(), _MAX_SPLIT)


def send_hashes(
    search: Search, shard_group: int, batches: Iterable[pa.RecordBatch], split: int
) -> Iterator[AddressedBlock]:
    """Store the groups of equal hashes of a shard group, and send one hash of each group to its partitions."""
    columns = [*digest_columns(search, "pdq"), Column(layout.SAMPLES, "id")]

    def blocks() -> Iterator[tuple[pa.RecordBatch, NDArray[np.int64]]]:
        for shard, members in put_members(search, "pdq", shard_group, batches):
            left_out = rows_other_than_roots(members)
            for at, batch in read_shard(search, shard, columns):
                found = hashes_of(search, batch)
                chosen = np.flatnonzero(~np.isin(found.rows + at, left_out))
                rows = found.rows[chosen]
                numbers = pa.array(global_rows(shard, rows + at))
                ids = batch["samples.id"].take(pa.array(rows))
                hashes = found.values.take(pa.array(chosen))
                lines = pa.RecordBatch.from_arrays([numbers, ids, hashes], ["row", "id", "hash"])
                for sent, partitions in send_to_partitions(_words(hashes), split):
                    yield lines.take(pa.array(sent)), partitions

    return addressed_blocks(f"hashes-{shard_group}", blocks(), partition_count(split))


def join_hashes(
    search: Search, split: int, partition: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[AddressedBlock]:
    """Join the hashes of one partition; send each one's nearest and a forest to the shard groups of the rows."""
    assert search.pdq is not None
    held = list(batches)
    order = np.lexsort(ids_column(held, "id")[::-1])  # of several nearest hashes, that of the smallest id comes first
    rows = uint64_column(held, "row")[order]
    ids = pa.concat_arrays([pa.array([], pa.binary(ID_BYTES)), *(batch["id"] for batch in held)]).take(pa.array(order))
    hashes = np.concatenate([np.zeros((0, 4), np.uint64), *(_words(batch["hash"]) for batch in held)])[order]
    _count_buckets(search, partition, band_values(hashes, partition, split))
    found = join_partition(hashes, partition, split, search.pdq.radius)
    similarity = 1 - found.distance / HASH_BITS
    root, leaf = (ends.astype(np.int64) for ends in found.forest)
    root, leaf = (np.where(rows[root] < rows[leaf], *ends) for ends in ((root, leaf), (leaf, root)))
    sent = [
        (block, search.listed.group_of(shard_numbers(block["row"].to_numpy())))
        for block in (
            _lines(rows, ids, found.matched, found.nearest, similarity),
            _lines(rows, ids, root, leaf, np.full(len(root), JOINED_ONLY)),
        )
    ]
    yield from addressed_blocks(f"pairs-{partition}", sent, search.listed.groups)


def _lines(
    rows: Words,
    ids: pa.FixedSizeBinaryArray,
    one: NDArray[np.int64],
    other: NDArray[np.int64],
    similarity: NDArray[np.float64],
) -> pa.RecordBatch:
    own, others = pa.array(one), pa.array(other)
    measured = [pa.array(similarity), pa.array(np.ones(len(one), np.bool_))]
    columns = [pa.array(rows[one]), pa.array(rows[other]), ids.take(own), ids.take(others), *measured]
    return pa.RecordBatch.from_arrays(columns, schema=MATCHES)


def _words(hashes: pa.FixedSizeBinaryArray) -> Words:
    """Hashes as four words each."""
    raw = np.frombuffer(hashes.buffers()[1], "<u8", 4 * len(hashes), hashes.offset * HASH_BYTES)
    return raw.reshape(-1, 4).astype(np.uint64)


def _count_buckets(search: Search, partition: int, values: NDArray[np.int64]) -> None:
    """Record how many hashes share a value in the partition's band."""
    assert search.pdq is not None
    sizes = np.bincount(values)
    hot = sizes[sizes > search.pdq.max_bucket]
    counted = {"buckets": int(np.count_nonzero(sizes)), "hot_buckets": len(hot), "hot_rows": int(hot.sum())}
    search.store.objects.put(f"{search.scratch}/pdq/buckets/{partition:08d}.json", orjson.dumps(counted))
