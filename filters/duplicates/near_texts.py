"""Near duplicates among texts: bands give buckets, buckets give candidate pairs, and every pair is verified.

The same functions find them in a store (`pipelines.dedupe.near`) and in an engine's own partitions
(`pipelines.transforms`).
"""

from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.filters.duplicates.bands import band_keys
from winnow.filters.duplicates.candidates import Candidates, candidate_pairs
from winnow.filters.duplicates.kinds.near import NearSettings
from winnow.filters.duplicates.searches import ShingleSearch
from winnow.filters.duplicates.signatures import Scheme, shingle_sets
from winnow.filters.duplicates.verification import Sets, jaccard, judge, matching

__all__ = ["ALL_PAIRS", "SEARCH", "SET_LIMIT", "compared_shingles", "shared_shingles", "similarity_of"]

ALL_PAIRS: Final = 32
"""All rows of a bucket up to this size are compared; in a larger one, each with its neighbours."""
SET_LIMIT: Final = 1 << 18
"""The most shingles of a text that are compared; of a longer text, the smallest ones."""


def compared_shingles(texts: pa.Array, scheme: Scheme) -> Sets:
    """The shingles of each text that are compared."""
    return shingle_sets(texts.cast(pa.large_string()), scheme, SET_LIMIT)


def shared_shingles(
    one: Sets, other: Sets, pairs: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Of pairs of texts, how many shingles both have, and how many either has; without `pairs`, in order."""
    return jaccard(one, other, pairs, limit=SET_LIMIT)


def similarity_of(common: NDArray[np.integer], union: NDArray[np.integer]) -> NDArray[np.float64]:
    """The Jaccard similarity: the share of all shingles that both texts have."""
    return np.asarray(common / np.maximum(union, 1), np.float64)


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
