"""Relays make blocks larger, and change neither which rows a partition gets nor their order."""

import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TypeVar

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.inline_engine import InlineRunner
from tests.property_sizes import scaled
from winnow.pipelines.running.blocks import AddressedBlock, encode_batch
from winnow.pipelines.running.exchange import Engine, Exchange, ExchangeError, Files, Relays, Route, Transport
from winnow.pipelines.running.exchange.partition import Partitions
from winnow.pipelines.store.local import LocalStore

T = TypeVar("T")
Sender = list[list[int]]
"""The partition of each row, batch by batch."""

SENDERS: list[Sender] = [[[number % 7, 3, number], [11 - number]] for number in range(9)]
PARTITIONS = 12


def batches_of(sender: int, batches: Sender) -> Iterator[tuple[pa.RecordBatch, Partitions]]:
    """Rows that say who sent them, as which, and to where."""
    first = 0
    for partitions in batches:
        numbers = np.arange(first, first + len(partitions))
        first += len(partitions)
        to = np.array(partitions, np.int64)
        yield pa.RecordBatch.from_pydict({"s": np.full(len(to), sender), "p": numbers, "n": to}), to


def exchanged(
    blocks: list[AddressedBlock], consume: Callable[[int, Iterator[pa.RecordBatch]], Iterator[T]], seed: int
) -> list[T]:
    """What consumers make of blocks that arrive in any order."""
    found: dict[int, list[AddressedBlock]] = {}
    for block in random.Random(seed).sample(blocks, len(blocks)):
        found.setdefault(block.partition, []).append(block)
    made: list[T] = []
    for partition, members in found.items():
        members.sort(key=lambda block: (block.origin, block.number))
        made += consume(partition, (block.batch for block in members))
    return made


def rows_of(partition: int, batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, list[dict[str, int]]]]:
    yield partition, [row for batch in batches for row in batch.to_pylist()]


def delivered(route: Route, senders: list[Sender], seed: int = 0) -> dict[int, list[dict[str, int]]]:
    """The rows of each partition, in the order in which its consumer is given them."""
    blocks = [
        block for number, batches in enumerate(senders) for block in route.send(number, batches_of(number, batches))
    ]
    if route.relayed:
        blocks = exchanged(blocks, route.relay, seed)
    return dict(exchanged(blocks, rows_of, seed))


@settings(derandomize=True, deadline=None, max_examples=scaled(60))
@given(
    senders=st.lists(st.lists(st.lists(st.integers(0, 29), max_size=12), max_size=3), min_size=1, max_size=14),
    partitions=st.integers(30, 40),
    seed=st.integers(0, 9),
)
def test_each_partition_gets_its_rows_in_the_same_order_with_and_without_relays(
    senders: list[Sender], partitions: int, seed: int
) -> None:
    straight = delivered(Route(len(senders), partitions), senders, seed)
    assert delivered(Route(len(senders), partitions, most_straight=1), senders, seed) == straight


@settings(derandomize=True, deadline=None, max_examples=scaled(30))
@given(
    rows=st.lists(st.lists(st.integers(0, 19), min_size=1, max_size=6), min_size=4, max_size=12),
    at=st.integers(1, 5),
    most_straight=st.sampled_from([1, 20]),
)
def test_larger_senders_change_no_order(rows: list[list[int]], at: int, most_straight: int) -> None:
    numbered = [(batch, of) for (batch, _), of in zip(batches_of(0, rows), rows, strict=True)]

    def received(each: int) -> dict[int, list[dict[str, int]]]:
        """Of senders that have so many batches each."""
        tasks = [numbered[first : first + each] for first in range(0, len(numbered), each)]
        route = Route(len(tasks), 20, most_straight)
        sent = [
            block
            for number, some in enumerate(tasks)
            for block in route.send(number, ((batch, np.array(of)) for batch, of in some))
        ]
        return dict(exchanged(exchanged(sent, route.relay, 0) if route.relayed else sent, rows_of, 0))

    assert received(at) == received(1)


