"""Pictures whose PDQ hashes differ in few bits: resized or recompressed copies."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import pyarrow as pa
import pyarrow.compute as pc

from winnow.filters.duplicates.kind import PICTURES, DuplicateKind, Measure, Outcomes, Said, Signature
from winnow.filters.duplicates.searches import BlockSearch
from winnow.schemas.recipe.checks import Between
from winnow.schemas.rows.duplicates import HASH_BITS, LOW_QUALITY, NOT_MEASURED, OK

__all__ = ["KIND", "PdqConfig"]


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


def _search() -> BlockSearch:
    from winnow.filters.duplicates.perceptual.hash_blocks import SEARCH

    return SEARCH


def _distance(found: Outcomes) -> pa.Array:
    return pc.round(pc.multiply(pc.subtract(1.0, found.similarity), HASH_BITS)).cast(pa.int16())


def _said(columns: Mapping[str, pa.Array]) -> Said:
    """The similarity of two hashes is the share of their bits that agree."""
    distance = columns["distance"]
    by = pc.if_else(pc.equal(distance, 0), "equal", "bits")
    return Said(pc.subtract(1.0, pc.divide(distance.cast(pa.float64()), HASH_BITS)), by)


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
    search=_search,
    distinct="hashes",
    members="pictures",
    measures=(Measure("distance", pa.int16(), _distance),),  # bits in which the hash differs from that matched
    said=_said,
    listed=50,
    null_unless_asked=True,
    chosen=50,
    split=50,
    remarks=_remarks,
)
