"""A layer that is made row by row is committed when every row of its shard is written, and not before."""

from collections.abc import Generator, Iterator
from typing import cast

import numpy as np
import pyarrow as pa
import pytest

from winnow.pipelines.running.row_layers import RowLayerTask, write_layers
from winnow.pipelines.running.shard_rows import Part
from winnow.pipelines.running.worker import HeartbeatWriter
from winnow.pipelines.store import layout
from winnow.pipelines.store.commits import load_layer_commits
from winnow.pipelines.store.generations import Store
from winnow.pipelines.store.memory import MemoryStore
from winnow.pipelines.store.tables import read_table
from winnow.schemas.records import StoreRecord

DOUBLED = pa.schema([pa.field("double", pa.int64())])
TASK = RowLayerTask("one", "pages", {layout.SAMPLES: "samples/one"}, {"a.double": "k1", "b.double": "k2"})
SCHEMAS = {"a.double": DOUBLED, "b.double": DOUBLED}


@pytest.fixture
def store(request: pytest.FixtureRequest) -> Store:
    return Store(MemoryStore(request.node.name), StoreRecord("s", 7, 65_536, 256 << 20, 16_384, 64 << 20, 64 << 20))


def parts(log: list[str]) -> Generator[Part]:
    """Three parts of two rows, and when each was asked for."""
    try:
        for number in range(3):
            log.append(f"read {number}")
            yield Part({"samples.n": pa.array(np.arange(2) + 2 * number)}, None, None)
    finally:
        log.append("closed")


def doubled(part: Part) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array(2 * part.columns["samples.n"].to_numpy())], schema=DOUBLED)


def committed(store: Store, layer: str, key: str) -> list[int] | None:
    commit = next(load_layer_commits(store.objects, layout.set_name(TASK.missing), ["one"]), None)
    if commit is None:
        return None
    (made,) = (part.object for part in commit.layers if (part.layer, part.key) == (layer, key))
    return cast("list[int]", read_table(store.objects, made.path)["double"].to_pylist())


def test_each_layer_has_all_rows_in_their_order_and_one_commit_has_all_with_their_keys(store: Store) -> None:
    def measure(read: Iterator[Part]) -> Iterator[dict[str, pa.RecordBatch]]:
        return (dict.fromkeys(SCHEMAS, doubled(part)) for part in read)

    write_layers(store, TASK, SCHEMAS, parts([]), measure, HeartbeatWriter(store.objects, TASK.commit))
    assert committed(store, "a.double", "k1") == committed(store, "b.double", "k2") == [0, 2, 4, 6, 8, 10]


def test_a_measure_may_hold_rows_back_and_give_the_last_of_them_when_the_shard_is_read(store: Store) -> None:
    log: list[str] = []

    def measure(read: Iterator[Part]) -> Iterator[dict[str, pa.RecordBatch]]:
        held = [doubled(part) for part in read]
        log.append("measured")
        yield dict.fromkeys(SCHEMAS, pa.Table.from_batches(held).combine_chunks().to_batches()[0])

    write_layers(store, TASK, SCHEMAS, parts(log), measure, HeartbeatWriter(store.objects, TASK.commit))
    assert log == ["read 0", "read 1", "read 2", "closed", "measured"]
    assert committed(store, "b.double", "k2") == [0, 2, 4, 6, 8, 10]


def test_a_part_is_measured_and_written_before_the_next_is_read(store: Store) -> None:
    log: list[str] = []

    class Beats:
        def __call__(self, records: int, rows: int, done: int) -> None:
            log.append(f"written {rows}")

    def measure(read: Iterator[Part]) -> Iterator[dict[str, pa.RecordBatch]]:
        return (dict.fromkeys(SCHEMAS, doubled(part)) for part in read)

    write_layers(store, TASK, SCHEMAS, parts(log), measure, cast(HeartbeatWriter, Beats()))
    assert log == ["read 0", "written 2", "read 1", "written 4", "read 2", "written 6", "closed"]


def test_what_fails_in_the_middle_of_a_shard_commits_nothing_and_lets_go_of_the_rows(store: Store) -> None:
    log: list[str] = []

    def measure(read: Iterator[Part]) -> Iterator[dict[str, pa.RecordBatch]]:
        for number, part in enumerate(read):
            if number == 1:
                raise ValueError("cannot be measured")
            yield dict.fromkeys(SCHEMAS, doubled(part))

    with pytest.raises(ValueError, match="cannot be measured"):
        write_layers(store, TASK, SCHEMAS, parts(log), measure, HeartbeatWriter(store.objects, TASK.commit))
    assert log == ["read 0", "read 1", "closed"]
    assert committed(store, "a.double", "k1") is None
