"""Judging pairs: by signatures where they are clear, by sets of shingles where they are not."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.messages import assert_refused
from winnow.filters.duplicates.verification import ABOVE, BELOW, UNCLEAR, jaccard, judge, matching

Sets = list[set[int]]

_SETS = st.lists(st.tuples(*[st.sets(st.integers(0, 40) | st.sampled_from([2**64 - 1, 2**63]), max_size=25)] * 2))


def _table(sets: Sets) -> tuple[np.ndarray, np.ndarray]:
    offsets = np.cumsum([0, *(len(one) for one in sets)]).astype(np.int64)
    return offsets, np.array([value for one in sets for value in sorted(one)], np.uint64)


def _jaccard(first: Sets, second: Sets, limit: int | None = None) -> list[tuple[int, int]]:
    shared, joint = jaccard(_table(first), _table(second), limit=limit)
    return list(zip(shared.tolist(), joint.tolist(), strict=True))


@settings(deadline=None)
@given(st.integers(0, 9), st.integers(0, 300), st.integers(0, 2**32 - 1))
def test_matches_are_counted_position_by_position(pairs: int, hashes: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    first, second = draw.integers(0, 3, (2, pairs, hashes), dtype=np.uint32)
    assert matching(first, second).tolist() == (first == second).sum(axis=1).tolist()


def test_signatures_of_other_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="expected two equal tables"):
        matching(np.zeros((2, 4), np.uint32), np.zeros((2, 5), np.uint32))


def test_a_pair_is_clear_two_standard_errors_below_the_threshold_and_three_above() -> None:
    # At a threshold of 0.8 a standard error of 100 hashes is 0.04.
    matches = np.array([0, 71, 72, 80, 92, 93, 100])
    assert judge(matches, 100, 0.8).tolist() == [BELOW, BELOW, UNCLEAR, UNCLEAR, UNCLEAR, ABOVE, ABOVE]


def test_templated_pages_that_are_near_are_left_to_their_sets() -> None:
    # Jaccard 0.64 under a threshold of 0.7: 112 hashes show 0.7 and more for one such pair in ten.
    assert judge(np.array([72, 79, 87]), 112, 0.7).tolist() == [UNCLEAR] * 3


def test_at_thresholds_of_nothing_and_all_the_bound_itself_is_unclear() -> None:
    assert judge(np.array([0, 99, 100]), 100, 1.0).tolist() == [BELOW, BELOW, UNCLEAR]
    assert judge(np.array([0, 1, 100]), 100, 0.0).tolist() == [UNCLEAR, ABOVE, ABOVE]


@pytest.mark.parametrize(("hashes", "threshold"), [(0, 0.5), (8, -0.1), (8, 1.1), (8, math.nan)])
def test_thresholds_that_are_none_are_refused(hashes: int, threshold: float) -> None:
    with pytest.raises(ValueError, match="expected hashes and a threshold"):
        judge(np.array([1]), hashes, threshold)


def test_few_pairs_just_below_the_threshold_are_clearly_above() -> None:
    seen = np.random.default_rng(5).binomial(256, 0.699, 100_000)
    wrong = np.count_nonzero(judge(seen, 256, 0.7) == ABOVE)
    assert wrong < 0.0014 * 100_000


def test_jaccard_counts_shared_and_joint_values() -> None:
    assert _jaccard([{1, 2, 3}, set(), {5}, set()], [{2, 3, 4}, {1}, {5}, set()]) == [(2, 4), (0, 1), (1, 1), (0, 0)]


@settings(deadline=None)
@given(_SETS)
def test_jaccard_is_that_of_python_sets(pairs: list[tuple[set[int], set[int]]]) -> None:
    first, second = [one for one, _ in pairs], [other for _, other in pairs]
    assert _jaccard(first, second) == [(len(one & other), len(one | other)) for one, other in pairs]


@settings(deadline=None)
@given(_SETS, st.integers(0, 2**32 - 1))
def test_pairs_may_name_a_set_again_and_again(pairs: list[tuple[set[int], set[int]]], seed: int) -> None:
    first, second = [one for one, _ in pairs], [other for _, other in pairs]
    draw = np.random.default_rng(seed)
    of = (draw.integers(0, len(pairs), 20 if pairs else 0), draw.integers(0, len(pairs), 20 if pairs else 0))
    shared, joint = jaccard(_table(first), _table(second), of)
    expected = [(first[one], second[other]) for one, other in zip(of[0].tolist(), of[1].tolist(), strict=True)]
    assert shared.tolist() == [len(one & other) for one, other in expected]
    assert joint.tolist() == [len(one | other) for one, other in expected]


@settings(deadline=None)
@given(_SETS, st.integers(1, 12))
def test_cut_sets_give_what_whole_ones_hold_up_to_where_both_are_known(
    pairs: list[tuple[set[int], set[int]]], limit: int
) -> None:
    cut = [tuple(set(sorted(one)[:limit]) for one in pair) for pair in pairs]
    expected = []
    for pair in pairs:
        known = min([sorted(one)[limit - 1] for one in pair if len(one) >= limit], default=2**64 - 1)
        one, other = ({value for value in part if value <= known} for part in pair)
        expected.append((len(one & other), len(one | other)))

    assert _jaccard([one for one, _ in cut], [other for _, other in cut], limit) == expected


def test_a_cut_set_is_compared_no_further_than_it_is_known() -> None:
    assert _jaccard([{1, 2, 3}], [{2, 3, 9}], 3) == [(2, 3)]  # 9 may be a value that the first lost
    assert _jaccard([{1, 2, 9}], [{2, 3}], 3) == [(1, 4)]  # the second is whole: it has no 9


def test_samples_of_large_sets_estimate_their_jaccard() -> None:
    values = np.random.default_rng(6).integers(0, 2**64, 90_000, dtype=np.uint64)
    sides = [np.sort(values[:60_000])[:4096], np.sort(values[30_000:])[:4096]]
    ends = np.array([0, 4096])

    shared, joint = jaccard((ends, sides[0]), (ends, sides[1]), limit=4096)

    assert abs(shared[0] / joint[0] - 1 / 3) < 4 * math.sqrt(2 / 9 / joint[0])


@pytest.mark.parametrize("offsets", [[0, 3], [-1, 2], [2, 0], []])
def test_offsets_that_leave_the_values_are_refused(offsets: list[int]) -> None:
    given_, values = np.array(offsets, np.int64), np.zeros(2, np.uint64)
    with assert_refused(ValueError, "expected ascending", "2 values"):
        jaccard((given_, values), (given_, values))


def test_sides_of_other_lengths_and_limits_of_nothing_are_refused() -> None:
    none = np.empty(0, np.uint64)
    with pytest.raises(ValueError, match="as many first sets"):
        jaccard((np.zeros(3, np.int64), none), (np.zeros(2, np.int64), none))
    with pytest.raises(ValueError, match="limit of one"):
        jaccard((np.zeros(2, np.int64), none), (np.zeros(2, np.int64), none), limit=0)
    with assert_refused(ValueError, "below 1", "1"):
        jaccard((np.zeros(2, np.int64), none), (np.zeros(2, np.int64), none), (np.array([0]), np.array([1])))
