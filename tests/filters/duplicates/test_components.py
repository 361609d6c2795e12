"""Connected components and forests: what networkx finds, whatever the order of the edges."""

import random

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from winnow.filters.duplicates.components import (
    Edges,
    Forest,
    Vertices,
    components,
    downward,
    growing_forests,
    large_star,
    merge_forests,
    mirrored,
    small_star,
    spanning_forest,
)

Pairs = list[tuple[int, int]]

_VERTICES = st.one_of(st.integers(0, 30), st.integers(0, 300), st.sampled_from([2**44 - 1, 2**63, 2**64 - 1, 2**20]))
_EDGES = st.lists(st.tuples(_VERTICES, _VERTICES), max_size=120)


def _edges(pairs: Pairs) -> Edges:
    table = np.array(pairs, np.uint64).reshape(-1, 2)
    return table[:, 0].copy(), table[:, 1].copy()


def _pairs(edges: Edges) -> Pairs:
    return list(zip(edges[0].tolist(), edges[1].tolist(), strict=True))


def _expected(pairs: Pairs) -> dict[int, int]:
    """Every vertex and the smallest one of its component."""
    found = networkx.connected_components(networkx.Graph(pairs))
    return {vertex: min(members) for members in found for vertex in sorted(members)}


def _forest(pairs: Pairs) -> Pairs:
    return [(root, vertex) for vertex, root in sorted(_expected(pairs).items()) if root != vertex]


def star_contraction(first: Vertices, second: Vertices) -> Edges:
    """The rounds of a search in one partition."""
    held = small_star(*downward(first, second))
    while True:
        joined = small_star(*downward(*large_star(*mirrored(*held))))
        if np.array_equal(joined[0], held[0]) and np.array_equal(joined[1], held[1]):
            order = np.argsort(joined[1])
            return joined[0][order], joined[1][order]
        held = joined


def test_a_component_is_named_by_its_smallest_vertex() -> None:
    vertices, roots = components(*_edges([(9, 5), (2, 7), (7, 9), (4, 3)]))

    assert vertices.tolist() == [2, 3, 4, 5, 7, 9]
    assert roots.tolist() == [2, 3, 3, 2, 2, 2]


def test_a_forest_joins_the_smallest_vertex_to_the_others() -> None:
    assert _pairs(spanning_forest(*_edges([(9, 5), (2, 7), (7, 9), (4, 3), (5, 2)]))) == [
        (3, 4), (2, 5), (2, 7), (2, 9),
    ]  # fmt: skip


def test_an_edge_to_itself_is_a_vertex_and_no_edge_of_a_forest() -> None:
    edges = _edges([(6, 6)])
    assert [one.tolist() for one in components(*edges)] == [[6], [6]]
    assert _pairs(spanning_forest(*edges)) == _pairs(star_contraction(*edges)) == []


def test_no_edges_have_no_components() -> None:
    none = _edges([])
    for found in (components(*none), spanning_forest(*none), star_contraction(*none), merge_forests([])):
        assert [len(one) for one in found] == [0, 0]
        assert [one.dtype for one in found] == [np.uint64, np.uint64]


def test_ends_that_do_not_match_are_refused() -> None:
    with pytest.raises(ValueError, match="3 and 2"):
        components(np.zeros(3, np.uint64), np.zeros(2, np.uint64))


@settings(deadline=None)
@given(_EDGES)
def test_components_are_those_of_networkx(pairs: Pairs) -> None:
    vertices, roots = components(*_edges(pairs))
    assert dict(zip(vertices.tolist(), roots.tolist(), strict=True)) == _expected(pairs)
    assert vertices.tolist() == sorted(set(vertices.tolist()))


