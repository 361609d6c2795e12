"""Detector coverage: a null value means that a row was not checked."""

import random

import numpy as np
import pyarrow as pa

from tests.pipelines.rules.stores import Shard, make_store
from winnow.pipelines.reading.columns import Column
from winnow.pipelines.rules.coverage import (
    CoverageCounter,
    Detector,
    LanguageCoverage,
    SafetyCoverage,
    coverage_of,
    merged_languages,
)
from winnow.pipelines.rules.pinning import ShardObjects
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.memory import MemoryStore
from winnow.schemas.records import Generation

CODE = (Column("text.language", "code"),)
URL = Detector("sexual.adult_site", Column("url.blocklist", "hit"), counted=True)
WORDS = Detector("language.vulgar", Column("text.wordlist", "hits"), counted=True)
INSULT = Detector("language.insult", Column("text.toxicity", "insult"), counted=False)
OTHER_WORDS = Detector("language.vulgar", Column("text.more_words", "hits"), counted=True)


def shard(source: str, rows: list[tuple[str | None, bool | None, int | None, float | None]]) -> Shard:
    codes, hits, words, insults = zip(*rows, strict=True)
    return Shard(
        source,
        len(rows),
        {
            "text.language": pa.table({"code": pa.array(codes, pa.string())}),
            "url.blocklist": pa.table({"hit": pa.array(hits, pa.bool_())}),
            "text.wordlist": pa.table({"hits": pa.array(words, pa.int32())}),
            "text.toxicity": pa.table({"insult": pa.array(insults, pa.float64())}),
        },
    )


ROWS = {
    "a-0": shard(
        "a",
        [("eng_Latn", False, 0, 0.1), ("eng_Latn", True, 3, 0.9), ("swh_Latn", None, None, None), (None, False, 0, 0)],
    ),
    "b-0": shard("b", [("swh_Latn", False, None, None), ("eng_Latn", None, 0, 0.0)]),
}


def covered(
    store: Store, generation: Generation, detectors: list[Detector], kept: dict[str, list[bool]] | None = None
) -> SafetyCoverage:
    layers = ("samples", *(name for name in generation.layers if name != "samples"))
    objects = {layer: {row.shard: row.object for row in store.manifest(generation, layer)} for layer in layers}
    there = [one for one in detectors if one.column.layer in generation.layers]
    parts = []
    for row in store.manifest(generation, "samples"):
        mask = np.array(kept[row.shard] if kept else [True] * row.rows)
        counter = CoverageCounter(store.objects, there, CODE)
        counter.add(
            ShardObjects(row.shard, row.source, row.rows, {layer: objects[layer][row.shard] for layer in layers}), mask
        )
        parts.append(counter.languages())
    return coverage_of(there, merged_languages(parts))


def test_rows_with_a_value_are_seen_and_rows_with_a_finding_are_found() -> None:
    store, generation = make_store(MemoryStore("coverage-1"), ROWS)
    found = covered(store, generation, [URL, WORDS, INSULT])
    names = ("sexual.adult_site", "language.vulgar", "language.insult")
    assert found.detectors == dict(
        zip(names, [("url.blocklist",), ("text.wordlist",), ("text.toxicity",)], strict=True)
    )
    assert found.languages == (
        LanguageCoverage(
            "eng_Latn", 3, dict(zip(names, (2, 3, 3), strict=True)), dict(zip(names[:2], (1, 1), strict=True))
        ),
        LanguageCoverage(
            "swh_Latn", 2, dict(zip(names, (1, 0, 0), strict=True)), dict(zip(names[:2], (0, 0), strict=True))
        ),
        LanguageCoverage(
            "unknown", 1, dict(zip(names, (1, 1, 1), strict=True)), dict(zip(names[:2], (0, 0), strict=True))
        ),
    )
    assert found.total.seen == dict(zip(names, (4, 4, 4), strict=True))
    assert "personal.email" in found.unwatched
    assert "language.insult" not in found.unwatched


def test_only_kept_rows_count() -> None:
    store, generation = make_store(MemoryStore("coverage-2"), ROWS)
    found = covered(store, generation, [WORDS], {"a-0": [True, False, True, False], "b-0": [False, False]})
    assert [(one.language, one.rows, one.seen["language.vulgar"]) for one in found.languages] == [
        ("eng_Latn", 1, 1),
        ("swh_Latn", 1, 0),
    ]
    assert found.total.found == {"language.vulgar": 0}


def test_two_detectors_of_one_subcategory_are_combined() -> None:
    more = pa.table({"hits": pa.array([None, None, 2, None], pa.int32())})
    first = ROWS["a-0"]
    shards = {"a-0": Shard("a", 4, {**first.layers, "text.more_words": more})}
    store, generation = make_store(MemoryStore("coverage-3"), shards)
    found = covered(store, generation, [WORDS, OTHER_WORDS])
    assert found.detectors == {"language.vulgar": ("text.wordlist", "text.more_words")}
    assert found.total.seen == {"language.vulgar": 4}
    assert found.total.found == {"language.vulgar": 2}


def test_a_missing_layer_covers_nothing() -> None:
    store, generation = make_store(MemoryStore("coverage-4"), ROWS)
    found = covered(
        store, generation, [WORDS, OTHER_WORDS, Detector("personal.email", Column("text.pii", "email"), True)]
    )
    assert "personal.email" in found.unwatched
    assert found.detectors == {"language.vulgar": ("text.wordlist",)}


def test_the_order_of_shards_and_rows_does_not_matter() -> None:
    rows = [
        ("eng_Latn", True, 1, 0.2),
        ("deu_Latn", None, 0, None),
        (None, None, None, None),
        ("eng_Latn", False, 2, 0.1),
    ]
    shuffled = rows.copy()
    random.Random(3).shuffle(shuffled)
    one = make_store(MemoryStore("coverage-5"), {"x": shard("s", rows)})
    parts = {f"y{number}": shard("s", [row]) for number, row in enumerate(shuffled)}
    other = make_store(MemoryStore("coverage-6"), parts)
    assert covered(*one, [URL, WORDS]) == covered(*other, [URL, WORDS])


def test_a_row_of_pictures_is_seen_if_all_of_them_were() -> None:
    scores = [[0.1], [0.1, None], None, [], [0.2, 0.3], [None]]
    rows = Shard(
        "a",
        len(scores),
        {
            "text.language": pa.table({"code": pa.array(["eng_Latn"] * len(scores))}),
            "image.nsfw": pa.table({"score": pa.array(scores, pa.list_(pa.float32()))}),
        },
    )
    store, generation = make_store(MemoryStore("coverage-pictures"), {"a-0": rows})
    found = covered(store, generation, [Detector("sexual.picture", Column("image.nsfw", "score"), counted=False)])
    assert found.languages == (LanguageCoverage("eng_Latn", len(scores), {"sexual.picture": 2}, {}),)
