"""Where an export is cut: equal numbers of samples, no file above its cap, no more files than that takes."""

import itertools

import numpy as np
import pytest

from tests.pipelines.export.drawn_stores import BOOKS, WEB, Given, Rows, every, make_draw, words
from winnow.pipelines.export.formats.protocol import ShardName
from winnow.pipelines.export.planning import cutting
from winnow.pipelines.export.planning.cutting import cut_outputs
from winnow.pipelines.export.planning.sizing import SAMPLE_BYTES, OutputSize, Way
from winnow.pipelines.mix.draws import Draw, copies_of
from winnow.pipelines.running import shard_groups
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.memory import MemoryStore
from winnow.pipelines.store.tables import read_table
from winnow.schemas.uint128 import words_of
from winnow.scoring.mixture.orders import export_order, key_of


def cut(store: Store, draw: Draw, cap: int) -> OutputSize:
    return cut_outputs(store.objects, draw, [Way(cap)])[Way(cap)].outputs[0]


def map_in_order(store: Store, draw: Draw) -> tuple[list[int], list[int]]:
    """Places in the order, and bytes, of every copy that the first output gives."""
    found: list[tuple[int, int]] = []
    for shard in draw.shards:
        (batch,) = read_table(store.objects, shard.draw).combine_chunks().to_batches()
        high, low = words_of(batch["id"])
        for rows, copies in copies_of(batch):
            order = export_order((high[rows], low[rows]), key_of(7, "export"), copies)
            found += zip(order.tolist(), (batch["bytes"].to_numpy()[rows] + SAMPLE_BYTES).tolist(), strict=True)
    return [place for place, _ in sorted(found)], [held for _, held in sorted(found)]


def brute_force(held: list[int], cap: int) -> list[int]:
    """The samples of each shard, for the smallest number of shards that keeps the cap."""
    total = len(held)
    for number in range(1, total + 1):
        edges = [place * total // number for place in range(number + 1)]
        parts = [held[first:last] for first, last in itertools.pairwise(edges)]
        if all(sum(part) <= cap for part in parts):
            return [len(part) for part in parts]
    raise AssertionError


@pytest.mark.parametrize("cap", [700, 1_500, 4_096, 9_999, 1 << 20])
def test_the_fewest_files_are_cut_of_which_none_is_above_the_cap(cap: int) -> None:
    store, draw = make_draw(MemoryStore(f"cut-{cap}"), {"a": every(words(40)), "b": every(words(33, 40))})
    size = cut(store, draw, cap)
    places, held = map_in_order(store, draw)
    assert list(size.counts) == brute_force(held, cap)
    assert max(size.counts) - min(size.counts) <= 1
    begins = np.cumsum([0, *size.counts])[1:-1]
    assert list(size.boundaries) == [places[begin] for begin in begins]
    shards = np.repeat(np.arange(len(size.counts)), size.counts)
    assert size.shard_of(np.array(places, np.uint64)).tolist() == shards.tolist()


def test_each_copy_of_a_sample_has_a_place_of_its_own() -> None:
    rows = Rows(words(3), [Given(0, copies=5, first=2), Given(2, copies=300)])
    store, draw = make_draw(MemoryStore("copies"), {"a": rows})
    size = cut(store, draw, 16_384)
    places, _ = map_in_order(store, draw)
    assert size.samples == 305 == len(set(places))


def test_the_cut_hangs_neither_on_the_order_of_shards_nor_on_how_rows_lie_in_them() -> None:
    one, first = make_draw(MemoryStore("one"), {"a": every(words(30)), "b": every(words(30, 30))})
    two, second = make_draw(MemoryStore("two"), {"b": every(words(30, 30)), "a": every(words(30))}, row_group_rows=7)
    assert cut(one, first, 3_000) == cut(two, second, 3_000)


def test_a_cut_is_the_same_however_the_draw_and_the_samples_near_boundaries_are_divided(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shards = {f"s{number}": every(words(30, 30 * number)) for number in range(7)}
    shards["two"] = Rows(words(9), [Given(1, copies=40), Given(2, output=1), Given(5, output=1, copies=2)])
    store, draw = make_draw(MemoryStore("tasks"), shards, [[WEB, BOOKS], [WEB]], ["train", "validation"])
    ways = [Way(900), Way(5_000), Way(1 << 20)]
    whole = cut_outputs(store.objects, draw, ways)
    assert [len(one.counts) for one in whole[Way(900)].outputs] == [250, 3]
    monkeypatch.setattr(shard_groups, "groups_for", lambda *_: 5)
    monkeypatch.setattr(cutting, "NEAR_BYTES", 40)
    assert cut_outputs(store.objects, draw, ways) == whole


def test_outputs_and_caps_are_cut_apart() -> None:
    rows = Rows(words(20), [*(Given(row) for row in range(20)), Given(3, output=1)])
    store, draw = make_draw(MemoryStore("outputs"), {"a": rows}, [[WEB], [BOOKS], [WEB]], ["train", "validation", "x"])
    sizes = cut_outputs(store.objects, draw, [Way(2_048), Way(1 << 20), Way(2_048, True)])
    assert [len(one.counts) for one in sizes[Way(2_048)].outputs] == [7, 1, 0]
    assert [one.counts for one in sizes[Way(1 << 20)].outputs] == [(20,), (1,), ()]


def test_a_sample_that_is_larger_than_the_cap_is_counted_and_does_not_multiply_files() -> None:
    texts = [*words(20), "x" * 50_000]
    store, draw = make_draw(MemoryStore("large"), {"a": every(texts)})
    size = cut(store, draw, 20_000)
    assert size.over == 1
    assert size.samples == 21
    assert len(size.counts) == 2


def test_there_may_be_more_files_than_five_digits_can_number() -> None:
    copies = [Given(row, copies=60_000) for row in range(2)]
    store, draw = make_draw(MemoryStore("many"), {"a": Rows(["x" * 600, "y" * 600], copies)})
    size = cut(store, draw, 1_200)
    assert len(size.counts) == size.samples == 120_000
    assert ShardName("train", len(size.counts) - 1, len(size.counts)).stem() == "train-119999-of-120000"
