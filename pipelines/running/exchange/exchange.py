"""The exchange transform: blocks in, a consumer's results per partition out, with any transport."""

from collections.abc import Callable, Iterable, Iterator
from typing import Generic, Protocol, TypeAlias, TypeVar

import apache_beam as beam
import pyarrow as pa
from apache_beam.pvalue import PCollection

from winnow.pipelines.running.blocks import AddressedBlock
from winnow.pipelines.running.exchange.engine import GroupInOneWindow
from winnow.pipelines.running.exchange.inputs import Blocks, as_tuple
from winnow.pipelines.running.exchange.totals import Total, Totals
from winnow.pipelines.running.on_node import naming_host
from winnow.pipelines.running.version_handshake import versions_here

T = TypeVar("T")
Consumer: TypeAlias = Callable[[int, Iterator[pa.RecordBatch]], Iterable[T]]
"""Consumes a partition: its number and its batches, in order of origin and number, to elements."""

# In front of each element of a group; eight bytes, so that a block behind it stays aligned.
_IS_TOTAL = b"total\0\0\0"
_IS_MEMBER = b"member\0\0"


class Transport(Protocol):
    """Moves blocks from their producers to the consumer of their partition."""

    def send(self, blocks: Blocks) -> PCollection[tuple[int, bytes]]:
        """The blocks, or references to them, keyed by partition."""

    def receive(self, partition: int, expected: Total | None, members: list[memoryview]) -> Iterator[pa.RecordBatch]:
        """The distinct batches sent, in order; raises unless they match the announcement."""

    def stored_bytes(self, size: int, senders: int, receivers: int) -> int:
        """The bytes, about, that are stored of so many that are sent, each sender's to so many receivers."""


class Exchange(beam.PTransform[PCollection[AddressedBlock], PCollection[T]], Generic[T]):
    """Brings all blocks of a partition together and passes them to `consume`.

    Input: `AddressedBlock`s, numbered from 0 for each (origin, partition), as made by `addressed_blocks`; a
    task's blocks are best yielded one after another in one bundle. Several steps that send to the same partitions are
    given as a tuple, because FnApiRunner holds everything passed through a Flatten in memory. Output: what `consume`
    yields; `emits` is its type for Beam, so that the next boundary does not fall back to pickle.

    The consumer runs once for each partition that got a block, after the shuffle in the same fused step, so no
    group ever crosses a stage boundary. It sees batches in order of origin and number, the same on every runner,
    transport and number of workers. A block that is sent again with equal content counts once; a block that is
    missing or differs raises `ExchangeError`: before the consumer starts if the group is in memory or its
    index shows it, or from the iterator if a file turns out to be damaged. So commit only after the last batch.
    Errors of consumers on other machines begin with the machine's name.

        blocks | Exchange(duplicate_groups, transport=Files(store, "scratch/bands"), emits=DuplicateGroup)
    """

    def __init__(self, consume: Consumer[T], *, transport: Transport, emits: object) -> None:
        super().__init__()
        self._consume = consume
        self._transport = transport
        self._emits = emits

    def expand(self, blocks: PCollection[AddressedBlock]) -> PCollection[T]:  # or several: Beam has no type for that
        """Groups the totals and members of each partition."""
        for one in as_tuple(blocks):
            if one.element_type is not AddressedBlock:
                raise TypeError(
                    f"{self.label}: the step before must declare .with_output_types(AddressedBlock), not "
                    f"{one.element_type}: Beam would pickle what it does not know"
                )
        totals = blocks | "Totals" >> Totals() | "TagTotals" >> _Tag(_IS_TOTAL)
        members = self._transport.send(blocks) | "TagMembers" >> _Tag(_IS_MEMBER)
        consumed: PCollection[T] = (
            (totals, members)
            | "Meet" >> beam.Flatten()
            | "ByPartition" >> GroupInOneWindow()
            | "Consume" >> beam.ParDo(_Consume(self._consume, self._transport)).with_output_types(self._emits)
        )
        return consumed


class _Tag(beam.PTransform[PCollection[tuple[int, bytes]], PCollection[tuple[int, bytes]]]):
    """Prefixes each value with the tag."""

    def __init__(self, tag: bytes) -> None:
        super().__init__()
        self._tag = tag

    def expand(self, keyed: PCollection[tuple[int, bytes]]) -> PCollection[tuple[int, bytes]]:
        tagged: PCollection[tuple[int, bytes]] = keyed | beam.Map(_tagged, self._tag).with_output_types(
            tuple[int, bytes]
        )
        return tagged


class _Consume(beam.DoFn, Generic[T]):
    def __init__(self, consume: Consumer[T], transport: Transport) -> None:
        self._consume = consume
        self._transport = transport
        self._driver = versions_here()

    def process(self, group: tuple[int, Iterable[bytes]]) -> Iterator[T]:
        partition, tagged = group
        expected: Total | None = None
        members: list[memoryview] = []
        for element in tagged:
            if element.startswith(_IS_TOTAL):
                expected = Total.decode(element[len(_IS_TOTAL) :])
            else:
                members.append(memoryview(element)[len(_IS_MEMBER) :])
        with naming_host(self._driver):
            yield from self._consume(partition, self._transport.receive(partition, expected, members))


def _tagged(keyed: tuple[int, bytes], tag: bytes) -> tuple[int, bytes]:
    return keyed[0], tag + keyed[1]
