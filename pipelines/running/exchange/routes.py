"""How blocks reach many partitions: through relays, so that blocks stay large.

A sender holds 64 MiB before it sends blocks. Spread over thousands of partitions, each block would have a few rows, and
more bytes of headers than of content. A relay stands between: it receives the rows of √P successive partitions from one
√P-th of the senders, and sends them on. So a sender has √P receivers, and so has a relay; a relay handles about as many
bytes as a partition, which are written and read once more.

Rows reach their consumer in the same order as without relays: by sender, and of one sender as they were sent.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial

import apache_beam as beam
import numpy as np
import pyarrow as pa
from apache_beam.pvalue import PCollection
from numpy.typing import NDArray

from winnow.pipelines.running.blocks import AddressedBlock, in_chunks
from winnow.pipelines.running.exchange.exchange import Exchange, Transport
from winnow.pipelines.running.exchange.packing import MAX_BLOCK_BYTES, addressed_blocks
from winnow.pipelines.running.exchange.partition import Partitions

MOST_STRAIGHT = 512
"""The most partitions that senders send to straight: of the 64 MiB that are held, each then gets a block of 128 KiB.

Packed, written and read, 64 MiB of texts of 5 kB take 0.35 s of a processor for 256 partitions, 0.73 s for 512, 1.8 s
for 2,048 and 4.5 s for 8,192. Relays cost twice the 0.15 s of 32 for 1,024, but double what is on the disk.
"""

_PARTITION = pa.field("exchange.partition", pa.uint32(), nullable=False)


@dataclass(frozen=True, slots=True)
class Route:
    """The way from numbered senders to partitions. Picklable."""

    senders: int
    partitions: int
    most_straight: int = field(default_factory=lambda: MOST_STRAIGHT)  # tests make it small

    @property
    def relayed(self) -> bool:
        """Whether blocks go through relays."""
        return self.partitions > self.most_straight

    @property
    def width(self) -> int:
        """The partitions of one relay."""
        return math.isqrt(self.partitions - 1) + 1

    @property
    def bands(self) -> int:
        """The ranges into which senders are divided."""
        return min(self.senders, self.width)

    @property
    def across(self) -> int:
        """The relays of one band."""
        return -(-self.partitions // self.width)

    @property
    def relays(self) -> int:
        """The number of relays; none if blocks go straight."""
        return self.bands * self.across if self.relayed else 0

    @property
    def exchanges(self) -> tuple[tuple[int, int], ...]:
        """Of each exchange on the way: how many send, and to how many each of them sends."""
        if not self.relayed:
            return ((self.senders, self.partitions),)
        return ((self.senders, self.across), (self.relays, self.width))

    def steps(self, name: str) -> dict[str, int]:
        """The relays as a step of a job, for the progress, if there are any."""
        return {name: self.relays} if self.relayed else {}

    def send(self, sender: int, batches: Iterable[tuple[pa.RecordBatch, Partitions]]) -> Iterator[AddressedBlock]:
        """Packs a sender's batches, with a partition number per row; `sender` is its number by its input."""
        origin = f"place-{sender:08d}"
        if not self.relayed:
            return addressed_blocks(origin, batches, self.partitions)
        band = sender * self.bands // self.senders
        relayed = (
            (
                batch.append_column(_PARTITION, pa.array(partition_of.astype(np.uint32, copy=False))),
                self._relay(band, partition_of),
            )
            for batch, partition_of in batches
        )
        return addressed_blocks(origin, relayed, self.relays)

    def relay(self, relay: int, batches: Iterable[pa.RecordBatch]) -> Iterator[AddressedBlock]:
        """Packs what a relay has received for its partitions; `relay` is its number."""
        # Origins of a partition's relays ascend with the bands, and so with the senders; and they follow one another:
        # files of successive origins are merged, and so have partitions in common.
        return addressed_blocks(f"relay-{relay:08d}", map(_split, in_chunks(batches, MAX_BLOCK_BYTES)), self.partitions)

    def _relay(self, band: int, partition_of: Partitions) -> NDArray[np.int64]:
        return partition_of.astype(np.int64) // self.width * self.bands + band


class Relays(beam.PTransform[PCollection[AddressedBlock], PCollection[AddressedBlock]]):
    """What `Route.send` made → blocks for the partitions: through relays, or unchanged if the route has none.

    `done` is called on the worker after each relay; picklable.

    blocks | Relays(route, Files(store, "scratch/relays")) | Exchange(write, transport=Files(store, "scratch"), …)
    """

    def __init__(self, route: Route, transport: Transport, done: Callable[[], None]) -> None:
        super().__init__()
        self._route = route
        self._transport = transport
        self._done = done

    def expand(self, blocks: PCollection[AddressedBlock]) -> PCollection[AddressedBlock]:
        """One more exchange, whose consumers are the relays."""
        if not self._route.relayed:
            return blocks
        relayed: PCollection[AddressedBlock] = blocks | Exchange(
            partial(_relayed, self._route, self._done), transport=self._transport, emits=AddressedBlock
        )
        return relayed


def _relayed(
    route: Route, done: Callable[[], None], relay: int, batches: Iterator[pa.RecordBatch]
) -> Iterator[AddressedBlock]:
    yield from route.relay(relay, batches)
    done()


def _split(batches: list[pa.RecordBatch]) -> tuple[pa.RecordBatch, Partitions]:
    batch = pa.concat_batches(batches)
    partitions = batch.column(_PARTITION.name).to_numpy()
    return batch.select(batch.schema.names[:-1]), partitions
