"""The operator `text.contamination`, against a plain loop over all n-grams, and on hostile texts."""

import json
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.filters.text.hostile_texts import HOSTILE
from tests.filters.text.lines.line_rules import assert_spans_hold
from tests.messages import assert_refused
from winnow.filters.contamination.index import build_index
from winnow.filters.contamination.matches import MOST_ITEMS
from winnow.filters.contamination.sets import EvaluationSet, SetConfig
from winnow.filters.duplicates.normal_form import units_of
from winnow.filters.operators import ANSWERS, TEXT
from winnow.filters.text.contamination import (
    OPERATOR,
    ContaminationConfig,
    Searched,
    files,
    load_shard,
    measure,
    offered_keys,
)
from winnow.pipelines.assets import AssetFiles
from winnow.schemas.errors import RecipeError

WORST = "a "  # takes most of the memory of its kernel
GOLDEN = Path(__file__).parent / "golden" / "contamination.json"
COWS = "A farmer has 12 cows and buys 7 more cows at the market on Tuesday morning; how many cows has the farmer now?"
PARTS = ("question", "answer", "both")


def a_set(*items: tuple[str, str], name: str = "quiz") -> EvaluationSet:
    return EvaluationSet(name, list(range(1, len(items) + 1)), [one for one, _ in items], [one for _, one in items], 0)


def measured(texts: Sequence[str], *sets: EvaluationSet, common: int | None = None, **settings: Any) -> list[Any]:
    """The rows of a store of these texts."""
    config = ContaminationConfig(**settings)
    index = build_index(sets, config.min_item_words, config.max_ngram_words, config.parts)
    batch = pa.RecordBatch.from_arrays([pa.array(texts, pa.large_string())], names=[TEXT])
    rows, keys = offered_keys(index, batch)
    having: dict[bytes, set[int]] = defaultdict(set)
    for row, key in zip(rows.tolist(), keys.to_pylist(), strict=True):
        having[key].add(row)
    met = [(key, bytes(16), len(owners)) for key, owners in sorted(having.items()) if common and len(owners) >= common]
    answers = pa.RecordBatch.from_pylist([dict(zip(ANSWERS.names, one, strict=True)) for one in met], schema=ANSWERS)
    kernel = load_shard(index, answers)
    found: list[Any] = kernel(batch).to_pylist()
    assert [row for at in range(len(texts)) for row in kernel(batch.slice(at, 1)).to_pylist()] == found
    if common is None:
        assert measure(Searched(index), batch).to_pylist() == found
    for text, row in zip(texts, found, strict=True):
        assert_spans_hold(text, row["spans"])
    return found


def cut(text: str, row: Any) -> list[tuple[str, str]]:
    """What the spans of a row cover, and their kinds."""
    return [(text.encode()[one["start"] : one["end"]].decode(), one["kind"]) for one in row["spans"]]


def words_of_text(text: str) -> list[str]:
    """The words that are compared, with the digits of ASCII."""
    return ["".join(str(unicodedata.decimal(one, one)) for one in word) for word in units_of(text, "words")]


def plain(texts: Sequence[str], items: Sequence[tuple[str, str]], config: ContaminationConfig, common: int) -> Any:
    """What a loop over all n-grams finds: of each text the n-grams, the common ones, and the shares of items."""
    grams: list[dict[int, tuple[str, ...]]] = []  # of each item by place
    parts_of: list[dict[int, str]] = []
    lengths = []
    for question, answer in items:
        asked, said = words_of_text(question), words_of_text(answer)
        parts = [part for part in PARTS if part in config.parts]
        length = len(asked) if "question" in parts and len(asked) >= config.min_item_words else 0
        whole = len(asked) * ("question" in parts or "both" in parts) + len(said) * (
            "answer" in parts or "both" in parts
        )
        length = length or whole
        size = min(length, config.max_ngram_words) if length >= config.min_item_words else 0
        both, own = asked + said, dict[int, tuple[str, ...]]()
        within_of: dict[int, str] = {}
        for place in range(len(both) - size + 1 if size else 0):
            within = "question" if place + size <= len(asked) else "answer" if place >= len(asked) else "both"
            if within in parts:
                own[place], within_of[place] = tuple(both[place : place + size]), within
        grams.append(own)
        parts_of.append(within_of)
        lengths.append(whole)
    listed = {gram for own in grams for gram in own.values()}
    held = []
    for text in texts:
        words = words_of_text(text)
        sizes = {len(gram) for gram in listed}
        held.append({tuple(words[at : at + size]) for size in sizes for at in range(len(words) - size + 1)} & listed)
    documents = Counter(gram for own in held for gram in own)
    rows = []
    for there_are in held:
        counted = {gram for gram in there_are if documents[gram] < common}
        shares = []
        for number, item in enumerate(grams):
            there = [place for place, gram in item.items() if gram in counted]
            if there:
                covered = {place + step for place in there for step in range(len(item[place]))}
                every, met = Counter(parts_of[number].values()), Counter(parts_of[number][place] for place in there)
                counted_parts = [part for part in ("question", "answer") if every[part]] or ["both"]
                share = max(met[part] / every[part] for part in counted_parts)
                shares.append((number + 1, share, len(covered) / lengths[number]))
        shares.sort(key=lambda one: (-one[1], one[0]))
        rows.append((len(counted), len(there_are) - len(counted), shares))
    return rows


_WORD = st.sampled_from(["a", "B", "b", "c", "１", "1", "٣", "3", "中", "文", "é", "e\u0301", "it's", "\u200d", "."])
_SHORT = st.lists(_WORD, max_size=12).map(" ".join)


