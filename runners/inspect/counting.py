"""Counts of rows by a small code and a state, in one pass over arrays of ten million rows.

Rows are counted in parts that stay in the processor's cache: counting the whole arrays at once takes several times as
long, as numpy first makes eight bytes of each code.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

_PART_ROWS: Final = 1 << 14


def counts_of(
    codes: NDArray[np.uint8] | NDArray[np.uint16], number: int, state: NDArray[np.uint8], states: int
) -> NDArray[np.int64]:
    """How many rows have each code, below `number`, and each state, below `states`."""
    found = np.zeros(number * states, np.int64)
    kind = np.dtype(np.uint16 if number * states <= 1 << 16 else np.uint32)
    factor = kind.type(states)
    for at in range(0, len(codes), _PART_ROWS):
        both = codes[at : at + _PART_ROWS].astype(kind)
        both *= factor
        both += state[at : at + _PART_ROWS]
        found += np.bincount(both, minlength=number * states)
    return found.reshape(number, states)
