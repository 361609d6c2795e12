"""A task's rows leave it in numbered blocks of bounded size."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from winnow.pipelines.running.blocks import AddressedBlock
from winnow.pipelines.running.exchange import MAX_BLOCK_BYTES, BlockPacker, addressed_blocks


def _numbers(*values: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"n": pa.array(values, pa.int64())})


def _addresses(blocks: list[AddressedBlock]) -> list[tuple[int, int, list[int]]]:
    return [(block.partition, block.number, block.batch["n"].to_pylist()) for block in blocks]


def test_rows_of_a_partition_are_joined_until_the_block_is_full() -> None:
    packer = BlockPacker("o", max_block_bytes=24)
    blocks = [*packer.add(1, _numbers(1)), *packer.add(0, _numbers(2)), *packer.add(1, _numbers(3, 4))]
    assert blocks == []
    assert _addresses(list(packer.add(1, _numbers(5)))) == [(1, 0, [1, 3, 4])]
    assert _addresses(list(packer.finish())) == [(0, 0, [2]), (1, 1, [5])]
    assert list(packer.finish()) == []


def test_a_large_batch_becomes_several_blocks() -> None:
    packer = BlockPacker("o", max_block_bytes=16)
    blocks = [*packer.add(0, _numbers(1, 2, 3, 4, 5)), *packer.finish()]
    assert _addresses(blocks) == [(0, 0, [1, 2]), (0, 1, [3, 4]), (0, 2, [5])]


def test_a_row_larger_than_a_block_is_a_block() -> None:
    packer = BlockPacker("o", max_block_bytes=100)
    batch = pa.RecordBatch.from_pydict({"t": ["x" * 1000, "y", "z" * 1000]})
    blocks = [*packer.add(0, batch), *packer.finish()]
    assert [block.batch["t"].to_pylist() for block in blocks] == [["x" * 1000], ["y"], ["z" * 1000]]


def test_what_is_buffered_over_all_partitions_is_bounded() -> None:
    packer = BlockPacker("o", max_block_bytes=1000, max_packed_bytes=32)
    blocks = [block for partition in range(5) for block in packer.add(partition, _numbers(partition))]
    assert _addresses(blocks) == [(partition, 0, [partition]) for partition in range(5)]


def test_empty_batches_make_no_blocks() -> None:
    assert list(addressed_blocks("o", [(_numbers(), np.array([], np.int64))], 3)) == []


def test_blocks_of_a_real_size_stay_within_the_law() -> None:
    batch = pa.RecordBatch.from_pydict({"n": np.arange(3 << 20)})
    blocks = list(addressed_blocks("o", [(batch, np.zeros(3 << 20, np.int64))], 1))
    assert [block.number for block in blocks] == [0, 1, 2]
    assert all(block.batch.nbytes <= MAX_BLOCK_BYTES for block in blocks)


@settings(derandomize=True, deadline=None)
@given(
    batches=st.lists(st.lists(st.integers(0, 5), max_size=30), max_size=8),
    max_block_bytes=st.integers(1, 200),
    max_packed_bytes=st.integers(1, 500),
)
@pytest.mark.parametrize("partitions", [6])
def test_no_row_is_lost_and_numbers_have_no_gaps(
    batches: list[list[int]], max_block_bytes: int, max_packed_bytes: int, partitions: int
) -> None:
    packer = BlockPacker("o", max_block_bytes, max_packed_bytes)
    blocks: list[AddressedBlock] = []
    sent: dict[int, list[int]] = {}
    for serial, partition_of in enumerate(batches):
        for row, partition in enumerate(partition_of):
            blocks.extend(packer.add(partition, _numbers(100 * serial + row)))
            sent.setdefault(partition, []).append(100 * serial + row)
    blocks.extend(packer.finish())
    for partition in range(partitions):
        own = [block for block in blocks if block.partition == partition]
        assert [block.number for block in own] == list(range(len(own)))
        assert [n for block in own for n in block.batch["n"].to_pylist()] == sent.get(partition, [])
        assert all(block.batch.nbytes <= max_block_bytes or block.batch.num_rows == 1 for block in own)
