"""A list of 256-bit hashes, searched for the nearest one within a radius of 31 bits: exactly, without comparing all.

As in `hamming`, two hashes within the radius differ in at most one bit of one of 16 bands of 16 bits. So for each band
only the listed hashes with the same value, or one that is a bit apart, are compared.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from winnow.filters.duplicates.bits import count_bits
from winnow.filters.duplicates.perceptual.hamming import BANDS, MAX_RADIUS, sorted_by_band
from winnow.schemas.kernels import kernel


@dataclass(frozen=True)
class HammingIndex:
    """Hashes in the order of each band: 130 bytes a hash, and 8 MiB."""

    hashes: NDArray[np.uint64]  # four words each
    order: NDArray[np.int64]  # of each band, positions of hashes
    starts: NDArray[np.int64]  # of each band, where each value begins

    @classmethod
    def of(cls, hashes: NDArray[np.uint64]) -> Self:
        """Index hashes of four words each."""
        hashes = np.ascontiguousarray(hashes, np.uint64).reshape(-1, 4)
        bands = [sorted_by_band(hashes, band) for band in range(BANDS)]
        order, starts = (np.stack(parts) for parts in zip(*bands, strict=True))
        return cls(hashes, order, starts)

    def nearest(self, hashes: NDArray[np.uint64], radius: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the nearest listed hash of each hash, and its distance in bits; -1 for both if none is within reach.

        Of several, the one that is listed first.
        """
        if not 0 <= radius <= MAX_RADIUS:
            raise ValueError(f"expected a radius from 0 to {MAX_RADIUS}, found {radius}")
        wanted = np.ascontiguousarray(hashes, np.uint64).reshape(-1, 4)
        found = np.full(len(wanted), -1, np.int64)
        distance = np.full(len(wanted), -1, np.int64)
        if len(self.hashes):
            _nearest(self.hashes, self.order, self.starts, wanted, radius, found, distance)
        return found, distance


@kernel
def _nearest(hashes, order, starts, wanted, radius, found, distance):  # type: ignore[no-untyped-def]
    for at in range(len(wanted)):
        best, where = radius + 1, np.int64(-1)
        for band in range(16):
            shift = np.uint64((band & 3) * 16)
            value = np.int64((wanted[at, band >> 2] >> shift) & np.uint64(0xFFFF))
            for probe in range(17):
                near = value if probe == 0 else value ^ (1 << (probe - 1))
                for place in range(starts[band, near], starts[band, near + 1]):
                    other = order[band, place]
                    apart = np.int64(count_bits(wanted[at, 0] ^ hashes[other, 0]))
                    apart += np.int64(count_bits(wanted[at, 1] ^ hashes[other, 1]))
                    if apart > best:  # as nearly always: no more words are read
                        continue
                    apart += np.int64(count_bits(wanted[at, 2] ^ hashes[other, 2]))
                    apart += np.int64(count_bits(wanted[at, 3] ^ hashes[other, 3]))
                    if apart < best or (apart == best and other < where):
                        best, where = apart, other
        if where >= 0:
            found[at], distance[at] = where, best
