"""The operator `text.safety_model`: a real model in ONNX, settings that fit it, files that do not, hostile rows."""

import json
import sys
import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.messages import assert_refused, assert_told

pytest.importorskip("onnx", reason="writes the models of these tests")
pytest.importorskip("onnxruntime", reason="needs the extra `onnx`")
pytest.importorskip("tokenizers", reason="needs the extra `onnx`")
from onnx import TensorProto, helper

from tests.filters.models.safety.models import VALUES, WORDS, inputs, model, nodes, tokenizer_json
from tests.filters.text.hostile_texts import HOSTILE
from tests.property_sizes import scaled
from winnow.filters.operators import find_operator
from winnow.filters.text.safety_model import OPERATOR, Label, SafetyModelConfig, writes
from winnow.schemas.errors import RecipeError
from winnow.schemas.problems import Problems
from winnow.schemas.recipe import build_config
from winnow.schemas.recipe.nodes import parse_yaml

WORST = None  # it needs a model
GOLDEN = Path(__file__).parent / "golden" / "safety_model.json"
LABELS = (Label("toxic", "language.toxic"), Label("insult", "language.insult"))


class Files:
    def path(self, name: str) -> str:
        return name


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "model.onnx").write_bytes(model().SerializeToString())
    (tmp_path / "tokenizer.json").write_text(tokenizer_json(), encoding="utf-8")
    return tmp_path


def config_of(folder: Path, **changes: Any) -> SafetyModelConfig:
    given_ = {
        "model": str(folder / "model.onnx"),
        "tokenizer": str(folder / "tokenizer.json"),
        "labels": LABELS,
        "languages": ("any",),
    }
    return SafetyModelConfig(**(given_ | changes))


def batch_of(texts: Sequence[str], codes: Sequence[str | None] | None = None) -> pa.RecordBatch:
    columns = {"text": pa.array(texts, pa.large_string())}
    if codes is not None:
        columns["text.language.code"] = pa.array(codes, pa.string())
    return pa.RecordBatch.from_pydict(columns)


def measured(
    folder: Path, texts: Sequence[str], codes: Sequence[str | None] | None = None, **changes: Any
) -> list[dict[str, Any]]:
    config = config_of(folder, **changes)
    found = OPERATOR.load(config, Files())(batch_of(texts, codes))
    assert found.schema.equals(OPERATOR.writes(config))
    found.validate(full=True)
    return list(found.to_pylist())


def refusal(folder: Path, **changes: Any) -> str:
    with pytest.raises(RecipeError) as caught:
        OPERATOR.load(config_of(folder, **changes), Files())
    assert "\n" not in str(caught.value)
    return str(caught.value)


def logits(text: str) -> Any:
    """The mean of the words' values, `[CLS]` and `[SEP]` among them."""
    numbers = [WORDS.index(word) if word in WORDS else 1 for word in ["[CLS]", *text.split(), "[SEP]"]]
    return VALUES[numbers].mean(axis=0).astype(np.float64)


def sigmoid(values: Any) -> list[float]:
    return [round(float(value), 4) for value in 1 / (1 + np.exp(-values))]


def test_the_operator_says_what_the_model_looks_for_and_where(folder: Path) -> None:
    config = config_of(folder, labels=(*LABELS, Label("neutral")), languages=("eng", "deu"))
    assert find_operator("text.safety_model") is OPERATOR
    assert OPERATOR.detects(config) == {"toxic": "language.toxic", "insult": "language.insult"}
    assert OPERATOR.languages(config) == frozenset({"eng", "deu"})
    assert OPERATOR.reads(config) == ("text", "text.language.code")
    assert OPERATOR.reads(config_of(folder)) == ("text",)
    assert OPERATOR.languages(config_of(folder)) is None
    assert writes(config).names == ["status", "toxic", "insult", "neutral", "tokens", "truncated"]


def test_a_text_has_the_models_probabilities(folder: Path) -> None:
    rude, kind = measured(folder, ["You are rude", "you are kind"])
    toxic, insult = sigmoid(logits("you are rude"))
    assert toxic > 0.99
    assert rude == {"status": "ok", "toxic": toxic, "insult": insult, "tokens": 5, "truncated": False}
    assert (kind["toxic"], kind["insult"]) == tuple(sigmoid(logits("you are kind")))


