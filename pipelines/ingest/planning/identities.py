"""Detects repeated ids among millions, in 16 bytes each.

Ids are hashes, so they are kept as sorted runs of their first 64 bits beside the other 64, and a whole batch
is looked up at once.
"""

import numpy as np
import numpy.typing as npt

RUN_ROWS = 1 << 20

Words = npt.NDArray[np.uint64]


class SeenIds:
    """The ids that a task has seen."""

    def __init__(self) -> None:
        self._runs: list[tuple[Words, Words]] = []
        self._recent: set[bytes] = set()

    def admit(self, ids: list[bytes]) -> list[bool]:
        """Whether each id, in order, is the first of its kind. All are remembered."""
        known = self._in_runs(ids)
        fresh = []
        for index, identity in enumerate(ids):
            first = not known[index] and identity not in self._recent
            fresh.append(first)
            if first:
                self._recent.add(identity)
        if len(self._recent) >= RUN_ROWS:
            self._runs.append(_sorted(list(self._recent)))
            self._recent = set()
        return fresh

    def _in_runs(self, ids: list[bytes]) -> npt.NDArray[np.bool_]:
        known = np.zeros(len(ids), dtype=np.bool_)
        if not self._runs:
            return known
        high, low = _words(ids)
        for run_high, run_low in self._runs:
            first = np.searchsorted(run_high, high, side="left")
            last = np.searchsorted(run_high, high, side="right")
            for index in np.flatnonzero(first < last):  # a shared 64-bit half: the same id, or one chance in 2^44
                known[index] |= bool((run_low[first[index] : last[index]] == low[index]).any())
        return known


def duplicates_among(ids: bytes) -> bool:
    """Whether any two of these concatenated 16-byte ids are equal."""
    words = np.frombuffer(ids, dtype="<u8").reshape(-1, 2)
    order = np.lexsort((words[:, 1], words[:, 0]))
    ordered = words[order]
    return bool((ordered[1:] == ordered[:-1]).all(axis=1).any())


def _words(ids: list[bytes]) -> tuple[Words, Words]:
    words = np.frombuffer(b"".join(ids), dtype="<u8").reshape(-1, 2).astype(np.uint64)
    return words[:, 0], words[:, 1]


def _sorted(ids: list[bytes]) -> tuple[Words, Words]:
    high, low = _words(ids)
    order = np.argsort(high, kind="stable")
    return high[order], low[order]
