"""Rows go to the partition that their key's bytes decide."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.messages import assert_refused
from winnow.pipelines.running.exchange import partition_of_key, partitions_for, split_by_partition


@pytest.mark.parametrize(
    ("total_bytes", "partitions"), [(0, 1), (1, 1), (64 << 20, 1), ((64 << 20) + 1, 2), (800_000_000, 12)]
)
def test_partitions_follow_from_bytes(total_bytes: int, partitions: int) -> None:
    assert partitions_for(total_bytes) == partitions


def _mixed(key: bytes) -> int:
    """The definition, with Python's integers."""
    mixed = 0
    for start in range(0, len(key), 8):
        mixed ^= int.from_bytes(key[start : start + 8].ljust(8, b"\0"), "big")
        mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9 % (1 << 64)
        mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB % (1 << 64)
        mixed ^= mixed >> 31
    return mixed


@settings(derandomize=True, deadline=None)
@given(
    width_and_keys=st.integers(1, 20).flatmap(
        lambda width: st.tuples(st.just(width), st.lists(st.binary(min_size=width, max_size=width)))
    ),
    partitions=st.integers(1, 1 << 31),
)
def test_a_key_goes_where_the_definition_says(width_and_keys: tuple[int, list[bytes]], partitions: int) -> None:
    width, keys = width_and_keys
    expected = [(_mixed(key) >> 32) * partitions >> 32 for key in keys]
    assert partition_of_key(pa.array(keys, pa.binary(width)), partitions).tolist() == expected


def test_an_integer_goes_where_its_big_endian_bytes_go() -> None:
    numbers = [0, 1, 2**63, 2**64 - 1]
    as_bytes = pa.array([number.to_bytes(8, "big") for number in numbers], pa.binary(8))
    assert np.array_equal(partition_of_key(pa.array(numbers, pa.uint64()), 97), partition_of_key(as_bytes, 97))


def test_known_partitions_stay_known() -> None:
    keys = pa.array([bytes(range(start, start + 16)) for start in range(6)], pa.binary(16))
    assert partition_of_key(keys, 1000).tolist() == [77, 980, 872, 88, 910, 764]


def test_a_slice_of_keys_goes_where_its_keys_go() -> None:
    keys = pa.array([number.to_bytes(16, "little") for number in range(50)], pa.binary(16))
    assert np.array_equal(partition_of_key(keys.slice(7, 20), 11), partition_of_key(keys, 11)[7:27])


def test_keys_with_one_prefix_still_spread() -> None:
    keys = pa.array([b"same8888" + number.to_bytes(8, "big") for number in range(10_000)], pa.binary(16))
    counts = np.bincount(partition_of_key(keys, 10), minlength=10)
    assert counts.min() > 850
    assert counts.max() < 1150


def test_null_keys_and_other_types_are_refused() -> None:
    with assert_refused(ValueError, "hold nulls", "holds 1"):
        partition_of_key(pa.array([b"a", None], pa.binary(1)), 2)
    with pytest.raises(TypeError, match="fixed_size_binary or uint64, not string"):
        partition_of_key(pa.array(["a"]), 2)
    with pytest.raises(ValueError, match="from 1 to"):
        partition_of_key(pa.array([1], pa.uint64()), 0)


def test_a_batch_is_cut_by_partition_and_keeps_its_order() -> None:
    batch = pa.RecordBatch.from_pydict({"n": [0, 1, 2, 3, 4], "t": ["a", "b", "c", "d", "e"]})
    parts = split_by_partition(batch, np.array([3, 1, 3, 1, 3]), 5)
    assert [(partition, part.to_pydict()) for partition, part in parts] == [
        (1, {"n": [1, 3], "t": ["b", "d"]}),
        (3, {"n": [0, 2, 4], "t": ["a", "c", "e"]}),
    ]


@settings(derandomize=True, deadline=None)
@given(partition_of=st.lists(st.integers(0, 99_999)), partitions=st.sampled_from([100_000, 1 << 20]))
def test_cutting_is_a_stable_sort(partition_of: list[int], partitions: int) -> None:
    batch = pa.RecordBatch.from_pydict({"n": np.arange(len(partition_of))})
    parts = split_by_partition(batch, np.array(partition_of, np.int64), partitions)
    rows = [(partition, row) for partition, part in parts for row in part["n"].to_pylist()]
    assert rows == sorted((partition, row) for row, partition in enumerate(partition_of))


def test_wrong_partition_numbers_are_refused() -> None:
    batch = pa.RecordBatch.from_pydict({"n": [0, 1]})
    with assert_refused(ValueError, "2 rows", "1"):
        split_by_partition(batch, np.array([0]), 2)
    with assert_refused(ValueError, "0", "1", "0", "2"):
        split_by_partition(batch, np.array([0, 2]), 2)
    with pytest.raises(ValueError, match="from 0 to 1, not -1 to 0"):
        split_by_partition(batch, np.array([0, -1]), 2)
