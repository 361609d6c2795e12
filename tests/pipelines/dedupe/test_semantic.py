"""Texts of close meaning: texts in other words are one cluster, for any shards, order and workers."""

import json
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("tokenizers", reason="needs the extra `embeddings`")

from tests.filters.models.safety.models import tokenizer_json
from tests.filters.models.static_models import write_model
from tests.pipelines.dedupe.search import RECIPE, clusters, layer, search, write_pages
from winnow.filters.duplicates.kind import find_kind
from winnow.pipelines.binding.duplicates import signature_entries
from winnow.schemas.recipe import recipe_from_text

CONCEPTS, SYNONYMS, SIDES = 60, 3, 32
WORDS = [f"c{concept}s{synonym}" for concept in range(CONCEPTS) for synonym in range(SYNONYMS)]
GROUPS = 12


def told(concepts: Sequence[int], number: int) -> str:
    """A text on these concepts, in one of their synonyms each."""
    drawn = random.Random(number)
    return " ".join(f"c{concept}s{drawn.randrange(SYNONYMS)}" for concept in concepts)


def pages() -> list[dict[str, object]]:
    """Groups of two to four texts, each group on concepts of its own, and texts that say nothing."""
    found: list[dict[str, object]] = []
    for group in range(GROUPS):
        concepts = random.Random(f"group {group}").choices(range(CONCEPTS), k=40)
        found += [{"id": f"g{group}-{one}", "text": told(concepts, 10 * group + one)} for one in range(2 + group % 3)]
    lonely = random.Random("lonely").choices(range(CONCEPTS), k=40)
    return [*found, {"id": "lonely", "text": told(lonely, 999)}, {"id": "unknown", "text": "no word of it is known"}]


def model(folder: Path) -> str:
    """What a recipe measures: the vectors of synonyms are close."""
    drawn = np.random.default_rng(5)
    meanings = np.repeat(drawn.normal(size=(CONCEPTS, SIDES)), SYNONYMS, axis=0)
    vectors = (meanings + 0.1 * drawn.normal(size=meanings.shape)).astype(np.float32)
    words = ["[UNK]", *WORDS]
    rows = np.concatenate((np.zeros((1, SIDES), np.float32), vectors))
    files = write_model(folder, {"embeddings": rows}, tokenizer_json(words))
    return f"annotate: [{{text.embedding: {json.dumps(files)}}}]\n"


def searched(folder: Path, workers: int = 1, shard_rows: int = 64, seed: int = 0) -> dict[str, object]:
    folder.mkdir()
    files = {"a": pages()[::2], "b": pages()[1::2]}
    for rows in files.values():
        random.Random(seed).shuffle(rows)
    write_pages(folder, files)
    search(folder, "{near: {}, semantic: {}}", workers=workers, shard_rows=shard_rows, sources=model(folder))
    return dict(sorted(layer(folder, "semantic").items()))


def test_texts_that_say_the_same_in_other_words_are_one_cluster(tmp_path: Path) -> None:
    found = searched(tmp_path / "store")
    expected = {frozenset(f"g{group}-{one}" for one in range(2 + group % 3)) for group in range(GROUPS)}
    assert clusters(tmp_path / "store", "semantic") == expected
    assert clusters(tmp_path / "store", "near") == set()
    rows = layer(tmp_path / "store", "semantic")
    assert (rows["lonely"]["status"], rows["unknown"]["status"]) == ("unmatched", "no_tokens")
    assert rows["g2-0"]["vectors"] == rows["g2-0"]["size"] == 4
    similarity = rows["g2-0"]["similarity"]
    assert isinstance(similarity, float)
    assert 0.95 <= similarity < 1
    assert len(found) == len(pages())


@pytest.mark.parametrize(("workers", "shard_rows"), [(1, 8), pytest.param(2, 16, marks=pytest.mark.processes)])
def test_shards_order_and_workers_change_no_value(tmp_path: Path, workers: int, shard_rows: int) -> None:
    assert searched(tmp_path / "other", workers, shard_rows, seed=1) == searched(tmp_path / "one")


def test_meaning_is_no_sign_that_two_texts_are_equal() -> None:
    """So where only addresses and meanings are compared, digests tell whether the texts of an address are equal."""

    def measured(*kinds: str) -> set[str]:
        asked = ", ".join(f"{kind}: {{}}" for kind in kinds)
        made = RECIPE.format(dedupe=f"{{{asked}}}", shard_rows=64, sources="", limits="{}", shuffle="auto")
        return {entry.layer for entry, _ in signature_entries(recipe_from_text(made, "recipe.yaml"))}

    assert measured("url", "semantic") == {"url.canonical", "text.embedding", "text.digest"}
    assert measured("url", "near") == {"url.canonical", "text.minhash"}
    assert measured("semantic") == {"text.embedding"}
    assert [find_kind(kind).of_wording for kind in ("exact", "near", "url", "semantic", "pdq")] == [
        True, True, False, False, False,
    ]  # fmt: skip
