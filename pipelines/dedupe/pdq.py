"""Finds pictures whose PDQ hashes differ in few bits: every pair within the radius, and no other.

Each hash goes to the partitions of its bands (`filters.duplicates.perceptual.hamming_partitions`) with its node and
id, 56 bytes: 0.9 kB a hash where bands are not split, 3.1 kB where each is split into 32. A partition sends at most two
lines a hash, however many pairs it finds.
"""

from collections.abc import Iterator

import numpy as np
import orjson
import pyarrow as pa
from numpy.typing import NDArray

from winnow.filters.duplicates.perceptual.hamming import BANDS
from winnow.filters.duplicates.perceptual.hamming_partitions import (
    band_values,
    join_partition,
    partition_count,
    send_to_partitions,
)
from winnow.pipelines.dedupe.blocks import BlockPairs, Positions, Sent
from winnow.pipelines.dedupe.compared import HASH_BYTES
from winnow.pipelines.dedupe.search import Search
from winnow.pipelines.running.exchange import partitions_for
from winnow.schemas.rows.duplicates import HASH_BITS, ID_BYTES
from winnow.schemas.uint128 import Words

__all__ = ["PdqJoin", "hash_words", "split_bits", "split_of"]

_LINE_BYTES = HASH_BYTES + 8 + ID_BYTES
_MAX_SPLIT = 8


def split_bits(nodes: int) -> int:
    """By how many of its bits each band is split, for so many hashes."""
    a_band = partitions_for(nodes * _LINE_BYTES)
    return min((a_band - 1).bit_length(), _MAX_SPLIT)


class PdqJoin:
    """Blocks are parts of bands; a pair is similar if it differs in at most `radius` bits."""

    def blocks(self, _: Search, nodes: int) -> int:
        """The number of partitions of all bands."""
        return partition_count(split_bits(nodes))

    def send(self, _: Search, values: pa.Array, blocks: int, __: str) -> Iterator[Sent]:
        """Yield positions of hashes, and the partition that each goes to."""
        return (Sent(*sent) for sent in send_to_partitions(hash_words(values), split_of(blocks)))

    def join(self, search: Search, values: pa.Array, _: Positions, block: int, blocks: int) -> BlockPairs:
        """Join the hashes of one partition."""
        assert search.pdq is not None
        hashes, split = hash_words(values), split_of(blocks)
        _count_buckets(search, block, band_values(hashes, block, split))
        found = join_partition(hashes, block, split, search.pdq.radius)
        root, leaf = (ends.astype(np.int64) for ends in found.forest)
        return BlockPairs(found.matched, found.nearest, 1 - found.distance / HASH_BITS, True, (root, leaf))


def split_of(blocks: int) -> int:
    """By how many bits each band is split, if there are so many partitions."""
    return (blocks // BANDS).bit_length() - 1


def hash_words(hashes: pa.FixedSizeBinaryArray) -> Words:
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
