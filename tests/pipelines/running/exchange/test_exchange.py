"""Both transports give the same groups in the same order, or an error."""

import dataclasses
import os
import random
from collections.abc import Iterator
from pathlib import Path

import apache_beam as beam
import numpy as np
import orjson
import pyarrow as pa
import pytest
from apache_beam.coders import coders
from apache_beam.portability.api import beam_runner_api_pb2
from apache_beam.pvalue import PCollection
from apache_beam.runners.pipeline_context import PipelineContext
from apache_beam.runners.portability.fn_api_runner.fn_runner import FnApiRunner
from apache_beam.transforms.combiners import ToList
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.messages import assert_refused
from winnow.pipelines.running.blocks import AddressedBlock, decode_block, encode_batch, encode_block
from winnow.pipelines.running.exchange import (
    BlockPacker,
    Engine,
    Exchange,
    ExchangeError,
    Files,
    Transport,
    addressed_blocks,
    clear_scratch,
    partition_of_key,
)
from winnow.pipelines.running.exchange.inputs import Blocks
from winnow.pipelines.running.exchange.totals import Total, total_of
from winnow.pipelines.store.local import LocalStore
from winnow.runners.engines.flags import beam_options

REPOSITORY = Path(__file__).parents[4]
Task = tuple[str, list[list[int]]]
"""An origin and the keys of each of its batches."""


def _batch(keys: list[int]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"key": pa.array(keys, pa.uint64()), "text": [f"<{key}>" for key in keys]})


def blocks_of(task: Task, partitions: int) -> Iterator[AddressedBlock]:
    """The blocks of a task, small ones."""
    origin, batches = task
    packer = BlockPacker(origin, max_block_bytes=100)
    for keys in batches:
        for key, partition in zip(
            keys, partition_of_key(pa.array(keys, pa.uint64()), partitions).tolist(), strict=True
        ):
            yield from packer.add(partition, _batch([key]))
    yield from packer.finish()


def as_bytes(partition: int, batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, bytes]]:
    """What a consumer was given, byte for byte."""
    yield partition, b"|".join(encode_batch(batch) for batch in batches)


def as_keys(partition: int, batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, bytes]]:
    """The keys that a consumer was given, in order."""
    yield partition, orjson.dumps([key for batch in batches for key in batch["key"].to_pylist()])


def write_groups(groups: list[tuple[int, bytes]], path: str) -> None:
    """Where the test finds the groups: the pipeline runs in a copy."""
    Path(path).write_bytes(orjson.dumps(sorted((partition, group.hex()) for partition, group in groups)))


def _run(
    tasks: list[Task],
    transport: Transport,
    folder: Path,
    partitions: int = 3,
    consume: object = as_bytes,
    flags: tuple[str, ...] = (),
) -> list[tuple[int, bytes]]:
    answer = folder / "groups.json"
    with beam.Pipeline(runner=FnApiRunner(), options=beam_options(flags)) as pipeline:
        (
            pipeline
            | beam.Create(tasks, reshuffle=False)
            | beam.FlatMap(blocks_of, partitions).with_output_types(AddressedBlock)
            | Exchange(consume, transport=transport, emits=tuple[int, bytes])  # type: ignore[arg-type]
            | ToList()
            | beam.Map(write_groups, str(answer))
        )
    return [(partition, bytes.fromhex(group)) for partition, group in orjson.loads(answer.read_bytes())]


TASKS: list[Task] = [(f"task {n}", [[n, n + 1, 7 * n], [40 + n]]) for n in range(6)]


def _transports(folder: Path) -> dict[str, Transport]:
    store = LocalStore(folder)
    return {
        "engine": Engine(),
        "files": Files(store, "x"),
        "small files": Files(store, "y", max_file_bytes=2000),
        "merged files": Files(store, "z", merge_above_files=1, merge_fan_in=2),
    }


@pytest.mark.parametrize("name", ["engine", "files", "small files", "merged files"])
def test_groups_are_those_of_a_dictionary(tmp_path: Path, name: str) -> None:
    oracle: dict[int, list[int]] = {}
    for _, batches in TASKS:
        for key in (key for keys in batches for key in keys):
            oracle.setdefault(int(partition_of_key(pa.array([key], pa.uint64()), 3)[0]), []).append(key)
    groups = _run(TASKS, _transports(tmp_path)[name], tmp_path, consume=as_keys)
    assert {partition: orjson.loads(keys) for partition, keys in groups} == oracle


@settings(derandomize=True, deadline=None, max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    tasks=st.lists(st.lists(st.lists(st.integers(0, 40), max_size=12), max_size=3), max_size=6),
    partitions=st.integers(1, 5),
    order=st.integers(0, 9),
)
def test_transport_and_order_and_replays_change_nothing(
    tmp_path_factory: pytest.TempPathFactory, tasks: list[list[list[int]]], partitions: int, order: int
) -> None:
    folder = tmp_path_factory.mktemp("groups")
    named = [(f"task {n}", batches) for n, batches in enumerate(tasks)]
    expected = _run(named, Engine(), folder, partitions)
    shuffled = random.Random(order).sample(named, len(named))
    for transport in (Engine(), Files(LocalStore(folder), "x", max_file_bytes=3000, merge_above_files=1)):
        assert _run(shuffled, transport, folder, partitions, flags=("--direct_runner_bundle_repeat=2",)) == expected


