"""Vectors of texts: the published static model, static models and encoders of the user's own, files that are none."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("tokenizers", reason="needs the extra `embeddings`")

from tests.filters.models.safety.models import WORDS, tokenizer_json
from tests.filters.models.static_models import VECTORS, write_model
from tests.filters.text.hostile_texts import HOSTILE
from tests.messages import assert_told
from tests.property_sizes import scaled
from winnow.filters.text.embedding import OPERATOR, TextEmbeddingConfig
from winnow.pipelines.assets import AssetError, AssetFiles
from winnow.schemas.errors import RecipeError

WORST = None  # it needs a model
GOLDEN = json.loads((Path(__file__).parent / "golden" / "embedding.json").read_text("utf-8"))


class Files:
    def path(self, name: str) -> str:
        return name


def batch_of(texts: Sequence[str]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"text": pa.array(texts, pa.large_string())})


def measured(given_: dict[str, Any], *texts: str) -> list[dict[str, Any]]:
    found = OPERATOR.load(TextEmbeddingConfig(**given_), Files())(batch_of(texts))
    assert found.schema.equals(OPERATOR.writes(TextEmbeddingConfig()))
    found.validate(full=True)
    return list(found.to_pylist())


def refusal(given_: dict[str, Any]) -> str:
    with pytest.raises(RecipeError) as caught:
        OPERATOR.load(TextEmbeddingConfig(**given_), Files())
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_what_version_1_gives_never_changes(tmp_path: Path) -> None:
    assert GOLDEN["version"] == OPERATOR.version
    found = measured(write_model(tmp_path), *(row["text"] for row in GOLDEN["rows"]))
    assert found == [row["values"] for row in GOLDEN["rows"]]


def test_the_default_gives_what_wordllama_gives() -> None:
    """The golden numbers are those of `WordLlama.embed(texts, norm=True)` of wordllama 0.4.0.post1."""
    try:
        kernel = OPERATOR.load(TextEmbeddingConfig(languages=("any",)), AssetFiles())
    except AssetError as error:
        pytest.skip(str(error))
    texts, vectors = zip(*GOLDEN["wordllama"], strict=True)
    found = np.array(kernel(batch_of(texts))["vector"].to_pylist())
    assert found.shape == (len(texts), 256)
    np.testing.assert_allclose(found[:, :8], vectors, atol=2e-4)
    assert np.abs(np.linalg.norm(found, axis=1) - 1).max() < 1e-3
    cosines = found @ found.T
    assert cosines[0, 1] > 0.4  # a cat on a mat, and a kitten on a rug
    assert cosines[0, 2] < 0.1  # and shares


def test_a_vector_is_the_mean_of_the_known_tokens(tmp_path: Path) -> None:
    files = write_model(tmp_path)
    kind, unknown = measured(files, "You kind", "you zzz kind 北京")
    assert kind["vector"] == unknown["vector"]
    np.testing.assert_allclose(kind["vector"], np.array([1, 2, 0]) / 5**0.5, atol=1e-3)
    assert (kind["tokens"], unknown["tokens"]) == (2, 2)


def test_weights_and_a_mapping_are_those_of_model2vec(tmp_path: Path) -> None:
    mapping = np.arange(len(WORDS))[::-1].copy()
    weights = np.ones(len(WORDS), np.float32)
    weights[WORDS.index("you")] = 3
    files = write_model(tmp_path, {"embeddings": VECTORS[::-1].copy(), "mapping": mapping, "weights": weights})
    (row,) = measured(files, "you kind")
    np.testing.assert_allclose(row["vector"], np.array([3, 2, 0]) / 13**0.5, atol=1e-3)


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int8])
def test_numbers_of_any_type_and_the_name_of_sentence_transformers_are_read(tmp_path: Path, kind: type) -> None:
    expected = measured(write_model(tmp_path), "you kind")
    assert measured(write_model(tmp_path, {"embedding.weight": VECTORS.astype(kind)}), "you kind") == expected


def test_texts_without_a_vector_say_why(tmp_path: Path) -> None:
    rows = measured(write_model(tmp_path), "", " \n ", "zzz", "kind rude are", "are")
    assert [row["status"] for row in rows] == ["no_tokens", "no_tokens", "no_tokens", "ok", "no_features"]
    assert [row["vector"] is None for row in rows] == [True, True, True, False, True]
    assert [row["tokens"] for row in rows] == [None, None, None, 3, None]


def test_a_text_is_read_from_its_beginning(tmp_path: Path) -> None:
    files = write_model(tmp_path) | {"max_tokens": 2, "max_windows": 2, "max_bytes": 21}
    short, tokens, length = measured(files, "you you", "you you you you kind", "you are are are rude kind")
    assert (short["tokens"], short["truncated"]) == (2, False)
    assert (tokens["tokens"], tokens["truncated"], tokens["vector"]) == (4, True, [1.0, 0.0, 0.0])
    assert (length["tokens"], length["truncated"], length["vector"]) == (4, True, [1.0, 0.0, 0.0])


def test_a_prefix_goes_before_each_text(tmp_path: Path) -> None:
    files = write_model(tmp_path)
    plain, *blank = measured(files | {"prefix": "you "}, "kind", " ")
    assert [plain] == measured(files, "you kind")
    assert blank[0]["status"] == "no_tokens"


def test_marks_of_models_in_a_text_are_text(tmp_path: Path) -> None:
    special = [{"id": 2, "content": "[CLS]", "special": True, "normalized": False}]
    special[0] |= {"single_word": False, "lstrip": False, "rstrip": False}
    (row,) = measured(write_model(tmp_path, added_tokens=special), "[CLS] you [CLS]")
    assert row["tokens"] == 1


def test_texts_in_languages_that_the_model_was_not_made_for_have_no_vector(tmp_path: Path) -> None:
    files = write_model(tmp_path)
    config = TextEmbeddingConfig(**files, languages=("eng", "deu"))
    assert OPERATOR.reads(config) == ("text", "text.language.code")
    batch = batch_of(["you", "du", "kind", "rude", ""]).append_column(
        "text.language.code", pa.array(["eng_Latn", "deu_Latn", "fra_Latn", None, "eng_Latn"])
    )
    rows = OPERATOR.load(config, Files())(batch).to_pylist()
    assert [row["status"] for row in rows] == ["ok", "ok", "other_language", "no_language", "no_tokens"]
    assert [row["vector"] is None for row in rows] == [False, False, True, True, True]
    assert OPERATOR.languages(config) == frozenset({"eng", "deu"})


def test_the_default_model_was_made_for_english_and_others_for_what_their_user_says(tmp_path: Path) -> None:
    assert OPERATOR.languages(TextEmbeddingConfig()) == frozenset({"eng"})
    assert OPERATOR.languages(TextEmbeddingConfig(languages=("any",))) is None
    assert OPERATOR.languages(TextEmbeddingConfig(**write_model(tmp_path))) is None
    for wrong in (("en",), ("any", "eng")):
        with pytest.raises(ValueError, match="languages"):
            TextEmbeddingConfig(languages=wrong)


def test_files_that_do_not_fit_are_refused_in_a_line(tmp_path: Path) -> None:
    missing = VECTORS.astype(np.float32)
    missing[4] = np.nan
    assert_told(refusal(write_model(tmp_path, {"embeddings": missing})), "1 tokens are not finite", "token 4")
    assert_told(refusal(write_model(tmp_path, {"embeddings": VECTORS[:-1]})), "11 tokens", "has 12", "`tokenizer`")
    assert_told(refusal(write_model(tmp_path, {"vectors": VECTORS})), "`embeddings`", "`embedding.weight`")
    assert_told(refusal(write_model(tmp_path, {"embeddings": VECTORS[0]})), "float16 of shape [3]")
    mapped: dict[str, Any] = {"embeddings": VECTORS, "mapping": np.arange(len(WORDS)) + 1}
    assert_told(refusal(write_model(tmp_path, mapped)), "`mapping`", "12 tokens")
    weighed: dict[str, Any] = {"embeddings": VECTORS, "weights": np.ones(3, np.float32)}
    assert_told(refusal(write_model(tmp_path, weighed)), "`weights`", "12 tokens")
    without_unknown = {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "none"}
    assert_told(refusal(write_model(tmp_path, model=without_unknown)), "tokenizer.json", "fails")
    assert_told(refusal(write_model(tmp_path, tokenizer="{}")), "not a tokenizer")
    random = json.loads(tokenizer_json())["model"] | {"dropout": 0.5}
    assert_told(refusal(write_model(tmp_path, tokenizer=tokenizer_json(model=random))), "dropout")
    files = write_model(tmp_path)
    assert_told(refusal(files | {"tokenizer": ""}), "text.embedding", "`tokenizer`", "not set")
    assert_told(refusal(files | {"pooling": "first"}), "`pooling`", "ONNX")
    assert_told(refusal(files | {"tokenizer": str(tmp_path / "none.json")}), "none.json", "No such file")
    (tmp_path / "model.safetensors").write_bytes(b"\x80\x04}.")
    assert_told(refusal(files), "a pickle")
    (tmp_path / "model.safetensors").unlink()
    assert_told(refusal(files), "No such file")


def test_a_missing_package_is_told_with_the_line_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = write_model(tmp_path)
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    assert_told(refusal(files), "text.embedding", "tokenizers", "'winnow[embeddings]'", whole=True)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_are_measured(tmp_path: Path, name: str) -> None:
    (row,) = measured(write_model(tmp_path), HOSTILE[name])
    assert row["status"] in ("ok", "no_tokens", "no_features")


def test_a_batch_without_rows_is_measured(tmp_path: Path) -> None:
    assert measured(write_model(tmp_path)) == []


@settings(max_examples=scaled(25), deadline=None)
@given(st.data())
def test_rows_do_not_see_each_other(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    files = write_model(tmp_path_factory.mktemp("rows"))
    words = st.sampled_from([*WORDS, "Rude", "zzz", "\n", "北京"])
    texts = data.draw(st.lists(st.lists(words, max_size=12).map(" ".join), max_size=6))
    found = measured(files, *texts)
    order = data.draw(st.permutations(range(len(texts))))
    assert measured(files, *(texts[at] for at in order)) == [found[at] for at in order]
    cut = data.draw(st.integers(0, len(texts)))
    kernel, whole = OPERATOR.load(TextEmbeddingConfig(**files), Files()), batch_of(texts)
    assert kernel(whole.slice(0, cut)).to_pylist() + kernel(whole.slice(cut)).to_pylist() == found
