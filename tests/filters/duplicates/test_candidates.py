"""Candidate pairs: all of a small bucket, a bounded number of a large one, never by the order of rows."""

import random
from collections import defaultdict
from itertools import combinations

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from winnow.filters.duplicates.candidates import Candidates, candidate_pairs
from winnow.filters.duplicates.components import components

Rows = list[tuple[int, int, int]]
"""Rows as (key, mark, shard and row)."""

_KEYS = st.integers(0, 3) | st.just(2**64 - 1)
_ROWS = st.lists(st.tuples(_KEYS, st.integers(0, 12), st.integers(0, 2**44 - 1) | st.integers(0, 20)), max_size=80)


def _found(rows: Rows, **limits: int) -> Candidates:
    keys = np.array([key for key, _, _ in rows], np.uint64)
    references = np.array([mark << 44 | row for _, mark, row in rows], np.uint64)
    return candidate_pairs(keys, references, **limits)


def _pairs(found: Candidates) -> list[tuple[int, int]]:
    return list(zip(found.first.tolist(), found.second.tolist(), strict=True))


def _buckets(rows: Rows) -> dict[int, set[int]]:
    found = defaultdict(set)
    for key, _, row in rows:
        found[key].add(row)
    return found


def test_rows_of_one_key_are_pairs_and_others_are_not() -> None:
    found = _found([(7, 3, 30), (8, 1, 10), (7, 2, 20), (7, 1, 10), (9, 5, 50)])

    assert _pairs(found) == [(10, 20), (10, 30), (20, 30)]
    assert (found.buckets, found.hot_buckets, found.hot_rows) == (1, 0, 0)
    assert found.first.dtype == found.second.dtype == np.uint64


def test_a_pair_of_several_bands_and_a_row_given_twice_are_one_pair_and_none() -> None:
    found = _found([(1, 0, 4), (1, 0, 5), (2, 0, 4), (2, 0, 5), (3, 0, 6), (3, 0, 6)])
    assert _pairs(found) == [(4, 5)]
    assert found.buckets == 2


def test_no_rows_have_no_pairs() -> None:
    found = _found([])
    assert (_pairs(found), found.buckets, found.hot_buckets, found.hot_rows) == ([], 0, 0, 0)


def test_the_zero_key_and_the_greatest_one_are_keys_like_others() -> None:
    assert _pairs(_found([(0, 0, 1), (2**64 - 1, 0, 1), (0, 0, 2), (2**64 - 1, 0, 3)])) == [(1, 2), (1, 3)]


def test_groups_of_one_in_a_large_bucket_meet_the_next_in_order_of_marks() -> None:
    rows = [(1, mark, 100 - mark) for mark in range(6)]
    assert _pairs(_found(rows, all_pairs=3, window=2)) == sorted(
        (100 - later, 100 - mark) for mark in range(6) for later in (mark + 1, mark + 2) if later < 6
    )


def test_groups_in_a_large_bucket_meet_whole_until_they_hold_all_pairs() -> None:
    #       mark 1        mark 2   mark 3       mark 4
    rows = [(1, 1, 10), (1, 2, 20), (1, 2, 21), (1, 3, 30), (1, 3, 31), (1, 4, 40)]
    assert _pairs(_found(rows, all_pairs=3, window=2)) == [
        (10, 20), (10, 21),  # marks 2 and 3 hold more than three rows together
        (20, 21), (20, 30), (20, 31), (20, 40),
        (21, 30), (21, 31), (21, 40),
        (30, 31), (30, 40), (31, 40),
    ]  # fmt: skip


def test_a_group_of_many_is_a_chain_with_a_hub() -> None:
    rows = [(1, 5, row) for row in range(6)] + [(1, 6, 9)]
    assert _pairs(_found(rows, all_pairs=3, window=1)) == sorted(
        [(at, at + 1) for at in range(5)] + [(0, at) for at in range(2, 6)] + [(at, 9) for at in range(6)]
    )


@settings(deadline=None)
@given(_ROWS)
def test_every_pair_of_small_buckets_is_found(rows: Rows) -> None:
    expected = {pair for members in _buckets(rows).values() for pair in combinations(sorted(members), 2)}
    found = _found(rows, all_pairs=200)
    assert _pairs(found) == sorted(expected)


