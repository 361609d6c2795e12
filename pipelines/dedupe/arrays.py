"""Rows of a run as numbers, and columns of blocks as arrays: what the kernels of this stage work on."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.schemas.uint128 import Words, words_of

ROW_BITS = 20  # the most rows of a shard that a store may be made with
SHARD_BITS = 24
MARK_BITS = 64 - SHARD_BITS - ROW_BITS

_ROW = np.uint64(ROW_BITS)
_ROW_MASK = np.uint64((1 << ROW_BITS) - 1)
_MARK_SHIFT = np.uint64(SHARD_BITS + ROW_BITS)


def references(shard: int, rows: NDArray[np.int64]) -> Words:
    """The numbers of a shard's rows in this run."""
    return np.uint64(shard << ROW_BITS) | rows.astype(np.uint64)


def shards_of(rows: Words) -> NDArray[np.int64]:
    """The number of each row's shard."""
    return (rows >> _ROW).astype(np.int64)


def rows_of(rows: Words) -> NDArray[np.int64]:
    """Where each row stands in its shard."""
    return (rows & _ROW_MASK).astype(np.int64)


def marked(rows: Words, ids: Words) -> Words:
    """The rows' numbers below the first bits of their ids, so that they sort alike however shards are cut."""
    return ((ids >> np.uint64(64 - MARK_BITS)) << _MARK_SHIFT) | rows


def starts_of(*columns: NDArray[np.generic]) -> NDArray[np.int64]:
    """Where runs of equal rows begin, in columns that are sorted together."""
    if not len(columns[0]):
        return np.zeros(0, np.int64)
    differs = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    return np.flatnonzero(np.append(True, differs))


def one_array(column: pa.ChunkedArray) -> pa.Array:
    """The values of all chunks as one array."""
    chunks = column.chunks
    return chunks[0] if len(chunks) == 1 else pa.concat_arrays(chunks) if chunks else pa.array([], column.type)


def words_column(batches: list[pa.RecordBatch], name: str) -> Words:
    """A column of words of several batches, as one array."""
    if not batches:
        return np.zeros(0, np.uint64)
    return np.concatenate([batch[name].to_numpy() for batch in batches])


def ids_column(batches: list[pa.RecordBatch], name: str) -> tuple[Words, Words]:
    """A column of sixteen-byte values of several batches."""
    parts = [words_of(batch[name]) for batch in batches]
    if not parts:
        return np.zeros(0, np.uint64), np.zeros(0, np.uint64)
    return np.concatenate([high for high, _ in parts]), np.concatenate([low for _, low in parts])


def found_among(rows: Words, wanted: Words) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Where each wanted row would stand among sorted ones, and which are there."""
    at = np.searchsorted(rows, wanted)
    there = np.zeros(len(wanted), np.bool_)
    inside = at < len(rows)
    there[inside] = rows[at[inside]] == wanted[inside]
    return at, there


def distinct_pairs(first: Words, second: Words) -> tuple[Words, Words]:
    """Each pair once, in ascending order."""
    order = np.lexsort((second, first))
    first, second = first[order], second[order]
    fresh = starts_of(first, second)
    return first[fresh], second[fresh]
