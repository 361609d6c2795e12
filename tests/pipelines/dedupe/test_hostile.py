"""Hostile texts, addresses and layers, from the file to the layer of duplicates: each has a word said of it, or a
reason why it was refused."""

import random
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from tests.faults.winnow import assert_clean, run_here
from tests.messages import assert_refused
from tests.pipelines.dedupe.search import Row, clusters, layer, prose, search, write_pages
from winnow.pipelines.store.generations import open_store
from winnow.pipelines.store.location import open_location
from winnow.schemas.errors import RecipeError

ALL = "{exact: {}, url: {}, near: {min_similarity: 0.75}}"
WORDS = "five words and some more of them"


def write_lines(folder: Path, lines: list[bytes]) -> None:
    (folder / "pages").mkdir(parents=True, exist_ok=True)
    (folder / "pages" / "a.jsonl").write_bytes(b"\n".join([*lines, b""]))


def statuses(folder: Path, kind: str) -> dict[str, str]:
    return {key: str(row["status"]) for key, row in layer(folder, kind).items()}


def quarantined(folder: Path) -> dict[str, str]:
    """Why each record was quarantined, by its key or else by where it begins."""
    tables = [pq.read_table(path).to_pylist() for path in (folder / "store" / "quarantine").rglob("*.parquet")]
    return {str(row["record"] or row["offset"]): str(row["reason"]) for table in tables for row in table}


def column(folder: Path, name: str, leaf: str) -> pa.ChunkedArray:
    """A column of a layer, whole: for layers that are too large to look at row by row."""
    store = open_store(open_location(str(folder / "store")))
    manifest = store.manifest(store.require_latest(), name)
    return pa.chunked_array([batch[leaf] for one in manifest for batch in store.batches(one)])


def test_texts_without_words_have_no_near_duplicates_but_equal_ones_are_found(tmp_path: Path) -> None:
    texts = {
        "spaces": " \n\t\u3000",
        "invisible": "\u200d\u202e" * 1000,
        "nul": "\0" * 1000,
        "nul too": "\0" * 1000,
        "punctuation": "!?.,;" * 1000,
        "marks": "\u0301" * 100_000,
        "stacked marks": "\u0301\u0323" * 100_000,
        "nobody's": "\U000e0fff\U0010ffff\uffff\ufdd0" * 1000,
    }
    write_pages(tmp_path, {"a": [{"id": key, "text": text} for key, text in texts.items()]})
    search(tmp_path, ALL)
    assert statuses(tmp_path, "near") == dict.fromkeys(texts, "no_words")
    exact = statuses(tmp_path, "exact")
    assert {key for key, status in exact.items() if status == "no_text_left"} == {"spaces", "invisible"}
    assert clusters(tmp_path, "exact") == {frozenset({"nul", "nul too"})}
    assert_clean(tmp_path)


def test_texts_that_repeat_one_word_or_character_are_compared(tmp_path: Path) -> None:
    texts = {
        "word": "word",
        "word too": "Word!",
        "other": "another",
        "letter": "a" * 1_000_000,
        "letter too": "a" * 1_000_000,
        "letters": "a " * 1_000_000,
        "fewer letters": "a " * 999_000,
        "marked": "a" + "\u0301" * 1_000_000,
        "han": "好" * 500_000,
        "fewer han": "好" * 499_999,
        "nul between": "one\0two three\0four five six",
        "no nul between": "one two three four five six",
    }
    write_pages(tmp_path, {"a": [{"id": key, "text": text} for key, text in texts.items()]})
    search(tmp_path)
    assert clusters(tmp_path) == {
        frozenset({"word", "word too"}),
        frozenset({"letter", "letter too"}),
        frozenset({"letters", "fewer letters"}),
        frozenset({"han", "fewer han"}),
        frozenset({"nul between", "no nul between"}),
    }
    assert set(statuses(tmp_path, "near").values()) == {"ok", "unmatched"}


