"""Rehydration: repeat a text according to the size of its duplicate cluster.

On the web, texts with a few copies tend to be better than those with one, and those with very many worse. FineWeb-2
publishes weights for this: where filters remove the smallest share of a size's texts, texts are repeated most.
"""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MAX_REPEATS = 1_000


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