@settings(deadline=None)
@given(_ROWS, st.integers(1, 6), st.integers(1, 8))
def test_large_buckets_stay_connected_with_a_bounded_number_of_pairs(rows: Rows, all_pairs: int, window: int) -> None:
    pairs = _pairs(_found(rows, all_pairs=all_pairs, window=window))

    buckets = _buckets(rows).values()
    alike = {pair for members in buckets for pair in combinations(sorted(members), 2)}
    assert set(pairs) <= alike
    assert pairs == sorted(set(pairs))
    assert len(pairs) <= len(rows) * (all_pairs + max(all_pairs, window + 1))
    graph, whole = networkx.Graph(pairs), networkx.Graph(alike)
    assert {frozenset(one) for one in networkx.connected_components(graph)} == {
        frozenset(one) for one in networkx.connected_components(whole)
    }


@settings(deadline=None)
@given(_ROWS, st.integers(1, 6), st.integers(1, 8), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(rows: Rows, all_pairs: int, window: int, draw: random.Random) -> None:
    turned = draw.sample(rows, len(rows))
    limits = {"all_pairs": all_pairs, "window": window, "hot": 5}
    found, other = _found(rows, **limits), _found(turned, **limits)
    assert _pairs(found) == _pairs(other)
    assert (found.buckets, found.hot_buckets, found.hot_rows) == (other.buckets, other.hot_buckets, other.hot_rows)


@settings(deadline=None)
@given(st.lists(st.integers(0, 200), unique=True, max_size=60), st.randoms(use_true_random=False))
def test_where_rows_are_stored_does_not_matter(marks: list[int], draw: random.Random) -> None:
    met = []
    for _ in range(2):
        places = draw.sample(range(1000), len(marks))
        held = dict(zip(places, marks, strict=True))
        found = _found([(1, mark, place) for place, mark in held.items()], all_pairs=4, window=3)
        met.append({frozenset((held[first], held[second])) for first, second in _pairs(found)})
    assert met[0] == met[1]


def test_hot_buckets_are_counted_and_not_dropped() -> None:
    rows = [(1, row, row) for row in range(5)] + [(2, row, row) for row in range(4)] + [(3, 0, 0)]
    found = _found(rows, hot=4)
    assert (found.buckets, found.hot_buckets, found.hot_rows) == (2, 1, 5)
    assert len(_pairs(found)) == 10


@pytest.mark.parametrize("limit", ["all_pairs", "window", "hot"])
def test_limits_of_nothing_are_refused(limit: str) -> None:
    with pytest.raises(ValueError, match=f"{limit}=0"):
        _found([(1, 0, 0)], **{limit: 0})


def test_keys_without_references_are_refused() -> None:
    with pytest.raises(ValueError, match="found 2 for 3"):
        candidate_pairs(np.zeros(3, np.uint64), np.zeros(2, np.uint64))


@pytest.mark.parametrize(
    ("count", "marks"),
    [(200_000, 1), (50_000, 30), (200_000, 2**20)],
    ids=["one mark", "thirty marks", "many marks"],
)
def test_very_many_equal_keys_give_a_linear_number_of_pairs(count: int, marks: int) -> None:
    rows = np.arange(count, dtype=np.uint64)
    references = np.random.default_rng(7).integers(0, marks, len(rows), dtype=np.uint64) << np.uint64(44) | rows

    found = candidate_pairs(np.full(len(rows), 5, np.uint64), references)

    assert len(found.first) <= 48 * len(rows)
    assert (found.buckets, found.hot_buckets, found.hot_rows) == (1, 1, len(rows))
    assert np.unique(components(found.first, found.second)[1]).tolist() == [0]


def test_planted_pairs_among_a_million_random_keys_are_all_found() -> None:
    draw = np.random.default_rng(8)
    keys = draw.integers(0, 2**64, 1_000_000, dtype=np.uint64)
    first, second = draw.permutation(1_000_000).reshape(2, -1)[:, :50_000]
    keys[second] = keys[first]
    marks = draw.integers(0, 2**20, len(keys), dtype=np.uint64)

    found = candidate_pairs(keys, marks << np.uint64(44) | np.arange(len(keys), dtype=np.uint64))

    expected = sorted(zip(np.minimum(first, second).tolist(), np.maximum(first, second).tolist(), strict=True))
    assert _pairs(found) == expected
