"""Rows that meet across a store: which of those that offer a key answer, and to whom, against a plain loop."""

from collections import defaultdict

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from winnow.pipelines.annotate.cross_rows import CHOSEN, OFFERS, chosen, offered
from winnow.pipelines.running.row_arrays import global_rows
from winnow.pipelines.running.shard_list import ListedShard, ShardList, put_shard_list
from winnow.pipelines.store.memory import MemoryStore

SHARDS, GROUPS = 5, 3
Row = tuple[int, int]  # shard, and row in it
Pairs = list[tuple[int, int, int]]  # shard, row, key


def value(number: int) -> bytes:
    return number.to_bytes(16, "big")


def id_of(shard: int, row: int) -> bytes:
    return value((shard * 7919 + row * 104_729) % 1_000_003)


def shards() -> ShardList[ListedShard]:
    objects = MemoryStore("test")
    listed = [ListedShard(f"s{number}", "crawl", 10, {}) for number in range(SHARDS)]
    return ShardList(objects, put_shard_list(objects, "test", listed), "scratch", ListedShard, GROUPS)


def offers(shard: int, pairs: list[tuple[int, int]], most: int) -> pa.RecordBatch:
    keys = pa.array([value(key) for _, key in pairs], pa.binary(16))
    ids = pa.array([id_of(shard, row) for row, _ in pairs], pa.binary(16))
    return offered(keys, ids, global_rows(shard, np.array([row for row, _ in pairs], np.int64)), most)


def asks(shard: int, keys: set[int]) -> pa.RecordBatch:
    found = pa.array([value(key) for key in sorted(keys)], pa.binary(16))
    first = global_rows(shard, np.zeros(len(keys), np.int64))
    return pa.RecordBatch.from_arrays(
        [found, found, pa.array(first), pa.array(np.full(len(keys), -1, np.int64))], schema=OFFERS
    )


def brute(
    pairs: Pairs, asked: dict[int, set[int]], most: int, groups: dict[int, int], least: int
) -> list[tuple[object, ...]]:
    rows: dict[int, set[Row]] = defaultdict(set)
    for shard, row, key in pairs:
        rows[key].add((shard, row))
    found = []
    for key, offering in rows.items():
        asking = {groups[shard] for shard, keys in asked.items() if key in keys}
        for shard, row in sorted(offering, key=lambda one: id_of(*one))[:most]:
            line = value(key), id_of(shard, row), (shard << 20) | row, len(offering)
            found += [(*line, group) for group in asking if len(offering) >= least]
    return sorted(found)


_shard, _key = st.integers(0, SHARDS - 1), st.integers(0, 6)


@given(
    st.lists(st.tuples(_shard, st.integers(0, 9), _key), max_size=60),
    st.dictionaries(_shard, st.sets(_key)),
    st.integers(1, 4),
    st.integers(1, 4),
)
def test_the_smallest_ids_of_the_store_answer_every_group_that_asks(
    pairs: Pairs, asked: dict[int, set[int]], most: int, least: int
) -> None:
    listed = shards()
    batches = [asks(shard, keys) for shard, keys in asked.items()]
    for shard in range(SHARDS):
        own = [(row, key) for at, row, key in pairs if at == shard]
        batches += [offers(shard, [one for one in own if one[0] % 2 == half], most) for half in (0, 1)]
    found = chosen(batches, most, listed, least)
    assert found.schema == CHOSEN
    groups = {shard: int(listed.group_of(np.array([shard]))[0]) for shard in range(SHARDS)}
    lines = sorted(tuple(line.values()) for line in found.to_pylist())
    assert lines == brute(pairs, asked, most, groups, least)


def test_a_picture_on_very_many_pages_takes_a_few_lines_and_all_pages_are_counted() -> None:
    batches = [offers(shard, [(row, 1) for row in range(25_000)], 4) for shard in range(4)]
    assert [batch.num_rows for batch in batches] == [4] * 4
    found = chosen([*batches, asks(4, {1})], 4, shards())
    assert found["total"].to_pylist() == [100_000] * 4


def test_a_row_that_offers_a_key_very_often_counts_as_several() -> None:
    keys = pa.array([value(key) for key in [1] * 17 + [2] * 8 + [3, 1]], pa.binary(16))
    rows = np.array([0] * 26 + [1])
    ids = pa.array([id_of(0, row) for row in rows.tolist()], pa.binary(16))
    for repeats, totals in ((8, [3 + 1, 1, 1]), (None, [2, 1, 1])):
        assert offered(keys, ids, global_rows(0, rows), 1, repeats)["count"].to_pylist() == totals
