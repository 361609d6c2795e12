"""Training data: one stream of bytes or tokens per family, and the windows of each step.

No random generator carries state: a step's windows depend on the seed, the step and the windows that each family has
given, so a run can resume at any step as if it had never stopped.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from winnow.schemas.errors import SourceError
from winnow.schemas.identity import digest
from winnow.scoring.linear.schedule import generator
from winnow.scoring.probe.grid import Shares

Tokens = NDArray[np.uint8 | np.uint16 | np.uint32]
Integers = NDArray[np.int64]

VOCABULARY: Final = 256
"""Bytes of UTF-8, without a tokenizer. Zero, which occurs in no text, ends a document."""
LEAST_WINDOWS: Final = 64
LEAST_HELD_OUT: Final = 8
"""The fewest windows of a family that give a meaningful loss."""


@dataclass(frozen=True, slots=True)
class Stream:
    """One family's bytes or tokens; arrays may be mapped from files."""

    family: str
    train: Tokens
    held_out: Tokens

    @property
    def unit(self) -> str:
        """The stream's unit."""
        return "byte" if self.train.dtype == np.uint8 else "token"


def document_bytes(text: str) -> bytes:
    """A document's bytes in a stream."""
    return text.replace("\0", " ").encode("utf-8", "replace") + b"\0"


def is_held_out(document: bytes, share: float) -> bool:
    """Whether a document is held out. Equal texts are on the same side, so no training text is used for evaluation."""
    return int.from_bytes(digest("probe", document, size=8), "little") < share * 2**64


def windows_of(tokens: Tokens, context: int) -> int:
    """The number of windows in a stream, each with its following byte."""
    return max(0, (len(tokens) - 1) // context)


def enough(stream: Stream, context: int) -> str | None:
    """What a family lacks; None if it is large enough."""
    for side, tokens, least, more in (
        ("train", stream.train, LEAST_WINDOWS, ""),
        ("measure", stream.held_out, LEAST_HELD_OUT, ", or a higher held_out_share"),
    ):
        if windows_of(tokens, context) < least:
            need = least * context + 1
            return f"{len(tokens):,} {stream.unit}s to {side} on, at least {need:,} are needed; add text{more}"
    return None


def require_enough(streams: Mapping[str, Stream], context: int) -> None:
    """Raise an error for families that are too small.

    Raises:
        SourceError: One line per family.
    """
    lacks = {family: enough(stream, context) for family, stream in sorted(streams.items())}
    if short := [f"{family}: {lack}" for family, lack in lacks.items() if lack is not None]:
        raise SourceError("\n".join(short[:20]))


class Windows:
    """The batches of one run: all windows of a stream once, in a seeded order, then again."""

    def __init__(self, streams: Mapping[str, Stream], shares: Shares, context: int, batch: int, seed: int) -> None:
        self._tokens = [streams[family].train for family, _ in shares]
        self._families = [family for family, _ in shares]
        self._bounds = np.cumsum([share for _, share in shares])[:-1]
        self._context, self._batch, self._seed = context, batch, seed
        self._orders: list[tuple[int, Integers]] = [(-1, np.zeros(0, np.int64)) for _ in shares]
        self._reach = np.arange(context + 1)
        self.drawn: Integers = np.zeros(len(shares), np.int64)  # windows that each family has given

    def batch(self, step: int) -> NDArray[np.int64]:
        """The windows of a step, `batch` × `context + 1`.

        Shares hold in every step as closely as whole windows allow (systematic sampling): p is exact, without noise
        from the seed.
        """
        places = (np.arange(self._batch) + generator(self._seed, "shares", step).random()) / self._batch
        which = np.searchsorted(self._bounds, places, side="right")
        found = np.empty((self._batch, self._context + 1), np.int64)
        for row, family in enumerate(which):
            start = self._next(int(family)) * self._context
            found[row] = self._tokens[family][start + self._reach]
        return found

    def _next(self, family: int) -> int:
        """The number of a family's next window."""
        count = windows_of(self._tokens[family], self._context)
        epoch, place = divmod(int(self.drawn[family]), count)
        if self._orders[family][0] != epoch:
            order = generator(self._seed, "order", self._families[family], epoch).permutation(count)
            self._orders[family] = epoch, order
        self.drawn[family] += 1
        return int(self._orders[family][1][place])


def held_out_windows(tokens: Tokens, context: int, most_tokens: int) -> NDArray[np.int64]:
    """The evaluation windows: the same for every run, spread over the held-out bytes."""
    count = windows_of(tokens, context)
    taken = min(count, max(1, most_tokens // context))
    starts = np.arange(taken, dtype=np.int64) * count // taken * context
    found: NDArray[np.int64] = tokens[starts[:, np.newaxis] + np.arange(context + 1)].astype(np.int64)
    return found
