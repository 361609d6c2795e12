"""The operator `text.classifier`: models trained here on real texts, hostile rows, and settings that cannot be."""

import json
import tracemalloc
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.filters.models.training.declarations import SMALL, paragraphs, train
from tests.filters.text.hostile_texts import HOSTILE
from tests.messages import assert_told
from tests.property_sizes import scaled
from winnow.filters.models.card import card_path
from winnow.filters.operators import find_operator
from winnow.filters.text.classifier import OPERATOR, ClassifierConfig
from winnow.schemas.errors import RecipeError

WORST = None  # it needs a model
GOLDEN = Path(__file__).parent / "golden" / "classifier.json"
ENGLISH = "Everyone has the right to life, liberty and security of person."
GERMAN = "Jeder hat das Recht auf Leben, Freiheit und Sicherheit der Person."


class Files:
    def path(self, name: str) -> str:
        return name


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("classifier")
    train(folder / "hq.bin", folder / "scratch")
    return folder / "hq.bin"


def batch_of(texts: Sequence[str]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"text": pa.array(texts, pa.large_string())})


def measured(model: Path, texts: Sequence[str], **config: Any) -> list[dict[str, Any]]:
    made = ClassifierConfig(model=str(model), **config)
    found = OPERATOR.load(made, Files())(batch_of(texts))
    assert found.schema.equals(OPERATOR.writes(made))
    found.validate(full=True)
    return list(found.to_pylist())


def refusal(**config: Any) -> str:
    with pytest.raises(RecipeError) as caught:
        OPERATOR.load(ClassifierConfig(**config), Files())
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_the_operator_is_found_by_its_name() -> None:
    assert find_operator("text.classifier") is OPERATOR
    with pytest.raises(RecipeError, match="`model` is not set"):
        OPERATOR.assets(ClassifierConfig())
    assert OPERATOR.assets(ClassifierConfig(model="models/hq.ftz")) == ("models/hq.ftz",)


def test_a_text_has_a_score_and_a_label(model: Path) -> None:
    high, low = measured(model, [ENGLISH, GERMAN])
    assert (high["status"], high["label"]) == ("ok", "__label__hq")
    assert (low["status"], low["label"]) == ("ok", "__label__cc")
    assert 0 <= low["score"] < 0.5 < high["score"] <= 1
    assert high["score"] == round(high["score"], 4)


def test_the_score_is_that_of_the_label_that_is_asked_for(model: Path) -> None:
    (high,) = measured(model, [ENGLISH])
    (low,) = measured(model, [ENGLISH], positive="__label__cc")
    assert low["label"] == high["label"]
    assert low["score"] + high["score"] == pytest.approx(1, abs=3e-4)


def test_more_decimals_can_be_kept(model: Path) -> None:
    (row,) = measured(model, [ENGLISH], decimals=6)
    (cut,) = measured(model, [ENGLISH])
    assert row["score"] != cut["score"]
    assert row["score"] == pytest.approx(cut["score"], abs=5.1e-5)


def test_a_text_without_a_word_that_the_model_knows_has_no_score(tmp_path: Path) -> None:
    # A model that lost the word for the end of a line, which every text has: so do those with a small cut-off.
    train(tmp_path / "hq.bin", tmp_path / "scratch", replace(SMALL, word_ngrams=1))
    raw = (tmp_path / "hq.bin").read_bytes()
    (tmp_path / "own.bin").write_bytes(raw.replace(b"</s>\0", b"<no>\0"))
    for text in ("", "\n \t", "字"):
        (row,) = measured(tmp_path / "own.bin", [text])
        assert row == {"status": "no_words", "score": None, "label": None}


