"""Texts that share most of their shingles: near duplicates by MinHash, each pair verified."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pyarrow as pa

from winnow.filters.duplicates.kind import ROWS, DuplicateKind, Measure, Said, Signature
from winnow.filters.duplicates.presets import near_preset
from winnow.filters.duplicates.searches import ShingleSearch
from winnow.schemas.recipe.checks import Between, Matching

if TYPE_CHECKING:
    from winnow.filters.duplicates.signatures import Scheme

__all__ = ["KIND", "NearConfig", "NearSettings", "near_settings"]

NEAR_PRESET = Matching(r"[a-z0-9_-]{1,40}(@[a-z0-9._-]{1,20})?", "a preset's name, such as fineweb")


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

    `NearConfig` is what the recipe says; most of its settings may be left to a preset.
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
        """The length of a signature."""
        return self.bands * self.rows

    @property
    def scheme(self) -> "Scheme":
        """How signatures are made."""
        from winnow.filters.duplicates.signatures import Scheme  # imports compiled kernels, which binding does not need

        return Scheme(self.shingle, self.size, self.hashes, self.seed)


def near_settings(config: NearConfig) -> NearSettings:
    """Return the recipe's settings, with those of its preset where the recipe sets none."""
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


def _search() -> ShingleSearch:
    from winnow.filters.duplicates.near_texts import SEARCH

    return SEARCH


def _said(columns: Mapping[str, pa.Array]) -> Said:
    return Said(columns.get("similarity"), columns.get("by"))


def _described(near: NearSettings) -> str:
    shared = f"texts with {near.min_similarity:g} or more of their shingles in common"
    return f"{shared} ({near.size} {near.shingle}; {near.bands} bands of {near.rows} hashes, verified)"


def _remarks(near: NearSettings, counted: Mapping[str, int]) -> tuple[str, ...]:
    from winnow.filters.duplicates.near_texts import ALL_PAIRS

    if not counted.get("hot_buckets"):
        return ()
    return (
        f"{counted['hot_buckets']:,} of {counted['buckets']:,} buckets hold more than {near.max_bucket:,} "
        f"rows ({counted['hot_rows']:,} in total); max_bucket only counts them; in buckets of more than {ALL_PAIRS} "
        "rows, each row is compared only with its neighbours",
    )


def _bound(config: NearConfig, _: Any) -> NearSettings:
    return near_settings(config)


KIND = DuplicateKind(
    name="near",
    version=2,
    summary="texts that share most of their shingles",
    unit=ROWS,
    settings=NearConfig,
    example="{preset: fineweb}",
    signature=Signature("text.minhash", options=_options),
    search=_search,
    distinct="texts",
    measures=(
        Measure("similarity", pa.float64(), lambda found: found.similarity),  # to the matched row
        Measure("by", pa.string(), lambda found: found.by),  # equal, estimate or jaccard
    ),
    said=_said,
    listed=30,
    null_unless_asked=True,
    chosen=30,
    split=10,
    bind=_bound,
    described=_described,
    remarks=_remarks,
)
