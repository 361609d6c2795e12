"""A head's file, and its exact scores."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from tests.filters.models.heads.made_heads import CARD, HIDDEN, LINEAR, curve, write
from tests.messages import assert_told
from winnow.filters.models.heads.curves import POOLED
from winnow.filters.models.heads.head import Head, head_bytes, read_head
from winnow.filters.models.tensors import Array, tensors_bytes
from winnow.schemas.errors import RecipeError

AXES = np.eye(3, dtype=np.float32)


def refusal(path: Path, raw: bytes) -> str:
    path.write_bytes(raw)
    with pytest.raises(RecipeError) as caught:
        read_head(str(path))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_score_is_what_the_layers_make_of_a_vector() -> None:
    assert LINEAR.scores(AXES).tolist() == [2.25, -0.75, 0.75]
    assert HIDDEN.scores(AXES).tolist() == [1, 2, 1]
    assert LINEAR.answers(LINEAR.scores(AXES), ["deu_Latn", "deu_Latn", None]).tolist() == [5, 1, 1.5]


def test_a_file_gives_the_same_head(tmp_path: Path) -> None:
    found = read_head(write(tmp_path / "edu.safetensors"))
    assert found.card == CARD
    assert head_bytes(found) == head_bytes(LINEAR)
    assert (found.scores(AXES) == LINEAR.scores(AXES)).all()
    assert read_head(write(tmp_path / "hidden.safetensors", HIDDEN)).card is None


@pytest.mark.parametrize("hidden", [0, 64])
def test_a_score_depends_on_its_vector_alone_to_the_last_bit(hidden: int) -> None:
    noise = np.random.default_rng(0)
    vectors = noise.normal(size=(3000, 768)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    widths = [768, hidden, 1] if hidden else [768, 1]
    layers = [(noise.normal(size=(b, a)), noise.normal(size=b)) for a, b in pairwise(widths)]
    head = Head(layers, {}, None)
    found = head.scores(vectors)
    order = noise.permutation(3000)
    assert (head.scores(vectors[order]) == found[order]).all()
    assert [float(head.scores(vectors[at : at + 1])[0]) for at in range(0, 3000, 100)] == found[::100].tolist()
    plain = vectors.astype(float)
    for number, (weights, bias) in enumerate(layers):
        plain = (np.maximum(plain, 0) if number else plain) @ weights.T + bias
    assert found == pytest.approx(plain[:, 0], abs=1e-4)


def test_another_programs_linear_layer_is_a_head_too(tmp_path: Path) -> None:
    arrays: Mapping[str, Array] = {"weight": np.array([[1, 2]], np.float32), "bias": np.array([3], np.float32)}
    (tmp_path / "edu.safetensors").write_bytes(tensors_bytes(arrays, {}))
    head = read_head(str(tmp_path / "edu.safetensors"))
    scores = head.scores(np.array([[1, 0]], np.float32))
    assert (scores.tolist(), head.answers(scores, [None]).tolist()) == ([4], [4])


def test_files_that_are_no_heads_are_refused_in_a_line(tmp_path: Path) -> None:
    path = tmp_path / "edu.safetensors"
    assert_told(refusal(path, b""), "edu.safetensors", "empty")
    assert_told(refusal(path, b"\x80\x04cos\nsystem\n."), "pickle")
    assert_told(refusal(path, b"some text"), "safetensors")
    assert_told(refusal(path, head_bytes(LINEAR)[:-8]), "damaged")
    assert_told(refusal(path, tensors_bytes({"weight": np.zeros((2, 3), np.float32)}, {})), "2 numbers")
    assert_told(refusal(path, tensors_bytes({"weight": np.full((1, 3), np.nan, np.float32)}, {})), "not finite")
    assert_told(refusal(path, tensors_bytes({"weight": np.zeros((1, 20_000), np.float32)}, {})), "20,000")
    assert_told(refusal(path, tensors_bytes({"other": np.zeros((1, 3), np.float32)}, {})), "no layers")
    assert_told(refusal(path, tensors_bytes({"weight": np.zeros((1, 3))}, {"winnow.head": "{}"})), "train it again")
    assert_told(refusal(path, head_bytes(replace(LINEAR, curves={POOLED: curve((0, 1), (1, 0))}))), "rising")
    assert_told(refusal(path, head_bytes(replace(LINEAR, curves={"deu_Latn": curve((0, 1))}))), "all languages")
