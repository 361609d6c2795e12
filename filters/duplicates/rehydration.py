"""Rehydration: repeat a text according to the size of its duplicate cluster.

On the web, texts with a few copies tend to be better than those with one, and those with very many worse. FineWeb-2
publishes weights for this and a way to compute them: where filters remove the smallest share of a size's texts, texts
are repeated most.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MAX_REPEATS = 1_000

_WINDOW = 5  # number of sizes over which measured repeats are smoothed


@dataclass(frozen=True)
class Rehydration:
    """Repeats by cluster size: each applies from its size up to the next."""

    steps: tuple[tuple[int, int], ...]  # (size, repeats), sizes rising from 1

    def __post_init__(self) -> None:
        sizes = [size for size, _ in self.steps]
        if not sizes or sizes[0] != 1 or any(later <= earlier for earlier, later in itertools.pairwise(sizes)):
            raise ValueError("the sizes of clusters must rise from 1")
        for size, repeats in self.steps:
            if not 0 <= repeats <= MAX_REPEATS:
                raise ValueError(f"{repeats} repeats at size {size}; expected 0 to {MAX_REPEATS}")

    @classmethod
    def of(cls, weights: Mapping[int, int]) -> "Rehydration":
        """Read a mapping of sizes to repeats, as FineWeb-2 writes it."""
        return cls(tuple(sorted(weights.items())))

    def repeats(self, sizes: NDArray[np.int64]) -> NDArray[np.int64]:
        """The repeats of texts in clusters of these sizes."""
        starts, values = np.array(self.steps, np.int64).T
        found: NDArray[np.int64] = values[np.searchsorted(starts, np.maximum(sizes, 1), side="right") - 1]
        return found


FINEWEB2 = Rehydration(((1, 1), (2, 2), (3, 3), (5, 5), (100, 8), (1000, 1)))
"""The simple weights on FineWeb-2's page, one table for all languages."""


def measured_rehydration(
    sizes: Sequence[int], kept: Sequence[int], removed: Sequence[int], max_repeats: int = 10
) -> Rehydration:
    """Compute weights from what filters removed, as FineWeb-2 does for each language.

    Args:
        sizes: The cluster sizes in ascending order; larger ones count as the last.
        kept: For each size, the number of texts that filters kept.
        removed: For each size, the number of texts that they removed.
        max_repeats: Repeats at the lowest share removed; at the overall share or above, repeats are 1.
    """
    left, dropped = np.asarray(kept, float), np.asarray(removed, float)
    whole = left + dropped
    if not len(whole) or not (whole > 0).all():
        raise ValueError("every size needs texts, removed or kept")
    rates = dropped / whole
    overall, lowest = dropped.sum() / whole.sum(), rates.min()
    found = np.ones(len(rates))
    below = rates < overall
    found[below] = 1 + (max_repeats - 1) * (overall - rates[below]) / (overall - lowest)
    half = _WINDOW // 2
    if len(found) > 2 * half:
        found[half:-half] = np.convolve(found, np.full(_WINDOW, 1 / _WINDOW), "valid")
    whole_numbers = np.rint(found).astype(int).tolist()
    steps: list[tuple[int, int]] = []
    for size, repeats in zip(sizes, whole_numbers, strict=True):
        if not steps or steps[-1][1] != repeats:
            steps.append((size if steps else 1, repeats))
    return Rehydration(tuple(steps))
