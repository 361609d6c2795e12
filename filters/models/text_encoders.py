"""Encoders of texts in ONNX files: a network's numbers for the tokens of a window become one vector."""

from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from winnow.filters.models.onnx.text_models import OnnxModel
from winnow.filters.models.text_windows import Tokenizer, Window
from winnow.schemas.errors import RecipeError

Pooling: TypeAlias = Literal["mean", "first", "last"]


class TextEncoder:
    """An encoder and its tokenizer. A text's features are the mean of its windows', by their tokens.

    Windows are encoded one at a time, so that no vector depends on other texts.

    Raises:
        RecipeError: A package or file is missing, or the network does not turn tokens into vectors.
    """

    def __init__(self, operator: str, path: str, tokenizer: Tokenizer, max_tokens: int, output: str, pooling: Pooling):
        self._tokenizer = tokenizer
        self._pooling = pooling
        self._model = OnnxModel(operator, path, max_tokens, tokenizer.pad, _problem, output)
        # Fail now, and not at some later text, if the vocabulary's last token has no row in the model.
        self.width = len(self._vector(Window([tokenizer.last], [0])))
        if self.width < 2:
            raise RecipeError(f"{path}: the network gives {self.width} number for a text; expected a vector")

    def features(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.int32], NDArray[np.bool_]]:
        """The features of texts, how many tokens are in them, and whether the text had more."""
        found = np.zeros((len(texts), self.width), np.float32)
        counts, cut = np.zeros(len(texts), np.int32), np.zeros(len(texts), np.bool_)
        for number, text in enumerate(texts):  # milliseconds each
            read = self._tokenizer.read(memoryview(text.encode()))
            lengths = [len(window.ids) for window in read.windows]
            counts[number], cut[number] = sum(lengths), read.truncated
            if lengths:
                vectors = np.stack([self._vector(window) for window in read.windows])
                with np.errstate(invalid="ignore", over="ignore"):  # such vectors have a status
                    found[number] = np.average(vectors, axis=0, weights=lengths)
        return found, counts, cut

    def _vector(self, window: Window) -> NDArray[np.float64]:
        found = self._model(window)
        if found.ndim == 1:
            return found
        real = found[: len(window.ids)]
        if self._pooling == "mean":
            return np.asarray(real.mean(axis=0))
        return np.asarray(real[0 if self._pooling == "first" else -1])


def _problem(shape: Sequence[int | str | None]) -> str:
    return "" if len(shape) in (2, 3) else "expected one vector a text, or one a token: set `output`"
