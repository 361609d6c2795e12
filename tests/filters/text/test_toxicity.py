"""The operator `text.toxicity`: which texts it scores, how long ones are read, hostile rows, rows on their own."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.filters.models.toxicity.published import published
from tests.filters.text.hostile_texts import HOSTILE
from tests.property_sizes import scaled
from winnow.filters.models.toxicity import LABELS, NAME
from winnow.filters.operators import find_operator
from winnow.filters.presets import find_preset
from winnow.filters.text.toxicity import OPERATOR, ToxicityConfig, starts_of

WORST = "ass casino "  # takes most of the memory of its kernel
GOLDEN = Path(__file__).parent / "golden" / "toxicity.json"
INSULT = "You are so dumb and stupid!"
KIND = "Everyone has the right to life, liberty and security of person."


class Files:
    def path(self, name: str) -> str:
        assert name == NAME
        return published()


def batch_of(rows: Sequence[tuple[str, str | None]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(
        {
            "text": pa.array([text for text, _ in rows], pa.large_string()),
            "text.language.code": pa.array([code for _, code in rows], pa.string()),
        }
    )


def measured(rows: Sequence[tuple[str, str | None]], max_windows: int = 4) -> list[dict[str, Any]]:
    config = ToxicityConfig(max_windows)
    found = OPERATOR.load(config, Files())(batch_of(rows))
    assert found.schema.equals(OPERATOR.writes(config))
    found.validate(full=True)
    return list(found.to_pylist())


def test_the_operator_says_what_it_looks_for_and_where() -> None:
    config = ToxicityConfig()
    assert find_operator("text.toxicity") is OPERATOR
    assert OPERATOR.detects(config) == {label: f"language.{label}" for label in LABELS}
    assert OPERATOR.languages(config) == frozenset({"eng"})
    assert OPERATOR.assets(config) == ("toxicity.en",)


def test_an_insult_is_told_from_a_declaration() -> None:
    insult, kind = measured([(INSULT, "eng_Latn"), (KIND, "eng_Latn")])
    scores = {"toxic": 0.9889, "severe_toxic": 0.0726, "obscene": 0.6204}
    scores |= {"threat": 0.0193, "insult": 0.8664, "identity_hate": 0.0407}
    seen = {"words": 6, "known_words": 1.0, "windows": 1, "read_words": 1.0}
    assert insult == {"status": "ok", **scores, **seen}
    assert all(kind[label] < 0.2 for label in LABELS)


@pytest.mark.parametrize(
    ("code", "status"),
    [("deu_Latn", "no_detector"), ("enm_Latn", "no_detector"), ("zxx", "no_detector"), (None, "no_language")],
)
def test_what_it_cannot_judge_has_no_scores(code: str | None, status: str) -> None:
    english, other = measured([(INSULT, "eng_Latn"), (INSULT, code)])
    assert english["status"] == "ok"
    assert other == dict.fromkeys(english) | {"status": status}


def test_a_text_without_a_known_word_has_no_scores() -> None:
    for text in ("", "...", "北京 Привет"):
        (row,) = measured([(text, "eng_Latn")])
        assert row == dict.fromkeys(row) | {"status": "no_words"}


def test_what_the_network_does_not_know_is_said() -> None:
    (row,) = measured([("the qwxyz person zzzqqq", "eng_Latn")])
    assert (row["words"], row["known_words"]) == (4, 0.5)


@pytest.mark.parametrize(
    ("known", "most", "starts"),
    [
        (0, 4, []),
        (1, 4, [0]),
        (100, 4, [0]),
        (101, 4, [0, 1]),
        (101, 1, [0]),
        (400, 4, [0, 100, 200, 300]),
        (1_000, 4, [0, 300, 600, 900]),
        (1_001, 2, [0, 901]),
    ],
)
def test_windows_are_spread_from_the_first_word_to_the_last(known: int, most: int, starts: list[int]) -> None:
    assert starts_of(known, most).tolist() == starts


def test_a_long_text_has_the_highest_score_of_its_windows() -> None:
    filler = "the house stands at the end of a long road near the river . " * 40  # 520 words
    (clean,) = measured([(filler, "eng_Latn")], 10)
    (late,) = measured([(filler + INSULT, "eng_Latn")], 10)
    (unread,) = measured([(filler + INSULT, "eng_Latn")], 1)
    assert clean["toxic"] < 0.1 < 0.5 < late["toxic"]
    assert unread["toxic"] < 0.1
    assert (late["windows"], late["read_words"]) == (6, 1.0)
    assert (unread["windows"], unread["read_words"]) == (1, 100 / 526)


def test_a_batch_without_rows_is_measured() -> None:
    assert measured([]) == []


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_are_measured(name: str) -> None:
    (row,) = measured([(HOSTILE[name], "eng_Latn")])
    assert row["status"] in ("ok", "no_words")
    if row["status"] == "ok":
        assert all(0 <= row[label] <= 1 for label in LABELS)
        assert 0 < row["known_words"] <= 1


def test_a_large_text_is_read_in_linear_time() -> None:
    # 20 MB: with anything quadratic this would not end.
    (row,) = measured([("you are a very nice person " * 750_000, "eng_Latn")])
    assert (row["windows"], row["words"]) == (4, 4_500_000)


@settings(max_examples=scaled(25), deadline=None)
@given(st.data())
def test_rows_do_not_see_each_other(data: st.DataObject) -> None:
    words = st.sampled_from(["you", "are", "dumb", "nice", "\n", "Zug", "—", "İ", "\0"])
    texts = st.lists(words, max_size=8).map(" ".join) | st.integers(90, 250).map(lambda size: "you idiot . " * size)
    codes = st.sampled_from(["eng_Latn", "eng_Latn", "deu_Latn", None])
    rows = data.draw(st.lists(st.tuples(texts, codes), max_size=7))
    kernel = OPERATOR.load(ToxicityConfig(), Files())
    found = kernel(batch_of(rows)).to_pylist()
    order = data.draw(st.permutations(range(len(rows))))
    assert kernel(batch_of([rows[at] for at in order])).to_pylist() == [found[at] for at in order]
    cut = data.draw(st.integers(0, len(rows)))
    whole = batch_of(rows)
    assert kernel(whole.slice(0, cut)).to_pylist() + kernel(whole.slice(cut)).to_pylist() == found


def test_its_preset_drops_by_every_score() -> None:
    preset = find_preset("toxicity")
    assert [rule.drop.split()[0] for rule in preset.rules] == [f"text.toxicity.{label}" for label in LABELS]
    assert {rule.when_null for rule in preset.rules} == {"keep"}


def test_values_are_those_of_the_golden_file() -> None:
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))
    assert golden["version"] == OPERATOR.version
    rows = measured([(case["text"], case["code"]) for case in golden["cases"]])
    for row, case in zip(rows, golden["cases"], strict=True):
        assert row == pytest.approx(case["row"], abs=1.1e-4)  # another instruction set may round to another side
