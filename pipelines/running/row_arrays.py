"""Rows as integers, and columns of blocks as arrays: the data that the kernels of jobs work on.

A row's global number combines its shard's number with its position in the shard. It is valid during one job only.
"""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.schemas.uint128 import Words, words_of

ROW_BITS = 20  # enough for the largest shard that a store allows
SHARD_BITS = 24
ID_BITS = 64 - SHARD_BITS - ROW_BITS

_ROW = np.uint64(ROW_BITS)
_ROW_MASK = np.uint64((1 << ROW_BITS) - 1)
_ID_SHIFT = np.uint64(SHARD_BITS + ROW_BITS)


def global_rows(shard: int, rows: NDArray[np.int64]) -> Words:
    """Return the global numbers of some rows of a shard."""
    return np.uint64(shard << ROW_BITS) | rows.astype(np.uint64)


def shard_numbers(rows: Words) -> NDArray[np.int64]:
    """Return the number of each row's shard."""
    return (rows >> _ROW).astype(np.int64)


def local_rows(rows: Words) -> NDArray[np.int64]:
    """Return each row's position in its shard."""
    return (rows & _ROW_MASK).astype(np.int64)


def with_id_bits(rows: Words, ids: Words) -> Words:
    """Return the global numbers prefixed with the first bits of the rows' ids.

    Such numbers sort in the same order however the rows are divided into shards.
    """
    return ((ids >> np.uint64(64 - ID_BITS)) << _ID_SHIFT) | rows


def run_starts(*columns: NDArray[np.generic]) -> NDArray[np.int64]:
    """Return where each run of equal values begins, in columns that are sorted by all of them."""
    if not len(columns[0]):
        return np.zeros(0, np.int64)
    differs = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    return np.flatnonzero(np.append(True, differs))


def single_array(column: pa.ChunkedArray) -> pa.Array:
    """Return the values of all chunks as one array."""
    chunks = column.chunks
    return chunks[0] if len(chunks) == 1 else pa.concat_arrays(chunks) if chunks else pa.array([], column.type)


def uint64_column(batches: list[pa.RecordBatch], name: str) -> Words:
    """Return a column of 64-bit integers of several batches as one array."""
    if not batches:
        return np.zeros(0, np.uint64)
    return np.concatenate([batch[name].to_numpy() for batch in batches])


def ids_column(batches: list[pa.RecordBatch], name: str) -> tuple[Words, Words]:
    """Return a column of 16-byte values of several batches, as high and low halves."""
    parts = [words_of(batch[name]) for batch in batches]
    if not parts:
        return np.zeros(0, np.uint64), np.zeros(0, np.uint64)
    return np.concatenate([high for high, _ in parts]), np.concatenate([low for _, low in parts])


def find_in_sorted(rows: Words, wanted: Words) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the position of each wanted row among the sorted rows, and whether the row is there."""
    at = np.searchsorted(rows, wanted)
    there = np.zeros(len(wanted), np.bool_)
    inside = at < len(rows)
    there[inside] = rows[at[inside]] == wanted[inside]
    return at, there


def distinct_pairs(first: Words, second: Words) -> tuple[Words, Words]:
    """Return each pair once, in ascending order."""
    order = np.lexsort((second, first))
    first, second = first[order], second[order]
    fresh = run_starts(first, second)
    return first[fresh], second[fresh]
