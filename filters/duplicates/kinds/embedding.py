"""Pictures whose embeddings point the same way: crops and edits, and other views of the same thing."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from winnow.filters.duplicates.kind import PICTURES, DuplicateKind, Measure, Said, Signature
from winnow.filters.duplicates.searches import BlockSearch
from winnow.schemas.recipe.checks import Between

__all__ = [
    "COSINES",
    "KIND",
    "CosineConfig",
    "CosineSettings",
    "cosine_remarks",
    "cosine_said",
    "cosine_search",
    "cosine_settings",
    "vector_values",
]

_LEAST_COSINE: Final = 0.95  # of other encoders: SemDeDup's eps of 0.05
_LEAST: Final = {"efficientnet-lite0.features": 0.95, "sscd.distilled": 0.75}
"""From which cosine pictures count as copies, by encoder; docs/howto/dedupe.md has what each joins by mistake."""


@dataclass(frozen=True)
class CosineConfig:
    """Pictures, or videos, whose embeddings point the same way: crops and edits, and other views of the same thing."""

    min_similarity: Annotated[float, Between(0.5, 1.0)] | None = None  # a cosine; 1 - eps of SemDeDup; by the encoder
    max_cluster: Annotated[int, Between(2, 1 << 40)] = 100  # more pictures that differ are seldom copies of one


@dataclass(frozen=True, slots=True)
class CosineSettings:
    """The settings of a search by embeddings, with what depends on the encoder filled in."""

    min_similarity: float


def cosine_settings(config: CosineConfig, model: str, least: Mapping[str, float]) -> CosineSettings:
    """Return the recipe's settings, for vectors of this encoder."""
    return CosineSettings(least.get(model, _LEAST_COSINE) if config.min_similarity is None else config.min_similarity)


def vector_values(kind: str, _: Any, leaves: Sequence[pa.Array]) -> tuple[pa.StringArray, pa.Array]:
    """Embeddings in whole numbers of 16 bits, for a kind of this name; those without a direction are not compared."""
    from winnow.filters.duplicates.vectors.cosine_blocks import whole_vectors

    return whole_vectors(kind, *leaves)


def cosine_search(kind: str) -> Callable[[], BlockSearch]:
    """How close vectors are found, for a kind of this name."""
    return partial(_search, kind)


def _search(kind: str) -> BlockSearch:
    from winnow.filters.duplicates.vectors.cosine_blocks import search_of

    return search_of(kind)


COSINES: Final = (Measure("similarity", pa.float64(), lambda found: found.similarity),)
"""The cosine with the matched item's vector."""


def cosine_said(columns: Mapping[str, pa.Array]) -> Said:
    """What a layer of vectors says of similarity."""
    cosine = columns["similarity"]
    return Said(cosine, pc.if_else(pc.equal(cosine, 1), "equal", "cosine"))


def cosine_remarks(of: str, _: Any, counted: Mapping[str, int]) -> tuple[str, ...]:
    """Which share of the similar pairs of a sample was found."""
    pairs, found = counted.get("pairs", 0), counted.get("found", 0)
    share = f" (recall {found / pairs:.3f})" if pairs else ""
    return (
        f"{found:,} of {pairs:,} similar pairs of {of} share a cell{share}; pairs that share none are not compared",
    )


def _bound(config: CosineConfig, encoder: Any) -> CosineSettings:
    return cosine_settings(config, encoder.model, _LEAST)


KIND = DuplicateKind(
    name="embedding",
    version=2,
    summary="pictures with close embeddings",
    unit=PICTURES,
    settings=CosineConfig,
    signature=Signature("image.embedding", ("vector",), partial(vector_values, "embedding"), as_measured=True),
    search=cosine_search("embedding"),
    distinct="vectors",
    members="copies",
    measures=COSINES,
    said=cosine_said,
    listed=60,
    null_unless_asked=True,
    chosen=60,
    split=40,
    bind=_bound,
    remarks=partial(cosine_remarks, "sampled embeddings"),
)
