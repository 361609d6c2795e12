"""The network once more, as its package and Keras describe it: plain Python and numpy in double precision.

What it restates: `texts_to_sequences` of Keras' tokenizer, `pad_sequences` (zeros on the left, the last hundred kept),
an embedding, a bidirectional LSTM that masks nothing, the maximum over time, and two dense layers.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

FILTERS = '!"#$%&()*+,-./:;<=>?@[\\]^_`{|}~\t\n'
Floats = npt.NDArray[np.float64]


def sequence(text: str, words: Sequence[str]) -> list[int]:
    """The numbers of the words that the tokenizer knows; `words` begins with number 1."""
    numbers = {word: number for number, word in enumerate(words, 1)}
    pieces = text.lower().translate({ord(character): " " for character in FILTERS}).split(" ")
    return [numbers[piece] for piece in pieces if piece in numbers]


def padded(numbers: Sequence[int]) -> list[int]:
    """A hundred numbers."""
    return [0] * (100 - len(numbers)) + list(numbers[-100:])


def _sigmoid(x: Floats) -> Floats:
    return 1 / (1 + np.exp(-x))


def _highest(vectors: Floats, kernel: Floats, recurrent: Floats, bias: Floats) -> Floats:
    output, cell, found = np.zeros(50), np.zeros(50), []
    for vector in vectors:
        let_in, keep, new, let_out = np.split(vector @ kernel + output @ recurrent + bias, 4)
        cell = _sigmoid(keep) * cell + _sigmoid(let_in) * np.tanh(new)
        output = _sigmoid(let_out) * np.tanh(cell)
        found.append(output)
    return np.asarray(np.max(found, axis=0))


def scores(window: Sequence[int], weights: Mapping[str, npt.NDArray[Any]]) -> Floats:
    """The six probabilities of one window."""
    known = {name: array.astype(np.float64) for name, array in weights.items() if name != "words"}
    vectors = known["embedding"][np.array(window, np.int64)]
    both = [
        _highest(vectors if way == "forward" else vectors[::-1], *(known[f"{way}.{part}"] for part in _PARTS))
        for way in ("forward", "backward")
    ]
    hidden = np.maximum(np.concatenate(both) @ known["hidden.kernel"] + known["hidden.bias"], 0)
    return _sigmoid(hidden @ known["output.kernel"] + known["output.bias"])


_PARTS = ("kernel", "recurrent", "bias")
