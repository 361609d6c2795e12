"""Cells: close vectors share one, and the same sample gives the same centroids."""

import numpy as np
import pytest

from tests.filters.duplicates.vectors.test_cosines import found_pairs
from winnow.filters.duplicates.vectors import cells
from winnow.filters.duplicates.vectors.cells import cell_count, nearest_cells, train_cells
from winnow.filters.duplicates.vectors.cosines import Vectors, rounded

pytest.importorskip("faiss", reason="needs the extra `embeddings`")


def clustered(count: int, dimensions: int) -> Vectors:
    """Vectors around some directions, of which some are near copies of others."""
    random = np.random.default_rng(4)
    around = random.standard_normal((50, dimensions))[random.integers(0, 50, count)]
    found = random.standard_normal((count, dimensions)) + around
    found[-count // 4 :] = found[: count // 4] + random.standard_normal((count // 4, dimensions)) * 0.3
    return rounded(found.astype(np.float32))[0]


def test_ninety_nine_of_a_hundred_close_pairs_share_a_cell() -> None:
    vectors = clustered(6000, 64)
    centroids = train_cells(vectors, len(vectors))
    assert len(centroids) == cell_count(6000, 6000) == 110
    mine = nearest_cells(vectors, centroids)
    shared = [len({*mine[one]} & {*mine[other]}) > 0 for one, other in found_pairs(vectors, 0.9)]
    assert len(shared) > 1000
    assert np.mean(shared) >= 0.99
    assert np.bincount(mine.ravel()).max() < 1000


def test_the_two_nearest_cells_are_those_of_the_largest_cosines() -> None:
    vectors = clustered(300, 16)
    centroids = clustered(40, 16)
    exact = vectors.astype(np.int64) @ centroids.T.astype(np.int64) / np.linalg.norm(centroids.astype(float), axis=1)
    assert nearest_cells(vectors, centroids).tolist() == np.argsort(-exact, axis=1, kind="stable")[:, :2].tolist()


def test_training_twice_gives_the_same_centroids_and_few_vectors_are_one_cell() -> None:
    vectors = clustered(5000, 16)
    assert np.array_equal(train_cells(vectors, 5000), train_cells(vectors.copy(), 5000))
    assert train_cells(vectors[:100], 4096).shape == (1, 16)
    assert nearest_cells(vectors[:3], train_cells(vectors[:100], 100)).tolist() == [[0]] * 3


def test_large_cells_are_split_again(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = clustered(6000, 16)
    plain = len(train_cells(vectors, 6000))
    monkeypatch.setattr(cells, "MAX_CELL", 100)
    assert len(train_cells(vectors, 6000)) > plain
