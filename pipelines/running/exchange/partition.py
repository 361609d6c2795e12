"""Assigns rows to partitions, and splits batches accordingly. Plain kernels over arrays."""

import itertools

import numpy as np
import numpy.typing as npt
import pyarrow as pa

GROUP_BYTES = 64 << 20  # engines hold several copies of a group: above this their heaps overflow
MAX_PARTITIONS = 1 << 31  # the multiply-shift in `partition_of_key` has 32 bits per operand

Partitions = npt.NDArray[np.integer]
_Words = npt.NDArray[np.uint64]


def partitions_for(total_bytes: int, group_bytes: int = GROUP_BYTES) -> int:
    """The number of partitions that keeps the average group within `group_bytes`, for any number of workers."""
    return max(1, -(-total_bytes // group_bytes))


def partition_of_key(keys: pa.Array, partitions: int) -> npt.NDArray[np.uint32]:
    """The partition of each key, the same on any machine; all bytes are mixed, so shared prefixes do no harm.

    Keys are `fixed_size_binary` of any width or an unsigned 64-bit column, without nulls.
    """
    if not 1 <= partitions <= MAX_PARTITIONS:
        raise ValueError(f"the number of partitions must be from 1 to {MAX_PARTITIONS}, not {partitions}")
    if keys.null_count:
        raise ValueError(f"a key column may not hold nulls; this one holds {keys.null_count}")
    mixed = np.zeros(len(keys), np.uint64)
    for word in _words(keys):
        mixed = _mix(mixed ^ word)
    scaled: npt.NDArray[np.uint64] = ((mixed >> np.uint64(32)) * np.uint64(partitions)) >> np.uint64(32)
    return scaled.astype(np.uint32)


def split_by_partition(
    batch: pa.RecordBatch, partition_of: Partitions, partitions: int
) -> list[tuple[int, pa.RecordBatch]]:
    """The rows of each partition that has any, partitions ascending, rows in their original order.

    The parts are slices of the batch, or of one reordered copy if partitions do not ascend in it.
    """
    if len(partition_of) != batch.num_rows:
        raise ValueError(f"{batch.num_rows} rows need as many partition numbers, not {len(partition_of)}")
    if not batch.num_rows:
        return []
    if partition_of.min() < 0 or partition_of.max() >= partitions:
        raise ValueError(
            f"partition numbers must be from 0 to {partitions - 1}, not {partition_of.min()} to {partition_of.max()}"
        )
    # numpy sorts 16-bit integers stably by radix, several times faster than wider ones.
    narrow = partition_of.astype(np.uint16 if partitions <= 1 << 16 else np.uint32, copy=False)
    if not np.greater_equal(narrow[1:], narrow[:-1]).all():
        order = np.argsort(narrow, kind="stable")
        batch, narrow = batch.take(pa.array(order)), narrow[order]
    starts = [0, *(np.flatnonzero(np.not_equal(narrow[1:], narrow[:-1])) + 1).tolist(), batch.num_rows]
    # Not hot: one iteration per partition that has rows.
    return [(int(narrow[first]), batch.slice(first, last - first)) for first, last in itertools.pairwise(starts)]


def _words(keys: pa.Array) -> list[_Words]:
    """The keys' bytes as big-endian 64-bit words, the last one zero-padded."""
    if pa.types.is_uint64(keys.type):
        return [keys.to_numpy()]
    if not pa.types.is_fixed_size_binary(keys.type):
        raise TypeError(f"a key column is fixed_size_binary or uint64, not {keys.type}")
    width = keys.type.byte_width
    matrix = np.frombuffer(keys.buffers()[1], np.uint8, len(keys) * width, keys.offset * width).reshape(-1, width)
    if width % 8:
        matrix = np.pad(matrix, ((0, 0), (0, -width % 8)))
    words = np.ascontiguousarray(matrix).view(">u8")
    return [words[:, column].astype(np.uint64) for column in range(words.shape[1])]


def _mix(word: _Words) -> _Words:
    """The finaliser of splitmix64 (Steele, Lea and Flood 2014): every input bit reaches every output bit."""
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))
