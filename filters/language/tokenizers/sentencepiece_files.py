"""A SentencePiece `.model`, by the package sentencepiece."""

from typing import Any

import numpy as np

from winnow.filters.extras import one_line_errors, required_package
from winnow.filters.language.tokenizers.vocabulary import EXTRA, NEEDS, Ids, encoded_each
from winnow.schemas.errors import WinnowError


class SentencePieceVocabulary:
    """Control pieces, such as `</s>`, are in no text: the package itself never finds them there."""

    def __init__(self, path: str, raw: bytes) -> None:
        package = required_package(NEEDS, "sentencepiece", EXTRA)
        with one_line_errors(f"{path}: no SentencePiece model, or a damaged one", kind=WinnowError):
            if not raw:
                raise ValueError("the file is empty")  # the package takes that for a model without pieces
            self._processor: Any = package.SentencePieceProcessor(model_proto=raw)
            self.size: int = self._processor.vocab_size()
            end = self._processor.eos_id()
            # Where what ends a document is no control piece, any text that has its letters would have it too.
            self.end: int | None = end if 0 <= end < self.size and self._processor.is_control(end) else None

    def in_texts(self, token: int) -> bool:
        """Whether it is a piece that stands for something."""
        known = 0 <= token < self.size
        return known and not (self._processor.is_control(token) or self._processor.is_unused(token))

    def counts(self, pieces: list[str]) -> list[int | None]:
        """Numbers of tokens."""
        return [None if ids is None else len(ids) for ids in self._encoded(pieces)]

    def encode(self, pieces: list[str]) -> list[Ids | None]:
        """Ids; what it does not know is bytes, or one token for the unknown."""
        return [None if ids is None else np.array(ids, np.uint32) for ids in self._encoded(pieces)]

    def _encoded(self, pieces: list[str]) -> list[list[int] | None]:
        def encode(texts: list[str]) -> list[list[int]]:
            return list(self._processor.encode(texts, num_threads=1))

        return encoded_each(encode, pieces)
