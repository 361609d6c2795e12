"""Histograms of scores that merge to the same bytes, however rows are divided.

A bin is a range of ordered keys (`winnow.scoring.mixture.cuts.ordered_key`) that differ only in their lowest bits, so
bins are logarithmic and an edge is never a matter of rounding. While there are at most `BINS` different scores, each
has a bin of its own and the histogram is exact. Beyond that it ignores as few bits as will do: the number of bits
depends on the set of scores alone, not on how they were counted and merged.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np

from winnow.schemas.uint128 import Words
from winnow.scoring.mixture.cuts import ordered_key, value_of_key
from winnow.scoring.selection.ranks import Floats, Integers

BINS: Final = 1 << 14
"""The most bins of a histogram. A billion normal scores then have bins of 0.4 % of their value, near zero finer ones;
scores far from zero share their leading bits, so theirs are as fine in units of their spread."""
_NONE: Final = np.zeros(0, np.uint64)


@dataclass(frozen=True, slots=True)
class ScoreHistogram:
    """The number of scores in each bin; empty bins are left out."""

    shift: int  # how many of the lowest bits of keys a bin ignores
    bins: Words  # ascending; the other bits
    counts: Integers
    least: float  # of all scores; NaN if there are none
    greatest: float

    @classmethod
    def of(cls, scores: Floats, counts: Integers | None = None, limit: int = BINS) -> "ScoreHistogram":
        """Count finite scores, each as often as `counts` says or once."""
        finite = np.isfinite(scores)
        values = scores[finite]
        if not len(values):
            return cls(0, _NONE, np.zeros(0, np.int64), float("nan"), float("nan"))
        weights = np.ones(len(values), np.int64) if counts is None else counts[finite]
        least, greatest = float(values.min()) + 0.0, float(values.max()) + 0.0  # turns -0 into 0, which compare equal
        return _narrowed(0, ordered_key(values), weights, least, greatest, limit)

    @classmethod
    def merged(cls, parts: Iterable["ScoreHistogram"], limit: int = BINS) -> "ScoreHistogram":
        """Add histograms up, in any order."""
        some = [one for one in parts if len(one.bins)]
        if not some:
            return cls.of(np.zeros(0))
        shift = max(one.shift for one in some)
        bins = np.concatenate([one.bins >> np.uint64(shift - one.shift) for one in some])
        counts = np.concatenate([one.counts for one in some])
        least, greatest = min(one.least for one in some), max(one.greatest for one in some)
        return _narrowed(shift, bins, counts, least, greatest, limit)

    @property
    def scored(self) -> int:
        """The number of scores."""
        return int(self.counts.sum())

    @property
    def values(self) -> Floats:
        """The middle of each bin: ascending and distinct; the score itself while the histogram is exact."""
        if not self.shift:
            return value_of_key(self.bins)
        middle = (self.bins << np.uint64(self.shift)) | np.uint64(1 << (self.shift - 1))
        # Beyond the greatest score of all, a middle may be infinite or no number.
        ends = ordered_key(np.array([self.least, self.greatest])) if len(middle) else _NONE
        return value_of_key(np.clip(middle, *ends)) if len(middle) else np.zeros(0)

    def lower_edge(self, number: int) -> float:
        """The smallest score that belongs to a bin."""
        edge = self.bins[number : number + 1] << np.uint64(self.shift)
        return float(value_of_key(np.maximum(edge, ordered_key(np.array([self.least]))))[0])


def _narrowed(shift: int, bins: Words, counts: Integers, least: float, greatest: float, limit: int) -> ScoreHistogram:
    """Add equal bins up, and ignore as many further bits as the limit demands."""
    distinct, place = np.unique(bins, return_inverse=True)
    sums = np.zeros(len(distinct), np.int64)
    np.add.at(sums, place, counts)
    more = 0
    if len(distinct) > limit:
        fewest, most = 1, 64 - shift - 1  # two bins at most are left of 63 ignored bits
        while fewest < most:
            middle = (fewest + most) // 2
            if _distinct(distinct >> np.uint64(middle)) <= limit:
                most = middle
            else:
                fewest = middle + 1
        more = most
        kept = distinct >> np.uint64(more)
        first = np.flatnonzero(np.append(True, kept[1:] != kept[:-1]))
        distinct, sums = kept[first], np.add.reduceat(sums, first)
    return ScoreHistogram(shift + more, distinct, sums, least, greatest)


def _distinct(ascending: Words) -> int:
    return 1 + int((ascending[1:] != ascending[:-1]).sum())
