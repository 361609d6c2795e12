"""Finds pictures whose PDQ hashes differ in few bits: every pair within the radius, and no other.

Each hash goes to the partitions of its bands (`filters.duplicates.perceptual.hamming_partitions`) with its node and
id, 56 bytes: 0.9 kB a hash where bands are not split, 3.1 kB where each is split into 32. A partition sends at most two
lines a hash, however many pairs it finds.
"""

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np
import pyarrow as pa

from winnow.filters.duplicates.kinds.pdq import PdqConfig
from winnow.filters.duplicates.perceptual.hamming import BANDS
from winnow.filters.duplicates.perceptual.hamming_partitions import (
    band_values,
    join_partition,
    partition_count,
    send_to_partitions,
)
from winnow.filters.duplicates.searches import BlockPairs, BlockSearch, Chains, Partitions, Positions, Sent
from winnow.filters.duplicates.stars import Compare, Likeness
from winnow.schemas.rows.duplicates import HASH_BITS, ID_BYTES
from winnow.schemas.uint128 import Words

__all__ = ["HASH_BYTES", "SEARCH", "hash_blocks", "hash_words", "split_of"]

HASH_BYTES: Final = 32
_LINE_BYTES: Final = HASH_BYTES + 8 + ID_BYTES
_MAX_SPLIT: Final = 8
_MOST_COMPARED: Final = 10_000


def hash_blocks(hashes: int, partitions: Partitions) -> int:
    """The number of partitions of all bands, for about so many hashes."""
    a_band = partitions(hashes * _LINE_BYTES)
    return partition_count(min((a_band - 1).bit_length(), _MAX_SPLIT))


def split_of(blocks: int) -> int:
    """By how many bits each band is split, if there are so many partitions."""
    return (blocks // BANDS).bit_length() - 1


def hash_words(hashes: pa.FixedSizeBinaryArray) -> Words:
    """Hashes as four words each."""
    raw = np.frombuffer(hashes.buffers()[1], "<u8", 4 * len(hashes), hashes.offset * HASH_BYTES)
    return raw.reshape(-1, 4).astype(np.uint64)


def _send(_: PdqConfig, values: pa.Array, blocks: int, __: Mapping[str, pa.Array]) -> Iterator[Sent]:
    return (Sent(*sent) for sent in send_to_partitions(hash_words(values), split_of(blocks)))


def _join(config: PdqConfig, values: pa.Array, _: Positions, block: int, blocks: int) -> BlockPairs:
    """Join the hashes of one partition, and count how many of them share a value in its band."""
    hashes, split = hash_words(values), split_of(blocks)
    sizes = np.bincount(band_values(hashes, block, split))
    hot = sizes[sizes > config.max_bucket]
    counted = {"buckets": int(np.count_nonzero(sizes)), "hot_buckets": len(hot), "hot_rows": int(hot.sum())}
    found = join_partition(hashes, block, split, config.radius)
    root, leaf = (ends.astype(np.int64) for ends in found.forest)
    similarity = 1 - found.distance / HASH_BITS
    return BlockPairs(found.matched, found.nearest, similarity, True, (root, leaf), counted)


def _compare(config: PdqConfig, values: pa.Array) -> Compare:
    hashes = hash_words(values)

    def compare(lines: slice) -> Likeness:
        apart = np.bitwise_count(hashes[lines, None] ^ hashes[None]).sum(axis=2, dtype=np.int64)
        similarity = 1 - apart / HASH_BITS
        return Likeness(similarity, similarity, apart <= config.radius)

    return compare


SEARCH: Final = BlockSearch(hash_blocks, _send, _join, chains=Chains(_MOST_COMPARED, _compare))
"""Blocks are parts of bands; a pair is similar if it differs in at most `radius` bits."""
