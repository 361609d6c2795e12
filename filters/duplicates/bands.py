"""Band keys for locality-sensitive hashing: two rows share a key if all minima of that band agree."""

import numpy as np
import numpy.typing as npt

from winnow.filters.language.kernels.hashes import mixed
from winnow.schemas.kernels import kernel

# Odd constants of xxHash64 and splitmix64. Keys may be compared across runs: a change here makes another scheme.
_BAND = np.uint64(0x9E3779B185EBCA87)
_WORD = np.uint64(0xC2B2AE3D27D4EB4F)


def band_keys(signatures: npt.NDArray[np.uint32], bands: int, rows: int) -> npt.NDArray[np.uint64]:
    """A key for every band of every signature: band b has the minima b * rows to (b + 1) * rows.

    The band's number is part of its key, so keys of all bands may share a table. Minima past the last band are
    unused.

    Args:
        signatures: One signature per row.
        bands: The number of keys per signature.
        rows: How many minima must agree for two signatures to share a key.

    Raises:
        ValueError: The signatures hold fewer than bands * rows minima.
    """
    if bands < 1 or rows < 1:
        raise ValueError(f"expected at least one band of at least one row, found {bands} x {rows}")
    if signatures.ndim != 2 or signatures.shape[1] < bands * rows:
        raise ValueError(f"expected signatures of {bands} x {rows} minima or more, found shape {signatures.shape}")
    return _keys(np.ascontiguousarray(signatures, np.uint32), bands, rows)  # type: ignore[no-any-return]


@kernel
def _keys(signatures, bands, rows):  # type: ignore[no-untyped-def]
    keys = np.empty((len(signatures), bands), np.uint64)
    for row in range(len(signatures)):
        for band in range(bands):
            state = np.uint64(band + 1) * _BAND
            for at in range(band * rows, (band + 1) * rows):
                # For a fixed state this is one-to-one in the value: bands that differ in one minimum never share a key.
                state = (state ^ np.uint64(signatures[row, at])) * _WORD
                state ^= state >> np.uint64(32)
            keys[row, band] = mixed(state)
    return keys
