"""Counts of patterns of votes that merge to the same bytes, however rows are divided.

Few checkpoints have few patterns, and every row is counted. Sixty-four of them may have as many as there are rows:
then only rows whose hash begins with some zero bits are counted, as few of them as the limit demands. How many depends
on the set of rows alone, so that the patterns are those of the same sample of rows in whatever order they are merged.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from winnow.schemas.uint128 import Words
from winnow.scoring.selection.label_model import Patterns, pattern_places, patterns_of
from winnow.scoring.selection.ranks import Integers

PATTERNS: Final = 1 << 16
"""The most patterns of one group of rows: those of 16 checkpoints that keep or drop."""
_BITS: Final = 53  # of a hash: as many as a float holds


@dataclass(frozen=True, slots=True)
class VoteCounts:
    """How many rows have each pattern of votes, and how many leading zero bits their hashes have."""

    votes: NDArray[np.int8]  # rows × checkpoints, sorted by zeros and then by votes
    zeros: NDArray[np.int8]
    counts: Integers
    least: int  # rows whose hash has fewer zeros are not counted

    @classmethod
    def of(cls, votes: NDArray[np.int8], hashes: Words, limit: int = PATTERNS) -> "VoteCounts":
        """Count rows.

        Args:
            votes: Rows × checkpoints: 1 keeps, 0 drops, -1 abstains.
            hashes: A hash of each row's id.
            limit: The most patterns.
        """
        first = hashes >> np.uint64(64 - _BITS)
        zeros = (_BITS - np.frexp(first.astype(np.float64))[1]).astype(np.int8)
        return _limited(votes, zeros, np.ones(len(votes), np.int64), 0, limit)

    @classmethod
    def merged(cls, parts: Iterable["VoteCounts"], limit: int = PATTERNS) -> "VoteCounts":
        """Add counts of the same checkpoints up, in any order; at least one."""
        some = list(parts)
        votes, zeros, counts = (
            np.concatenate([getattr(one, name) for one in some]) for name in ("votes", "zeros", "counts")
        )
        return _limited(votes, zeros, counts, max(one.least for one in some), limit)

    @property
    def patterns(self) -> Patterns:
        """The patterns of the counted rows."""
        return patterns_of(self.votes, self.counts)[0]


def _limited(votes: NDArray[np.int8], zeros: NDArray[np.int8], counts: Integers, least: int, limit: int) -> VoteCounts:
    """Add up equal rows, and leave out rows until their patterns are within the limit."""
    place = pattern_places(votes, zeros.astype(np.int64))
    distinct = int(place.max()) + 1 if len(place) else 0
    sums, example = np.zeros(distinct, np.int64), np.empty(distinct, np.int64)
    np.add.at(sums, place, counts)
    example[place] = np.arange(len(place))
    votes, zeros = votes[example], zeros[example]
    while True:  # at most once per bit of a hash
        kept = np.flatnonzero(zeros >= least)
        if len(kept) <= limit or len(patterns_of(votes[kept])[0].counts) <= limit:
            return VoteCounts(votes[kept], zeros[kept], sums[kept], least)
        least += 1
