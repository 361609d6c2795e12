"""Maps of vectors: which rows are drawn, their neighbours by brute force, their clusters and what these are called."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.pipelines.query.vector_map import (
    CLUSTERS,
    _first_of_each,
    _vectors,
    cluster_words,
    map_vectors,
    neighbours,
    spread_rows,
    unit_length,
)


def test_rows_are_drawn_in_runs_from_the_first_to_the_last() -> None:
    rows = np.arange(1_000, 11_000)
    assert spread_rows(rows, 10_000) is rows
    some = spread_rows(rows, 640)
    assert len(some) == 640
    assert (some[0], some[-1]) == (1_000, 10_999)
    ends = np.flatnonzero(np.diff(some) > 1)
    assert len(ends) == 63  # 64 runs of ten rows
    assert set(np.diff([-1, *ends.tolist(), 639]).tolist()) == {10}
    assert spread_rows(rows, 3).tolist() == [1_000, 5_999, 10_999]
    assert spread_rows(rows, 1).tolist() == [1_000]


@given(st.integers(1, 300), st.integers(1, 300))
def test_never_more_rows_are_drawn_than_are_asked_for_and_each_once(count: int, most: int) -> None:
    some = spread_rows(np.arange(count), most).tolist()
    assert some == sorted(set(some))
    assert min(count, most) // 2 <= len(some) <= most


def test_items_of_a_row_have_vectors_of_their_own() -> None:
    rows = np.array([4, 7, 9])
    found = _vectors(rows, pa.array([[1, 2], None, [5, 6]], pa.list_(pa.float32())))
    assert [one.tolist() for one in found] == [[4, 9], [0, 0], [[1, 2], [5, 6]]]
    several = pa.array([[[1, 2], None, [3, 4]], None, [[5, 6]]], pa.list_(pa.list_(pa.float32())))
    found = _vectors(rows, several)
    assert [one.tolist() for one in found] == [[4, 4, 9], [0, 2, 0], [[1, 2], [3, 4], [5, 6]]]
    none = _vectors(rows, pa.array([None] * 3, pa.list_(pa.float32())))
    assert none[2].shape == (0, 0)
    rows, items = np.array([1, 1, 1, 2, 3, 3]), np.array([0, 1, 2, 0, 0, 1])
    numbers = np.arange(6, dtype=np.float32)[:, None]
    kept = [_first_of_each(rows, items, numbers, most)[2].ravel().tolist() for most in (2, 3, 4, 5, 6, 9)]
    assert kept == [[0, 3], [0, 3, 4], [0, 1, 3, 4], [0, 1, 3, 4, 5], [0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5]]


@pytest.mark.parametrize(("count", "asked"), [(0, 3), (1, 3), (2, 3), (7, 3), (600, 5)])
def test_neighbours_are_the_nearest_others_by_their_cosine(count: int, asked: int) -> None:
    vectors = np.random.default_rng(count).normal(size=(count, 4)).astype(np.float32)
    found, far = neighbours(vectors, asked)
    assert found.shape == far.shape == (count, min(asked, max(0, count - 1)))
    unit = unit_length(vectors)
    distance = 1 - unit @ unit.T
    np.fill_diagonal(distance, np.inf)
    wanted = np.argsort(distance, axis=1, kind="stable")[:, : found.shape[1]]
    assert (found == wanted).all()
    assert far == pytest.approx(np.take_along_axis(distance, wanted, 1), abs=1e-6)


def test_a_vector_without_a_length_has_no_direction() -> None:
    assert unit_length(np.array([[3, 4], [0, 0], [0, -2]], np.float32)).tolist() == [
        [pytest.approx(0.6), pytest.approx(0.8)],
        [0, 0],
        [0, -1],
    ]


def test_clusters_are_of_like_vectors_and_the_largest_is_the_first() -> None:
    random = np.random.default_rng(5)
    of = np.repeat([1, 0, 2], [100, 60, 40])  # 200 vectors: five clusters at most
    order = random.permutation(200)
    centres = np.eye(3, 8)
    vectors = (centres[of] * random.uniform(1, 9, (200, 1)) + random.normal(0, 0.01, (200, 8)))[order].astype(
        np.float32
    )
    found = map_vectors(vectors)
    assert found.sizes == sorted(found.sizes, reverse=True)
    assert sum(found.sizes) == 200
    assert len(found.sizes) <= 5
    for cluster in range(len(found.sizes)):
        assert len(set(of[order][found.clusters == cluster].tolist())) == 1  # none mixes two kinds
    assert found.points.shape == (200, 2)
    assert np.abs(found.points).max(axis=0).tolist() == pytest.approx([1, 1])
    again = map_vectors(vectors[:1])
    assert (again.points.tolist(), again.clusters.tolist()) == ([[0, 0]], [0])
    assert map_vectors(np.zeros((0, 4), np.float32)).sizes == []
    many = map_vectors(random.normal(size=(1_200, 6)).astype(np.float32))
    assert len(many.sizes) == CLUSTERS


def test_a_map_shows_the_two_directions_in_which_vectors_differ_most() -> None:
    line = np.array([[1, 0.3, 0], [1, 0, 0], [1, -0.3, 0.0], [1, 0, 0.1], [1, 0, -0.1]], np.float32)
    points = map_vectors(line).points
    assert np.abs(points[:, 0]).argmax() in (0, 2)
    assert np.abs(points[:, 1]).argmax() in (3, 4)
    assert points[0, 0] == pytest.approx(-points[2, 0], abs=1e-3)


def test_a_cluster_is_called_by_the_words_that_others_lack() -> None:
    texts = [
        *["the river and the bank", "the river ran", "a river of stone"],
        *["the cat and a dog", "the cat", "cat nap"],
    ]
    texts += ["东京大学"] * 3 + ["12 3 -"] * 2
    clusters = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3], np.int16)
    assert cluster_words(texts, clusters) == ["river", "cat", "东京, 京大, 大学", "(no words)"]
    assert cluster_words([], np.zeros(0, np.int16)) == []
    two = ["Alpha beta", "alpha gamma delta epsilon"]
    assert cluster_words(two, np.array([0, 1], np.int16)) == ["beta", "delta, epsilon, gamma"]
    assert cluster_words(two, np.array([1, 1], np.int16)) == ["(no words)", "(no words)"]  # of two, two must have it
