"""Features of a head: dense or sparse rows of numbers, and products with them.

Sparse rows are summed in a fixed order without fused operations: a row's values depend only on that row. Products of
dense rows use BLAS, whose last bits depend on the other rows and on the machine.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from winnow.schemas.kernels import arithmetic
from winnow.scoring.protocol import Floats

Real: TypeAlias = NDArray[np.float32] | NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Sparse:
    """Rows that are mostly zero: the other numbers of row i are at offsets[i] .. offsets[i + 1]."""

    indices: NDArray[np.int32]
    values: Real
    offsets: Integers
    width: int

    def __len__(self) -> int:
        return len(self.offsets) - 1


Features: TypeAlias = Real | Sparse


def width_of(features: Features) -> int:
    """Numbers in a row."""
    return features.width if isinstance(features, Sparse) else features.shape[1]


def kind_of(features: Features) -> np.dtype[np.floating]:
    """The type that a head computes in."""
    return features.values.dtype if isinstance(features, Sparse) else features.dtype


def rows_of(features: Features, which: Integers) -> Features:
    """Some rows, in this order."""
    if not isinstance(features, Sparse):
        return features[which]
    places, offsets = places_of(features.offsets, which)
    return Sparse(features.indices[places], features.values[places], offsets, features.width)


def joined(parts: Sequence[Features]) -> Features:
    """Concatenate rows."""
    sparse = [part for part in parts if isinstance(part, Sparse)]
    if not sparse:
        return np.concatenate([part for part in parts if not isinstance(part, Sparse)])
    return Sparse(
        np.concatenate([part.indices for part in sparse]),
        np.concatenate([part.values for part in sparse]),
        joined_offsets([part.offsets for part in sparse]),
        sparse[0].width,
    )


def joined_offsets(parts: Sequence[Integers]) -> Integers:
    """Offsets into several parts, concatenated."""
    lengths = np.concatenate([np.diff(part) for part in parts])
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def places_of(offsets: Integers, which: Integers) -> tuple[Integers, Integers]:
    """The indices of some rows' values, and these rows' own offsets."""
    starts, lengths = offsets[which], offsets[which + 1] - offsets[which]
    made: Integers = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return np.arange(made[-1]) + np.repeat(starts - made[:-1], lengths), made


def products(features: Features, matrix: Real) -> Real:
    """Features times the transpose of a matrix.

    A row of sparse features gives the same bits whatever the other rows; dense ones agree within rounding, as BLAS
    orders sums by shape: the same batches give the same values.

    Args:
        features: Rows of a width.
        matrix: A matrix with that many columns.
    """
    if isinstance(features, Sparse):
        found: Real = np.empty((len(features), len(matrix)), matrix.dtype)
        sparse_products(features.indices, features.values, features.offsets, np.ascontiguousarray(matrix.T), found)
        return found
    return features @ matrix.T


def squared_norms(features: Features) -> Floats:
    """The square of each row's norm."""
    if isinstance(features, Sparse):
        return _squares(features.values, features.offsets)  # type: ignore[no-any-return]
    offsets = np.arange(len(features) + 1, dtype=np.int64) * features.shape[1]
    return _squares(np.ascontiguousarray(features).reshape(-1), offsets)  # type: ignore[no-any-return]


@arithmetic
def sparse_products(indices, values, offsets, table, found):  # type: ignore[no-untyped-def]
    """Each row's sum of rows of a table, times its values."""
    columns = table.shape[1]
    for row in range(len(offsets) - 1):
        for column in range(columns):
            found[row, column] = 0
        for place in range(offsets[row], offsets[row + 1]):
            at, value = indices[place], values[place]
            for column in range(columns):
                found[row, column] += value * table[at, column]


@arithmetic
def _squares(values, offsets):  # type: ignore[no-untyped-def]
    found, lanes = np.empty(len(offsets) - 1), np.empty(8)  # independent partial sums
    for row in range(len(found)):
        lanes[:] = 0
        for place in range(offsets[row], offsets[row + 1]):
            lanes[(place - offsets[row]) & 7] += np.float64(values[place]) * np.float64(values[place])
        found[row] = lanes.sum()
    return found
