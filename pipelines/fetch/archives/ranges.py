"""Which bytes to ask for: neighbouring records in one request where the gap between them is cheaper than a request.

A request takes about as long as the bytes that a connection could have brought meanwhile. So two records of one file
are asked for together if fewer bytes lie between them; those are thrown away.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

REQUEST_SECONDS: Final = 0.05  # from the question to the first byte, of S3 and of a CDN before it
BYTES_A_SECOND: Final = 4 << 20  # of one connection among several that share a line
GAP_BYTES: Final = int(REQUEST_SECONDS * BYTES_A_SECOND)
RANGE_BYTES: Final = 8 << 20  # no range grows beyond it: those under way and those waiting for their turn are in memory


@dataclass(frozen=True)
class Ranges:
    """Ranges of files, and the records that each holds: those from `first[i]` to `first[i + 1]`."""

    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    first: NDArray[np.int64]  # one more than there are ranges

    @property
    def bytes(self) -> int:
        """How many bytes are asked for, gaps included."""
        return int((self.stops - self.starts).sum())

    def __len__(self) -> int:
        return len(self.starts)


def coalesced(
    files: NDArray[np.int64], offsets: NDArray[np.int64], lengths: NDArray[np.int64], gap: int = GAP_BYTES
) -> Ranges:
    """The ranges that hold all of these records.

    Args:
        files: A number for each record's file; ascending.
        offsets: Where the record begins there; ascending within a file.
        lengths: Its bytes.
        gap: The most bytes between two records of a range.

    Example:
        >>> found = coalesced(np.array([0, 0, 1]), np.array([0, 150, 0]), np.array([100, 50, 10]), gap=60)
        >>> found.starts.tolist(), found.stops.tolist(), found.first.tolist()
        ([0, 0], [200, 10], [0, 2, 3])
    """
    count = len(offsets)
    if not count:
        empty = np.empty(0, np.int64)
        return Ranges(empty, empty, np.zeros(1, np.int64))
    stops = offsets + lengths
    # Records that overlap, as an index that lies may say, end no range early: the furthest end so far counts.
    new_file = np.append(True, files[1:] != files[:-1])
    lift = np.cumsum(new_file) * (int(stops.max()) + 1)
    furthest = np.maximum.accumulate(stops + lift) - lift
    begins = new_file | np.append(True, offsets[1:] - furthest[:-1] > gap)
    firsts = np.flatnonzero(begins)
    cuts = [int(first) for part in np.split(np.arange(count), firsts[1:]) for first in _cut(part, offsets, stops)]
    first = np.array([*cuts, count], np.int64)
    return Ranges(offsets[first[:-1]], np.maximum.reduceat(stops, first[:-1]), first)


def _cut(part: NDArray[np.int64], offsets: NDArray[np.int64], stops: NDArray[np.int64]) -> list[int]:
    """The first records of the pieces of a range, none of which is longer than `RANGE_BYTES` without need."""
    at, firsts = int(part[0]), [int(part[0])]
    last = int(part[-1])
    while (furthest := np.maximum.accumulate(stops[at : last + 1]))[-1] - int(offsets[at]) > RANGE_BYTES:
        # How many records end within the piece; one that is longer alone is a piece of its own.
        fitting = int(np.searchsorted(furthest, offsets[at] + RANGE_BYTES, side="right"))
        at += max(1, fitting)
        if at > last:
            break
        firsts.append(at)
    return firsts
