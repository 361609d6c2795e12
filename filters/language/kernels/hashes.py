"""64-bit hashes of words and of sequences of words, over Arrow's bytes.

Hashes replace the words themselves, as in KenLM's probing models: with a million entries the chance that a given word
is mistaken for another is below one in ten trillion.
"""

import numpy as np
import pyarrow as pa
from numba import uint64
from numpy.typing import NDArray

from winnow.schemas.kernels import kernel, leaf

_OFFSET = uint64(14_695_981_039_346_656_037)
_PRIME = uint64(1_099_511_628_211)
_MIX_1 = uint64(0xBF58476D1CE4E5B9)
_MIX_2 = uint64(0x94D049BB133111EB)


def hash_words(words: pa.Array) -> NDArray[np.uint64]:
    """The hash of each string."""
    strings = words.cast(pa.large_string())
    _, offsets, content = strings.buffers()
    places = np.frombuffer(offsets, np.int64)[strings.offset : strings.offset + len(strings) + 1]
    raw = np.frombuffer(content, np.uint8) if content is not None else np.zeros(0, np.uint8)
    hashes: NDArray[np.uint64] = _hash_all(raw, places)
    return hashes


@leaf
def mixed(value):  # type: ignore[no-untyped-def]  # numba infers uint64
    """Spread every bit over all others (the finaliser of SplitMix64)."""
    value = (value ^ (value >> uint64(30))) * _MIX_1
    value = (value ^ (value >> uint64(27))) * _MIX_2
    return value ^ (value >> uint64(31))


def mixed_values(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """What `mixed` makes of each value, by numpy: for what is not hot."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(_MIX_1)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(_MIX_2)
    return values ^ (values >> np.uint64(31))


@leaf
def hash_bytes(content, start, end):  # type: ignore[no-untyped-def]
    """The hash of content[start:end]: FNV-1a, spread."""
    value = _OFFSET
    for at in range(start, end):
        value = (value ^ uint64(content[at])) * _PRIME
    return mixed(value)


@leaf
def find(keys, key):  # type: ignore[no-untyped-def]
    """The index of a key in sorted keys, or -1."""
    low, high = 0, len(keys)
    while low < high:
        middle = (low + high) >> 1
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low if low < len(keys) and keys[low] == key else -1


@kernel
def _hash_all(content, places):  # type: ignore[no-untyped-def]
    hashes = np.empty(len(places) - 1, np.uint64)
    for number in range(len(hashes)):
        hashes[number] = hash_bytes(content, places[number], places[number + 1])
    return hashes
