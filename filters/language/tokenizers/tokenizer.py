"""The interface of all tokenizers: count or encode batches of texts."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.filters.language.tokenizers.pieces import Cuts
from winnow.filters.language.tokenizers.vocabulary import Ids, Vocabulary
from winnow.schemas.errors import WinnowError

GROUP_CHARACTERS: Final = 1 << 17
"""Characters encoded per call; a call uses up to about 300 bytes for each."""

T = TypeVar("T")


@dataclass(frozen=True)
class Tokenizer:
    """A loaded tokenizer. It adds no special tokens and finds none in texts."""

    name: str  # the file's, without its folder
    digest: str  # of its content
    vocabulary: int  # ids are smaller
    end: int | None  # the id of the end-of-document token; None if there is none
    _words: Vocabulary | None  # None: bytes
    _cuts: Cuts

    def in_texts(self, token: int) -> bool:
        """Whether a text may contain the token with this id: false for special and nonexistent ones."""
        return token < self.vocabulary if self._words is None else self._words.in_texts(token)

    def count(self, texts: pa.LargeStringArray) -> pa.Int64Array:
        """The number of tokens of each text; null if it is null or has characters without a token."""
        if self._words is None:
            return pc.binary_length(texts).cast(pa.int64())
        counts = np.zeros(len(texts), np.int64)
        absent = texts.is_null().to_numpy(zero_copy_only=False).copy()
        for row, count in self._each(texts, self._words.counts):
            if count is None:
                absent[row] = True
            else:
                counts[row] += count
        return pa.array(counts, mask=absent)

    def encode(self, texts: pa.LargeStringArray) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """The concatenated ids of all texts, and the start of each text's ids, with the end of the last.

        Null texts have none.

        Raises:
            WinnowError: A text has characters without a token; `count` gives null for it.
        """
        offsets = np.zeros(len(texts) + 1, np.int64)
        if self._words is None:
            np.cumsum(pc.fill_null(pc.binary_length(texts), 0).to_numpy(), out=offsets[1:])
            joined = "".join(filter(None, texts.to_pylist())).encode()
            return np.frombuffer(joined, np.uint8).astype(np.uint32), offsets
        parts: list[Ids] = []
        for row, ids in self._each(texts, self._words.encode):
            if ids is None:
                raise WinnowError(
                    f"{self.name}: text {row} of {len(texts)} has characters without a token; leave it out, "
                    "or use a tokenizer that falls back to bytes"
                )
            offsets[row + 1] += len(ids)
            parts.append(ids)
        np.cumsum(offsets, out=offsets)
        return np.concatenate([np.zeros(0, np.uint32), *parts]), offsets

    def _each(self, texts: pa.LargeStringArray, call: Callable[[list[str]], list[T]]) -> Iterator[tuple[int, T]]:
        """The result of a call for each piece of each text, with the text's number."""
        rows: list[int] = []
        held: list[str] = []
        size = 0
        for row, value in enumerate(texts):  # one text at a time: a list of the batch would take its memory twice
            text = value.as_py()
            if text is None:
                continue
            for piece in self._cuts.pieces(text):
                rows.append(row)
                held.append(piece)
                size += len(piece)
                if size >= GROUP_CHARACTERS:
                    yield from zip(rows, call(held), strict=True)
                    rows, held, size = [], [], 0
        if held:
            yield from zip(rows, call(held), strict=True)
