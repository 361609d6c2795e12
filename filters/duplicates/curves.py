"""The probability that two texts are compared: the S-curve of locality-sensitive hashing with bands and rows.

Two texts of Jaccard similarity s agree in one hash with probability s, in a band of `rows` hashes with s^rows, and
become a candidate pair when any of `bands` agrees: P(s) = 1 - (1 - s^rows)^bands (Leskovec, Rajaraman and Ullman,
Mining of Massive Datasets, chapter 3). Means over a range weight all similarities equally; a crawl has its own
distribution, mostly far below any threshold.
"""

import math
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_NODES: Final = 64
_PANELS: Final = 32
"""Together exact to 1e-14 up to 16 384 rows; P is a polynomial that may rise within 1e-4 of similarity."""
_CHOICE_NODES: Final = 128
"""On each side of a threshold: a curve that needs more panels is far from the best one."""


def probabilities(similarities: Floats, bands: int, rows: int) -> Floats:
    """P of each similarity from 0 to 1, with full relative precision for small probabilities."""
    _require(bands, rows)
    with np.errstate(divide="ignore"):  # log1p(-1) at similarity 1 is minus infinity, and P is then 1
        found: Floats = -np.expm1(bands * np.log1p(-(similarities**rows)))
    return found


def probability(similarity: float, bands: int, rows: int) -> float:
    """The probability that a pair of this similarity becomes a candidate."""
    _require_share("similarity", similarity)
    return float(probabilities(np.array([similarity]), bands, rows)[0])


def half_point(bands: int, rows: int) -> float:
    """The similarity at which half of the pairs become candidates; below it most are missed."""
    _require(bands, rows)
    return float((-math.expm1(-math.log(2) / bands)) ** (1 / rows))


def expected_recall(bands: int, rows: int, threshold: float) -> float:
    """The mean of P from the threshold to 1: the share of similar pairs that are compared."""
    _require_share("threshold", threshold)
    return _mean(bands, rows, threshold, 1.0)


def false_candidates(bands: int, rows: int, threshold: float) -> float:
    """The mean of P from 0 to the threshold: the share of dissimilar pairs that are compared in vain.

    They only cost time: verification drops them.
    """
    _require_share("threshold", threshold)
    return _mean(bands, rows, 0.0, threshold) if threshold > 0 else 0.0


def best_bands(
    hashes: int, threshold: float, false_positive_weight: float = 0.5, false_negative_weight: float = 0.5
) -> tuple[int, int]:
    """The bands and rows with the smallest error for at most this many hashes, as datasketch chooses them.

    The error is the weighted sum of the area under P below the threshold and the area above P from there on. In a tie
    the fewest bands win, then the fewest rows.
    """
    if hashes < 1:
        raise ValueError(f"hashes {hashes}: expected 1 or more")
    _require_share("threshold", threshold)
    # With a weight of zero the best curve is 0, or 1, everywhere: then rounding errors would choose.
    if not (0 < false_positive_weight < math.inf and 0 < false_negative_weight < math.inf):
        raise ValueError("the weights of false positives and false negatives: expected both above zero")
    nodes, weights = _gauss(_CHOICE_NODES)
    below, above = threshold * nodes, threshold + (1 - threshold) * nodes
    below_weights = false_positive_weight * threshold * weights
    above_weights = false_negative_weight * (1 - threshold) * weights
    best, least = (1, 1), math.inf
    for bands in range(1, hashes + 1):
        rows = np.arange(1, hashes // bands + 1)[:, np.newaxis]
        found = -np.expm1(bands * np.log1p(-(below**rows))) @ below_weights
        with np.errstate(divide="ignore"):  # at a threshold of 1, as above
            missed = np.exp(bands * np.log1p(-(above**rows))) @ above_weights
        errors = found + missed
        place = int(errors.argmin())
        if errors[place] < least:
            best, least = (bands, place + 1), float(errors[place])
    return best


def _mean(bands: int, rows: int, low: float, high: float) -> float:
    if low == high:
        return probability(low, bands, rows)
    nodes, weights = _gauss(_NODES)
    starts = np.arange(_PANELS)[:, np.newaxis]
    places = low + (high - low) * ((starts + nodes) / _PANELS)
    return float(np.sum(probabilities(places, bands, rows) @ weights) / _PANELS)


@lru_cache(maxsize=2)
def _gauss(count: int) -> tuple[Floats, Floats]:
    """Gauss-Legendre nodes from 0 to 1 and their weights, which sum to 1."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return (nodes + 1) / 2, weights / 2


def _require(bands: int, rows: int) -> None:
    if bands < 1 or rows < 1:
        raise ValueError(f"{bands} bands of {rows} rows: expected 1 or more of each")


def _require_share(name: str, value: float) -> None:
    if not 0 <= value <= 1:  # false for NaN as well
        raise ValueError(f"{name} {value}: expected 0 to 1")
