"""Cells of a space of vectors: close vectors mostly share one of their two nearest cells, strangers mostly none.

Centroids are found by FAISS's spherical k-means on a sample. A vector goes to the two nearest centroids, as in
"SemDeDup" (Abbas et al. 2023), which takes one, so that a pair at the border of two cells is compared too.
Training is pinned (law 4): the same sample gives the same centroids under the same packages and instruction set.
Centroids are rounded like vectors (`cosines`), so everything after training is exact.
"""

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from winnow.filters.duplicates.vectors.cosines import Vectors, rounded, whole_lengths
from winnow.filters.extras import required_package
from winnow.schemas.kernels import kernel

CELLS_OF_ONE: Final = 2
"""How many cells a vector goes to."""
MAX_CELL: Final = 1 << 15
"""Vectors above which a cell is split again, if the sample has enough of them."""
_ALL_PAIRS: Final = 4096  # so few vectors are compared all with all, in one cell
_EACH: Final = 24  # vectors of the sample for each centroid, at least
_ENOUGH: Final = 40  # and at most
_ROUNDS: Final = 10
_LINES: Final = 4096  # vectors compared with all centroids at once


def cell_count(vectors: int, sample: int) -> int:
    """Return how many cells cost least: comparing with centroids takes as long as comparing within cells."""
    return 1 if vectors <= _ALL_PAIRS else max(1, min(round(math.sqrt(2 * vectors)), sample // _EACH))


def train_cells(sample: Vectors, vectors: int, needed_by: str = "dedupe.embedding") -> Vectors:
    """Return the centroids for about so many vectors, given a sample of them in a fixed order, and who asks."""
    count = cell_count(vectors, len(sample))
    if count == 1:
        return np.zeros((1, sample.shape[1]), np.int16)
    centroids = _k_means(sample[: _ENOUGH * count], count, needed_by)
    nearest = nearest_cells(sample, centroids)[:, 0]
    found = []
    for cell in range(len(centroids)):
        members = sample[nearest == cell]
        expected = CELLS_OF_ONE * vectors * len(members) // len(sample)
        parts = min(-(-expected // MAX_CELL), len(members) // _EACH)
        found.append(
            _k_means(members[: _ENOUGH * parts], parts, needed_by) if parts > 1 else centroids[cell : cell + 1]
        )
    return np.concatenate(found)


def nearest_cells(vectors: Vectors, centroids: Vectors) -> NDArray[np.int64]:
    """Return the numbers of each vector's two nearest centroids; one if there is only one."""
    found = np.zeros((len(vectors), min(CELLS_OF_ONE, len(centroids))), np.int64)
    if len(centroids) == 1:
        return found
    columns = centroids.astype(np.float32).T
    lengths = whole_lengths(centroids)
    for begin in range(0, len(vectors), _LINES):
        products = vectors[begin : begin + _LINES].astype(np.float32) @ columns
        _two_largest(products, lengths, found[begin : begin + _LINES])
    return found


def _k_means(sample: Vectors, count: int, needed_by: str) -> Vectors:
    faiss = required_package(needed_by, "faiss", "embeddings")
    faiss.omp_set_num_threads(1)
    trained = faiss.Kmeans(
        sample.shape[1], count, niter=_ROUNDS, seed=1, spherical=True, min_points_per_centroid=1,
        max_points_per_centroid=len(sample),
    )  # fmt: skip
    directions = sample.astype(np.float32)
    directions /= whole_lengths(sample)[:, None].astype(np.float32)
    trained.train(directions)
    centroids, known = rounded(np.asarray(trained.centroids, np.float32).reshape(count, -1))
    return np.unique(centroids[known], axis=0)


@kernel
def _two_largest(products, lengths, found):  # type: ignore[no-untyped-def]
    for line in range(len(products)):
        best = second = -np.inf
        for column in range(products.shape[1]):
            cosine = np.float64(products[line, column]) / lengths[column]
            if cosine > best:
                second, found[line, 1] = best, found[line, 0]
                best, found[line, 0] = cosine, column
            elif cosine > second:
                second, found[line, 1] = cosine, column