def test_the_activation_is_as_the_recipe_says(folder: Path) -> None:
    values = logits("you are rude")
    (plain,) = measured(folder, ["you are rude"], activation="none")
    assert [plain["toxic"], plain["insult"]] == pytest.approx(values.tolist(), abs=1e-4)
    (shared,) = measured(folder, ["you are rude"], activation="softmax")
    assert shared["toxic"] + shared["insult"] == pytest.approx(1, abs=1e-4)
    assert shared["toxic"] == pytest.approx(1 / (1 + np.exp(values[1] - values[0])), abs=1e-4)


def test_texts_in_other_languages_have_no_scores(folder: Path) -> None:
    codes = ["eng_Latn", "deu_Latn", None]
    english, german, unknown = measured(folder, ["you are rude"] * 3, codes, languages=("eng",))
    assert english["status"] == "ok"
    assert german == dict.fromkeys(english) | {"status": "no_detector"}
    assert unknown == dict.fromkeys(english) | {"status": "no_language"}


def test_a_long_text_is_read_from_its_beginning_window_by_window(folder: Path) -> None:
    text = "you are kind " * 4 + "rude rude"
    (head,) = measured(folder, [text], max_tokens=5)
    (all_,) = measured(folder, [text], max_tokens=5, max_windows=5)
    assert (head["tokens"], head["truncated"]) == (5, True)
    assert head["toxic"] == sigmoid(logits("you are kind"))[0] < 0.01
    assert (all_["tokens"], all_["truncated"]) == (4 * 5 + 4, False)
    assert all_["toxic"] == sigmoid(logits("rude rude"))[0] > 0.99


def test_no_more_of_a_text_is_read_than_the_recipe_says(folder: Path) -> None:
    (row,) = measured(folder, ["rude " * 100_000], max_bytes=12)
    assert (row["tokens"], row["truncated"]) == (5, True)  # the third is half a word
    (whole,) = measured(folder, ["é rude é"], max_bytes=10)
    assert whole["truncated"] is False
    (cut,) = measured(folder, ["é rude é"], max_bytes=9)
    assert (cut["tokens"], cut["truncated"]) == (4, True)


def test_no_more_of_a_text_is_held_than_the_recipe_says(folder: Path) -> None:
    kernel = OPERATOR.load(config_of(folder), Files())
    batch = batch_of(["\U0001f600" + "rude " * (2 << 20)])
    kernel(batch)
    tracemalloc.start()
    try:
        kernel(batch)
        assert tracemalloc.get_traced_memory()[1] < 4 << 20  # of 10 MiB of text, 64 KiB are tokenized
    finally:
        tracemalloc.stop()
    written = f"max_bytes: {(2 << 20) + 1}"  # the tokenizer takes some 300 times as much
    with pytest.raises(RecipeError, match="max_bytes"):
        build_config(SafetyModelConfig, parse_yaml(written, "recipe.yaml", Problems()), "annotate[0]")


def test_a_model_of_fixed_length_is_given_padding(folder: Path) -> None:
    free = measured(folder, ["you are rude", "kind"], max_tokens=8)
    for kind in (TensorProto.INT64, TensorProto.INT32):
        given_ = inputs(kind=kind, tokens=8, texts=1)
        (folder / "model.onnx").write_bytes(model(given_).SerializeToString())
        assert measured(folder, ["you are rude", "kind"], max_tokens=8) == free
    assert "set `max_tokens` to at most 8" in refusal(folder)


def test_texts_without_tokens_and_answers_that_are_no_numbers_are_told(folder: Path) -> None:
    (empty,) = measured(folder, [" \n "])
    assert empty == dict.fromkeys(empty) | {"status": "no_tokens"}
    values = VALUES.copy()
    values[WORDS.index("rude")] = np.nan
    constants = {"values": values, "last": np.array([2], np.int64), "time": np.array([1], np.int64)}
    (folder / "model.onnx").write_bytes(model(constants=constants).SerializeToString())
    broken, fine = measured(folder, ["rude", "kind"])
    assert broken == dict.fromkeys(broken) | {"status": "not_finite"}
    assert fine["status"] == "ok"


