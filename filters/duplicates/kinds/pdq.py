"""Pictures whose PDQ hashes differ in few bits: exactly the pairs within the radius.

Blocks are parts of bands. Each hash is sent to the partitions of its bands (`filters.duplicates.perceptual`) with its
node and id, 56 bytes: 0.9 kB per hash if bands are not split, 3.1 kB if each is split into 32. A partition returns at
most two lines per hash, however many pairs it finds.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from winnow.filters.duplicates.kind import PICTURES, DuplicateKind, Measure, SearchResults, Signature
from winnow.filters.duplicates.perceptual.hamming import BANDS
from winnow.filters.duplicates.perceptual.hamming_partitions import (
    band_values,
    join_partition,
    partition_count,
    send_to_partitions,
)
from winnow.filters.duplicates.searches import BlockPairs, BlockSearch, Chains, Partitions, Positions, SentValues
from winnow.filters.duplicates.stars import Compare, MemberSimilarities
from winnow.schemas.recipe.checks import Between
from winnow.schemas.rows.duplicates import HASH_BITS, ID_BYTES, LOW_QUALITY, NOT_MEASURED, OK
from winnow.schemas.uint128 import Words

HASH_BYTES: Final = 32
_LINE_BYTES: Final = HASH_BYTES + 8 + ID_BYTES
_MAX_SPLIT: Final = 8
_MOST_COMPARED: Final = 10_000


@dataclass(frozen=True)
class PdqConfig:
    """Pictures whose PDQ hashes differ in few bits: resized or recompressed copies."""

    radius: Annotated[int, Between(0, 31)] = 31  # of 256 bits; the reference's threshold
    min_quality: Annotated[int, Between(0, 100)] = 50  # the reference discards 49 and less
    max_bucket: Annotated[int, Between(2, 1 << 30)] = 10_000
    max_cluster: Annotated[int, Between(2, 1 << 40)] = 10_000


def _values(config: PdqConfig, leaves: Sequence[pa.Array]) -> tuple[pa.StringArray, pa.Array]:
    hashes, quality = leaves
    known = pc.and_(hashes.is_valid(), quality.is_valid())
    good = pc.fill_null(pc.greater_equal(quality, config.min_quality), False)
    return pc.if_else(known, pc.if_else(good, OK, LOW_QUALITY), NOT_MEASURED), hashes.cast(pa.binary(32))


def hash_blocks(hashes: int, partitions: Partitions) -> int:
    """The number of partitions of all bands, for about this many hashes."""
    a_band = partitions(hashes * _LINE_BYTES)
    return partition_count(min((a_band - 1).bit_length(), _MAX_SPLIT))


def split_of(blocks: int) -> int:
    """The number of bits by which each band is split, given the number of partitions."""
    return (blocks // BANDS).bit_length() - 1


def hash_words(hashes: pa.FixedSizeBinaryArray) -> Words:
    """Hashes as four words each."""
    raw = np.frombuffer(hashes.buffers()[1], "<u8", 4 * len(hashes), hashes.offset * HASH_BYTES)
    return raw.reshape(-1, 4).astype(np.uint64)


def _send(_: PdqConfig, values: pa.Array, blocks: int, __: Mapping[str, pa.Array]) -> Iterator[SentValues]:
    return (SentValues(*sent) for sent in send_to_partitions(hash_words(values), split_of(blocks)))


def _join(config: PdqConfig, values: pa.Array, _: Positions, block: int, blocks: int) -> BlockPairs:
    """Join the hashes of one partition, and count those that share a value in its band."""
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

    def compare(some: Positions, others: Positions) -> MemberSimilarities:
        apart = np.bitwise_count(hashes[some, None] ^ hashes[others]).sum(axis=2, dtype=np.int64)
        similarity = 1 - apart / HASH_BITS
        return MemberSimilarities(similarity, similarity, apart <= config.radius)

    return compare


def _distance(found: SearchResults) -> pa.Array:
    return pc.round(pc.multiply(pc.subtract(1.0, found.similarity), HASH_BITS)).cast(pa.int16())


def _said(columns: Mapping[str, pa.Array]) -> tuple[pa.Array, pa.Array]:
    """The similarity of two hashes is the share of their bits that agree."""
    distance = columns["distance"]
    by = pc.if_else(pc.equal(distance, 0), "equal", "bits")
    return pc.subtract(1.0, pc.divide(distance.cast(pa.float64()), HASH_BITS)), by


def _remarks(config: PdqConfig, counted: Mapping[str, int]) -> tuple[str, ...]:
    if not counted.get("hot_buckets"):
        return ()
    return (
        f"{counted['hot_buckets']:,} of {counted['buckets']:,} values of bands of PDQ hashes are shared by more than "
        f"{config.max_bucket:,} hashes ({counted['hot_rows']:,} in total); all pairs among them are compared, which "
        "takes longer; a higher min_quality leaves out more flat pictures",
    )


KIND = DuplicateKind(
    name="pdq",
    version=5,
    summary="pictures with close PDQ hashes",
    unit=PICTURES,
    settings=PdqConfig,
    signature=Signature("image.pdq", ("hash", "quality"), _values),
    search=BlockSearch(hash_blocks, _send, _join, chains=Chains(_MOST_COMPARED, _compare)),
    distinct="hashes",
    members="pictures",
    measures=(Measure("distance", pa.int16(), _distance),),  # between the hash and the matched one, in bits
    said=_said,
    listed=50,
    chosen=50,
    split=50,
    remarks=_remarks,
)
