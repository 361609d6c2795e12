"""What tasks find of two recipes becomes one comparison, in an order of its own."""

from types import SimpleNamespace
from typing import Any, cast

from winnow.pipelines.rules.comparing import Cell, ChangedSample, Comparison, Move, _merged, _number, _only
from winnow.pipelines.running.shard_list import ListedShard


def shards(*listed: tuple[str, str, int]) -> Any:
    """Tasks over shards with these names, sources and rows."""
    return cast(Any, SimpleNamespace(shards=SimpleNamespace(all=[ListedShard(*one, objects={}) for one in listed])))


def sample(identity: str) -> ChangedSample:
    return ChangedSample(identity, "source", "deu", "", "short")


def test_the_rows_of_shards_that_one_store_alone_has_are_summed_by_source_in_order() -> None:
    mine = shards(("a", "web", 7), ("b", "books", 1), ("c", "web", 10), ("d", "arxiv", 5), ("e", "books", 2))
    theirs = shards(("b", "books", 1), ("f", "videos", 3))
    assert list(_only(mine, theirs).items()) == [("arxiv", 5), ("books", 2), ("web", 17)]
    assert _only(theirs, mine) == {"videos": 3}
    assert _only(mine, mine) == {}


def test_a_shard_is_found_by_its_name_among_sorted_ones() -> None:
    listed = shards(("b", "s", 1), ("d", "s", 1), ("f", "s", 1)).shards.all
    assert [_number(listed, name) for name in "abcdefg"] == [None, 0, None, 1, None, 2, None]
    assert _number([], "a") is None


def test_parts_are_summed_sorted_and_cut_to_the_samples_with_the_smallest_ids() -> None:
    one = Comparison(
        (Cell("web", "fra", 9, 8, 7, 6, 5, 4, 3), Cell("books", "swe", 1)),
        (Move("short", "", 2), Move("", "short", 4)),
        tuple(map(sample, "bdf")),
        tuple(map(sample, "z")),
    )
    other = Comparison(
        (Cell("web", "deu", 5), Cell("web", "fra", 90, 80, 70, 60, 50, 40, 30)),
        (Move("", "short", 40), Move("", "", 1)),
        tuple(map(sample, "ace")),
        misfit="shard-2",
    )
    expected = Comparison(
        (Cell("books", "swe", 1), Cell("web", "deu", 5), Cell("web", "fra", 99, 88, 77, 66, 55, 44, 33)),
        (Move("", "", 1), Move("", "short", 44), Move("short", "", 2)),
        tuple(map(sample, "abcd")),
        tuple(map(sample, "z")),
        misfit="shard-2",
    )
    assert _merged([one, other], 4) == _merged([other, Comparison(), one], 4) == expected
    assert expected.total == Cell("", "", 105, 88, 77, 66, 55, 44, 33)
    assert _merged([one, other], 0).lost == ()
    assert _merged([], 4) == Comparison()
