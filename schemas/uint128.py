"""16-byte values, such as ids and digests, as pairs of 64-bit words, which sort and join fast."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.schemas.identity import ID_BYTES

Words = NDArray[np.uint64]


def words_of(column: pa.Array) -> tuple[Words, Words]:
    """The two words of each value, in the order of its bytes; undefined for nulls."""
    buffer = column.buffers()[1]
    raw = np.frombuffer(buffer, ">u8", 2 * len(column), column.offset * ID_BYTES).reshape(-1, 2)
    return raw[:, 0].astype(np.uint64), raw[:, 1].astype(np.uint64)


def values_of(high: Words, low: Words) -> pa.FixedSizeBinaryArray:
    """The inverse of `words_of`."""
    raw = np.empty((len(high), 2), ">u8")
    raw[:, 0], raw[:, 1] = high, low
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(ID_BYTES), len(high), [None, pa.py_buffer(raw)])


def places_of(keys: tuple[Words, Words], wanted: tuple[Words, Words]) -> NDArray[np.int64]:
    """Where each wanted value is among different ones that ascend; -1 if it is not there."""
    at = np.searchsorted(keys[0], wanted[0])
    high, low = (np.append(half, np.uint64(0)) for half in keys)  # beyond the last, too
    found = np.full(len(at), -1, np.int64)
    left = np.flatnonzero((at < len(keys[0])) & (high[at] == wanted[0]))
    while len(left):  # once more only for values with the same first half, if ever
        same = low[at[left]] == wanted[1][left]
        found[left[same]] = at[left[same]]
        left = left[~same]
        at[left] += 1
        left = left[(at[left] < len(keys[0])) & (high[at[left]] == wanted[0][left])]
    return found
