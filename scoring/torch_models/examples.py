"""The examples of PyTorch tasks: pixels, tokens and labels."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Indices: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Ragged:
    """The concatenated tokens of texts."""

    values: NDArray[np.int32]
    ends: Indices

    @classmethod
    def of(cls, parts: Sequence[Sequence[int] | NDArray[np.int32]]) -> "Ragged":
        """Concatenate the tokens of texts."""
        values = [np.asarray(part, np.int32) for part in parts]
        ends = np.cumsum([len(part) for part in values], dtype=np.int64)
        return cls(np.concatenate([np.empty(0, np.int32), *values]), ends)

    @property
    def lengths(self) -> Indices:
        """The number of tokens of each text."""
        return np.diff(self.ends, prepend=0)

    def one(self, place: int) -> NDArray[np.int32]:
        """The tokens of one text."""
        start = int(self.ends[place - 1]) if place else 0
        return self.values[start : int(self.ends[place])]

    def windows(self, width: int) -> "tuple[Ragged, Indices]":
        """Each text in windows of at most this many tokens, and which text each is of.

        A window begins with the last token of the one before it, so that each token but a text's first is predicted
        once.
        """
        counts = np.maximum(1, -(-(self.lengths - 1) // (width - 1)))
        of = np.repeat(np.arange(len(counts)), counts)
        within = np.arange(len(of)) - np.repeat(np.cumsum(counts) - counts, counts)
        starts = within * (width - 1)
        lengths = np.minimum(self.lengths[of] - starts, width)
        ends = np.cumsum(lengths, dtype=np.int64)
        begin = (self.ends - self.lengths)[of] + starts
        places = np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - lengths - begin, lengths)
        return Ragged(self.values[places], ends), of.astype(np.int64)

    def padded(self, length: int, fill: int = 0) -> NDArray[np.int64]:
        """A table of tokens, filled up with one number."""
        found = np.full((len(self.ends), length), fill, np.int64)
        lengths = self.lengths
        found[np.arange(length) < lengths[:, None]] = self.values
        return found


@dataclass(frozen=True, slots=True)
class Examples:
    """Examples as arrays; a task fills what its model reads."""

    count: int
    pixels: NDArray[np.uint8] | None = None  # examples × height × width × 3
    tokens: Ragged | None = None
    labels: Indices | None = None

    @property
    def table(self) -> NDArray[np.uint8] | None:
        """The pixels."""
        return self.pixels

    def with_table(self, table: NDArray[np.uint8]) -> "Examples":
        """The same with other pixels."""
        return replace(self, pixels=table)

    def chosen(self, which: Indices) -> "Examples":
        """Some examples, in this order."""
        return Examples(
            len(which),
            None if self.pixels is None else self.pixels[which],
            None if self.tokens is None else Ragged.of([self.tokens.one(int(place)) for place in which]),
            None if self.labels is None else self.labels[which],
        )


def joined(parts: Sequence[Examples]) -> Examples:
    """Concatenate one or more parts."""
    if len(parts) == 1:
        return parts[0]
    pixels = [part.pixels for part in parts if part.pixels is not None]
    tokens = [part.tokens for part in parts if part.tokens is not None]
    labels = [part.labels for part in parts if part.labels is not None]
    return Examples(
        sum(part.count for part in parts),
        np.concatenate(pixels) if pixels else None,
        _end_to_end(tokens) if tokens else None,
        np.concatenate(labels) if labels else None,
    )


def _end_to_end(parts: Sequence[Ragged]) -> Ragged:
    lengths = np.concatenate([part.lengths for part in parts])
    return Ragged(np.concatenate([part.values for part in parts]), np.cumsum(lengths, dtype=np.int64))
