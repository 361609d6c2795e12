"""A consumer that is shown a truncated group commits nothing: any part of it, or any part more than once."""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.property_sizes import scaled
from winnow.pipelines.running.blocks import AddressedBlock, encode_block, encoded_pieces
from winnow.pipelines.running.exchange import Engine, ExchangeError, Files, Transport
from winnow.pipelines.running.exchange.exchange import _IS_MEMBER, _IS_TOTAL, _Consume
from winnow.pipelines.running.exchange.segments import PackedBlock, read_index, write_file
from winnow.pipelines.running.exchange.totals import total_of
from winnow.pipelines.store.local import LocalStore

ORIGINS = {"a": [3, 1, 2], "b": [1], "c": [2, 2, 1, 5]}
"""The rows of each block."""


class Group(NamedTuple):
    """A partition's elements, as they come out of a shuffle when all is well."""

    total: bytes
    members: list[bytes]


def blocks() -> list[AddressedBlock]:
    return [
        AddressedBlock(7, origin, number, pa.RecordBatch.from_pydict({"row": list(range(rows))}))
        for origin, sizes in ORIGINS.items()
        for number, rows in enumerate(sizes)
    ]


def group(members: list[bytes]) -> Group:
    total = total_of((block.origin, block.number, block.batch.num_rows) for block in blocks())
    return Group(_IS_TOTAL + total.encode(), [_IS_MEMBER + member for member in members])


def through_engine(_: LocalStore) -> tuple[Transport, Group]:
    return Engine(), group([encode_block(block) for block in blocks()])


def through_files(store: LocalStore) -> tuple[Transport, Group]:
    """A file for each two blocks of an origin, so that an origin's blocks can arrive in part."""
    members: list[bytes] = []
    for origin in ORIGINS:
        packed = [
            PackedBlock(7, block.number, block.batch.num_rows, encoded_pieces(block.batch))
            for block in blocks()
            if block.origin == origin
        ]
        for start in range(0, len(packed), 2):
            file = write_file(store, "x", origin, packed[start : start + 2])
            members += [segment.encode() for segment in read_index(store, file)]
    return Files(store, "x"), group(members)


def committed(transport: Transport, total: list[bytes], members: list[bytes]) -> list[list[int]]:
    """What a consumer commits, after its last batch; nothing if it is stopped before."""
    made: list[list[int]] = []

    def consume(_: int, batches: Iterator[pa.RecordBatch]) -> Iterator[int]:
        rows = [row for batch in batches for row in batch["row"].to_pylist()]
        made.append(rows)
        yield len(rows)

    try:
        list(_Consume(consume, transport).process((7, [*total, *members])))
    except ExchangeError:
        assert made == []
    return made


@pytest.mark.parametrize("carried", [through_engine, through_files])
@settings(derandomize=True, deadline=None, max_examples=scaled(60))
@given(data=st.data())
def test_a_group_is_consumed_as_a_whole_or_not_at_all(
    carried: Callable[[LocalStore], tuple[Transport, Group]], data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        transport, (total, members) = carried(LocalStore(Path(folder)))
        whole = [[row for block in blocks() for row in block.batch["row"].to_pylist()]]
        places = list(range(len(members)))
        shown = data.draw(st.lists(st.sampled_from(places), max_size=2 * len(places)), label="shown")
        announced = data.draw(st.booleans(), label="announced")
        if data.draw(st.booleans(), label="all of it, and repeats"):
            shown = data.draw(st.permutations([*places, *shown]), label="in this order")
        expected = whole if announced and set(shown) == set(places) else []
        if not announced and not shown:  # a group with no element is none
            return
        assert committed(transport, [total] * announced, [members[place] for place in shown]) == expected


@pytest.mark.parametrize("carried", [through_engine, through_files])
def test_every_prefix_of_a_group_is_refused(
    tmp_path: Path, carried: Callable[[LocalStore], tuple[Transport, Group]]
) -> None:
    transport, (total, members) = carried(LocalStore(tmp_path))
    for length in range(len(members)):
        assert committed(transport, [total], members[:length]) == []
    assert committed(transport, [total], members) != []
