"""The distribution of scores for reports: moments, quantiles, bars, and the extreme rows.

All but the extreme rows come from a histogram of scores: exact while that is, else each score counts as the middle of
its bin.
"""

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from winnow.scoring.selection.histograms import ScoreHistogram
from winnow.scoring.selection.ranks import Floats, Ids, Integers, ranked

QUANTILES: Final = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
BINS: Final = 60
TAIL: Final = 0.001
"""The largest share of rows at each end that bars leave out."""
_MOST: Final = Fraction(sys.float_info.max)


@dataclass(frozen=True, slots=True)
class Summary:
    """The summary of a column of scores; None where there are too few rows, or they do not vary."""

    rows: int
    scored: int
    least: float | None
    greatest: float | None
    mean: float | None
    deviation: float | None  # of these rows, not of a population
    skewness: float | None
    kurtosis: float | None  # excess over a Gaussian
    quantiles: tuple[tuple[float, float], ...]  # each fraction with its score


@dataclass(frozen=True, slots=True)
class Bars:
    """Counts between equidistant edges; a score on an edge counts above it, except at the last edge."""

    edges: tuple[float, ...]
    counts: tuple[int, ...]
    below: int
    above: int


@dataclass(frozen=True, slots=True)
class Extremes:
    """Row numbers at both ends, the most extreme first."""

    highest: Integers
    lowest: Integers


def summary(scores: ScoreHistogram, rows: int, quantiles: Sequence[float] = QUANTILES) -> Summary:
    """Moments and quantiles of scores, which some of the rows have."""
    values, counts = scores.values, scores.counts
    if not len(values):
        return Summary(rows, 0, None, None, None, None, None, None, ())
    upto, scored = np.cumsum(counts), scores.scored
    scale = max(abs(scores.least), abs(scores.greatest)) or 1.0  # so that powers of large scores stay finite
    x = values / scale
    mean = float((counts * x).sum()) / scored
    x -= mean
    square = float((counts * x**2).sum()) / scored
    varies = len(values) > 1 and square > 0
    return Summary(
        rows,
        scored,
        scores.least,
        scores.greatest,
        mean * scale,
        math.sqrt(square) * scale if varies else 0.0,
        float((counts * x**3).sum()) / scored / square**1.5 if varies else None,
        float((counts * x**4).sum()) / scored / square**2 - 3 if varies else None,
        tuple((one, _quantile(one, values, upto)) for one in quantiles),
    )


def bars(scores: ScoreHistogram, most: int = BINS, between: tuple[float, float] | None = None) -> Bars:
    """Counts in equal intervals.

    Args:
        scores: The scores.
        most: The most intervals; the exact number if the range is given.
        between: The outer edges, so that bars of several columns are comparable. By default the edges are multiples of
            a round step (1, 2 or 5 times a power of ten) and contain all but the most extreme thousandths.
    """
    if most < 1 or (between is not None and not between[0] < between[1]):
        raise ValueError(f"{most} bars between {between}: expected at least one, and ascending edges")
    values, upto = scores.values, np.append(0, np.cumsum(scores.counts))
    if between is not None:
        low, high = between
        edges = np.array([low + (high - low) * (number / most) for number in range(most)] + [high])
    elif len(values):
        low, high = (_quantile(share, values, upto[1:]) for share in (TAIL, 1 - TAIL))
        edges = _round_edges(low, high, most)
    else:
        return Bars((), (), 0, 0)
    at = np.searchsorted(values, edges, side="left")
    at[-1] = np.searchsorted(values, edges[-1], side="right")
    below = upto[at]
    return Bars(tuple(edges.tolist()), tuple(np.diff(below).tolist()), int(below[0]), int(upto[-1] - below[-1]))


def extremes(scores: Floats, ids: Ids, count: int = 10, seed: int = 0) -> Extremes:
    """The rows with the highest and the lowest scores; ties are broken by the hash of the id, as in `ranked`."""
    finite = np.flatnonzero(np.isfinite(scores))
    count = min(count, len(finite))
    if count < 1:
        return Extremes(finite[:0], finite[:0])
    found = []
    for sign in (1, -1):
        values = sign * scores[finite]
        least = np.partition(values, len(values) - count)[len(values) - count]
        near = finite[values >= least]  # few, unless many scores are equal
        order = near[ranked(scores[near], (ids[0][near], ids[1][near]), seed)]
        found.append(order[::sign][:count])
    return Extremes(*found)


def _quantile(share: float, values: Floats, upto: Integers) -> float:
    """A quantile of ascending values with cumulative counts (numpy's `inverted_cdf`)."""
    place = max(0, math.ceil(Fraction(str(share)) * int(upto[-1])) - 1)
    return float(values[np.searchsorted(upto, place, side="right")])


def _round_edges(low: float, high: float, bins: int) -> Floats:
    """Multiples of a round step that enclose the lowest and the highest value."""
    half = high / 2 - low / 2  # halved, as the difference may overflow
    if half <= 0:
        margin = abs(low) / 100 or 0.5
        return np.array([low - margin, low + margin])
    power = math.floor(math.log10(half) + math.log10(2 / bins))
    for step in (factor * Fraction(10) ** (power + more) for more in range(3) for factor in (1, 2, 5)):
        first, last = math.floor(Fraction(low) / step), math.ceil(Fraction(high) / step)
        if last - first <= bins:
            return np.array([float(max(-_MOST, min(number * step, _MOST))) for number in range(first, last + 1)])
    return np.array([low, high])
