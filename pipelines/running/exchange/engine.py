"""The engine's own shuffle: blocks travel through a GroupByKey. For clusters; one machine prefers `files`."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import apache_beam as beam
import pyarrow as pa
from apache_beam.pvalue import PCollection
from apache_beam.transforms import window
from apache_beam.utils.timestamp import Duration

from winnow.pipelines.running.blocks import AddressedBlock, decode_block, encode_block
from winnow.pipelines.running.exchange.inputs import Blocks, OfBlocks, of_each
from winnow.pipelines.running.exchange.segments import repeated_block
from winnow.pipelines.running.exchange.totals import Run, Total, check_arrival

_LAST = window.GlobalWindow().end  # the time at which engines emit a group of the global window


@dataclass(frozen=True, slots=True)
class Engine:
    """Sends the blocks themselves. A whole encoded group is held in memory: keep it within `GROUP_BYTES`."""

    def send(self, blocks: Blocks) -> PCollection[tuple[int, bytes]]:
        """Keys each block by its partition."""
        packed: PCollection[tuple[int, bytes]] = of_each(blocks, "Pack", _pack)
        return packed

    def receive(self, partition: int, expected: Total | None, members: list[memoryview]) -> Iterator[pa.RecordBatch]:
        """The batches in order of origin and number, after the check."""
        return received_blocks(partition, expected, members)

    def stored_bytes(self, size: int, senders: int, receivers: int) -> int:  # noqa: ARG002 - as of files
        """The bytes that a store has of so many that are sent: none, as the engine keeps them."""
        return 0


def received_blocks(partition: int, expected: Total | None, members: list[memoryview]) -> Iterator[pa.RecordBatch]:
    """The distinct batches of encoded blocks, in order of origin and number; raises first if any is missing."""
    blocks = sorted(
        ((decode_block(member), member) for member in members), key=lambda found: (found[0].origin, found[0].number)
    )
    kept: list[tuple[AddressedBlock, memoryview]] = []
    for block, member in blocks:
        if kept and (kept[-1][0].origin, kept[-1][0].number) == (block.origin, block.number):
            if kept[-1][1] != member:
                raise repeated_block(partition, block.origin, block.number)
            continue
        kept.append((block, member))
    check_arrival(partition, expected, [Run(block.origin, block.number, 1, block.batch.num_rows) for block, _ in kept])
    return (block.batch for block, _ in kept)


@beam.typehints.with_input_types(tuple[int, bytes])
@beam.typehints.with_output_types(tuple[int, Iterable[bytes]])
class GroupInOneWindow(beam.PTransform[PCollection[tuple[int, bytes]], PCollection[tuple[int, Iterable[bytes]]]]):
    """GroupByKey inside one fixed window.

    In the global window Spark builds every group as a list in the heap and caches it for the rest of the
    application; in any other window it sorts, spills and streams. The values come back in no promised order.

    The window ends where the global one does, which is when groups, sums and ends of bundles are emitted. Put back into
    an earlier window they would be late, and an engine that uses watermarks (Prism) drops late elements.
    """

    def expand(self, keyed: PCollection[tuple[int, bytes]]) -> PCollection[tuple[int, Iterable[bytes]]]:
        """Assigns all elements to the last instant, in a window that ends with it, and back."""
        grouped: PCollection[tuple[int, Iterable[bytes]]] = (
            keyed
            | "AtLast" >> beam.Map(window.TimestampedValue, _LAST).with_output_types(tuple[int, bytes])
            | "OneWindow" >> beam.WindowInto(window.FixedWindows(1 << 30, offset=_LAST + Duration(micros=1000)))
            | "Group" >> beam.GroupByKey()
            | "NoWindow" >> beam.WindowInto(window.GlobalWindows())
        )
        return grouped


def _pack() -> OfBlocks[tuple[int, bytes]]:
    pack: OfBlocks[tuple[int, bytes]] = beam.Map(_packed).with_output_types(tuple[int, bytes])
    return pack


def _packed(block: AddressedBlock) -> tuple[int, bytes]:
    return block.partition, encode_block(block)
