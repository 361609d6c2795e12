"""One face for every tokenizer: batches of texts to numbers of tokens, or to the tokens themselves."""

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
"""So many characters are encoded in one call; a call holds up to some three hundred bytes for each of them."""

T = TypeVar("T")


@dataclass(frozen=True)
class Tokenizer:
    """A tokenizer, made ready. What stands in a text is text: no special token is added, and none is found there."""

    name: str  # the file's, without its folder
    digest: str  # of its content
    vocabulary: int  # ids are smaller
    end: int | None  # the id of what ends a document; None where there is none
    _words: Vocabulary | None  # None: bytes
    _cuts: Cuts

    def in_texts(self, token: int) -> bool:
        """Whether some text may have the token of this id: none has one that is special, or that there is not."""
        return token < self.vocabulary if self._words is None else self._words.in_texts(token)

    def count(self, texts: pa.LargeStringArray) -> pa.Int64Array:
        """How many tokens each text has; null where it is null, or has characters that no token stands for."""
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
        """The ids of all texts, one after the other, and where each text's begin, with the end of the last.

        A text that is null has none.

        Raises:
            WinnowError: A text has characters that no token stands for; `count` gives null for it.
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
                    f"{self.name}: text {row} of {len(texts)} has characters that no token stands for; leave it out, "
                    "or take a tokenizer that knows bytes"
                )
            offsets[row + 1] += len(ids)
            parts.append(ids)
        np.cumsum(offsets, out=offsets)
        return np.concatenate([np.zeros(0, np.uint32), *parts]), offsets

    def _each(self, texts: pa.LargeStringArray, call: Callable[[list[str]], list[T]]) -> Iterator[tuple[int, T]]:
        """What a call says of each piece of each text, with the number of the text."""
        rows: list[int] = []
        held: list[str] = []
        size = 0
        for row, value in enumerate(texts):  # one text at a time: a batch as a list would be held twice
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
