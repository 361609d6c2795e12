"""Counts of rows by a small code and a state, in one pass over arrays of ten million rows.

Compiled, as numpy takes four times as long: `bincount` first makes eight bytes of each code, and a look-up of marks by
code does the same. Other threads run meanwhile.
"""

import numpy as np
from numpy.typing import NDArray

from winnow.schemas.kernels import kernel

Codes = NDArray[np.uint8] | NDArray[np.uint16]
Words = NDArray[np.uint8] | NDArray[np.uint16] | NDArray[np.uint32] | NDArray[np.uint64]
Weights = NDArray[np.int64] | NDArray[np.uint32]
Marks = NDArray[np.bool_]


def counts_of(codes: Codes, number: int, state: Codes, states: int) -> NDArray[np.int64]:
    """How many rows have each code, below `number`, and each state, below `states`."""
    found = np.zeros((number, states), np.int64)
    _count(codes, state, found)
    return found


def amounts_of(codes: Codes, number: int, state: NDArray[np.uint8], states: int, weights: Weights) -> NDArray[np.int64]:
    """By code and state, as `counts_of` tells: how many rows there are, and the sum of their weights."""
    found = np.zeros((number, states, 2), np.int64)
    _amounts(codes, state, weights, found)
    return found


def add_marks(codes: Codes, marks: Marks, sums: NDArray[np.uint8]) -> None:
    """Add one to the sum of each row whose code is marked."""
    _add(codes, marks, sums)


def bits_by_code(codes: Codes, number: int, masks: Words, bits: int, among: Marks) -> NDArray[np.int64]:
    """How many of the rows that are meant have each code, below `number`, and each bit, below `bits`, in their mask."""
    found = np.zeros((number, bits), np.int64)
    _count_bits(codes, masks, among, found)
    return found


@kernel  # type: ignore[untyped-decorator]
def _count_bits(codes: Codes, masks: Words, among: Marks, found: NDArray[np.int64]) -> None:
    for row in range(len(codes)):
        if among[row]:
            for word in range(masks.shape[1]):
                left = np.uint64(masks[row, word])
                bit = 64 * word
                while left:
                    if left & np.uint64(1):
                        found[codes[row], bit] += 1
                    left >>= np.uint64(1)
                    bit += 1


@kernel  # type: ignore[untyped-decorator]
def _count(codes: Codes, state: Codes, found: NDArray[np.int64]) -> None:
    for row in range(len(codes)):
        found[codes[row], state[row]] += 1


@kernel  # type: ignore[untyped-decorator]
def _amounts(codes: Codes, state: NDArray[np.uint8], weights: Weights, found: NDArray[np.int64]) -> None:
    for row in range(len(codes)):
        found[codes[row], state[row], 0] += 1
        found[codes[row], state[row], 1] += np.int64(weights[row])


@kernel  # type: ignore[untyped-decorator]
def _add(codes: Codes, marks: Marks, sums: NDArray[np.uint8]) -> None:
    for row in range(len(codes)):
        sums[row] += marks[codes[row]]
