"""The common interface of the tokenizer packages."""

from collections.abc import Callable
from typing import Final, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from winnow.filters.extras import one_line_errors
from winnow.schemas.errors import WinnowError

Ids: TypeAlias = NDArray[np.uint32]

NEEDS: Final = "a tokenizer"  # named in messages about missing packages
EXTRA: Final = "tokens"
MAX_VOCABULARY: Final = 4_000_000

T = TypeVar("T")


class Vocabulary(Protocol):
    """A tokenizer of one of the packages. It adds no special tokens and finds none in texts."""

    @property
    def size(self) -> int:
        """One more than the largest id."""

    @property
    def end(self) -> int | None:
        """The id of the end-of-document token; None if the file has none."""

    def in_texts(self, token: int) -> bool:
        """Whether a text may contain the token with this id."""

    def counts(self, pieces: list[str]) -> list[int | None]:
        """The number of tokens of each piece; None if it has characters without a token."""

    def encode(self, pieces: list[str]) -> list[Ids | None]:
        """The ids of each piece; None as in `counts`."""


def encoded_each(call: Callable[[list[str]], list[T]], pieces: list[str]) -> list[T | None]:
    """Call a package for each piece; None for pieces on which it raises an error or panics."""
    try:
        with one_line_errors("encoding", kind=WinnowError):
            return list(call(pieces))
    except WinnowError:
        if len(pieces) == 1:
            return [None]
    return [one for piece in pieces for one in encoded_each(call, [piece])]