def test_lone_surrogates_are_replaced_and_invalid_bytes_are_quarantined(tmp_path: Path) -> None:
    write_lines(
        tmp_path,
        [
            b'{"id": "high", "text": "a lone \\ud800 surrogate in a text of some words"}',
            b'{"id": "low", "text": "a lone \\udfff surrogate in a text of some words"}',
            b'{"id": "key \\ud800", "text": "a surrogate in the key alone, and nothing like it in the text"}',
            b'{"id": "wtf-8", "text": "a surrogate as bytes: \xed\xa0\x80"}',
            b'{"id": "bytes", "text": "\xff\xfe"}',
        ],
    )
    search(tmp_path, ALL)
    assert clusters(tmp_path) == clusters(tmp_path, "exact") == {frozenset({"high", "low"})}
    assert statuses(tmp_path, "near")["key \ufffd"] == "unmatched"
    assert sorted(quarantined(tmp_path).values()) == ["bad_utf8", "bad_utf8"]
    assert_clean(tmp_path)


def test_rows_without_text_are_quarantined_or_have_a_status(tmp_path: Path) -> None:
    write_lines(
        tmp_path,
        [
            b'{"id": "null", "text": null}',
            b'{"id": "absent"}',
            b'{"id": "number", "text": 5}',
            b'{"id": "empty", "text": ""}',
            b'{"id": "text", "text": "words"}',
            b"",
            b"no json",
        ],
    )
    picture = b"\x89PNG\r\n\x1a\n" + bytes(100)
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "a.png").write_bytes(picture)
    (tmp_path / "pictures" / "b.png").write_bytes(picture)
    search(tmp_path, ALL, sources="  pictures: {root: pictures, files: ['*.png'], class: web}\n")
    statuses = Counter(column(tmp_path, "dedupe.near", "status").to_pylist())
    assert statuses == {"unmatched": 1, "no_text": 2}  # the pictures; an empty text is dropped as a blank line is
    reasons = Counter(quarantined(tmp_path).values())
    assert reasons == {
        "missing_text": 2,
        "wrong_type": 1,
        "bad_json": 1,
    }
    assert_clean(tmp_path)


def test_invalid_addresses_never_equal_each_other(tmp_path: Path) -> None:
    long = "http://example.com/" + "a" * 10_000_000
    urls: dict[str, object] = {
        "script": "javascript:alert(1)",
        "script too": "javascript:alert(1)",
        "long": long,
        "long too": long,
        "bracket": "http://[::1",
        "blank": "http://exa mple.com/\0",
        "percent": "%%%%%",
        "port": "http://example.com:99999/",
        "empty": "",
        "number": 17,
        "sound": "http://example.com/",
        "sound too": "HTTPS://www.example.com",
    }
    write_pages(tmp_path, {"a": [{"id": key, "text": f"Text {key}", "url": url} for key, url in urls.items()]})
    search(tmp_path, ALL)
    assert clusters(tmp_path, "url") == {frozenset({"sound", "sound too"})}
    found = statuses(tmp_path, "url")
    assert {key for key, status in found.items() if status == "no_input"} == {"empty", "number"}
    assert {key for key, status in found.items() if status == "not_an_address"} == set(urls) - {
        *("empty", "number", "sound", "sound too")
    }


def test_the_same_document_from_two_sources_is_one_cluster_of_two_rows(tmp_path: Path) -> None:
    write_pages(tmp_path, {"a": [{"id": "same", "text": WORDS}]})
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "a.jsonl").write_bytes((tmp_path / "pages" / "a.jsonl").read_bytes())
    search(tmp_path, ALL, sources='  more: {root: more, files: ["*.jsonl"], class: web, key: id}\n')
    for kind in ("exact", "near"):
        assert column(tmp_path, f"dedupe.{kind}", "size").to_pylist() == [2, 2]
        assert len(set(column(tmp_path, f"dedupe.{kind}", "matched").to_pylist())) == 2


def test_a_text_above_the_size_limit_has_the_status_too_large(tmp_path: Path) -> None:
    rows: list[Row] = [{"id": "long", "text": "word " * 1000}, {"id": "short", "text": "word " * 100}]
    write_pages(tmp_path, {"a": rows})
    search(tmp_path, ALL, limits="{max_text_bytes: 4 KiB}")
    assert statuses(tmp_path, "near") == statuses(tmp_path, "exact") == {"long": "too_large", "short": "unmatched"}


