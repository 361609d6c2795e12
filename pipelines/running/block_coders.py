"""Beam coders for batches and blocks that cross a stage boundary.

Beam's default for a batch is pickle, which writes the whole parent buffer even for a slice of ten rows. Importing
this module registers coders that write exactly the batch's rows; `winnow.pipelines.running.exchange` does so for every
pipeline of blocks.
"""

import apache_beam as beam
import pyarrow as pa
from apache_beam.coders.typecoders import registry

from winnow.pipelines.running.blocks import (
    HEADER,
    AddressedBlock,
    decode_batch,
    decode_block,
    encode_batch,
    encode_block,
)


class RecordBatchCoder(beam.coders.Coder):
    """Encodes a batch as one Arrow IPC stream."""

    def encode(self, value: pa.RecordBatch) -> bytes:
        """Encodes the batch's own rows, compactly."""
        return encode_batch(value)

    def decode(self, encoded: bytes) -> pa.RecordBatch:
        """Decodes the batch without a copy."""
        return decode_batch(encoded)

    def is_deterministic(self) -> bool:
        """True: a batch gives the same bytes in every process."""
        return True

    def estimate_size(self, value: pa.RecordBatch) -> int:
        """The bytes of the rows; for a slice, only its own."""
        return int(value.nbytes)

    def to_type_hint(self) -> type:
        """The type that the coder encodes."""
        return pa.RecordBatch  # type: ignore[no-any-return]


class AddressedBlockCoder(beam.coders.Coder):
    """Encodes a block's address and its batch."""

    def encode(self, value: AddressedBlock) -> bytes:
        """Encodes the address, then the batch's own rows, compactly."""
        return encode_block(value)

    def decode(self, encoded: bytes) -> AddressedBlock:
        """Decodes the block without copying its batch."""
        return decode_block(encoded)

    def is_deterministic(self) -> bool:
        """True: a block gives the same bytes in every process."""
        return True

    def estimate_size(self, value: AddressedBlock) -> int:
        """The bytes of the rows and of the address."""
        return int(value.batch.nbytes) + len(value.origin) + HEADER.size

    def to_type_hint(self) -> type:
        """The type that the coder encodes."""
        return AddressedBlock


registry.register_coder(pa.RecordBatch, RecordBatchCoder)
registry.register_coder(AddressedBlock, AddressedBlockCoder)
