"""The planted corpus is what it says: known duplicates, and nothing else alike."""

import struct
from collections.abc import Iterator
from itertools import islice, product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.inputs import planted
from benchmarks.inputs.passages import Passages, catalogue_messages, passages_of
from benchmarks.inputs.planted import KINDS, PLANTED, TRUTH, planted_corpus, write_corpus
from benchmarks.inputs.resemblance import folded, jaccards, shingle_sets
from winnow.filters.language.words import segment

ROWS = 4_000


def spaced(beginnings: str, count: int = 6_000) -> str:
    """Words without meaning, such as `babeda`."""
    words = product(beginnings, "aeiou", "bdglmn", "aeıou", "dkrst", "aeiş")
    return " ".join("".join(letters) for letters in islice(words, 0, None, 2))[: count * 7]


def characters(count: int = 6_000) -> str:
    """Chinese characters in an order that never comes again."""
    return "".join(chr(0x4E00 + number * 7 % 20_900) + "。" * (number % 11 == 0) for number in range(count))


@pytest.fixture(scope="module")
def passages() -> Passages:
    texts = [spaced("bcdf"), spaced("ghjklm"), characters()]
    return passages_of(pa.array(["en", "tr", "zh"]), pa.array(texts, pa.large_string()))


@pytest.fixture(scope="module")
def corpus(passages: Passages) -> pa.Table:
    return corpus_of(passages)


def corpus_of(passages: Passages, rows: int = ROWS, seed: int = 7) -> pa.Table:
    return pa.Table.from_batches(planted_corpus(rows, seed, passages), PLANTED)


def shingles(text: str) -> set[tuple[str, ...]]:
    """Shingles by the book."""
    words = segment(folded(pa.array([text], pa.large_string())), "unicode").of(0)
    return {tuple(words[at : at + 5]) for at in range(max(len(words) - 4, 1 if words else 0))}


def jaccard(left: str, right: str) -> float:
    one, two = shingles(left), shingles(right)
    return len(one & two) / len(one | two) if one | two else 1.0


def groups_of(corpus: pa.Table) -> Iterator[tuple[dict[str, object], list[dict[str, object]]]]:
    """The original of every group, and its other rows."""
    groups: dict[int, list[dict[str, object]]] = {}
    for row in corpus.to_pylist():
        if row["group"] >= 0:
            groups.setdefault(row["group"], []).append(row)
    for rows in groups.values():
        (original,) = (row for row in rows if row["kind"] == "original")
        yield original, [row for row in rows if row is not original]


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("one two three four five six", "one two three four five seven"),
        ("One TWO, three four: five six", "one two three four five six!"),
        ("a b a b a b a b a b", "a b a b a b"),
        ("one two", "one two"),
        ("one two", "one two three"),
        ("one two", "two one"),
        ("中文字。日本の文字", "中文字日本の文書"),
        ("ΟΔΟΣ οδός", "οδοσ ΟΔΌΣ"),
        ("", "one"),
        ("", "..."),
    ],
)
def test_resemblance_is_that_of_sets_of_shingles(left: str, right: str) -> None:
    sets = shingle_sets(pa.array(["before it", left, right], pa.large_string()))
    assert jaccards(sets, np.array([1, 2, 0]), np.array([2, 1, 0])).tolist() == [jaccard(left, right)] * 2 + [1.0]


def test_passages_are_pieces_of_the_texts_and_each_is_there_once(passages: Passages) -> None:
    assert passages.languages == ("en", "tr", "zh")
    assert passages.unspaced.tolist() == [False, False, True]
    for language, text in enumerate((spaced("bcdf"), spaced("ghjklm"), characters())):
        pool = passages.passages
        found = pool.texts[pool.starts[language] : pool.starts[language + 1]].to_pylist()
        assert len(found) == len(set(found)) > 500
        assert all(passage in text for passage in found)
        assert all(passage.endswith(" ") for passage in found) or language == 2


def test_passages_do_not_depend_on_the_order_of_texts() -> None:
    texts = [spaced("bcdf"), spaced("bc", 700), characters(), "中文 " * 90]
    languages = ["en", "en", "zh", "zh"]
    one, two = (
        passages_of(pa.array(languages[::step]), pa.array(texts[::step], pa.large_string())) for step in (1, -1)
    )
    assert one.passages.texts.equals(two.passages.texts)
    assert one.words.texts.equals(two.words.texts)


def test_text_of_another_script_is_not_of_an_unspaced_language() -> None:
    found = passages_of(pa.array(["zh"]), pa.array([spaced("bcdf") + characters()], pa.large_string()))
    assert not any("a" in passage for passage in found.passages.texts.to_pylist()[:500])


def test_too_little_text_is_refused() -> None:
    with pytest.raises(SystemExit, match="no language has 100 passages"):
        passages_of(pa.array(["en"]), pa.array(["some words only"], pa.large_string()))


def test_the_messages_of_a_catalogue_are_its_translations() -> None:
    texts = [b"Content-Type: text/plain; charset=UTF-8\n", "ເປີດ".encode(), "ປິດ\0ປິດໝົດ".encode()]
    body, table = b"", []
    for text in texts:
        table.append(struct.pack("<2I", len(text), 28 + 8 * len(texts) + len(body)))
        body += text + b"\0"
    header = struct.pack("<7I", 0x950412DE, 0, len(texts), 0, 28, 0, 0)
    assert catalogue_messages(header + b"".join(table) + body) == ["ເປີດ", "ປິດ\nປິດໝົດ"]
    assert catalogue_messages(b"") == catalogue_messages(b"<html>" * 9) == []