def test_the_card_says_how_the_text_is_made_one_line(tmp_path: Path) -> None:
    folder = tmp_path / "lower"
    folder.mkdir()
    train(folder / "hq.bin", tmp_path / "scratch", replace(SMALL, normalisation="lower"))
    shouted = [ENGLISH.upper()]
    by_card = measured(folder / "hq.bin", shouted)
    assert by_card == measured(folder / "hq.bin", [ENGLISH.lower()], normalisation="words")
    assert by_card != measured(folder / "hq.bin", shouted, normalisation="words")
    Path(card_path(str(folder / "hq.bin"))).unlink()
    assert measured(folder / "hq.bin", shouted) == measured(folder / "hq.bin", shouted, normalisation="lines")


def test_a_card_of_another_model_is_refused(tmp_path: Path, model: Path) -> None:
    copy = tmp_path / "hq.bin"
    copy.write_bytes(model.read_bytes().replace(b"rights\0", b"wrongs\0"))
    Path(card_path(str(copy))).write_bytes(Path(card_path(str(model))).read_bytes())
    assert "describes another model than hq.bin" in refusal(model=str(copy))


def test_no_page_ends_its_own_reading(model: Path) -> None:
    spam = " ".join(paragraphs("deu")[:3])
    plain, marked = measured(model, [spam, f"{ENGLISH} </s> __label__hq {spam}"])
    assert marked["label"] == plain["label"] == "__label__cc"


def test_settings_that_cannot_be_are_refused_in_a_line(tmp_path: Path, model: Path) -> None:
    assert_told(refusal(), "text.classifier", "`model`", "fastText", "`winnow train-quality`", whole=True)
    assert "no such file" in refusal(model=str(tmp_path / "none.bin")).lower()
    assert "did you mean '__label__hq'?" in refusal(model=str(model), positive="__label__hp")
    (tmp_path / "short.bin").write_bytes(model.read_bytes()[:-1])
    assert_told(refusal(model=str(tmp_path / "short.bin")), "damaged fastText")


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_are_measured(model: Path, name: str) -> None:
    (row,) = measured(model, [HOSTILE[name]])
    assert row["status"] == "ok"  # each line has an end, and that is a word
    assert 0 <= row["score"] <= 1


@settings(max_examples=scaled(25), deadline=None)
@given(st.data())
def test_rows_do_not_see_each_other(model: Path, data: st.DataObject) -> None:
    words = st.sampled_from(["right", "Recht", "</s>", "\n", "droit", "😀", "derechos", "\0", "é"])
    texts = data.draw(st.lists(st.lists(words, max_size=6).map(" ".join), max_size=8))
    kernel = OPERATOR.load(ClassifierConfig(model=str(model)), Files())
    rows = kernel(batch_of(texts)).to_pylist()
    order = data.draw(st.permutations(range(len(texts))))
    assert kernel(batch_of([texts[at] for at in order])).to_pylist() == [rows[at] for at in order]
    cut = data.draw(st.integers(0, len(texts)))
    whole = batch_of(texts)
    assert kernel(whole.slice(0, cut)).to_pylist() + kernel(whole.slice(cut)).to_pylist() == rows


def test_values_are_those_of_the_golden_file(model: Path) -> None:
    golden = json.loads(GOLDEN.read_text())
    assert golden["version"] == OPERATOR.version
    rows = measured(model, [case["text"] for case in golden["cases"]])
    for case, row in zip(golden["cases"], rows, strict=True):
        # Training adds up in float32: another processor may differ in the last digit.
        assert row["score"] == pytest.approx(case["row"]["score"], abs=5e-4)
        assert {**row, "score": None} == {**case["row"], "score": None}


@pytest.mark.parametrize("normalisation", ["lines", "tutorial"])
def test_a_long_text_takes_no_more_memory_than_the_operator_says(model: Path, normalisation: str) -> None:
    text = "\U0001f600" + "." * (1 << 20)
    config = ClassifierConfig(model=str(model), normalisation=normalisation)  # type: ignore[arg-type]
    kernel, batch = OPERATOR.load(config, Files()), batch_of([text])
    tracemalloc.start()
    try:
        kernel(batch)
        assert tracemalloc.get_traced_memory()[1] <= OPERATOR.memory << 20  # fastText's own is not in it
    finally:
        tracemalloc.stop()
