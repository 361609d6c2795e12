"""Collects rows for each partition into numbered blocks of bounded size."""

from collections.abc import Iterable, Iterator

import pyarrow as pa

from winnow.pipelines.running.blocks import AddressedBlock
from winnow.pipelines.running.exchange.partition import Partitions, split_by_partition

MAX_BLOCK_BYTES = 8 << 20  # law 7
MAX_PACKED_BYTES = 64 << 20  # the most that a task emits anyway


class BlockPacker:
    """Buffers one origin's rows by partition and yields them as blocks of at most `max_block_bytes`.

    Blocks are numbered from 0 per partition. The same rows in the same calls give the same blocks. A single
    row larger than a block is a block of its own. The buffer over all partitions stays within
    `max_packed_bytes` plus the batch just added.
    """

    def __init__(
        self, origin: str, max_block_bytes: int = MAX_BLOCK_BYTES, max_packed_bytes: int = MAX_PACKED_BYTES
    ) -> None:
        self._origin = origin
        self._max_block_bytes = max_block_bytes
        self._max_packed_bytes = max_packed_bytes
        self._pieces: dict[int, list[pa.RecordBatch]] = {}
        self._bytes: dict[int, int] = {}
        self._packed_bytes = 0
        self._next_number: dict[int, int] = {}

    def add(self, partition: int, batch: pa.RecordBatch) -> Iterator[AddressedBlock]:
        """Adds rows for a partition; yields full blocks. The caller must exhaust the iterator."""
        if not batch.num_rows:
            return
        size = batch.nbytes
        if self._bytes.get(partition, 0) + size > self._max_block_bytes:
            yield from self._flush(partition)
        self._pieces.setdefault(partition, []).append(batch)
        self._bytes[partition] = self._bytes.get(partition, 0) + size
        self._packed_bytes += size
        if self._packed_bytes > self._max_packed_bytes:
            yield from self.finish()

    def finish(self) -> Iterator[AddressedBlock]:
        """Yields everything still buffered, partitions ascending."""
        for partition in sorted(self._pieces):
            yield from self._flush(partition)

    def _flush(self, partition: int) -> Iterator[AddressedBlock]:
        pieces = self._pieces.pop(partition, [])
        self._packed_bytes -= self._bytes.pop(partition, 0)
        if not pieces:
            return
        for batch in _cut(pa.concat_batches(pieces), self._max_block_bytes):
            number = self._next_number.get(partition, 0)
            self._next_number[partition] = number + 1
            yield AddressedBlock(partition, self._origin, number, batch)


def addressed_blocks(
    origin: str, batches: Iterable[tuple[pa.RecordBatch, Partitions]], partitions: int
) -> Iterator[AddressedBlock]:
    """Packs a task's batches, with a partition number per row, into blocks.

    `origin` names the task among all that feed the same exchange, by its input and never by run order.
    """
    packer = BlockPacker(origin)
    for batch, partition_of in batches:
        for partition, part in split_by_partition(batch, partition_of, partitions):
            yield from packer.add(partition, part)
    yield from packer.finish()


def _cut(batch: pa.RecordBatch, max_bytes: int) -> Iterator[pa.RecordBatch]:
    """Row ranges of at most `max_bytes` each, or of one row."""
    pieces = min(-(-batch.nbytes // max_bytes), batch.num_rows)
    if pieces <= 1:
        yield batch
        return
    rows = -(-batch.num_rows // pieces)
    for start in range(0, batch.num_rows, rows):
        yield from _cut(batch.slice(start, rows), max_bytes)