@pytest.mark.parametrize("name", ["engine", "merged files"])
def test_a_task_that_is_given_twice_counts_once(tmp_path: Path, name: str) -> None:
    transport = _transports(tmp_path)[name]
    assert _run([*TASKS, *TASKS[::-1]], transport, tmp_path) == _run(TASKS, Engine(), tmp_path)


@pytest.mark.processes
@pytest.mark.parametrize("name", ["engine", pytest.param("files", marks=pytest.mark.large)])
def test_two_worker_processes_change_nothing(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))  # workers import this module by its name
    flags = ("--direct_running_mode=multi_processing", "--direct_num_workers=2")
    expected = _run(TASKS, Engine(), tmp_path)
    assert _run(TASKS, _transports(tmp_path)[name], tmp_path, flags=flags) == expected
    capfd.readouterr()  # the workers' log


def test_scratch_is_the_same_objects_after_a_second_run(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    files = Files(store, "scratch/bands", merge_above_files=1, merge_fan_in=3)
    _run(TASKS, files, tmp_path)
    first = [(info.path, info.size) for info in store.list("scratch/")]
    _run(TASKS[::-1], files, tmp_path)
    assert [(info.path, info.size) for info in store.list("scratch/")] == first
    assert clear_scratch(store, "scratch/bands") == len(first) == 8
    assert list(store.list("scratch/")) == []


def test_no_batch_is_a_fallback_or_pickle_at_any_boundary(tmp_path: Path) -> None:
    for transport in (Engine(), Files(LocalStore(tmp_path), "x")):
        pipeline = beam.Pipeline(runner=FnApiRunner())
        (
            pipeline
            | beam.Create(TASKS).with_output_types(Task)
            | beam.FlatMap(blocks_of, 3).with_output_types(AddressedBlock)
            | Exchange(as_bytes, transport=transport, emits=tuple[int, bytes])
        )
        proto = pipeline.to_runner_api()
        used = _coders_of(proto, "Exchange")
        assert used
        pickles = {type(coder).__name__ for coder in used if _pickles(coder)}
        assert pickles == set()


@pytest.mark.parametrize("name", ["engine", "files"])
def test_what_several_steps_send_is_one_exchange(tmp_path: Path, name: str) -> None:
    transport = _transports(tmp_path)[name]
    answer = tmp_path / "several.json"
    with beam.Pipeline(runner=FnApiRunner(), options=beam_options([])) as pipeline:
        sent = tuple(
            pipeline
            | f"Create{number}" >> beam.Create(tasks, reshuffle=False)
            | f"Blocks{number}" >> beam.FlatMap(blocks_of, 3).with_output_types(AddressedBlock)
            for number, tasks in enumerate((TASKS[:2], TASKS[2:5], TASKS[5:]))
        )
        groups = sent | Exchange(as_bytes, transport=transport, emits=tuple[int, bytes])
        groups | ToList() | beam.Map(write_groups, str(answer))
    found = [(partition, bytes.fromhex(group)) for partition, group in orjson.loads(answer.read_bytes())]
    assert found == _run(TASKS, _transports(tmp_path / "one")[name], tmp_path)


def test_an_untyped_step_before_is_refused() -> None:
    pipeline = beam.Pipeline(runner=FnApiRunner())
    untyped = pipeline | beam.Create(TASKS) | beam.FlatMap(lambda task: blocks_of(task, 3))
    with pytest.raises(TypeError, match=r"must declare \.with_output_types\(AddressedBlock\), not Any"):
        untyped | Exchange(as_bytes, transport=Engine(), emits=tuple[int, bytes])


def _coders_of(proto: beam_runner_api_pb2.Pipeline, label: str) -> list[coders.Coder]:
    """The coders of everything that the transform of this label reads, makes or accumulates, and their parts."""
    components = proto.components
    inside = [
        transform
        for transform in components.transforms.values()
        if transform.unique_name == label or transform.unique_name.startswith(f"{label}/")
    ]
    names = {components.pcollections[name].coder_id
             for transform in inside for name in [*transform.inputs.values(), *transform.outputs.values()]}  # fmt: skip
    for transform in inside:
        if transform.spec.urn.startswith("beam:transform:combine"):
            payload = beam_runner_api_pb2.CombinePayload.FromString(transform.spec.payload)
            names.add(payload.accumulator_coder_id)
    assert len(inside) > 10
    pending, seen = list(names), set(names)
    while pending:
        for part in components.coders[pending.pop()].component_coder_ids:
            if part not in seen:
                seen.add(part)
                pending.append(part)
    context = PipelineContext(components)
    return [context.coders.get_by_id(name) for name in sorted(seen)]


def _pickles(coder: coders.Coder) -> bool:
    pickling = (coders.FastPrimitivesCoder, coders.PickleCoder, coders.DillCoder, coders.CloudpickleCoder)
    return isinstance(coder, (*pickling, coders.DeterministicFastPrimitivesCoder))


@dataclasses.dataclass(frozen=True)
class Lossy:
    """A transport that loses what it sends on to one partition, but for the first few."""

    carrier: Transport
    partition: int
    kept: int

    def send(self, blocks: Blocks) -> PCollection[tuple[int, bytes]]:
        """All but what is lost."""
        seen: list[int] = []

        def arrives(keyed: tuple[int, bytes]) -> bool:
            seen.append(keyed[0])
            return keyed[0] != self.partition or seen.count(self.partition) <= self.kept

        sent: PCollection[tuple[int, bytes]] = self.carrier.send(blocks) | "Lose" >> beam.Filter(arrives)
        return sent

    def stored_bytes(self, size: int, senders: int, receivers: int) -> int:
        """As it does."""
        return self.carrier.stored_bytes(size, senders, receivers)

    def receive(self, partition: int, expected: Total | None, members: list[memoryview]) -> Iterator[pa.RecordBatch]:
        """As the carrier does."""
        return self.carrier.receive(partition, expected, members)


@pytest.mark.parametrize("kept", [0, 1])
@pytest.mark.parametrize("name", ["engine", "files"])
def test_a_dropped_block_or_group_is_an_error(tmp_path: Path, name: str, kept: int) -> None:
    with assert_refused(ExchangeError, "partition 1"):
        _run(TASKS, Lossy(_transports(tmp_path)[name], 1, kept), tmp_path)
    assert not (tmp_path / "groups.json").exists()


@dataclasses.dataclass(frozen=True)
class FailingDisk(LocalStore):
    """A disk that says it wrote what it did not."""

    damage: str = ""

    def put(self, path: str, content: bytes | Path) -> None:
        """Loses, cuts or alters the objects of one task."""
        if path.startswith("x/task-3."):
            content = content.read_bytes() if isinstance(content, Path) else content
            if self.damage == "loses":
                return
            if self.damage == "cuts":
                content = content[: len(content) // 4]
            if self.damage == "alters":
                content = content[:300] + b"?" + content[301:]
        super().put(path, content)


@pytest.mark.parametrize(
    ("damage", "message"), [("loses", "is missing"), ("cuts", "is truncated"), ("alters", "has changed since")]
)
@pytest.mark.parametrize("merge_above_files", [1, 64])
def test_a_damaged_scratch_file_is_an_error(tmp_path: Path, damage: str, message: str, merge_above_files: int) -> None:
    files = Files(FailingDisk(tmp_path, damage), "x", merge_above_files=merge_above_files)
    with pytest.raises(ExchangeError, match=f"task-3.*{message}"):
        _run(TASKS, files, tmp_path)
    assert not (tmp_path / "groups.json").exists()


def _sent(origin: str, number: int, *keys: int) -> memoryview:
    return memoryview(encode_block(AddressedBlock(0, origin, number, _batch(list(keys)))))


def test_the_engine_sorts_a_group_and_drops_repeats() -> None:
    expected = total_of([("a", 0, 1), ("a", 1, 2), ("b", 0, 1)])
    members = [_sent("b", 0, 4), _sent("a", 1, 2, 3), _sent("a", 0, 1), _sent("a", 1, 2, 3)]
    batches = Engine().receive(0, expected, members)
    assert [batch["key"].to_pylist() for batch in batches] == [[1], [2, 3], [4]]


def test_the_engine_refuses_a_group_before_it_gives_a_batch() -> None:
    expected = total_of([("a", 0, 1), ("a", 1, 2)])
    with pytest.raises(ExchangeError, match="found 1 with 1"):
        Engine().receive(0, expected, [_sent("a", 0, 1)])
    with assert_refused(ExchangeError, "1 of 'a'", "different content"):
        Engine().receive(0, expected, [_sent("a", 0, 1), _sent("a", 1, 2, 3), _sent("a", 1, 2, 4)])


def test_blocks_of_a_task_decode_to_the_task() -> None:
    batch = _batch(list(range(50)))
    blocks = addressed_blocks("o", [(batch, np.arange(50) % 2)], 2)
    decoded = [decode_block(encode_block(block)) for block in blocks]
    assert [block.batch["key"].to_pylist() for block in decoded] == [list(range(0, 50, 2)), list(range(1, 50, 2))]


def test_no_process_is_left_behind() -> None:
    assert not [pid for pid in Path("/proc").glob("[0-9]*/stat") if _is_worker_of_this_process(pid)]


def _is_worker_of_this_process(stat: Path) -> bool:
    try:
        parent = int(stat.read_text().rpartition(")")[2].split()[1])
        return parent == os.getpid() and "sdk_worker_main" in (stat.parent / "cmdline").read_text()
    except OSError:
        return False
