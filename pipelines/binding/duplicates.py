"""A recipe's search for duplicates: its kinds, their signature layers, and its settings."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal

from winnow.filters.duplicates.presets import near_preset
from winnow.pipelines.store import layout
from winnow.schemas.errors import RecipeError
from winnow.schemas.problems import Problem, recipe_error
from winnow.schemas.recipe import NearConfig, OperatorEntry, Recipe
from winnow.schemas.recipe.dedupe import CosineConfig
from winnow.schemas.recipe.nodes import located
from winnow.schemas.rows.duplicates import KINDS, OF_VECTORS, Kind

if TYPE_CHECKING:
    from winnow.filters.duplicates.signatures import Scheme

SIGNATURE_LAYERS: Mapping[Kind, str] = {
    "exact": "text.digest",
    "url": "url.canonical",
    "near": "text.minhash",
    "image_bytes": layout.SAMPLES,  # ingest writes the digest of each item
    "pdq": "image.pdq",
    "embedding": "image.embedding",
    "vpdq": "video.vpdq",
    "video_embedding": "video.embedding",
    "captions": "caption.digest",
}
"""The signature layer of each kind of duplicates."""

DIGEST = SIGNATURE_LAYERS["exact"]


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


LEAST_COSINES: Mapping[Kind, Mapping[str, float]] = {
    "embedding": {"efficientnet-lite0.features": 0.95, "sscd.distilled": 0.75},
    "video_embedding": {"efficientnet-lite0.features": 0.97, "sscd.distilled": 0.9},
}
"""From which cosine pictures, and videos, count as copies, by encoder; docs/howto/dedupe.md has what each joins by
mistake."""

_LEAST_COSINE = 0.95  # of other encoders: SemDeDup's eps of 0.05


@dataclass(frozen=True, slots=True)
class CosineSettings:
    """The settings of a search by embeddings, with what depends on the encoder filled in."""

    min_similarity: float


def cosine_settings(kind: Kind, config: CosineConfig, model: str) -> CosineSettings:
    """Return the recipe's settings, for vectors of this encoder."""
    least = LEAST_COSINES[kind].get(model, _LEAST_COSINE) if config.min_similarity is None else config.min_similarity
    return CosineSettings(least)


def compares_digests(recipe: Recipe) -> bool:
    """Whether equal addresses are found and no kind compares texts, so that the guard needs digests of them."""
    config = recipe.dedupe
    return config is not None and config.url is not None and config.exact is None and config.near is None


def signature_entries(recipe: Recipe) -> tuple[tuple[OperatorEntry, str], ...]:
    """Return the measurements that the search for duplicates needs."""
    config = recipe.dedupe
    if config is None:
        return ()
    wanted: list[tuple[Kind, Mapping[str, object]]] = []
    if config.exact is not None:
        wanted.append(("exact", {"form": config.exact.form}))
    if config.url is not None:
        settings = asdict(config.url.canonical)
        wanted.append(("url", {name: value for name, value in settings.items() if value is not None}))
    if compares_digests(recipe) and all(entry.name != DIGEST or entry.layer != DIGEST for entry in recipe.annotate):
        wanted.append(("exact", {}))
    if config.near is not None:
        try:
            near = near_settings(config.near)
        except RecipeError as error:
            raise recipe_error([Problem(config.place, "dedupe.near", str(error))]) from None
        options = {"shingle": near.shingle, "size": near.size, "hashes": near.hashes, "seed": near.seed}
        wanted.append(("near", options))
    if config.pdq is not None:
        wanted.append(("pdq", {}))
    for kind in OF_VECTORS:
        chosen = getattr(config, kind) is not None
        if chosen and all(entry.layer != SIGNATURE_LAYERS[kind] for entry in recipe.annotate):
            # else of the encoder that the recipe names; keyframes of a copy are other ones
            wanted.append((kind, {"every_seconds": 1.0} if kind == "video_embedding" else {}))
    if config.vpdq is not None:
        wanted.append(("vpdq", {}))
    if config.captions is not None:
        wanted.append(("captions", {}))
    return tuple(
        (OperatorEntry(SIGNATURE_LAYERS[kind], located(options, config.place)), f"dedupe.{kind}")
        for kind, options in wanted
    )


def duplicate_kinds(recipe: Recipe) -> tuple[Kind, ...]:
    """Return the kinds of duplicates that a recipe searches for."""
    config = recipe.dedupe
    return () if config is None else tuple(kind for kind in KINDS if getattr(config, kind) is not None)