@pytest.mark.parametrize(("senders", "partitions"), [(1, 5_000), (40, 2_000), (4_096, 18_627), (4_096, 186_265)])
def test_who_sends_to_whom_grows_with_the_root_of_the_partitions(senders: int, partitions: int) -> None:
    route = Route(senders, partitions)
    assert route.relayed
    assert route.width**2 >= partitions > (route.width - 1) ** 2
    assert route.across <= route.width
    assert route.bands <= route.width
    assert route.relays <= partitions + route.width  # so a relay handles about as much as a partition
    of_band = np.bincount([sender * route.bands // route.senders for sender in range(senders)])
    assert len(of_band) == route.bands
    assert of_band.max() <= -(-senders // route.bands)
    everyone = np.arange(partitions)
    addressed = {block.partition for block in route.send(senders - 1, [(_numbers(partitions), everyone)])}
    assert addressed == set(range(route.bands - 1, route.relays, route.bands))


def test_few_partitions_are_sent_to_straight() -> None:
    route = Route(4_096, 512)
    assert not route.relayed
    assert [block.partition for block in route.send(5, [(_numbers(2), np.array([7, 500]))])] == [7, 500]


def test_blocks_of_many_partitions_stay_large() -> None:
    """A sender that fills its buffer once sends to 20,000 partitions."""
    rows = 40_000
    batch = pa.RecordBatch.from_pydict({"text": ["x" * 1000] * rows})
    everyone = np.random.default_rng(1).integers(0, 20_000, rows)
    straight = list(Route(8, 20_000, most_straight=20_000).send(0, [(batch, everyone)]))
    relayed = list(Route(8, 20_000).send(0, [(batch, everyone)]))
    assert len(straight) > 15_000
    assert len(relayed) == Route(8, 20_000).across == 141
    assert sum(block.batch.num_rows for block in relayed) == rows


def _numbers(count: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"n": np.arange(count)})


def as_bytes(partition: int, batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, bytes]]:
    """What a consumer was given, byte for byte."""
    yield partition, b"|".join(encode_batch(batch) for batch in batches)


def sent(route: Route, sender: int) -> Iterator[AddressedBlock]:
    """The blocks of one task."""
    return route.send(sender, batches_of(sender, SENDERS[sender]))


def put_group(objects: LocalStore, group: tuple[int, bytes]) -> None:
    """Where the test finds what a consumer was given."""
    objects.put(f"groups/{group[0]:04d}", group[1])


def through_beam(folder: Path, tasks: list[int], route: Route, relays: Transport, transport: Transport) -> list[bytes]:
    """The groups of a pipeline, by partition."""
    objects = LocalStore(folder / "found")
    with beam.Pipeline(runner=InlineRunner()) as pipeline:
        (
            pipeline
            | beam.Create(tasks, reshuffle=False)
            | beam.FlatMap(partial(sent, route)).with_output_types(AddressedBlock)
            | Relays(route, relays, finished)
            | Exchange(as_bytes, transport=transport, emits=tuple[int, bytes])
            | beam.Map(partial(put_group, objects))
        )
    found = [objects.read(info.path) for info in objects.list("groups/")]
    for info in list(objects.list("groups/")):
        objects.delete(info.path)
    return found


@pytest.mark.parametrize("most_straight", [1, PARTITIONS])
def test_transports_merges_orders_and_repeated_tasks_give_the_same_blocks(tmp_path: Path, most_straight: int) -> None:
    route, tasks = Route(len(SENDERS), PARTITIONS, most_straight), list(range(len(SENDERS)))
    expected = through_beam(tmp_path, tasks, route, Engine(), Engine())
    assert len(expected) == len({partition for sender in SENDERS for some in sender for partition in some})
    store = LocalStore(tmp_path / "scratch")
    for number, (order, merge_above) in enumerate([(tasks, 64), (tasks[::-1], 1), ([*tasks, *tasks[3:]], 1)]):
        first, second = (
            Files(store, f"{number}/{name}", merge_above_files=merge_above, merge_fan_in=3) for name in ("relays", "x")
        )
        assert through_beam(tmp_path, order, route, first, second) == expected
        assert through_beam(tmp_path, order, route, Engine(), second) == expected
        assert through_beam(tmp_path, order, route, first, Engine()) == expected


@pytest.mark.parametrize("damaged", ["relays", "x"])
@pytest.mark.parametrize("damage", ["lost", "cut"])
def test_a_damaged_file_of_either_exchange_is_an_error(
    tmp_path: Path, damaged: str, damage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    route, store = Route(len(SENDERS), PARTITIONS, most_straight=1), LocalStore(tmp_path / "scratch")
    put = LocalStore.put

    def failing(self: LocalStore, path: str, content: bytes | Path) -> None:
        if not path.startswith(f"{damaged}/") or ("place-00000003" not in path and "relay-00000002" not in path):
            put(self, path, content)
        elif damage == "cut":
            put(self, path, (content.read_bytes() if isinstance(content, Path) else content)[:200])

    monkeypatch.setattr(LocalStore, "put", failing)
    with pytest.raises(ExchangeError, match="scratch file"):
        through_beam(tmp_path, list(range(9)), route, Files(store, "relays"), Files(store, "x"))


def test_relays_write_the_same_objects_again() -> None:
    route = Route(len(SENDERS), PARTITIONS, most_straight=1)
    blocks = [block for sender in range(len(SENDERS)) for block in sent(route, sender)]
    assert {block.origin for block in blocks} == {f"place-{sender:08d}" for sender in range(len(SENDERS))}
    first, second = (exchanged(blocks, route.relay, seed) for seed in (1, 2))
    by_address = {(block.origin, block.partition, block.number): encode_batch(block.batch) for block in first}
    assert by_address == {(block.origin, block.partition, block.number): encode_batch(block.batch) for block in second}
    assert len(by_address) == len(first)


@pytest.mark.parametrize("most_straight", [1, PARTITIONS])
@pytest.mark.parametrize(("merge_above", "least"), [(64, 1 << 18), (1, 1 << 18), (1, 1)])
def test_the_bytes_that_files_take_are_known_before(
    tmp_path: Path, most_straight: int, merge_above: int, least: int
) -> None:
    """Beside files of blocks there are indexes, so rows are large here."""
    store, route = LocalStore(tmp_path / "scratch"), Route(9, PARTITIONS, most_straight)
    batch = pa.RecordBatch.from_pydict({"text": ["x" * 20_000] * PARTITIONS})
    relays, last = (
        Files(store, name, merge_above_files=merge_above, merge_fan_in=9, min_segment_bytes=least)
        for name in ("relays", "x")
    )
    with beam.Pipeline(runner=InlineRunner()) as pipeline:
        (
            pipeline
            | beam.Create(range(9), reshuffle=False)
            | beam.FlatMap(partial(send_all, route, batch)).with_output_types(AddressedBlock)
            | Relays(route, relays, finished)
            | Exchange(as_bytes, transport=last, emits=tuple[int, bytes])
        )
    travelling = 9 * batch.nbytes
    expected = sum(relays.stored_bytes(travelling, *step) for step in route.exchanges)
    assert expected == travelling * (1 + route.relayed) * (1 + (least > 1 and merge_above == 1))
    stored = sum(info.size for name in ("relays", "x") for info in store.list(f"{name}/"))
    assert 0.9 * expected < stored < 1.25 * expected  # the last of successive files may be left alone
    assert sum(Engine().stored_bytes(travelling, *step) for step in route.exchanges) == 0


def send_all(route: Route, batch: pa.RecordBatch, sender: int) -> Iterator[AddressedBlock]:
    """A row for each partition."""
    return route.send(sender, [(batch, np.arange(PARTITIONS))])


def finished() -> None:
    """Nobody is told of relays."""