def test_settings_that_cannot_be_are_refused(folder: Path) -> None:
    assert "`model` is not set" in refusal(folder, model="")
    assert "`tokenizer` is not set" in refusal(folder, tokenizer="")
    assert "`labels` is not set" in refusal(folder, labels=())
    assert "`languages` is not set" in refusal(folder, languages=())
    assert_told(refusal(folder, architecture="my.models:classifier"), "ONNX", "`architecture`")
    for changes, why in (
        ({"languages": ("en",)}, "three letters"),
        ({"languages": ("any", "eng")}, "`any` cannot be combined"),
        ({"labels": (Label("toxic"), Label("toxic"))}, "expected different names"),
        ({"labels": (Label("status"),)}, "expected different names"),
        ({"labels": (Label("toxic", "language.toxik"),)}, "did you mean 'language.toxic'"),
        ({"labels": (Label("mail", "personal.email"),)}, "no subcategory 'personal.email' for models"),
        ({"architecture": "os.system"}, "expected module:function"),
    ):
        with pytest.raises(ValueError, match=why):
            SafetyModelConfig(**changes)


def test_a_recipe_lists_labels_with_what_they_detect() -> None:
    written = "labels: [{toxic: {detects: language.toxic}}, neutral]\nlanguages: [any]\n"
    made = build_config(SafetyModelConfig, parse_yaml(written, "recipe.yaml", Problems()), "annotate[0]")
    assert made.labels == (Label("toxic", "language.toxic"), Label("neutral"))


def test_every_input_and_output_that_does_not_fit_is_named(folder: Path) -> None:
    path = folder / "model.onnx"
    floats = helper.make_tensor_value_info("input_ids", TensorProto.FLOAT, ["texts", "tokens"])
    pixels = helper.make_tensor_value_info("pixels", TensorProto.FLOAT, ["texts", 3, 224, 224])
    out = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["texts", 3])
    cast = helper.make_node("Cast", ["input_ids"], ["numbers"], to=TensorProto.INT64)
    computed = [helper.make_node("Gather", ["values", "numbers"], ["each"])]
    computed += [helper.make_node("ReduceMax", ["each", "time"], ["two"], keepdims=0)]
    computed += [helper.make_node("Concat", ["two", "two"], ["four"], axis=1)]
    computed += [helper.make_node("Slice", ["four", "from", "to", "time"], ["logits"])]
    constants = {"values": VALUES, "time": np.array([1], np.int64)}
    constants |= {"from": np.array([0], np.int64), "to": np.array([3], np.int64)}
    path.write_bytes(model([floats, pixels], [cast, *computed], constants, [out]).SerializeToString())
    said = refusal(folder)
    assert "the input input_ids is tensor(float) ['texts', 'tokens']; expected int64 or int32" in said
    assert "the input pixels is tensor(float) ['texts', 3, 224, 224]; texts provide only input_ids" in said
    assert "the first output, logits, is tensor(float) ['texts', 3]; `labels` names 2" in said


def test_a_model_that_fails_or_answers_otherwise_is_told_before_any_text_is_read(folder: Path) -> None:
    short = {"values": VALUES[:-1], "last": np.array([2], np.int64), "time": np.array([1], np.int64)}
    (folder / "model.onnx").write_bytes(model(constants=short).SerializeToString())
    assert_told(refusal(folder), "model fails", "1 tokens")  # the vocabulary's last word has no row
    # As many numbers as the text has tokens: no shape in the file says so.
    out = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["texts", "numbers"])
    each = [helper.make_node("Cast", ["input_ids"], ["logits"], to=TensorProto.FLOAT)]
    (folder / "model.onnx").write_bytes(model(computed=each, outputs=[out]).SerializeToString())
    assert_told(refusal(folder), "1 outputs", "`labels`", "names 2")
    kernel = OPERATOR.load(config_of(folder, labels=LABELS[:1]), Files())
    with assert_refused(RecipeError, "5 outputs", "`labels`", "names 1"):
        kernel(batch_of(["you are rude"]))
    (folder / "model.onnx").write_bytes(model(computed=nodes()[1:]).SerializeToString())
    assert_told(refusal(folder), "ONNX", "Runtime cannot")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("", "not a tokenizer"),
        ("[]", "not a mapping"),
        ("{}", "not a tokenizer"),
        ("{" * 100_000, "not a tokenizer"),
        (tokenizer_json(model={"type": "Evil"}), "not a tokenizer"),
    ],
)
def test_a_tokenizer_that_is_none_is_refused_in_a_line(folder: Path, content: str, why: str) -> None:
    (folder / "tokenizer.json").write_text(content)
    assert why in refusal(folder)