def numbers(seed: int, size: int) -> list[str]:
    """Words of five digits, so many bytes of them."""
    return [f"{number:05d}" for number in np.random.default_rng(seed).integers(0, 100_000, size // 6)]


def with_every(words: list[str], step: int) -> str:
    changed = list(words)
    changed[::step] = ["x"] * len(changed[::step])
    return " ".join(changed)


@pytest.mark.large
def test_a_text_of_100_mb_is_quarantined_unless_the_recipe_allows_it(tmp_path: Path) -> None:
    words = numbers(1, 100_000_000)
    rows: list[Row] = [
        {"id": "huge", "text": " ".join(words)},
        {"id": "huge too", "text": with_every(words, 200)},
        {"id": "small", "text": WORDS},
        {"id": "small too", "text": WORDS},
    ]
    write_pages(tmp_path, {"a": rows})
    search(tmp_path)
    assert sorted(quarantined(tmp_path).values()) == ["too_large", "too_large"]
    assert clusters(tmp_path) == {frozenset({"small", "small too"})}
    (tmp_path / "store").rename(tmp_path / "refused")
    search(tmp_path, limits="{max_body_bytes: 256 MiB, max_text_bytes: 256 MiB}")
    assert clusters(tmp_path) == {frozenset({"small", "small too"}), frozenset({"huge", "huge too"})}


@pytest.mark.large
def test_texts_of_20_mb_are_compared_by_a_sample_of_their_shingles(tmp_path: Path) -> None:
    words = numbers(1, 20_000_000)
    rows: list[Row] = [
        {"id": "text", "text": " ".join(words)},
        {"id": "alike", "text": with_every(words, 200)},  # 5 / 200 of the shingles differ: J = 0.951
        {"id": "unlike", "text": with_every(words, 12)},  # 5 / 12: J = 0.41
        {"id": "other", "text": " ".join(numbers(2, 20_000_000))},
        {"id": "edge", "text": with_every(numbers(3, 20_000_000), 100_000)},
        {"id": "below", "text": with_every(numbers(3, 20_000_000), 35)},  # J = 0.7499 to it
    ]
    write_pages(tmp_path, {"a": rows})
    search(tmp_path, "{near: {min_similarity: 0.74}}")
    assert clusters(tmp_path) == {frozenset({"text", "alike"}), frozenset({"edge", "below"})}
    found = layer(tmp_path, "near")
    assert found["edge"]["by"] == "jaccard"
    assert found["edge"]["similarity"] == pytest.approx(0.75, abs=0.005)
    assert found["text"]["similarity"] == pytest.approx(0.951, abs=0.06)


def test_many_rows_of_few_texts_give_one_cluster_per_text(tmp_path: Path) -> None:
    texts = (WORDS, "another text that has nothing in common with it", "third")
    write_pages(tmp_path, {"a": [{"id": str(number), "text": texts[number % 3]} for number in range(12_000)]})
    search(tmp_path, ALL, shard_rows=2048)
    for kind in ("exact", "near"):
        found = column(tmp_path, f"dedupe.{kind}", "cluster")
        assert sorted(one["counts"] for one in pc.value_counts(found).to_pylist()) == [4_000] * 3
        assert pc.unique(column(tmp_path, f"dedupe.{kind}", "size")).to_pylist() == [4_000]
    assert pc.unique(column(tmp_path, "dedupe.near", "texts")).to_pylist() == [1]


@pytest.mark.large
def test_a_million_identical_documents_are_one_cluster_of_one_text(tmp_path: Path) -> None:
    (tmp_path / "pages").mkdir()
    with (tmp_path / "pages" / "a.jsonl").open("w") as lines:
        for number in range(1_000_000):
            lines.write(f'{{"id": "{number}", "text": "{WORDS}"}}\n')
    search(tmp_path, shard_rows=65_536)
    for name, values in {"size": [1_000_000], "texts": [1], "status": ["ok"], "by": ["equal"]}.items():
        assert pc.unique(column(tmp_path, "dedupe.near", name)).to_pylist() == values
    assert len(pc.unique(column(tmp_path, "dedupe.near", "cluster"))) == 1
    matched = pc.value_counts(column(tmp_path, "dedupe.near", "matched")).to_pylist()
    assert sorted(one["counts"] for one in matched) == [1, 999_999]


@pytest.mark.large
def test_a_bucket_of_thousands_of_pages_is_one_cluster_at_linear_cost(
    tmp_path: Path,
) -> None:
    """Every two of these pages are alike: 50 million pairs."""
    base = prose(1, 150)
    (tmp_path / "pages").mkdir()
    with (tmp_path / "pages" / "a.jsonl").open("w") as lines:
        for number in range(10_000):
            text = " ".join([*base[:70], f"a{number}", f"b{number}", *base[72:]])
            lines.write(f'{{"id": "{number}", "text": "{text}"}}\n')
    search(tmp_path, "{near: {min_similarity: 0.75, max_bucket: 1000}}", shard_rows=8192)
    assert pc.unique(column(tmp_path, "dedupe.near", "size")).to_pylist() == [4_000]
    assert pc.unique(column(tmp_path, "dedupe.near", "texts")).to_pylist() == [4_000]


def objects_of(folder: Path, name: str) -> set[str]:
    store = open_store(open_location(str(folder / "store")))
    return {row.object for row in store.manifest(store.require_latest(), name)}


@pytest.mark.parametrize("other", ["seed: 5", pytest.param("shingle: characters", marks=pytest.mark.large)])
def test_signatures_of_another_scheme_are_recomputed_and_never_compared(tmp_path: Path, other: str) -> None:
    drawn = random.Random(3)
    rows: list[Row] = [
        {"id": f"{number}.{copy}", "text": " ".join([*prose(number, 200), f"x{drawn.randrange(20_000)}"])}
        for number in range(8)
        for copy in range(2)
    ]
    asked = f"{{near: {{min_similarity: 0.75, {other}}}}}"
    write_pages(tmp_path / "grown", {"a": rows[:6]})
    search(tmp_path / "grown")
    signed = objects_of(tmp_path / "grown", "text.minhash")
    write_pages(tmp_path / "grown", {"b": rows[6:]})
    search(tmp_path / "grown", asked)
    assert not signed & objects_of(tmp_path / "grown", "text.minhash")
    write_pages(tmp_path / "fresh", {"a": rows[:6], "b": rows[6:]})
    search(tmp_path / "fresh", asked)
    assert layer(tmp_path / "grown", "near") == layer(tmp_path / "fresh", "near")


def test_a_recipe_that_also_writes_the_signature_layer_itself_is_refused(tmp_path: Path) -> None:
    write_pages(tmp_path, {"a": [{"id": "a", "text": WORDS}]})
    with assert_refused(RecipeError, "dedupe.near", "text.minhash"):
        search(tmp_path, f"{ALL}\nannotate: [text.minhash: {{hashes: 64}}]")


@pytest.mark.parametrize("damage", ["truncated", pytest.param("overwritten", marks=pytest.mark.large)])
def test_a_damaged_signature_layer_stops_the_search_and_the_message_names_the_file(tmp_path: Path, damage: str) -> None:
    write_pages(tmp_path, {"a": [{"id": str(number), "text": " ".join(prose(number))} for number in range(40)]})
    search(tmp_path)
    signed = next((tmp_path / "store" / "layers" / "text.minhash").rglob("*.parquet"))
    content = signed.read_bytes()
    signed.write_bytes(content[: len(content) // 2] if damage == "truncated" else b"\0" * len(content))
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(recipe.read_text().replace("0.75", "0.8"))
    done = run_here(tmp_path, "dedupe", "recipe.yaml")
    message = " ".join(done.err.split())
    assert done.status != 0
    assert "Traceback" not in message
    assert signed.name in message
    assert "run 'winnow annotate RECIPE', which makes it again" in message


@pytest.mark.large
def test_a_lost_signature_layer_is_made_again(tmp_path: Path) -> None:
    write_pages(tmp_path, {"a": [{"id": str(number), "text": " ".join(prose(number))} for number in range(40)]})
    search(tmp_path)
    signed = next((tmp_path / "store" / "layers" / "text.minhash").rglob("*.parquet"))
    content = signed.read_bytes()
    signed.unlink()
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(recipe.read_text().replace("0.75", "0.8"))
    assert run_here(tmp_path, "dedupe", "recipe.yaml").status == 0
    assert signed.read_bytes() == content
