"""A set of names in nine bytes each: buckets of about four 64-bit fingerprints, which do not reveal the names.

A name that is not in the set is a false positive only if both its 64-bit fingerprint and its bucket match an entry: for
names that were not crafted, a chance of about 4 / 2^64 per look-up, however many entries there are.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from numba import uint64

from winnow.filters.web.url_lists.hashing import Hashes
from winnow.schemas.kernels import leaf

ENTRIES_A_BUCKET = 4

Starts: TypeAlias = npt.NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class Table:
    """The entries of bucket i are `prints[starts[i]:starts[i + 1]]`; both arrays are read-only."""

    starts: Starts
    prints: Hashes

    @property
    def bytes(self) -> int:
        """Its size in memory."""
        return self.starts.nbytes + self.prints.nbytes


def made_table(places: Hashes, prints: Hashes) -> Table:
    """Build the set of these names, given by their two finished hashes; duplicates are dropped."""
    order = np.argsort(places, kind="stable")
    places, prints = places[order], prints[order]
    if len(places):
        new = np.ones(len(places), np.bool_)
        new[1:] = (places[1:] != places[:-1]) | (prints[1:] != prints[:-1])
        places, prints = places[new], prints[new]
    buckets = max(1, len(places) // ENTRIES_A_BUCKET)
    # As in `holds`: the upper half of a hash, scaled to the number of buckets, keeps the order of hashes.
    bucket = (places >> np.uint64(32)) * np.uint64(buckets) >> np.uint64(32)
    starts = np.searchsorted(bucket, np.arange(buckets + 1, dtype=np.uint64)).astype(np.uint32)
    prints = np.ascontiguousarray(prints)
    starts.setflags(write=False)
    prints.setflags(write=False)
    return Table(starts, prints)


@leaf  # type: ignore[untyped-decorator]
def holds(starts: Starts, prints: Hashes, place: np.uint64, print_: np.uint64) -> bool:
    """Whether a name is in the set, by its two finished hashes."""
    bucket = (place >> uint64(32)) * uint64(len(starts) - 1) >> uint64(32)
    for at in range(starts[bucket], starts[bucket + uint64(1)]):  # noqa: SIM110, numba compiles no generators
        if prints[at] == print_:
            return True
    return False


EMPTY = made_table(np.zeros(0, np.uint64), np.zeros(0, np.uint64))
"""The empty set."""
