"""The network's file is made of Keras weights and a pickled tokenizer, the same bytes each time."""

import pickle
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.filters.models.toxicity.published import published
from winnow.filters.models.conversion.toxicity import SHAPES, known_words, make
from winnow.filters.models.toxicity import LABELS, SEPARATORS, TOKENIZER, TOKENS, WEIGHTS, WORDS, Network
from winnow.schemas.errors import WinnowError

h5py = pytest.importorskip("h5py", reason="needs the extra `toxicity`")

CELL = "layers/bidirectional/{}_layer/cell/vars"
STATE: dict[object, Any] = {
    "num_words": WORDS,
    "filters": SEPARATORS[:-1],
    "split": " ",
    "lower": True,
    "char_level": False,
    "oov_token": None,
    "word_index": {f"w{number}": number for number in range(1, WORDS + 10)},
}


class Tokenizer:
    """As an older Keras names it."""


def weights(path: Path, **changes: Any) -> Path:
    places = {
        "layers/embedding/vars/0": SHAPES["embedding"],
        **{f"{CELL.format(way)}/0": SHAPES[f"{way}.kernel"] for way in ("forward", "backward")},
        **{f"{CELL.format(way)}/1": SHAPES[f"{way}.recurrent"] for way in ("forward", "backward")},
        **{f"{CELL.format(way)}/2": SHAPES[f"{way}.bias"] for way in ("forward", "backward")},
        "layers/dense/vars/0": SHAPES["hidden.kernel"],
        "layers/dense/vars/1": SHAPES["hidden.bias"],
        "layers/dense_1/vars/0": SHAPES["output.kernel"],
        "layers/dense_1/vars/1": SHAPES["output.bias"],
    }
    with h5py.File(path, "w") as stored:
        for number, (place, shape) in enumerate(places.items()):
            stored.create_dataset(place, data=changes.get(place, np.full(shape, number, np.float32)))
    return path


def tokenizer(path: Path, monkeypatch: pytest.MonkeyPatch, **changes: object) -> Path:
    module = ModuleType("keras_preprocessing.text")
    module.Tokenizer = Tokenizer  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "keras_preprocessing", ModuleType("keras_preprocessing"))
    monkeypatch.setitem(sys.modules, "keras_preprocessing.text", module)
    monkeypatch.setattr(Tokenizer, "__module__", module.__name__)
    made = Tokenizer()
    made.__dict__.update({str(name): value for name, value in STATE.items()} | changes)
    path.write_bytes(pickle.dumps(made, protocol=5))
    return path


def test_words_and_weights_are_in_one_file_of_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sources = {WEIGHTS: weights(tmp_path / "h5"), TOKENIZER: tokenizer(tmp_path / "pickle", monkeypatch)}
    make(sources, tmp_path / "one")
    make(sources, tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    network = Network(str(tmp_path / "one"))
    assert network.words == [f"w{number}" for number in range(1, WORDS)]
    assert network.score(np.zeros((1, TOKENS), np.int64)).tolist() == [[1.0] * len(LABELS)]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"lower": False}, "lower is False; expected True"),
        ({"num_words": None}, "num_words is something else; expected 20000"),
        ({"oov_token": "<unk>"}, "oov_token is '<unk>'; expected None"),
        ({"filters": " "}, "filters is ' '"),
        ({"word_index": {"a": 1}}, "numbers 1 words; expected 19,999"),
        ({"word_index": {f"w {number}": number for number in range(1, WORDS)}}, "numbers 0 words"),
        ({"word_index": None}, "no word_index"),
    ],
)
def test_another_tokenizer_is_refused(changes: dict[object, object], why: str) -> None:
    with pytest.raises(WinnowError, match=why):
        known_words(STATE | changes)


def test_other_weights_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = tokenizer(tmp_path / "pickle", monkeypatch)
    bias = "layers/dense/vars/1"
    for path, why in (
        (weights(tmp_path / "shape", **{bias: np.zeros(51, np.float32)}), bias),
        (weights(tmp_path / "type", **{bias: np.zeros(50, np.float64)}), "float64"),
        (words, "no weights of this network"),
    ):
        with pytest.raises(WinnowError, match=why):
            make({WEIGHTS: path, TOKENIZER: words}, tmp_path / "made")
    assert not (tmp_path / "made").exists()


def test_the_published_words_are_those_that_the_network_was_trained_with() -> None:
    words = Network(published()).words
    assert words[:8] == ["the", "to", "of", "and", "a", "you", "i", "is"]
    assert len(words) == WORDS - 1
