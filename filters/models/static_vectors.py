"""Static models of texts: a vector for each token of a vocabulary, and no network.

A text's features are the mean of its tokens' vectors, in the order of the text, so that they are the same on every
machine. Files of model2vec (Minish Lab), of sentence-transformers' StaticEmbedding and of WordLlama are read: an array
`embeddings` or `embedding.weight`; and, of model2vec's smaller files, `weights` by token and `mapping` from tokens to
vectors. Special tokens are neither added nor recognised, and unknown tokens do not count.
"""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from winnow.filters.extras import one_line_errors
from winnow.filters.models.tensors import Array, read_tensors
from winnow.filters.models.text_windows import load_tokenizer
from winnow.schemas.errors import RecipeError

MAX_DIMENSIONS: Final = 16_384
_TABLES: Final = ("embeddings", "embedding.weight")
_EXPECTED: Final = "expected a static model with an array `embeddings` or `embedding.weight` of tokens × dimensions"
_OTHER: Final = "set `tokenizer` to the tokenizer.json of this model"

Tokens: TypeAlias = NDArray[np.int64]


class StaticModel:
    """Vectors of tokens, and the tokenizer that they were made for.

    Raises:
        RecipeError: A file is missing or damaged, the arrays do not fit each other or the tokenizer, or numbers are not
        finite.
    """

    def __init__(self, operator: str, path: str, tokenizer: str, max_tokens: int) -> None:
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # worker processes are the parallelism
        self._tokenizer = load_tokenizer(operator, "embeddings", tokenizer)
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._tokenizer.encode_special_tokens = True  # `</s>` in a text is text
        self._path = tokenizer
        self._unknown = _unknown_token(tokenizer, self._tokenizer.get_vocab())
        self._max_tokens = max_tokens
        arrays = read_tensors(path).arrays
        self._vectors = _table(path, arrays)
        size = max(self._tokenizer.get_vocab(with_added_tokens=True).values(), default=-1) + 1
        self._rows = _rows_of_tokens(path, arrays, len(self._vectors), size)
        self._weights = _weights(path, arrays, size)
        self._encoded(["\ue000"])  # fail now, and not at some later text, if it refuses what its vocabulary lacks

    @property
    def width(self) -> int:
        """The number of components of a vector."""
        return int(self._vectors.shape[1])

    def features(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.int32], NDArray[np.bool_]]:
        """The features of texts, how many tokens are in them, and whether the text had more."""
        encoded = self._encoded(texts)
        found = np.zeros((len(texts), self.width), np.float32)
        counts, cut = np.zeros(len(texts), np.int32), np.zeros(len(texts), np.bool_)
        for number, encoding in enumerate(encoded):  # tokenizing takes five times as long
            tokens = np.array(encoding.ids, np.int64)
            if self._unknown is not None:
                tokens = tokens[tokens != self._unknown]
            cut[number] = len(tokens) > self._max_tokens
            tokens = tokens[: self._max_tokens]
            counts[number] = len(tokens)
            if len(tokens):
                found[number] = self._mean(tokens)
        return found, counts, cut

    def _encoded(self, texts: Sequence[str]) -> Sequence[Any]:
        with one_line_errors(f"{self._path}: the tokenizer fails on a text", "expected a tokenizer.json"):
            found: Sequence[Any] = self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
            return found

    def _mean(self, tokens: Tokens) -> NDArray[np.float32]:
        vectors = self._vectors[tokens if self._rows is None else self._rows[tokens]]
        if self._weights is not None:
            vectors *= self._weights[tokens, None]
        mean: NDArray[np.float32] = vectors.mean(axis=0)  # row by row: no order but that of the text
        return mean


def _unknown_token(path: str, vocabulary: Mapping[str, int]) -> int | None:
    """The number of the token for what the vocabulary lacks."""
    with one_line_errors(f"{path}: not a tokenizer, or a damaged one", "expected a tokenizer.json"):
        model = json.loads(Path(path).read_bytes())["model"]
        if model.get("dropout"):
            raise RecipeError(f"{path}: its dropout makes tokens random; set model.dropout to null")
        if model.get("unk_id") is not None:  # of Unigram
            return int(model["unk_id"])
        return vocabulary.get(model.get("unk_token") or "")


def _table(path: str, arrays: Mapping[str, Array]) -> NDArray[np.float32]:
    name = next((name for name in _TABLES if name in arrays), None)
    if name is None:
        raise RecipeError(f"{path}: no array {' or '.join(_TABLES)}; {_EXPECTED}")
    table = arrays[name]
    if table.ndim != 2 or not len(table) or not 2 <= table.shape[1] <= MAX_DIMENSIONS or table.dtype == np.bool_:
        raise RecipeError(f"{path}: {name} is {table.dtype} of shape {list(table.shape)}; {_EXPECTED}")
    vectors = np.ascontiguousarray(table, np.float32)
    wrong = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if len(wrong):
        raise RecipeError(
            f"{path}: the vectors of {len(wrong):,} tokens are not finite, the first that of token {wrong[0]:,}; "
            "make or fetch the file again"
        )
    return vectors


def _rows_of_tokens(path: str, arrays: Mapping[str, Array], rows: int, size: int) -> Tokens | None:
    """The row of each token; None if it is the token's number."""
    mapping = arrays.get("mapping")
    if mapping is None:
        if rows < size:
            raise RecipeError(f"{path}: vectors for {rows:,} tokens, but the tokenizer has {size:,}; {_OTHER}")
        return None
    fits = mapping.ndim == 1 and np.issubdtype(mapping.dtype, np.integer) and len(mapping) >= size
    if not fits or mapping.min(initial=0) < 0 or mapping.max(initial=0) >= rows:
        raise RecipeError(
            f"{path}: `mapping` does not lead each of the tokenizer's {size:,} tokens to a vector of {rows:,}; {_OTHER}"
        )
    return mapping.astype(np.int64)


def _weights(path: str, arrays: Mapping[str, Array], size: int) -> NDArray[np.float32] | None:
    weights = arrays.get("weights")
    if weights is None:
        return None
    if weights.ndim != 1 or len(weights) < size or not np.isfinite(weights.astype(np.float32)).all():
        raise RecipeError(f"{path}: `weights` are not finite numbers for the tokenizer's {size:,} tokens; {_OTHER}")
    return weights.astype(np.float32)
