"""Examples of many parts are joined in order, and held in memory once."""

import tracemalloc
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from winnow.pipelines.score.example_buffer import ExampleBuffer, bytes_of, reorder_in_place
from winnow.scoring.linear.features import Sparse
from winnow.scoring.protocol import Tabular, Task
from winnow.scoring.tasks.linear_head import Examples, LinearHead, LinearHeadConfig

MIB = 1 << 20


@dataclass(frozen=True)
class Pictures:
    """Examples with a number and pixels each."""

    numbers: NDArray[np.int64]
    pixels: NDArray[np.uint8]

    @property
    def table(self) -> NDArray[np.uint8]:
        return self.pixels

    def with_table(self, table: NDArray[np.uint8]) -> "Pictures":
        return replace(self, pixels=table)


class PictureTask:
    """A task with only what the buffer uses."""

    def joined(self, parts: list[Pictures]) -> Pictures:
        return Pictures(np.concatenate([one.numbers for one in parts]), np.concatenate([one.pixels for one in parts]))

    def chosen(self, examples: Pictures, which: NDArray[np.int64]) -> Pictures:
        return Pictures(examples.numbers[which], examples.pixels[which])


TASK = cast(Task, PictureTask())
HEAD = cast(Task, LinearHead(LinearHeadConfig(label="a.b", labels=("x", "y"), features="columns", column="c", width=5)))


def pictures(numbers: NDArray[np.int64], size: int = 12) -> Pictures:
    return Pictures(numbers, (numbers[:, None] * np.arange(1, size + 1)).astype(np.uint8))


@pytest.mark.parametrize("most", [50, 500])
def test_examples_are_returned_in_the_order_of_their_places(most: int) -> None:
    places = np.random.default_rng(0).permutation(50).astype(np.uint64)
    buffer = ExampleBuffer(TASK, most, MIB)
    for part in np.split(np.arange(50), [7, 8, 30]):
        buffer.add(pictures(part), places[part])
    found = buffer.finish()
    expected = pictures(np.argsort(places))
    assert buffer.count == 50
    np.testing.assert_array_equal(found.numbers, expected.numbers)
    np.testing.assert_array_equal(found.pixels, expected.pixels)


@pytest.mark.parametrize("sparse", [False, True])
def test_dense_and_sparse_features_are_returned_in_order(sparse: bool) -> None:
    numbers = np.random.default_rng(1).standard_normal((20, 5)).astype(np.float32)
    offsets = np.arange(0, 101, 5)
    finish: Any = Sparse(np.tile(np.arange(5, dtype=np.int32), 20), numbers.reshape(-1), offsets, 5)
    finish = Examples(finish if sparse else numbers, np.arange(20))
    assert isinstance(finish, Tabular)
    assert (finish.table is None) == sparse
    places = np.random.default_rng(2).permutation(20).astype(np.uint64)
    buffer = ExampleBuffer(HEAD, 20, MIB)
    for part in np.split(np.arange(20), [3, 11]):
        buffer.add(HEAD.chosen(finish, part), places[part])
    found, expected = buffer.finish(), HEAD.chosen(finish, np.argsort(places))
    np.testing.assert_array_equal(found.labels, expected.labels)
    if sparse:
        np.testing.assert_array_equal(found.features.values, expected.features.values)
        np.testing.assert_array_equal(found.features.offsets, expected.features.offsets)
    else:
        np.testing.assert_array_equal(found.features, expected.features)


def test_a_table_is_held_once_and_its_size_is_counted() -> None:
    size, parts, rows = MIB // 4, 32, 8  # 64 MiB, 2 MiB at a time
    places = np.random.default_rng(0).permutation(parts * rows).astype(np.uint64)
    tracemalloc.start()
    try:
        buffer = ExampleBuffer(TASK, 10 * parts * rows, 65 * MIB)
        for number in range(parts):
            part = np.arange(number * rows, (number + 1) * rows)
            buffer.add(pictures(part, size), places[part])
        found = buffer.finish()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert bytes_of(found) == pytest.approx(64 * MIB, rel=0.01)
    assert buffer.held == pytest.approx(64 * MIB, rel=0.01)
    assert peak < 65 * MIB + 24 * MIB  # the limit, 16 MiB of columns and one part
    np.testing.assert_array_equal(found.numbers, np.argsort(places))


def test_examples_without_a_table_are_counted_twice() -> None:
    buffer = ExampleBuffer(HEAD, 4, MIB)
    features = Sparse(np.zeros(20, np.int32), np.zeros(20, np.float32), np.arange(0, 21, 5), 5)
    examples = Examples(features, np.arange(4))
    buffer.add(examples, np.arange(4, dtype=np.uint64))
    assert buffer.held == 2 * bytes_of(examples)


def test_rows_are_reordered_in_place() -> None:
    table = np.arange(60, dtype=np.float32).reshape(10, 2, 3)
    order = np.random.default_rng(0).permutation(10)
    expected = table[order]
    for slab in (1, 50, 1 << 20):
        again = np.arange(60, dtype=np.float32).reshape(10, 2, 3)
        reorder_in_place(again, order, slab)
        np.testing.assert_array_equal(again, expected)
