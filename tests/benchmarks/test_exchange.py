"""The benchmark's own kernels, beside the obvious ones."""

import numpy as np
import pyarrow as pa

from benchmarks.exchange import KEY, count_groups, expected_counts, group_sizes, key_blocks


def test_groups_are_those_of_a_plain_count_also_where_only_the_second_word_differs() -> None:
    words = np.random.Generator(np.random.PCG64(1)).integers(0, 4, (3, 100, 2), np.uint64)
    batches = [
        pa.RecordBatch.from_arrays(
            [pa.FixedSizeBinaryArray.from_buffers(KEY, 100, [None, pa.py_buffer(part)])], ["key"]
        )
        for part in words
    ]
    expected = np.unique(words.reshape(-1, 2), axis=0, return_counts=True)[1]
    assert group_sizes(iter(batches)).tolist() == expected.tolist()


def test_planted_keys_are_the_known_answer() -> None:
    blocks = [block.batch for task in range(4) for block in key_blocks(task, 4)]
    assert next(iter(count_groups(0, iter(blocks)))) == expected_counts(4)
