"""Two hashes of a name, computed byte by byte, so that one pass over a host hashes all its suffixes.

One hash gives a name's place in a table, the other, of 64 bits, is stored there.
"""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from numba import uint64

from winnow.filters.language.kernels.hashes import mixed
from winnow.schemas.kernels import inlined

Bytes: TypeAlias = npt.NDArray[np.uint8]
Hashes: TypeAlias = npt.NDArray[np.uint64]

PLACE_SEED = uint64(14_695_981_039_346_656_037)
PRINT_SEED = uint64(0x9E3779B97F4A7C15)
_PLACE_PRIME = uint64(1_099_511_628_211)
_PRINT_PRIME = uint64(0xC2B2AE3D27D4EB4F)
_PATH = uint64(0x2545F4914F6CDD1D)  # separates the hashes of paths from those of hosts


@inlined  # type: ignore[untyped-decorator]
def lowered(byte: int) -> np.uint8:
    """Lower-case an ASCII letter; other bytes are unchanged."""
    return np.uint8(byte | 0x20) if 65 <= byte <= 90 else np.uint8(byte)


@inlined  # type: ignore[untyped-decorator]
def next_place(place: np.uint64, byte: np.uint8) -> np.uint64:
    """Extend the first hash by one byte."""
    return (place ^ uint64(byte)) * _PLACE_PRIME  # type: ignore[no-any-return]  # numba has no types


@inlined  # type: ignore[untyped-decorator]
def next_print(print_: np.uint64, byte: np.uint8) -> np.uint64:
    """Extend the second hash by one byte: a bijection for each byte, so no information is lost."""
    print_ = (print_ ^ uint64(byte)) * _PRINT_PRIME
    print_ ^= print_ >> uint64(29)
    return print_


@inlined  # type: ignore[untyped-decorator]
def hash_backwards(text: Bytes, start: int, end: int) -> tuple[np.uint64, np.uint64]:
    """The two unfinished hashes of a piece of text in lower case, last byte first."""
    place, print_ = PLACE_SEED, PRINT_SEED
    for at in range(end - 1, start - 1, -1):
        byte = lowered(text[at])
        place, print_ = next_place(place, byte), next_print(print_, byte)
    return place, print_


@inlined  # type: ignore[untyped-decorator]
def below(host: np.uint64, path: np.uint64) -> np.uint64:
    """Combine the hashes of a host and a path."""
    return path ^ mixed(host + _PATH)  # type: ignore[no-any-return]
