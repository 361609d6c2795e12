"""Tokenizers from SentencePiece `.model` files, run by the package sentencepiece."""

from typing import Any

import numpy as np

from winnow.filters.extras import one_line_errors, required_package
from winnow.filters.language.tokenizers.vocabulary import EXTRA, NEEDS, Ids, encoded_each
from winnow.schemas.errors import WinnowError


class SentencePieceVocabulary:
    """A SentencePiece vocabulary; the package never finds control pieces, such as `</s>`, in a text."""

    def __init__(self, path: str, raw: bytes) -> None:
        package = required_package(NEEDS, "sentencepiece", EXTRA)
        with one_line_errors(f"{path}: not a SentencePiece model, or a damaged one", kind=WinnowError):
            if not raw:
                raise ValueError("the file is empty")  # the package reads that as a model without pieces
            self._processor: Any = package.SentencePieceProcessor(model_proto=raw)
            self.size: int = self._processor.vocab_size()
            end = self._processor.eos_id()
            # If the end-of-document piece is not a control piece, any text with its letters would contain it.
            self.end: int | None = end if 0 <= end < self.size and self._processor.is_control(end) else None

    def in_texts(self, token: int) -> bool:
        """Whether it is a piece that can occur in texts."""
        known = 0 <= token < self.size
        return known and not (self._processor.is_control(token) or self._processor.is_unused(token))

    def counts(self, pieces: list[str]) -> list[int | None]:
        """The number of tokens of each piece."""
        return [None if ids is None else len(ids) for ids in self._encoded(pieces)]

    def encode(self, pieces: list[str]) -> list[Ids | None]:
        """The ids of each piece; unknown characters become bytes, or the unknown token."""
        return [None if ids is None else np.array(ids, np.uint32) for ids in self._encoded(pieces)]

    def _encoded(self, pieces: list[str]) -> list[list[int] | None]:
        def encode(texts: list[str]) -> list[list[int]]:
            return list(self._processor.encode(texts, num_threads=1))

        return encoded_each(encode, pieces)
