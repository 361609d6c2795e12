"""What the packages of tokenizers have in common, as far as winnow uses them."""

from collections.abc import Callable
from typing import Final, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from winnow.filters.extras import one_line_errors
from winnow.schemas.errors import WinnowError

Ids: TypeAlias = NDArray[np.uint32]

NEEDS: Final = "a tokenizer"  # who needs a package, in a message
EXTRA: Final = "tokens"
MAX_VOCABULARY: Final = 4_000_000

T = TypeVar("T")


class Vocabulary(Protocol):
    """A tokenizer of one of the packages. It adds no special tokens, and finds none in a text."""

    @property
    def size(self) -> int:
        """One more than the largest id."""

    @property
    def end(self) -> int | None:
        """The id of the token that ends a document; None where the file tells of none."""

    def in_texts(self, token: int) -> bool:
        """Whether some text may have the token of this id."""

    def counts(self, pieces: list[str]) -> list[int | None]:
        """How many tokens each piece of text has; None where it has characters that no token stands for."""

    def encode(self, pieces: list[str]) -> list[Ids | None]:
        """The ids of each piece of text, likewise."""


def encoded_each(call: Callable[[list[str]], list[T]], pieces: list[str]) -> list[T | None]:
    """What a package says of each piece; None of those that it fails on, by an error or a panic of its own."""
    try:
        with one_line_errors("encoding", kind=WinnowError):
            return list(call(pieces))
    except WinnowError:
        if len(pieces) == 1:
            return [None]
    return [one for piece in pieces for one in encoded_each(call, [piece])]