@pytest.mark.parametrize("package", ["onnxruntime", "tokenizers"])
def test_a_missing_package_is_told_with_the_line_that_installs_it(
    folder: Path, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    assert_told(refusal(folder), "text.safety_model", package, "'winnow[onnx]'", whole=True)


def test_a_tokenizer_that_fails_on_a_text_is_told(folder: Path) -> None:
    numbers = {word: number for number, word in enumerate(WORDS)}
    without_unknown = {"type": "WordLevel", "vocab": numbers, "unk_token": "none"}
    (folder / "tokenizer.json").write_text(tokenizer_json(model=without_unknown), encoding="utf-8")
    kernel = OPERATOR.load(config_of(folder), Files())
    with assert_refused(RecipeError, "tokenizer.json", "7 characters"):
        kernel(batch_of(["strange"]))


def test_a_tokenizer_that_panics_is_told(folder: Path) -> None:
    unnamed = json.loads(tokenizer_json())
    unnamed["post_processor"]["special_tokens"] = {}
    (folder / "tokenizer.json").write_text(json.dumps(unnamed), encoding="utf-8")
    assert "tokenizer.json: " in refusal(folder)


def test_a_window_holds_more_than_what_the_tokenizer_adds(folder: Path) -> None:
    assert "raise `max_tokens`" in refusal(folder, max_tokens=2)
    (row,) = measured(folder, ["you are rude"], max_tokens=3)
    assert (row["tokens"], row["truncated"]) == (3, True)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_are_measured(folder: Path, name: str) -> None:
    (row,) = measured(folder, [HOSTILE[name]])
    assert row["status"] in ("ok", "no_tokens")
    if row["status"] == "ok":
        assert 0 <= row["toxic"] <= 1


def test_a_batch_without_rows_is_measured(folder: Path) -> None:
    assert measured(folder, []) == []


@settings(max_examples=scaled(25), deadline=None)
@given(st.data())
def test_rows_do_not_see_each_other(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    folder = tmp_path_factory.mktemp("rows")
    (folder / "model.onnx").write_bytes(model().SerializeToString())
    (folder / "tokenizer.json").write_text(tokenizer_json(), encoding="utf-8")
    words = st.sampled_from([*WORDS, "Rude", "zzz", "\n", "北京"])
    texts = data.draw(st.lists(st.lists(words, max_size=12).map(" ".join), max_size=6))
    codes = [data.draw(st.sampled_from(["eng_Latn", "deu_Latn", None])) for _ in texts]
    kernel = OPERATOR.load(config_of(folder, languages=("eng",), max_tokens=6, max_windows=2), Files())
    found = kernel(batch_of(texts, codes)).to_pylist()
    order = data.draw(st.permutations(range(len(texts))))
    assert kernel(batch_of([texts[at] for at in order], [codes[at] for at in order])).to_pylist() == [
        found[at] for at in order
    ]
    cut = data.draw(st.integers(0, len(texts)))
    whole = batch_of(texts, codes)
    assert kernel(whole.slice(0, cut)).to_pylist() + kernel(whole.slice(cut)).to_pylist() == found


def test_values_are_those_of_the_golden_file(folder: Path) -> None:
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))
    assert golden["version"] == OPERATOR.version
    texts, codes = zip(*((case["text"], case["code"]) for case in golden["cases"]), strict=True)
    rows = measured(folder, texts, codes, languages=("eng", "deu"), max_tokens=8, max_windows=2)
    assert rows == [case["row"] for case in golden["cases"]]
