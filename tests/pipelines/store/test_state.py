"""The keys of layers whose values depend on all shards: what they tell apart, and what they do not."""

import itertools

from winnow.pipelines.store.state import covered_key, is_of_all

SHARDS = [("b", "samples/1", "text/2"), ("a", "samples/9", "text/1"), ("c", "samples/0", "text/0")]
TOMBSTONES = ["t2", "t3", "t1"]


def test_the_key_is_the_same_in_any_order() -> None:
    found = {
        covered_key("settings", shards, hidden)
        for shards in itertools.permutations(SHARDS)
        for hidden in itertools.permutations(TOMBSTONES)
    }
    assert len(found) == 1
    assert all(map(is_of_all, found))


def test_the_key_is_another_with_anything_that_values_depend_on() -> None:
    changed = [("b", "samples/1", "text/3"), *SHARDS[1:]]
    given = [
        ("settings", SHARDS, TOMBSTONES),
        ("others", SHARDS, TOMBSTONES),
        ("settings", SHARDS[:2], TOMBSTONES),
        ("settings", changed, TOMBSTONES),
        ("settings", SHARDS, TOMBSTONES[:2]),
        ("settings", SHARDS, []),
        ("settings", [], TOMBSTONES),
    ]
    assert len({covered_key(*one) for one in given}) == len(given)
    assert not is_of_all("settings")
