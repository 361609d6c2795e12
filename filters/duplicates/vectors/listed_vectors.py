"""Lists of vectors with names, and the nearest of them: how copies of an evaluation set's pictures are found.

A list is a safetensors file: `vectors` (one a row, in whole numbers as `winnow.filters.duplicates.vectors.cosines`
makes them, or floats of any length), the names behind one another in UTF-8 (`names`), and where each ends (`ends`).
Cosines of whole numbers are exact, so which one is the nearest depends on neither the machine nor the batch.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.filters.duplicates.vectors.cosines import MAX_DIMENSIONS, Vectors, rounded, whole_lengths
from winnow.filters.models.tensors import Array, tensors_bytes, tensors_of
from winnow.schemas.errors import RecipeError

_LINES, _COLUMNS = 1024, 4096  # of a block of products: 16 MiB
_EXPECTED: Final = "a list of vectors; write one with: winnow vectors FOLDER --output"


@dataclass(frozen=True)
class VectorList:
    """Vectors in whole numbers, their lengths and names."""

    vectors: Vectors
    lengths: NDArray[np.float64]
    names: pa.StringArray

    @property
    def dimensions(self) -> int:
        """How many numbers each has."""
        return int(self.vectors.shape[1])


def vector_list_bytes(vectors: Vectors, names: Sequence[str]) -> bytes:
    """The file of a list; equal lists are equal bytes."""
    written = [name.encode() for name in names]
    ends = np.cumsum([len(one) for one in written], dtype=np.int64)
    arrays: dict[str, Array] = {"vectors": vectors, "names": np.frombuffer(b"".join(written), np.uint8), "ends": ends}
    return tensors_bytes(arrays, {})


def parse_vector_list(raw: bytes, name: str) -> VectorList:
    """Read a list.

    Raises:
        RecipeError: It is none, is damaged, or has a vector without a direction.
    """
    arrays = tensors_of(raw, name).arrays
    if not {"vectors", "names", "ends"} <= arrays.keys():
        raise RecipeError(f"{name}: expected {_EXPECTED} {name}")
    vectors, text, ends = arrays["vectors"], arrays["names"], arrays["ends"]
    count = len(vectors) if vectors.ndim == 2 else 0
    whole = (
        count
        and 2 <= vectors.shape[1] <= MAX_DIMENSIONS
        and [str(ends.dtype), *ends.shape, str(text.dtype), text.ndim] == ["int64", count, "uint8", 1]
        and ends[-1] == len(text)
        and (np.diff(ends, prepend=0) >= 0).all()
    )
    if not whole:
        raise RecipeError(f"{name}: its arrays do not fit together; expected {_EXPECTED} {name}")
    numbers, known = rounded(vectors.astype(np.float32))
    if not known.all():
        raise RecipeError(
            f"{name}: vector {int(np.argmin(known))} is zeros, or not finite; expected {_EXPECTED} {name}"
        )
    offsets = np.concatenate(([0], ends)).tolist()
    held = text.tobytes()
    said = [held[first:last].decode("utf-8", "replace") for first, last in pairwise(offsets)]
    return VectorList(numbers, whole_lengths(numbers), pa.array(said, pa.string()))


def nearest_listed(
    vectors: NDArray[np.float32], listed: VectorList, min_cosine: float
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """For each vector the position of the nearest listed one, the first of several, and their cosine; −1 where none is
    as close, or the vector has no direction."""
    numbers, known = rounded(vectors)
    lengths = np.where(known, whole_lengths(numbers), 1)
    nearest, best = np.full(len(vectors), -1, np.int64), np.full(len(vectors), -np.inf)
    for begin in range(0, len(vectors), _LINES):
        lines = slice(begin, begin + _LINES)
        for start in range(0, len(listed.vectors), _COLUMNS):
            columns = slice(start, start + _COLUMNS)
            products = numbers[lines].astype(np.float32) @ listed.vectors[columns].astype(np.float32).T
            cosines = products.astype(np.float64) / np.outer(lengths[lines], listed.lengths[columns])
            at = cosines.argmax(axis=1)
            found = cosines[np.arange(len(at)), at]
            closer = found > best[lines]
            nearest[lines][closer], best[lines][closer] = start + at[closer], found[closer]
    far = ~known | (best < min_cosine)
    nearest[far], best[far] = -1, 0
    return nearest, np.minimum(best, 1.0)
