"""Sorted distinct values and each value's rank: 64-bit references become small numbers."""

import numpy as np
import numpy.typing as npt

from winnow.schemas.kernels import kernel, leaf


def distinct(values: npt.NDArray[np.uint64], *, overwrite: bool = False) -> npt.NDArray[np.uint64]:
    """The distinct values in ascending order; in the memory of `values` if that may be overwritten."""
    ordered = values if overwrite else values.copy()
    ordered.sort()
    return ordered[: _compacted(ordered)]


def ranks(ordered: npt.NDArray[np.uint64], values: npt.NDArray[np.uint64]) -> npt.NDArray[np.int32]:
    """The rank of every value in `ordered`, which has all values, sorted and each once.

    Raises:
        ValueError: There are too many distinct values for 32 bits.
    """
    if len(ordered) > np.iinfo(np.int32).max:
        raise ValueError(f"expected fewer than 2**31 distinct values, found {len(ordered)}: use more partitions")
    if not len(values):
        return np.empty(0, np.int32)
    # A table over the top bits of the values' range leaves a binary search of a few steps, local in memory.
    span = int(ordered[-1]) - int(ordered[0])
    shift = max(0, span.bit_length() - (2 * len(ordered)).bit_length())
    return _ranks(ordered, values, np.uint64(shift), (span >> shift) + 2)  # type: ignore[no-any-return]


@leaf
def _compacted(ordered):  # type: ignore[no-untyped-def]
    """Move every value that differs from its predecessor to the front; returns their number."""
    count = min(len(ordered), 1)
    for at in range(1, len(ordered)):
        if ordered[at] != ordered[count - 1]:
            ordered[count] = ordered[at]
            count += 1
    return count


@kernel
def _ranks(ordered, values, shift, slots):  # type: ignore[no-untyped-def]
    low = ordered[0]
    starts = np.zeros(slots, np.int32)
    slot = 0
    for at in range(len(ordered)):
        mine = np.int64((ordered[at] - low) >> shift)
        while slot < mine:
            slot += 1
            starts[slot] = at
    while slot < slots - 1:
        slot += 1
        starts[slot] = len(ordered)
    found = np.empty(len(values), np.int32)
    for at in range(len(values)):
        value = values[at]
        mine = np.int64((value - low) >> shift)
        start, end = np.int64(starts[mine]), np.int64(starts[mine + 1])
        while end - start > 1:
            middle = (start + end) >> 1
            if ordered[middle] <= value:
                start = middle
            else:
                end = middle
        found[at] = start
    return found
