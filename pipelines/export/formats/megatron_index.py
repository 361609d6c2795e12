"""Megatron-LM's indexed datasets: concatenated token ids in a .bin, and the position of each sample in an .idx.

The layout of megatron.core.datasets.indexed_dataset (version 1, little-endian):

    9 bytes   MMIDIDX and two zero bytes
    uint64    the version, 1
    uint8     the type of an id: 4 for int32, 8 for uint16
    uint64    S, the number of sequences; here one per sample
    uint64    D, the number of document boundaries, one more than documents; here S + 1
    int32[S]  the number of ids of each sequence
    int64[S]  the byte offset of each sequence in the .bin
    int64[D]  the first sequence of each document, and S

Written here because Megatron's builder is in a package that imports torch, and an export should not need a trainer.
"""

import shutil
import struct
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from winnow.schemas.errors import ExportError

IdType: TypeAlias = Literal["uint16", "int32"]
CODES: dict[IdType, int] = {"int32": 4, "uint16": 8}

MAGIC = b"MMIDIDX\x00\x00"
VERSION = 1
MAX_LENGTH = (1 << 31) - 1  # ids per sequence: the index counts them in 31 bits
_HEAD = struct.Struct("<9sQBQQ")
_BLOCK = 1 << 20  # index entries that a join holds at once
_COPY_BYTES = 8 << 20

_Blocks: TypeAlias = Callable[[], Iterator[npt.NDArray[np.int64]]]
"""Gives the lengths, block by block; each call starts again, because there are two passes."""


def write_index(file: Path, dtype: IdType, lengths: npt.NDArray[np.int64]) -> None:
    """Writes the .idx for samples of these lengths."""
    _write_index(file, dtype, len(lengths), lambda: iter((lengths,)))


def index_lengths(file: Path, dtype: IdType) -> npt.NDArray[np.int32]:
    """The mapped lengths of an index that `write_index` wrote with this type; ExportError for any other file."""
    with file.open("rb") as stream:
        head = stream.read(_HEAD.size)
    if len(head) < _HEAD.size:
        raise ExportError(f"{file}: not a Megatron index ({len(head)} bytes)")
    magic, version, code, sequences, boundaries = _HEAD.unpack(head)
    if (magic, version, code, boundaries) != (MAGIC, VERSION, CODES[dtype], sequences + 1):
        raise ExportError(f"{file}: expected an index of {dtype} ids with one document per sequence")
    size = _HEAD.size + sequences * 12 + boundaries * 8
    if file.stat().st_size != size:
        raise ExportError(f"{file}: {file.stat().st_size} bytes, expected {size}")
    return np.memmap(file, "<i4", mode="r", offset=_HEAD.size, shape=(sequences,))


def join_indexed(prefixes: Sequence[Path], prefix: Path, dtype: IdType) -> int:
    """Concatenates indexed datasets in order: the same bytes as if all samples had been written at once.

    Copies each .bin once and holds a block of an index in memory. Returns the number of samples.
    """
    indices = [beside(one, ".idx") for one in prefixes]
    counts = []
    with beside(prefix, ".bin").open("wb") as joined:
        for one, index in zip(prefixes, indices, strict=True):
            lengths = index_lengths(index, dtype)
            binary = beside(one, ".bin")
            expected = int(lengths.sum(dtype=np.int64)) * np.dtype(dtype).itemsize
            if binary.stat().st_size != expected:
                raise ExportError(f"{binary}: has {binary.stat().st_size} bytes, but its index says {expected}")
            with binary.open("rb") as stream:
                shutil.copyfileobj(stream, joined, _COPY_BYTES)
            counts.append(len(lengths))

    def blocks() -> Iterator[npt.NDArray[np.int64]]:
        for index in indices:
            lengths = index_lengths(index, dtype)
            for start in range(0, len(lengths), _BLOCK):
                yield np.asarray(lengths[start : start + _BLOCK], np.int64)

    _write_index(beside(prefix, ".idx"), dtype, sum(counts), blocks)
    return sum(counts)


def beside(prefix: Path, suffix: str) -> Path:
    """A file of a dataset; `with_suffix` would cut a prefix that contains a dot."""
    return prefix.with_name(prefix.name + suffix)


def _write_index(file: Path, dtype: IdType, sequences: int, blocks: _Blocks) -> None:
    with file.open("wb") as stream:
        stream.write(_HEAD.pack(MAGIC, VERSION, CODES[dtype], sequences, sequences + 1))
        for lengths in blocks():
            stream.write(lengths.astype("<i4").tobytes())
        at = 0
        for lengths in blocks():
            ends = at + np.cumsum(lengths * np.dtype(dtype).itemsize)
            stream.write(np.concatenate(([at], ends[:-1])).astype("<i8").tobytes() if len(ends) else b"")
            at = int(ends[-1]) if len(ends) else at
        for start in range(0, sequences + 1, _BLOCK):
            stream.write(np.arange(start, min(start + _BLOCK, sequences + 1), dtype="<i8").tobytes())
