"""Vectors of unit length, as layers hold them: rounded to multiples of 1/4096, which changes a cosine by about 10⁻⁵."""

from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

NOT_FINITE: Final = "not_finite"
"""The status of what a network gives no number for."""
NO_FEATURES: Final = "no_features"
"""The network gave zeros alone, which have no direction."""

VECTOR: Final = pa.field("vector", pa.list_(pa.float32()))
"""All vectors of a layer have the same number of components; null where there is none."""
STEP: Final = 1 / 4096


def unit_vectors(features: NDArray[np.float32]) -> tuple[list[str], NDArray[np.float32]]:
    """The status of each row of features and its vector, which is zeros unless the status is `ok`."""
    exact = features.astype(np.float64)
    finite = np.isfinite(exact).all(axis=1)
    exact[~finite] = 0
    largest = np.abs(exact).max(axis=1, initial=0)
    exact /= np.where(largest > 0, largest, 1)[:, None]  # squares of large numbers would overflow
    exact /= np.where(largest > 0, np.sqrt(np.square(exact).sum(axis=1)), 1)[:, None]
    statuses = np.where(finite, np.where(largest > 0, "ok", NO_FEATURES), NOT_FINITE)
    return statuses.tolist(), (np.round(exact / STEP) * STEP).astype(np.float32)


def unit_vector(features: NDArray[np.float32]) -> tuple[str, NDArray[np.float32]]:
    """The status of one row of features and its vector."""
    (status,), (vector,) = unit_vectors(features[None])
    return status, vector


def vector_column(statuses: list[str], vectors: NDArray[np.float32]) -> pa.ListArray:
    """The column of vectors, null where the status is not `ok`."""
    absent = np.array([status != "ok" for status in statuses], np.bool_)
    lengths = np.where(absent, 0, vectors.shape[1])
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    return pa.ListArray.from_arrays(
        pa.array(offsets, mask=np.append(absent, False)), pa.array(vectors[~absent].reshape(-1))
    )