@given(
    st.lists(st.lists(_WORD, max_size=40).map(" ".join), max_size=5),
    st.lists(st.tuples(_SHORT, _SHORT), max_size=6),
    st.builds(
        ContaminationConfig,
        min_item_words=st.integers(2, 6),
        max_ngram_words=st.integers(2, 6),
        parts=st.sets(st.sampled_from(PARTS), min_size=1).map(tuple),
    ),
    st.integers(2, 4),
)
def test_what_is_found_is_what_a_loop_over_all_ngrams_finds(
    texts: list[str], items: list[tuple[str, str]], config: ContaminationConfig, common: int
) -> None:
    settings = {name: getattr(config, name) for name in ("min_item_words", "max_ngram_words", "parts")}
    rows = measured(texts, a_set(*items), common=common, **settings)
    expected = plain(texts, items, config, common)
    for row, (ngrams, left_out, shares) in zip(rows, expected, strict=True):
        assert (row["ngrams"], row["common"], row["items"]) == (ngrams, left_out, len(shares))
        assert row["item"] == [number for number, _, _ in shares][:MOST_ITEMS]
        assert np.allclose(row["found"], [found for _, found, _ in shares][:MOST_ITEMS])
        assert np.allclose(row["covered"], [covered for _, _, covered in shares][:MOST_ITEMS])
        assert all(0 <= one <= 1 + 1e-6 for one in row["weighted"])


def test_an_item_is_found_without_its_punctuation_case_width_and_numerals() -> None:
    items = a_set((COWS, "19 cows"))
    for text in (COWS, COWS.upper(), COWS.replace(";", " –"), COWS.replace("12", "１２").replace("7", "٧")):
        row = measured([f"See here: {text} Tell me!"], items)[0]
        assert (row["set"], row["item"]) == (["quiz"], [1])
        assert row["found"][0] == 1
        ((said, kind),) = cut(f"See here: {text} Tell me!", row)
        assert (said, kind) == (text.rstrip("?"), "quiz:1")


def test_a_changed_word_leaves_the_ngrams_before_and_behind_it() -> None:
    changed = COWS.replace("market", "fair")
    row = measured([changed], a_set((COWS, "")), max_ngram_words=5)[0]
    assert row["found"][0] == pytest.approx(14 / 19)
    assert [said for said, _ in cut(changed, row)] == [
        "A farmer has 12 cows and buys 7 more cows at the",
        "on Tuesday morning; how many cows has the farmer now",
    ]


def test_a_short_question_is_found_whole_or_not_at_all() -> None:
    items = a_set(("What is the capital of France?", "Paris"), ("Why is that?", "No"))
    rows = measured(["the capital of France", "what is the capital of france paris", "why is that no"], items)
    assert [row["ngrams"] for row in rows] == [0, 2, 1]  # the second question counts with its answer


def test_characters_of_scripts_without_spaces_are_words() -> None:
    text = "知道吗中国的首都是哪个城市人口有多少呢"
    row = measured([text], a_set(("中国的首都是哪个城市，人口有多少？", "")))[0]
    assert cut(text, row) == [("中国的首都是哪个城市人口有多少", "quiz:1")]


def test_an_answer_is_looked_for_near_the_question() -> None:
    items = a_set((COWS, "19 cows"), (COWS + " In words.", ""))
    texts = [f"{COWS} {'so ' * gap}19 cows." for gap in (0, 40, 60)] + [f"19 {COWS}"]
    answered = [row["answered"] for row in measured(texts, items)]
    assert answered == [[True, None], [True, None], [False, None], [False, None]]


def test_ngrams_of_many_documents_do_not_count() -> None:
    texts = [f"{COWS} {number}" for number in range(3)]
    items = a_set((COWS, ""))
    assert {(row["ngrams"], row["common"], row["items"]) for row in measured(texts, items, common=4)} == {(11, 0, 1)}
    assert {(row["ngrams"], row["common"], row["items"]) for row in measured(texts, items, common=3)} == {(0, 11, 0)}


def test_no_more_than_sixteen_items_are_listed_and_all_are_counted() -> None:
    items = a_set(*((f"{COWS} {number}", "") for number in range(40)))
    row = measured([f"{COWS} 7"], items)[0]
    assert (row["items"], len(row["item"]), row["item"][0]) == (40, MOST_ITEMS, 8)


def test_repeats_count_once_but_all_of_them_are_spans() -> None:
    text = f"{COWS} And again: {COWS}"
    row = measured([text], a_set((COWS, "")))[0]
    assert (row["ngrams"], len(row["spans"])) == (11, 2)
    assert row["share"] == pytest.approx(46 / 48)


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_texts_are_measured(text: str) -> None:
    row = measured([text, text + text], a_set((text, text), (COWS, "")))[0]
    assert row["words"] == len(words_of_text(text))


def test_a_recipe_must_name_a_set() -> None:
    with assert_refused(RecipeError, "sets:"):
        files(ContaminationConfig())


def test_what_version_1_gives_never_changes(tmp_path: Path) -> None:
    golden = json.loads(GOLDEN.read_text("utf-8"))
    assert golden["version"] == OPERATOR.version
    (tmp_path / "quiz.jsonl").write_text("".join(json.dumps(one) + "\n" for one in golden["items"]))
    sets = (SetConfig("quiz", str(tmp_path / "quiz.jsonl"), answer=("answer",)),)
    kernel = OPERATOR.load(ContaminationConfig(sets=sets), AssetFiles())
    batch = pa.RecordBatch.from_pydict({TEXT: pa.array([row["text"] for row in golden["rows"]], pa.large_string())})
    assert json.loads(json.dumps(kernel(batch).to_pylist())) == [row["values"] for row in golden["rows"]]
