"""Texts that share most of their shingles: bands give buckets, buckets candidate pairs, and every pair is verified.

The same functions find them in a store (`pipelines.dedupe.near`) and in an engine (`pipelines.transforms`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.filters.duplicates.bands import band_keys
from winnow.filters.duplicates.candidates import Candidates, candidate_pairs
from winnow.filters.duplicates.kind import ROWS, DuplicateKind, Measure, Signature
from winnow.filters.duplicates.presets import near_preset
from winnow.filters.duplicates.searches import ShingleSearch
from winnow.filters.duplicates.signatures import Scheme, shingle_sets
from winnow.filters.duplicates.verification import Sets, jaccard, judge, matching
from winnow.schemas.recipe.checks import Between, Matching

NEAR_PRESET = Matching(r"[a-z0-9_-]{1,40}(@[a-z0-9._-]{1,20})?", "a preset's name, such as fineweb")


ALL_PAIRS: Final = 32
"""All rows of a bucket up to this size are compared; in a larger one, each with its neighbours."""
SET_LIMIT: Final = 1 << 18
"""The most shingles of a text that are compared; of a longer text, the smallest ones."""


@dataclass(frozen=True)
class NearConfig:
    """Texts that share most of their shingles."""

    preset: Annotated[str, NEAR_PRESET] = "fineweb"
    shingle: Literal["words", "characters"] | None = None
    size: Annotated[int, Between(1, 64)] | None = None
    bands: Annotated[int, Between(1, 10_000)] | None = None
    rows: Annotated[int, Between(1, 1_000)] | None = None
    seed: Annotated[int, Between(0, (1 << 32) - 1)] | None = None
    min_similarity: Annotated[float, Between(0.05, 1.0)] = 0.75
    max_bucket: Annotated[int, Between(2, 1 << 30)] = 10_000
    max_cluster: Annotated[int, Between(2, 1 << 40)] = 10_000


@dataclass(frozen=True, slots=True)
class NearSettings:
    """The settings of a search for near duplicates, with the preset's values filled in.

    `NearConfig` is the recipe's; most of its settings may be left to a preset.
    """

    shingle: Literal["words", "characters"]
    size: int
    bands: int
    rows: int
    seed: int
    min_similarity: float
    max_bucket: int

    @property
    def hashes(self) -> int:
        """The number of hashes in a signature."""
        return self.bands * self.rows

    @property
    def scheme(self) -> Scheme:
        """How signatures are made."""
        return Scheme(self.shingle, self.size, self.hashes, self.seed)


def near_settings(config: NearConfig) -> NearSettings:
    """The recipe's settings, completed from its preset."""
    preset = near_preset(config.preset)
    return NearSettings(
        shingle=config.shingle or preset.shingle,
        size=config.size or preset.size,
        bands=config.bands or preset.bands,
        rows=config.rows or preset.rows,
        seed=preset.seed if config.seed is None else config.seed,
        min_similarity=config.min_similarity,
        max_bucket=config.max_bucket,
    )


def _options(config: NearConfig) -> dict[str, object]:
    near = near_settings(config)
    return {"shingle": near.shingle, "size": near.size, "hashes": near.hashes, "seed": near.seed}


def compared_shingles(texts: pa.Array, scheme: Scheme) -> Sets:
    """The shingles of each text that are compared."""
    return shingle_sets(texts.cast(pa.large_string()), scheme, SET_LIMIT)


def shared_shingles(
    one: Sets, other: Sets, pairs: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For pairs of texts, the number of shingles in both and in either; without `pairs`, in order."""
    return jaccard(one, other, pairs, limit=SET_LIMIT)


def similarity_of(common: NDArray[np.integer], union: NDArray[np.integer]) -> NDArray[np.float64]:
    """The Jaccard similarity: the share of all shingles that both texts have."""
    return np.asarray(common / np.maximum(union, 1), np.float64)


def _scheme(near: NearSettings) -> Scheme:
    return near.scheme


def _keys(near: NearSettings, signatures: NDArray[np.uint32]) -> NDArray[np.uint64]:
    return band_keys(signatures, near.bands, near.rows).reshape(-1)


def _candidates(near: NearSettings, keys: NDArray[np.uint64], rows: NDArray[np.uint64]) -> Candidates:
    return candidate_pairs(keys, rows, all_pairs=ALL_PAIRS, hot=near.max_bucket)


def _judge(
    near: NearSettings, one: NDArray[np.uint32], other: NDArray[np.uint32]
) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
    matches = matching(one, other)
    return judge(matches, near.hashes, near.min_similarity), matches / near.hashes


def _said(columns: Mapping[str, pa.Array]) -> tuple[pa.Array | None, pa.Array | None]:
    return columns.get("similarity"), columns.get("by")


def _described(near: NearSettings) -> str:
    shared = f"texts with {near.min_similarity:g} or more of their shingles in common"
    return f"{shared} ({near.size} {near.shingle}; {near.bands} bands of {near.rows} hashes, verified)"


def _remarks(near: NearSettings, counted: Mapping[str, int]) -> tuple[str, ...]:
    if not counted.get("hot_buckets"):
        return ()
    return (
        f"{counted['hot_buckets']:,} of {counted['buckets']:,} buckets hold more than {near.max_bucket:,} "
        f"rows ({counted['hot_rows']:,} in total); max_bucket only counts them; in buckets of more than {ALL_PAIRS} "
        "rows, each row is compared only with its neighbours",
    )


SEARCH: Final = ShingleSearch(_scheme, _keys, _candidates, _judge)

KIND = DuplicateKind(
    name="near",
    version=2,
    summary="texts that share most of their shingles",
    unit=ROWS,
    settings=NearConfig,
    example="{preset: fineweb}",
    signature=Signature("text.minhash", searched="signature", options=_options),
    search=SEARCH,
    distinct="texts",
    measures=(
        Measure("similarity", pa.float64(), lambda found: found.similarity),  # to the matched row
        Measure("by", pa.string(), lambda found: found.by),  # equal, estimate or jaccard
    ),
    said=_said,
    listed=30,
    chosen=30,
    split=10,
    bind=lambda config, _: near_settings(config),
    described=_described,
    remarks=_remarks,
)
