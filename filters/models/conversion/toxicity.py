"""Convert the network from its package: Keras weights in HDF5, and a pickled tokenizer.

The package is `toxic-comment-classifier` 0.3.0 (MIT), trained on the comments of Jigsaw's challenge. The result is one
ONNX file with the words that the network knows among its metadata.
"""

from collections.abc import Mapping
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from winnow.filters.models.conversion.pickles import Call, Name, read_pickle
from winnow.filters.models.onnx.writing import OnnxGraph
from winnow.filters.models.toxicity import INPUT, LABELS, SEPARATORS, TOKENIZER, TOKENS, WEIGHTS, WORDS
from winnow.schemas.errors import WinnowError

EMBEDDING, UNITS = 50, 50

Arrays: TypeAlias = Mapping[str, npt.NDArray[np.float32]]

_CELLS = {name: f"layers/bidirectional/{name}_layer/cell/vars" for name in ("forward", "backward")}
_PLACES = {
    "embedding": "layers/embedding/vars/0",
    **{f"{name}.kernel": f"{place}/0" for name, place in _CELLS.items()},
    **{f"{name}.recurrent": f"{place}/1" for name, place in _CELLS.items()},
    **{f"{name}.bias": f"{place}/2" for name, place in _CELLS.items()},
    "hidden.kernel": "layers/dense/vars/0",
    "hidden.bias": "layers/dense/vars/1",
    "output.kernel": "layers/dense_1/vars/0",
    "output.bias": "layers/dense_1/vars/1",
}
SHAPES: Mapping[str, tuple[int, ...]] = {
    "embedding": (WORDS, EMBEDDING),
    **{f"{name}.kernel": (EMBEDDING, 4 * UNITS) for name in _CELLS},
    **{f"{name}.recurrent": (UNITS, 4 * UNITS) for name in _CELLS},
    **{f"{name}.bias": (4 * UNITS,) for name in _CELLS},
    "hidden.kernel": (2 * UNITS, 50),
    "hidden.bias": (50,),
    "output.kernel": (50, len(LABELS)),
    "output.bias": (len(LABELS),),
}
"""The network: word vectors, an LSTM in each direction, max pooling over time, and two dense layers."""

_TOKENIZERS = tuple(
    f"{package}.Tokenizer"
    for package in ("keras.src.legacy.preprocessing.text", "keras.preprocessing.text", "keras_preprocessing.text")
)
_SETTINGS = {"num_words": WORDS, "lower": True, "char_level": False, "oov_token": None, "split": " "}
_SETTINGS |= {"filters": SEPARATORS[:-1]}


def make(sources: Mapping[str, Path], target: Path) -> None:
    """Write the network's file; `h5py` reads the weights."""
    words = known_words(tokenizer_state(sources[TOKENIZER].read_bytes()))
    metadata = {"origin": "toxic-comment-classifier 0.3.0", "licence": "MIT", "words": "\n".join(words)}
    target.write_bytes(_graph(_weights(sources[WEIGHTS])).to_bytes(metadata))


def _graph(weights: Arrays) -> OnnxGraph:
    """Six scores of each window: ONNX has such an LSTM, whose gates stand in another order than Keras's."""
    graph = OnnxGraph("toxicity")
    gates = {name: _reordered(array) for name, array in weights.items() if name.partition(".")[0] in _CELLS}
    both = {
        part: graph.constant(part, np.stack([gates[f"{way}.{part}"] for way in _CELLS]))
        for part in ("kernel", "recurrent")
    }
    unused = np.zeros(4 * UNITS, np.float32)  # ONNX adds a bias to what is recurrent, too
    bias = graph.constant("bias", np.stack([np.concatenate([gates[f"{way}.bias"], unused]) for way in _CELLS]))
    numbers = graph.node("Transpose", graph.input(INPUT, ("n", TOKENS), np.int64), perm=[1, 0])
    vectors = graph.node("Gather", graph.constant("embedding", weights["embedding"]), numbers)
    states = graph.node(
        "LSTM", vectors, both["kernel"], both["recurrent"], bias, direction="bidirectional", hidden_size=UNITS
    )
    highest = graph.node("Transpose", graph.node("ReduceMax", states, axes=[0], keepdims=0), perm=[1, 0, 2])
    hidden = graph.node("Flatten", highest)
    for layer, activation in (("hidden", "Relu"), ("output", "Sigmoid")):
        arrays = [graph.constant(f"{layer}.{part}", weights[f"{layer}.{part}"]) for part in ("kernel", "bias")]
        hidden = graph.node(activation, graph.node("Gemm", hidden, *arrays))
    graph.output(graph.node("Identity", hidden, name="scores"), ("n", len(LABELS)))
    return graph


def _reordered(gates: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Keras's input, forget, cell and output as ONNX's input, output, forget and cell; a row for each unit."""
    let_in, keep, new, let_out = np.split(gates, 4, axis=-1)
    return np.concatenate([let_in, let_out, keep, new], axis=-1).T


def tokenizer_state(raw: bytes) -> Mapping[object, object]:
    """The fields of a pickled Keras tokenizer."""
    try:
        found = read_pickle(BytesIO(raw), (*_TOKENIZERS, "builtins.int"))
    except ValueError as error:
        raise WinnowError(f"not a pickled Keras tokenizer: {error}; nothing of it was run") from None
    match found:
        case Call(Name(dotted), (), dict(state)) if dotted in _TOKENIZERS:
            return state
    raise WinnowError("not a pickled Keras tokenizer: the pickle contains something else; nothing of it was run")


def known_words(state: Mapping[object, object]) -> list[str]:
    """The words with a vector, in the order of their numbers from 1."""
    for name, expected in _SETTINGS.items():
        found = state.get(name, ...)
        if type(found) is not type(expected) or found != expected:
            shown = repr(found)[:80] if isinstance(found, bool | int | str) else "something else"
            raise WinnowError(f"the tokenizer's {name} is {shown}; expected {expected!r}")
    numbers = state.get("word_index")
    if not isinstance(numbers, dict):
        raise WinnowError("the tokenizer has no word_index")
    known = {number: word for word, number in numbers.items() if isinstance(number, int) and 0 < number < WORDS}
    words = [known.get(number) for number in range(1, WORDS)]
    fine = [word for word in words if isinstance(word, str) and word and not set(word) & set(SEPARATORS)]
    if len(set(fine)) != WORDS - 1:
        raise WinnowError(f"the tokenizer numbers {len(set(fine)):,} words; expected {WORDS - 1:,}")
    return fine


def _weights(path: Path) -> Arrays:
    h5py = import_module("h5py")
    arrays: dict[str, npt.NDArray[np.float32]] = {}
    try:
        with h5py.File(path, "r") as stored:
            for name, place in _PLACES.items():
                found = stored[place]
                if found.shape != SHAPES[name] or found.dtype != np.float32 or found.is_virtual or found.external:
                    raise WinnowError(f"{path.name}: {place} is {found.dtype} {found.shape}; expected {SHAPES[name]}")
                arrays[name] = found[()]
    except (OSError, KeyError, AttributeError, RuntimeError) as error:
        raise WinnowError(f"{path.name}: no weights of this network: {error}") from None
    return arrays
