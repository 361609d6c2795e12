"""The measurements that a search for duplicates needs: those of its kinds, and none that the recipe has."""

import itertools

import pytest

from winnow.filters.duplicates.kind import all_kinds
from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.binding.duplicates import duplicate_kinds, signature_entries
from winnow.schemas.recipe import recipe_from_text

RECIPE = """\
version: 1
store: {path: s}
sources: {crawl: {root: crawl, files: ["*.parquet"], class: web}}
"""
NEEDED = {
    "exact": "text.digest",
    "url": "url.canonical",
    "near": "text.minhash",
    "semantic": "text.embedding",
    "pdq": "image.pdq",
    "embedding": "image.embedding",
    "vpdq": "video.vpdq",
    "video_embedding": "video.embedding",
    "captions": "caption.digest",
    "image_bytes": "samples",
}
SIGNED = {kind.name: kind.signature.layer for kind in all_kinds()}
MEASURED = [name for name, layer in SIGNED.items() if layer != "samples"]


def test_kinds_compare_these_layers() -> None:
    assert NEEDED.items() <= SIGNED.items()


def layers(kinds: tuple[str, ...], annotate: str = "[]") -> list[str]:
    dedupe = ", ".join(f"{kind}: {{}}" for kind in kinds)
    recipe = recipe_from_text(f"{RECIPE}annotate: {annotate}\ndedupe: {{{dedupe}}}\n", "r.yaml")
    assert set(duplicate_kinds(recipe)) == set(kinds)
    return [entry.layer for entry, _ in signature_entries(recipe)]


@pytest.mark.parametrize("kinds", [*itertools.combinations(MEASURED, 1), *itertools.combinations(MEASURED, 2)])
def test_each_kind_needs_its_own_layer_and_no_other(kinds: tuple[str, ...]) -> None:
    # where images are compared by what they show, exact texts tell rows apart
    assert set(layers(kinds)) - {"text.digest"} == {SIGNED[kind] for kind in kinds} - {"text.digest"}


def test_a_layer_that_the_recipe_has_is_not_made_twice() -> None:
    assert layers(("embedding",)) == ["image.embedding"]
    assert layers(("embedding",), "[{image.embedding: {encoder: sscd}}]") == []
    assert layers(("pdq",), "[image.embedding]") == ["image.pdq"]


@pytest.mark.parametrize(
    ("annotate", "dedupe", "least"),
    [
        ("[]", "embedding: {}", 0.95),
        ("[image.embedding]", "embedding: {}", 0.95),
        ("[{image.embedding: {preset: copies@sscd}}]", "embedding: {}", 0.75),
        ("[image.quality, {image.embedding: {model: mine.onnx, dimensions: 512}}]", "embedding: {}", 0.95),
        ("[{image.embedding: {preset: copies@sscd, as: image.copies}}, image.embedding]", "embedding: {}", 0.95),
        ("[{image.embedding: {preset: copies@sscd}}]", "embedding: {min_similarity: 0.6}", 0.6),
        ("[]", "video_embedding: {}", 0.97),
        ("[{video.embedding: {preset: copies@sscd}}]", "video_embedding: {}", 0.9),
        ("[{video.embedding: {preset: copies@sscd}}, image.embedding]", "video_embedding: {}", 0.9),
        ("[{image.embedding: {preset: copies@sscd}}]", "video_embedding: {}", 0.97),
        ("[video.embedding]", "video_embedding: {min_similarity: 0.6}", 0.6),
        ("[text.language, text.embedding]", "semantic: {}", 0.95),
        ("[text.language]", "semantic: {min_similarity: 0.9}", 0.9),
    ],
)
def test_the_least_cosine_is_that_of_the_encoder_unless_the_recipe_sets_it(
    annotate: str, dedupe: str, least: float
) -> None:
    recipe = bind(recipe_from_text(f"{RECIPE}annotate: {annotate}\ndedupe: {{{dedupe}}}\n", "r.yaml"))
    (found,) = recipe.searched.values()
    assert found.settings.min_similarity == least
    assert found.deciding == {"min_similarity": least}


def test_each_kind_of_embeddings_has_its_own_least_cosine() -> None:
    encoders = "[{image.embedding: {preset: copies@sscd}}, video.embedding]"
    dedupe = "{embedding: {}, video_embedding: {}}"
    recipe = bind(recipe_from_text(f"{RECIPE}annotate: {encoders}\ndedupe: {dedupe}\n", "r.yaml"))
    assert {kind: one.settings.min_similarity for kind, one in recipe.searched.items()} == {
        "embedding": 0.75,
        "video_embedding": 0.97,
    }


def test_frames_of_videos_are_taken_by_the_second_unless_the_recipe_says_otherwise() -> None:
    for annotate, every in (("[]", 1.0), ("[video.embedding]", None), ("[{video.embedding: {every_seconds: 3}}]", 3.0)):
        text = f"{RECIPE}annotate: {annotate}\ndedupe: {{video_embedding: {{}}}}\n"
        (measured,) = bind(recipe_from_text(text, "r.yaml")).measurements
        assert measured.config.every_seconds == every