@settings(deadline=None)
@given(_EDGES, st.randoms(use_true_random=False))
def test_order_direction_and_repetition_of_edges_do_not_matter(pairs: Pairs, draw: random.Random) -> None:
    repeated = pairs + draw.sample(pairs, len(pairs) // 2)
    turned = [(one, other) if draw.random() < 0.5 else (other, one) for one, other in repeated]
    draw.shuffle(turned)
    for function in (spanning_forest, components, star_contraction):
        assert _pairs(function(*_edges(turned))) == _pairs(function(*_edges(pairs)))


@settings(deadline=None)
@given(_EDGES, st.integers(1, 6))
def test_forests_of_parts_merge_to_the_forest_of_the_whole(pairs: Pairs, parts: int) -> None:
    forests = [spanning_forest(*_edges(pairs[part::parts])) for part in range(parts)]

    flat = merge_forests(forests)
    nested = merge_forests([merge_forests(reversed(forests[: parts // 2])), merge_forests(forests[parts // 2 :])])

    assert _pairs(flat) == _pairs(nested) == _forest(pairs)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=60), st.integers(1, 6))
def test_a_forest_grows_by_parts_to_that_of_the_whole(pairs: Pairs, parts: int) -> None:
    forest = Forest(31)

    for part in range(parts):
        forest.join(*np.array(pairs[part::parts], np.int64).reshape(-1, 2).T)

    assert _pairs(forest.edges) == _forest(pairs)


@settings(deadline=None)
@given(_EDGES, st.integers(1, 9), st.integers(1, 6))
def test_a_forest_that_grows_by_parts_ends_as_that_of_the_whole(pairs: Pairs, parts: int, least: int) -> None:
    *some, whole = growing_forests([_edges(pairs[part::parts]) for part in range(parts)], least)
    assert _pairs(whole) == _forest(pairs)
    assert sum(len(first) for first, _ in some) <= (1 + len(pairs)) * (1 + len(pairs).bit_length())  # each a few times


@settings(deadline=None)
@given(_EDGES)
def test_star_contraction_ends_at_the_forest(pairs: Pairs) -> None:
    assert _pairs(star_contraction(*_edges(pairs))) == _forest(pairs)


@settings(deadline=None)
@given(_EDGES, st.integers(1, 5))
def test_stars_of_partitions_are_those_of_the_whole_and_keep_components(pairs: Pairs, partitions: int) -> None:
    for spread, star in ((mirrored, large_star), (downward, small_star)):
        first, second = spread(*_edges(pairs))
        places = first % np.uint64(partitions)
        stars = [star(first[places == part], second[places == part]) for part in range(partitions)]

        whole = star(first, second)

        assert {pair for part in stars for pair in _pairs(part)} == set(_pairs(whole))
        assert all(lesser < greater for lesser, greater in _pairs(whole))
        assert _pairs(spanning_forest(*whole)) == _forest(pairs)


def test_a_large_star_joins_greater_neighbours_and_a_small_star_lesser_ones() -> None:
    edges = _edges([(5, 3), (5, 4), (5, 8), (5, 9)])
    assert _pairs(large_star(*edges)) == [(3, 8), (3, 9)]
    assert _pairs(small_star(edges[0][:2], edges[1][:2])) == [(3, 4), (3, 5)]


@pytest.mark.parametrize(
    "pairs",
    [
        [(at, at + 1) for at in range(5000)],
        [(at, (at * 7919) % 5003) for at in range(5003)],
        [(0, at) for at in range(1, 5000)],
        [(4999, at) for at in range(4999)],
        [(at // 2, at) for at in range(1, 5000)],
    ],
    ids=["path", "permutation", "star", "star around the greatest", "tree"],
)
def test_long_and_wide_components_settle(pairs: Pairs) -> None:
    assert _pairs(star_contraction(*_edges(pairs))) == _pairs(spanning_forest(*_edges(pairs))) == _forest(pairs)


def test_a_million_edges_at_random_have_the_same_components_in_any_order() -> None:
    draw = np.random.default_rng(3)
    first, second = draw.integers(0, 2**44, 700_000, dtype=np.uint64)[draw.integers(0, 700_000, (2, 1_000_000))]
    order = draw.permutation(len(first))

    found, other = components(first, second), components(second[order], first[order])

    assert np.array_equal(found[0], other[0])
    assert np.array_equal(found[1], other[1])
