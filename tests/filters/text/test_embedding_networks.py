"""Vectors of texts by encoders in ONNX files: pooling, windows, outputs, and networks that are none."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="writes the networks of these tests")
pytest.importorskip("onnxruntime", reason="needs the extra `onnx`")
pytest.importorskip("tokenizers", reason="needs the extra `onnx`")
from onnx import TensorProto, helper

from tests.filters.models.safety.models import WORDS, inputs, model, tokenizer_json
from tests.filters.models.static_models import VECTORS
from tests.filters.text.test_embedding import measured, refusal
from tests.messages import assert_told

EACH = helper.make_node("Gather", ["values", "input_ids"], ["tokens"])
MEAN = helper.make_node("ReduceMean", ["tokens", "time"], ["text"], keepdims=0)
CONSTANTS = {"values": VECTORS.astype(np.float32), "time": np.array([1], np.int64)}
OUTPUTS = [
    helper.make_tensor_value_info("tokens", TensorProto.FLOAT, ["texts", "tokens", 3]),
    helper.make_tensor_value_info("text", TensorProto.FLOAT, ["texts", 3]),
]


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Any]:
    network = model(computed=[EACH, MEAN], constants=CONSTANTS, outputs=OUTPUTS)
    (tmp_path / "model.onnx").write_bytes(network.SerializeToString())
    (tmp_path / "tokenizer.json").write_text(tokenizer_json(), "utf-8")
    return {"model": str(tmp_path / "model.onnx"), "tokenizer": str(tmp_path / "tokenizer.json")}


def direction(*numbers: float) -> list[float]:
    return list(np.array(numbers) / np.linalg.norm(numbers))


def test_vectors_of_tokens_are_pooled(files: dict[str, Any]) -> None:
    (mean,) = measured(files, "you kind")
    np.testing.assert_allclose(mean["vector"], direction(1, 2, 0), atol=1e-3)
    assert mean["tokens"] == 4  # with the first and the last
    (first,) = measured(files | {"pooling": "first"}, "you kind")
    assert first["status"] == "no_features"  # the network's vector of [CLS] is zeros
    (read,) = measured(files | {"output": "text"}, "you kind")
    assert read["vector"] == mean["vector"]


def test_windows_are_weighed_by_their_tokens(files: dict[str, Any]) -> None:
    (row,) = measured(files | {"max_tokens": 4, "max_windows": 2}, "you you kind you")
    np.testing.assert_allclose(row["vector"], direction(3, 2, 0), atol=1e-3)
    (cut,) = measured(files | {"max_tokens": 4, "max_windows": 1}, "you you kind you")
    assert (cut["vector"], cut["truncated"], row["truncated"]) == ([1.0, 0.0, 0.0], True, False)


def test_a_network_of_a_fixed_length_is_padded_and_the_padding_does_not_count(
    files: dict[str, Any], tmp_path: Path
) -> None:
    expected = measured(files, "you kind")
    sides = [helper.make_tensor_value_info("tokens", TensorProto.FLOAT, [1, 8, 3])]
    network = model(inputs(tokens=8, texts=1), [EACH], CONSTANTS, sides)
    (tmp_path / "model.onnx").write_bytes(network.SerializeToString())
    assert measured(files | {"max_tokens": 8}, "you kind") == expected
    assert_told(refusal(files | {"max_tokens": 9}), "`max_tokens`", "at most 8")


def test_numbers_that_are_none_are_no_vector(files: dict[str, Any], tmp_path: Path) -> None:
    values = VECTORS.astype(np.float32)
    values[WORDS.index("rude")] = np.inf
    values[WORDS.index("kind")] = np.nan
    network = model(computed=[EACH, MEAN], constants=CONSTANTS | {"values": values}, outputs=OUTPUTS)
    (tmp_path / "model.onnx").write_bytes(network.SerializeToString())
    assert [row["status"] for row in measured(files, "rude", "kind", "", "you")] == [
        "not_finite", "not_finite", "no_tokens", "ok",
    ]  # fmt: skip


def test_a_network_that_does_not_fit_is_told_before_any_text_is_read(files: dict[str, Any], tmp_path: Path) -> None:
    assert_told(refusal(files | {"output": "texts"}), "'texts'", "tokens, text")
    pixels = helper.make_tensor_value_info("pixels", TensorProto.FLOAT, ["texts", 3, 224, 224])
    (tmp_path / "model.onnx").write_bytes(
        model([*inputs(), pixels], [EACH, MEAN], CONSTANTS, OUTPUTS).SerializeToString()
    )
    assert_told(refusal(files), "pixels", "texts provide only input_ids")
    short = CONSTANTS | {"values": VECTORS[:-1].astype(np.float32)}
    network = model(computed=[EACH, MEAN], constants=short, outputs=OUTPUTS)
    (tmp_path / "model.onnx").write_bytes(network.SerializeToString())
    assert_told(refusal(files), "model fails", "1 tokens")
