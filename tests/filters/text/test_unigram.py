"""The operator `text.unigram`: wordfreq's numbers, languages that it does not know, hostile rows."""

import json
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.filters.models.training.declarations import paragraphs
from tests.filters.text.hostile_texts import HOSTILE
from tests.messages import assert_refused
from tests.property_sizes import scaled
from winnow.filters.operators import find_operator
from winnow.filters.text.unigram import OPERATOR, Memo, UnigramConfig, measure_unigrams
from winnow.schemas.errors import RecipeError

WORST = "WORDS"  # takes most of the memory of its kernel
GOLDEN = Path(__file__).parent / "golden" / "unigram.json"


class NoFiles:
    def path(self, name: str) -> str:
        raise AssertionError(name)


def batch_of(texts: Sequence[str], codes: Sequence[str | None] | None = None) -> pa.RecordBatch:
    columns = {"text": pa.array(texts, pa.large_string())}
    if codes is not None:
        columns["text.language.code"] = pa.array(codes, pa.string())
    return pa.RecordBatch.from_pydict(columns)


def measured(batch: pa.RecordBatch, **config: Any) -> list[dict[str, Any]]:
    made = UnigramConfig(**({"wordlist": "small"} | config))
    found = OPERATOR.load(made, NoFiles())(batch)
    assert found.schema.equals(OPERATOR.writes(made))
    found.validate(full=True)
    return list(found.to_pylist())


def english(*texts: str) -> list[dict[str, Any]]:
    return measured(batch_of(texts), language="en")


def test_the_operator_is_found_by_its_name_and_reads_what_it_needs() -> None:
    assert find_operator("text.unigram") is OPERATOR
    assert OPERATOR.reads(UnigramConfig()) == ("text", "text.language.code")
    assert OPERATOR.reads(UnigramConfig(column="samples.metadata.lang")) == ("text", "samples.metadata.lang")
    assert OPERATOR.reads(UnigramConfig(language="de")) == ("text",)


def test_the_mean_is_over_wordfreqs_own_numbers() -> None:
    import wordfreq  # here, as it takes a second

    text = "The cat sat on the mat; it’s 1999, isn't it?"
    tokens = wordfreq.lossy_tokenize(text, "en")
    zipf = [wordfreq.zipf_frequency(token, "en", wordlist="small") for token in tokens]
    (row,) = english(text)
    assert (row["words"], row["unknown"]) == (len(tokens), 0)
    assert row["log10_prob"] == pytest.approx(sum(zipf) / len(zipf) - 9, abs=0.01)


def test_a_word_of_no_list_counts_as_one_in_a_thousand_million() -> None:
    assert english("zxqvw", "the zxqvw") == [
        {"status": "ok", "words": 1, "unknown": 1.0, "log10_prob": -9.0},
        {"status": "ok", "words": 2, "unknown": 0.5, "log10_prob": (-1.27 - 9) / 2},
    ]


def test_each_text_is_measured_in_its_own_language() -> None:
    text = "Alle Menschen sind frei und gleich an Würde und Rechten geboren."
    german, in_english = measured(batch_of([text, text], ["deu_Latn", "eng_Latn"]))
    assert german["unknown"] == 0
    assert in_english["unknown"] > 0.3
    assert german["log10_prob"] > in_english["log10_prob"] + 1


def test_a_language_without_a_list_is_unknown() -> None:
    rows = measured(batch_of(["word"] * 5, ["tha", None, "und_Latn", "", "no such code"]))
    assert {row["status"] for row in rows} == {"unknown_language"}
    assert {(row["words"], row["unknown"], row["log10_prob"]) for row in rows} == {(None, None, None)}


@pytest.mark.skipif(find_spec("jieba") is not None, reason="jieba is installed here")
def test_a_language_whose_tokenizer_is_missing_says_why() -> None:
    (row,) = measured(batch_of([paragraphs("cmn-Hans")[0]], ["zho_Hans"]))
    assert (row["status"], row["words"]) == ("no_tokenizer", None)
    with pytest.raises(RecipeError, match=r'run: pip install "wordfreq\[cjk\]"'):
        measured(batch_of([]), language="zh")


def test_a_fixed_language_without_a_list_is_refused() -> None:
    with assert_refused(RecipeError, "wordfreq", "'th'"):
        measured(batch_of([]), language="th")


def test_text_without_words_has_no_mean() -> None:
    for text in ("", " \n", "!?—", "\0"):
        assert english(text) == [{"status": "no_words", "words": None, "unknown": None, "log10_prob": None}]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_are_measured(name: str) -> None:
    (row,) = english(HOSTILE[name])
    if row["status"] == "ok":
        assert row["words"] > 0
        assert 0 <= row["unknown"] <= 1
        assert -20 <= row["log10_prob"] < 0
    else:
        assert row["status"] == "no_words"


def test_a_long_text_is_the_sum_of_its_parts() -> None:
    part = "All human beings are born free. "
    (once,) = english(part)
    (often,) = english(part * 100_000)  # 3.2 MB: it is read in parts
    assert often["words"] == 100_000 * once["words"]
    assert often["log10_prob"] == pytest.approx(once["log10_prob"], abs=1e-12)


WORDS = st.sampled_from(["the", "Cat,", "l’homme", "1999", "zxqv", "😀", "é", "日本", "don't", "\0", "۱۲"])


@settings(max_examples=scaled(30), deadline=None)
@given(st.data())
def test_rows_do_not_see_each_other(data: st.DataObject) -> None:
    row = st.tuples(st.lists(WORDS, max_size=6).map(" ".join), st.sampled_from(["eng", "fra", "tha", "srp", None]))
    rows = data.draw(st.lists(row, max_size=8))
    config = UnigramConfig(wordlist="small")

    def values(chosen: Sequence[tuple[str, str | None]], memo: Memo) -> list[dict[str, Any]]:
        batch = batch_of([text for text, _ in chosen], [code for _, code in chosen])
        return list(measure_unigrams(batch, config, memo).to_pylist())

    found = values(rows, Memo())
    order = data.draw(st.permutations(range(len(rows))))
    memo = Memo(data.draw(st.integers(0, 5)))  # what is remembered, and how much, changes nothing
    assert values([rows[at] for at in order], memo) == [found[at] for at in order]
    cut = data.draw(st.integers(0, len(rows)))
    whole = batch_of([text for text, _ in rows], [code for _, code in rows])
    parts = [measure_unigrams(part, config, memo).to_pylist() for part in (whole.slice(0, cut), whole.slice(cut))]
    assert parts[0] + parts[1] == found


def test_values_are_those_of_the_golden_file() -> None:
    golden = json.loads(GOLDEN.read_text())
    assert golden["version"] == OPERATOR.version
    cases = golden["cases"]
    rows = measured(batch_of([case["text"] for case in cases], [case["code"] for case in cases]))
    for case, row in zip(cases, rows, strict=True):
        if case["row"]["status"] != "no_tokenizer":  # unless one is installed
            assert row == case["row"], case["text"]
