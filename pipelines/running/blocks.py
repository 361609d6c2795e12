"""Encodes Arrow record batches as Beam elements that cross a stage boundary.

A row is never a Beam element; a batch of rows is (law 7). One Arrow IPC stream holds exactly the batch's rows.
"""

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Encoded: TypeAlias = bytes | memoryview | pa.Buffer

HEADER = struct.Struct("<qqq")  # partition, number, bytes of the origin
_ALIGNMENT = 8  # the alignment that Arrow IPC requires at the start of a stream


@dataclass(frozen=True, slots=True)
class AddressedBlock:
    """A batch on its way to a partition: the `number`-th block that `origin` sends there, counted from 0."""

    partition: int
    origin: str
    number: int
    batch: pa.RecordBatch

    def __post_init__(self) -> None:
        if self.partition < 0 or self.number < 0 or not self.origin:
            raise ValueError(
                f"a block needs a partition and a number of at least 0 and a non-empty origin, not "
                f"partition {self.partition}, number {self.number}, origin {self.origin!r}"
            )


def in_chunks(batches: Iterable[pa.RecordBatch], most_bytes: int) -> Iterator[list[pa.RecordBatch]]:
    """Yields batches in chunks of about `most_bytes`, so that their common inputs are read once per chunk."""
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        held.append(batch)
        size += batch.nbytes
        if size >= most_bytes:
            yield held
            held, size = [], 0
    if held:
        yield held


def encode_batch(batch: pa.RecordBatch) -> bytes:
    """Encodes the batch's own rows as one uncompressed Arrow IPC stream, without the rest of its buffers.

    Equal batches of plain types give equal bytes wherever their buffers are. Values under nulls and the
    dictionary of an encoded column are written unchanged, so a batch is a value, never a grouping key.
    """
    return b"".join(encoded_pieces(batch))


def encoded_pieces(batch: pa.RecordBatch) -> tuple[bytes | pa.Buffer, ...]:
    """The same stream in pieces: columns that are already compact are not copied."""
    batch = _compact(batch)
    sink = _Pieces()
    with pa.ipc.new_stream(pa.PythonFile(sink, mode="w"), batch.schema) as stream:
        stream.write_batch(batch)
    return tuple(sink.pieces)


def decode_batch(encoded: Encoded) -> pa.RecordBatch:
    """Decodes one IPC stream; the batch uses the given buffer and keeps it alive."""
    with pa.ipc.open_stream(pa.py_buffer(encoded)) as stream:
        return stream.read_next_batch()


def encode_block(block: AddressedBlock) -> bytes:
    """The address, padded so that the batch after it stays aligned, then the batch."""
    origin = block.origin.encode()
    header = HEADER.pack(block.partition, block.number, len(origin)) + origin
    return header + bytes(-len(header) % _ALIGNMENT) + encode_batch(block.batch)


def decode_block(encoded: Encoded) -> AddressedBlock:
    """The inverse of `encode_block`; the batch uses the given buffer."""
    buffer = pa.py_buffer(encoded)
    partition, number, length = HEADER.unpack_from(buffer)
    end = HEADER.size + length
    origin = buffer[HEADER.size : end].to_pybytes().decode()
    return AddressedBlock(partition, origin, number, decode_batch(buffer[end + -end % _ALIGNMENT :]))


class _Pieces:
    """A minimal file for Arrow to write to, which keeps the pieces."""

    closed = False

    def __init__(self) -> None:
        self.pieces: list[bytes | pa.Buffer] = []

    def write(self, piece: bytes | pa.Buffer) -> None:
        self.pieces.append(piece)

    def flush(self) -> None:
        """Does nothing: writes are immediate."""

    def close(self) -> None:
        self.closed = True


def _compact(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The same rows in buffers that hold nothing else; IPC alone keeps dictionaries, views and some padding whole."""
    return pa.RecordBatch.from_arrays([_compact_column(column) for column in batch.columns], schema=batch.schema)


def _compact_column(column: pa.Array) -> pa.Array:
    if _is_compact(column):
        return column
    if pa.types.is_dictionary(column.type):
        return _compact_dictionary(column)
    if pa.types.is_string_view(column.type):
        return column.cast(pa.large_string()).cast(column.type)
    if pa.types.is_binary_view(column.type):
        return column.cast(pa.large_binary()).cast(column.type)
    return pa.concat_arrays([column, column.slice(0, 0)])  # a single array would be returned unchanged


def _is_compact(column: pa.Array) -> bool:
    """Whether the buffers of a plain column hold only its rows; False for other types."""
    kind, rows = column.type, len(column)
    if column.offset or column.null_count or not rows:
        return False
    _, first, *rest = column.buffers()
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_fixed_size_binary(kind):
        return bool(first.size == rows * kind.byte_width)
    if pa.types.is_large_string(kind) or pa.types.is_large_binary(kind):
        ends = np.frombuffer(first, "<i8")
        return bool(len(ends) == rows + 1 and ends[0] == 0 and rest[0].size == ends[-1])
    return False


def _compact_dictionary(column: pa.DictionaryArray) -> pa.DictionaryArray:
    used = np.unique(column.indices.drop_null().to_numpy())  # sorted: an ordered dictionary keeps its order
    if len(used) == len(column.dictionary):
        return pa.concat_arrays([column, column.slice(0, 0)])
    kept = pa.array(used, column.indices.type)
    indices = pc.index_in(column.indices, kept, skip_nulls=True).cast(column.indices.type)
    return pa.DictionaryArray.from_arrays(indices, column.dictionary.take(kept), ordered=column.type.ordered)