def test_a_seed_makes_one_corpus(passages: Passages, corpus: pa.Table) -> None:
    assert corpus_of(passages).equals(corpus)
    other = corpus_of(passages, seed=8)
    assert not set(other["text"].to_pylist()) & set(corpus["text"].to_pylist())


@pytest.mark.parametrize("rows", [1, 2, 60])
def test_a_small_corpus_has_as_many_rows_as_asked_for(passages: Passages, rows: int) -> None:
    corpus = corpus_of(passages, rows)
    assert corpus["id"].to_pylist() == [f"planted-{row:09d}" for row in range(rows)]
    assert all(corpus["text"].to_pylist())


def test_a_tenth_is_planted_and_lies_anywhere(corpus: pa.Table) -> None:
    kinds = np.array(corpus["kind"].to_pylist())
    assert set(kinds) == set(KINDS)
    assert 0.095 * ROWS < (kinds != "alone").sum() <= 0.1 * ROWS
    assert (kinds == "template").sum() == 0.01 * ROWS
    assert all((quarter != "alone").sum() > 0.07 * ROWS / 4 for quarter in np.split(kinds, 4))


def test_columns_tell_planted_rows_from_others(corpus: pa.Table) -> None:
    for row in corpus.to_pylist():
        assert (row["group"] == -1) == (row["kind"] in ("alone", "template"))
        assert (row["source"] == "templates") == (row["kind"] == "template")


def test_groups_are_what_their_kinds_say_and_as_alike_as_their_jaccard(corpus: pa.Table) -> None:
    sizes = []
    for original, others in groups_of(corpus):
        sizes.append(len(others) + 1)
        text = str(original["text"])
        for row in others:
            copy = str(row["text"])
            assert row["jaccard"] == jaccard(text, copy)
            assert row["language"] == original["language"]
            if row["kind"] == "exact":
                assert copy == text
            elif row["kind"] != "near":
                assert row["jaccard"] == 1.0
                assert copy != text or (row["kind"] == "case" and row["language"] == "zh")
    assert min(sizes) == 2
    assert 8 <= max(sizes) <= 10


def test_near_duplicates_are_of_all_degrees(corpus: pa.Table) -> None:
    near = corpus.filter(pa.compute.equal(corpus["kind"], "near"))
    for language in ("en", "zh"):
        found = near["jaccard"].to_numpy()[near["language"].to_numpy() == language]
        assert (np.histogram(found, [0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0])[0] > 0).all()


def test_pages_of_a_site_are_less_alike_than_the_threshold(corpus: pa.Table) -> None:
    pages = corpus.filter(pa.compute.equal(corpus["kind"], "template"))["text"].combine_chunks()
    left, right = np.triu_indices(len(pages), 1)
    found = jaccards(shingle_sets(pages), left, right)
    assert 0.55 < found.min() < found.mean() < found.max() < 0.72
    assert 0.60 < found.mean() < 0.68


def test_other_texts_are_not_alike(corpus: pa.Table) -> None:
    alone = corpus.filter(pa.compute.equal(corpus["kind"], "alone"))["text"].combine_chunks()[:600]
    left, right = np.triu_indices(len(alone), 1)
    assert jaccards(shingle_sets(alone), left, right).max() < 0.05


def test_the_truth_has_every_pair_of_a_group_and_neighbours_of_a_site(
    tmp_path: Path, passages: Passages, corpus: pa.Table
) -> None:
    folder = write_corpus(tmp_path, ROWS, passages=passages)
    assert pq.read_table(folder / "part-00000.parquet").equals(corpus)
    truth = pq.read_table(folder / "truth.parquet")
    assert truth.schema.equals(TRUTH)
    rows = {row["id"]: row for row in corpus.to_pylist()}
    pages = 0
    pairs = set()
    for pair in truth.to_pylist():
        first, second = rows[pair["first"]], rows[pair["second"]]
        assert pair["first"] < pair["second"]
        assert pair["script"] == ("unspaced" if first["language"] == "zh" else "spaced")
        assert pair["kind"] in (first["kind"], second["kind"])
        assert pair["jaccard"] == jaccard(first["text"], second["text"])
        assert first["group"] == second["group"]
        pages += pair["kind"] == "template"
        pairs |= {(pair["first"], pair["second"])} if first["group"] >= 0 else set()
    sizes = [1 + len(others) for _, others in groups_of(corpus)]
    assert pages == 0.01 * ROWS - 1
    assert len(pairs) == truth.num_rows - pages == sum(size * (size - 1) // 2 for size in sizes)


def test_a_corpus_is_written_once_in_files_of_limited_size(
    tmp_path: Path, passages: Passages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planted, "FILE_ROWS", 10_000)
    folder = write_corpus(tmp_path, 10_002, passages=passages)
    files = sorted(folder.glob("part-*.parquet"))
    assert [pq.read_metadata(file).num_rows for file in files] == [10_000, 2]
    (folder / "truth.parquet").unlink()
    assert write_corpus(tmp_path, 10_002, passages=passages) == folder == tmp_path / "planted-10002"
    assert not (folder / "truth.parquet").exists()
    assert (write_corpus(tmp_path, 10_002, seed=8, passages=passages) / "truth.parquet").exists()
