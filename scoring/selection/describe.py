"""The distribution of scores as reports show it: moments, quantiles, a histogram, the rows at both ends."""

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from winnow.scoring.selection.ranks import Floats, Ids, Integers, ranked

QUANTILES: Final = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
BINS: Final = 60
TAIL: Final = 0.001
"""Of the rows at each end a histogram counts so many, at most, beside its bins."""
_MOST: Final = Fraction(sys.float_info.max)


@dataclass(frozen=True, slots=True)
class Summary:
    """Numbers of one column of scores; None where there are too few rows, or they do not vary."""

    rows: int
    scored: int
    least: float | None
    greatest: float | None
    mean: float | None
    deviation: float | None  # of the rows, not of a population
    skewness: float | None
    kurtosis: float | None  # above that of a Gaussian
    quantiles: tuple[tuple[float, float], ...]  # each fraction with the least score that has so many at or below it


@dataclass(frozen=True, slots=True)
class Bars:
    """Counts between equally far edges; a score on an edge is above it, but for the last."""

    edges: tuple[float, ...]
    counts: tuple[int, ...]
    below: int
    above: int


@dataclass(frozen=True, slots=True)
class Extremes:
    """Row numbers at both ends, the utmost first."""

    highest: Integers
    lowest: Integers


def summary(scores: Floats, quantiles: Sequence[float] = QUANTILES) -> Summary:
    """Moments and quantiles of what is finite."""
    values = _sorted(scores)
    if not len(values):
        return Summary(len(scores), 0, None, None, None, None, None, None, ())
    scale = max(abs(float(values[0])), abs(float(values[-1]))) or 1.0  # powers of large scores stay finite
    x = values / scale
    mean = float(x.mean())
    x -= mean
    square = float((x**2).mean())
    varies = values[0] != values[-1] and square > 0
    return Summary(
        len(scores),
        len(values),
        float(values[0]),
        float(values[-1]),
        mean * scale,
        math.sqrt(square) * scale if varies else 0.0,
        float((x**3).mean()) / square**1.5 if varies else None,
        float((x**4).mean()) / square**2 - 3 if varies else None,
        tuple((one, float(values[_place(one, len(values))])) for one in quantiles),
    )


def histogram(scores: Floats, bins: int = BINS, between: tuple[float, float] | None = None) -> Bars:
    """Counts in equal bins.

    Args:
        scores: What is not finite is left out.
        bins: At most so many; exactly, where the range is given.
        between: The outer edges, so that histograms of several columns can lie over each other. Without it: a round
            step (1, 2 or 5 times a power of ten) whose multiples hold all but the outmost thousandths.
    """
    if bins < 1 or (between is not None and not between[0] < between[1]):
        raise ValueError(f"{bins} bins between {between}: expected one or more, between rising edges")
    values = _sorted(scores)
    if between is not None:
        low, high = between
        edges = np.array([low + (high - low) * (number / bins) for number in range(bins)] + [high])
    elif len(values):
        low, high = (float(values[_place(share, len(values))]) for share in (TAIL, 1 - TAIL))
        edges = _round_edges(low, high, bins)
    else:
        return Bars((), (), 0, 0)
    upto = np.searchsorted(values, edges, side="left")
    upto[-1] = np.searchsorted(values, edges[-1], side="right")
    return Bars(tuple(edges.tolist()), tuple(np.diff(upto).tolist()), int(upto[0]), len(values) - int(upto[-1]))


def extremes(scores: Floats, ids: Ids, count: int = 10, seed: int = 0) -> Extremes:
    """The rows of the highest and of the lowest scores; ties by the hash of the id, as in `ranked`."""
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


def _sorted(scores: Floats) -> Floats:
    return np.sort(scores[np.isfinite(scores)]) + 0.0  # of -0 and 0, which are equal, either may come first


def _place(share: float, rows: int) -> int:
    """Of the least score that has at least this share of all at or below it (numpy's `inverted_cdf`)."""
    return max(0, math.ceil(Fraction(str(share)) * rows) - 1)


def _round_edges(low: float, high: float, bins: int) -> Floats:
    """Multiples of a round step, from the last at or below the lowest to the first at or above the highest."""
    half = high / 2 - low / 2  # the whole may be more than a float holds
    if half <= 0:
        margin = abs(low) / 100 or 0.5
        return np.array([low - margin, low + margin])
    power = math.floor(math.log10(half) + math.log10(2 / bins))
    for step in (factor * Fraction(10) ** (power + more) for more in range(3) for factor in (1, 2, 5)):
        first, last = math.floor(Fraction(low) / step), math.ceil(Fraction(high) / step)
        if last - first <= bins:
            return np.array([float(max(-_MOST, min(number * step, _MOST))) for number in range(first, last + 1)])
    return np.array([low, high])
