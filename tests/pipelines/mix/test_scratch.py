"""Columns of candidates: what was put is loaded, from memory as from files, wherever memory ends."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.pipelines.mix.scratch import HeldScratch, Memory, Scratch
from winnow.pipelines.store.local import LocalStore

FIRST = {
    "row": np.arange(5, dtype=np.uint32),
    "shared": np.array([True, False, True]),
    "none": np.zeros(0, np.uint64),
    "band0": np.array([1 << 63, 0, 7], np.uint64),
}


def assert_same(columns: Scratch, shard: int, wanted: dict[str, np.ndarray]) -> None:
    for name, values in wanted.items():
        found = columns.load(shard, name)
        assert found.dtype == values.dtype
        assert np.array_equal(found, values)


@pytest.fixture
def files(tmp_path: Path) -> Scratch:
    return Scratch(LocalStore(tmp_path, durable=False), "columns")


def test_first_columns_and_later_ones_are_loaded(files: Scratch) -> None:
    for shard in (0, 3):
        files.put(shard, FIRST)
        files.save(shard, "mark0", np.array([shard]))
        files.save(shard, "mark0", np.array([shard, 9], np.int16))
        assert_same(files, shard, FIRST | {"mark0": np.array([shard, 9], np.int16)})
    assert [list(one) for one in files.columns(3, ("mark0", "row"))] == [[3, 9], [0, 1, 2, 3, 4]]


def test_a_long_list_of_columns_is_read_whole(files: Scratch) -> None:
    many = {f"a column with a long name, number {number}": np.full(2, number) for number in range(200)}
    files.put(0, many)
    assert_same(files, 0, many)


@given(room=st.integers(0, 4_000))
def test_memory_of_any_size_holds_the_same(tmp_path_factory: pytest.TempPathFactory, room: int) -> None:
    there = Scratch(LocalStore(tmp_path_factory.mktemp("there"), durable=False), "columns")
    elsewhere = HeldScratch(LocalStore(tmp_path_factory.mktemp("here"), durable=False), "columns", memory=Memory(room))
    in_place = HeldScratch(there.objects, there.folder, memory=Memory(room))
    for shard in range(3):
        there.put(shard, FIRST)
    for here in (in_place, elsewhere):
        for shard in range(3):
            here.bring(there, shard)
            here.save(shard, "mark0", np.arange(shard))
        for shard in range(3):
            here.save(shard, "mark0", np.arange(shard + 1)[::-1])
            assert_same(here, shard, FIRST | {"mark0": np.arange(shard + 1)[::-1]})


def test_memory_takes_back_what_is_replaced() -> None:
    memory = Memory(1_000)
    assert memory.hold("one", bytes(700))
    assert not memory.hold("two", bytes(700))
    assert memory.hold("one", bytes(300))
    assert memory.get("one") == bytes(300)
    assert not memory.hold("one", bytes(1_000))
    assert memory.get("one") is None  # what is on the disk counts now
    assert memory.hold("two", bytes(700))
