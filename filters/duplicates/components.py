"""Connected components of verified pairs, and forests small enough to be merged bottom-up.

Every function here depends only on the set of edges, not on their order, direction or repetition.

Where the edges fit in memory, union-find joins them (`components`, `spanning_forest`). Past that, alternating star
contraction does so over edges partitioned by vertex (R. Kiveris, S. Lattanzi, V. Mirrokni, V. Rastogi and
S. Vassilvitskii, "Connected Components in MapReduce and Beyond", 2014): a round sends `mirrored` edges to the
partition of their first end for `large_star`, and `downward` edges of what comes back for `small_star`. Rounds end
when the set of edges is the one before; each component is then a star around its smallest vertex.
"""

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from winnow.filters.duplicates.ranks import distinct, ranks
from winnow.schemas.kernels import kernel, leaf

Vertices = npt.NDArray[np.uint64]
Edges = tuple[Vertices, Vertices]
"""The two ends of every edge."""


def components(first: Vertices, second: Vertices) -> tuple[Vertices, Vertices]:
    """All vertices in ascending order, and the smallest vertex of each one's component.

    An edge from a vertex to itself only says that the vertex exists.

    Raises:
        ValueError: The numbers of first and second ends differ.
    """
    if len(first) != len(second):
        raise ValueError(f"expected as many first ends as second ones, found {len(first)} and {len(second)}")
    first, second = np.ascontiguousarray(first, np.uint64), np.ascontiguousarray(second, np.uint64)
    vertices = distinct(np.concatenate((first, second)), overwrite=True)
    parents = np.arange(len(vertices), dtype=np.int32)
    _unite(parents, ranks(vertices, first), ranks(vertices, second))
    return vertices, vertices[parents]


def spanning_forest(first: Vertices, second: Vertices) -> Edges:
    """The spanning forest: each component's smallest vertex joined to each of its others.

    Returns:
        The smallest vertices and the others, in ascending order of the others.
    """
    vertices, roots = components(first, second)
    others = vertices != roots
    return roots[others], vertices[others]


class Forest:
    """The spanning forest of vertices numbered from 0, to which edges are added in any parts; its memory is theirs."""

    def __init__(self, vertices: int) -> None:
        self._parents = np.arange(vertices, dtype=np.int32)

    def join(self, first: npt.NDArray[np.int64], second: npt.NDArray[np.int64]) -> None:
        """Add edges."""
        _unite(self._parents, first.astype(np.int32), second.astype(np.int32))

    @property
    def edges(self) -> Edges:
        """As `spanning_forest` returns them."""
        others = np.flatnonzero(self._parents != np.arange(len(self._parents)))
        return self._parents[others].astype(np.uint64), others.astype(np.uint64)


def merge_forests(parts: Iterable[Edges]) -> Edges:
    """The spanning forest of all parts' edges; parts may be merged in any order and grouping."""
    held = list(parts)
    if not held:
        return np.empty(0, np.uint64), np.empty(0, np.uint64)
    return spanning_forest(np.concatenate([first for first, _ in held]), np.concatenate([second for _, second in held]))


def growing_forests(parts: Iterable[Edges], least: int = 1 << 16) -> Iterator[Edges]:
    """Merge many parts: the forest of all so far, whenever as many edges have come as it has; the last is that of all.

    So an edge is merged a few times however many parts there are, and no more edges wait than the forest has, or
    `least` and a part.
    """
    forest, waiting = merge_forests(()), list[Edges]()
    for part in parts:
        waiting.append(part)
        if sum(len(first) for first, _ in waiting) >= max(len(forest[0]), least):
            forest, waiting = merge_forests([forest, *waiting]), []
            yield forest
    yield merge_forests([forest, *waiting])


def mirrored(first: Vertices, second: Vertices) -> Edges:
    """Every edge from both of its ends: the input of `large_star`, partitioned by first end."""
    apart = first != second
    first, second = first[apart], second[apart]
    return np.concatenate((first, second)), np.concatenate((second, first))


def downward(first: Vertices, second: Vertices) -> Edges:
    """Every edge from its greater end: the input of `small_star`, partitioned by first end."""
    apart = first != second
    first, second = first[apart], second[apart]
    return np.maximum(first, second), np.minimum(first, second)


def large_star(first: Vertices, second: Vertices) -> Edges:
    """Join every greater neighbour of a vertex to the smallest of the vertex and all its neighbours.

    Args:
        first: The vertices of one partition, once for every neighbour, in any order.
        second: Their neighbours, lesser and greater.

    Returns:
        The lesser and the greater ends, each edge once, in ascending order.
    """
    first, second = _sorted_edges(first, second)
    least = np.minimum(first, second[_leaders(first)])
    greater = second > first
    return _distinct_edges(least[greater], second[greater])


def small_star(first: Vertices, second: Vertices) -> Edges:
    """Join a vertex and all its lesser neighbours to the smallest of these.

    Args:
        first: The vertices of one partition, once for every lesser neighbour, in any order.
        second: Their lesser neighbours.

    Returns:
        The lesser and the greater ends, each edge once, in ascending order.
    """
    first, second = _sorted_edges(first, second)
    leaders = _leaders(first)
    least = second[leaders]
    others = second != least
    heads = leaders == np.arange(len(first))
    return _distinct_edges(
        np.concatenate((least[others], second[heads])), np.concatenate((second[others], first[heads]))
    )


def _sorted_edges(first: Vertices, second: Vertices) -> Edges:
    order = np.lexsort((second, first))
    return first[order], second[order]


def _distinct_edges(first: Vertices, second: Vertices) -> Edges:
    first, second = _sorted_edges(first, second)
    if not len(first):
        return first, second
    fresh = np.concatenate(([True], (first[1:] != first[:-1]) | (second[1:] != second[:-1])))
    return first[fresh], second[fresh]


def _leaders(ordered: Vertices) -> npt.NDArray[np.int64]:
    """For each of the sorted values, the index of the first equal one."""
    places = np.arange(len(ordered))
    places[1:][ordered[1:] == ordered[:-1]] = 0
    return np.maximum.accumulate(places)


@kernel
def _unite(parents, first, second):  # type: ignore[no-untyped-def]
    """Point every vertex to the smallest vertex of its component."""
    for edge in range(len(first)):
        one, other = _root(parents, first[edge]), _root(parents, second[edge])
        # The lesser root wins, so a component's name does not depend on the order of edges.
        if one < other:
            parents[other] = one
        elif other < one:
            parents[one] = other
    for vertex in range(len(parents)):  # parents are lesser, so theirs are final by now
        parents[vertex] = parents[parents[vertex]]


@leaf
def _root(parents, vertex):  # type: ignore[no-untyped-def]
    while parents[vertex] != vertex:
        parents[vertex] = parents[parents[vertex]]  # path halving
        vertex = parents[vertex]
    return vertex
