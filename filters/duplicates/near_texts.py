"""Near duplicates among texts: bands give buckets, buckets give candidate pairs, and every pair is verified.

The same functions find them in a store (`pipelines.dedupe.near`) and in an engine's own partitions
(`pipelines.transforms`).
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from winnow.filters.duplicates.bands import band_keys
from winnow.filters.duplicates.candidates import Candidates, candidate_pairs
from winnow.filters.duplicates.kinds.near import NearSettings
from winnow.filters.duplicates.searches import ShingleSearch
from winnow.filters.duplicates.signatures import Scheme
from winnow.filters.duplicates.verification import judge, matching

__all__ = ["ALL_PAIRS", "SEARCH"]

ALL_PAIRS: Final = 32
"""All rows of a bucket up to this size are compared; in a larger one, each with its neighbours."""


def _scheme(near: NearSettings) -> Scheme:
    return near.scheme


def _keys(near: NearSettings, signatures: NDArray[np.uint32]) -> NDArray[np.uint64]:
    return band_keys(signatures, near.bands, near.rows).reshape(-1)


def _candidates(near: NearSettings, keys: NDArray[np.uint64], rows: NDArray[np.uint64]) -> Candidates:
    return candidate_pairs(keys, rows, all_pairs=ALL_PAIRS, hot=near.max_bucket)


def _judge(
    near: NearSettings, one: NDArray[np.uint32], other: NDArray[np.uint32]
) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
    matches = matching(one, other)
    return judge(matches, near.hashes, near.min_similarity), matches / near.hashes


SEARCH: Final = ShingleSearch(_scheme, _keys, _candidates, _judge)
