"""Top values are exact within a shard, and what a cap lets go is bounded and declared."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from winnow.schemas.statistics import TopValues

words = st.lists(st.sampled_from("abcdefgh"), max_size=60)


def top_of(values: list[str]) -> TopValues:
    found = TopValues()
    found.add(values, [1] * len(values))
    return found


def test_equal_counts_are_ranked_by_value() -> None:
    assert top_of(list("cabbac")).ranked() == [("a", 2), ("b", 2), ("c", 2)]


def test_a_cap_keeps_the_first_and_declares_the_rest() -> None:
    capped = top_of(list("aaabbcd")).capped(2)
    assert (capped.counts, capped.other, capped.uncounted) == ({"a": 3, "b": 2}, 2, 1)


def test_nothing_is_let_go_below_the_cap() -> None:
    capped = top_of(list("ab")).capped(2)
    assert (capped.counts, capped.other, capped.uncounted) == ({"a": 1, "b": 1}, 0, 0)


def test_a_very_long_value_is_other_from_the_start() -> None:
    found = top_of(["é" * 128, "é" * 129, "x" * 257])
    assert (found.counts, found.other, found.uncounted) == ({"é" * 128: 1}, 2, 0)


@given(words)
def test_a_shard_counts_as_counter_does(values: list[str]) -> None:
    assert top_of(values).counts == Counter(values)


@given(words, words, words)
def test_the_true_count_is_within_the_declared_bound(one: list[str], two: list[str], three: list[str]) -> None:
    merged = TopValues()
    for shard in (one, two, three):
        merged.absorb(top_of(shard).capped(3))
    true = Counter(one + two + three)
    assert sum(merged.counts.values()) + merged.other == true.total()
    for value, count in merged.counts.items():
        assert count <= true[value] <= count + merged.uncounted


@given(words, words)
def test_merging_is_commutative(one: list[str], two: list[str]) -> None:
    forward, backward = top_of(one).capped(3), top_of(two).capped(3)
    forward.absorb(top_of(two).capped(3))
    backward.absorb(top_of(one).capped(3))
    assert forward.to_json() == backward.to_json()
