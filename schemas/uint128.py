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
