"""Which rows of a block are hidden: objects are read some rows at a time, and rows are numbered in the object."""

import numpy as np
from numpy.typing import NDArray


def hidden_in(hidden: NDArray[np.int64], first: int, count: int) -> NDArray[np.bool_]:
    """Return which of `count` rows, from row `first` on, are among the sorted row numbers `hidden`."""
    start, end = np.searchsorted(hidden, (first, first + count))
    found = np.zeros(count, np.bool_)
    found[hidden[start:end] - first] = True
    return found
