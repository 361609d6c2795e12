"""Orders independent of the input order: by score with ties by a hash of the id, or by such a hash alone."""

from fractions import Fraction
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from winnow.schemas.uint128 import Words
from winnow.scoring.mixture.orders import draw_order, key_of

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
Ids: TypeAlias = tuple[Words, Words]
"""The two words of each row's id (`winnow.schemas.uint128.words_of`)."""

TIES: Final = "score.ties"
BATCHES: Final = "score.batches"
RANDOM: Final = "score.random"
"""What orders are for; those of different purposes know nothing of each other."""


def hashed(ids: Ids, seed: int, purpose: str) -> Integers:
    """Row numbers in the order of a purpose: by the hash of the id, and the id itself where two hashes are equal."""
    place = draw_order(ids, key_of(seed, purpose))
    order = np.argsort(place, kind="stable")
    sorted_places = place[order]
    if (sorted_places[1:] == sorted_places[:-1]).any():  # one in 2^64 pairs of ids, or ids that are given twice
        high, low = ids
        order = np.lexsort((low, high, place))
    return order.astype(np.int64, copy=False)


def ranked(scores: Floats, ids: Ids, seed: int = 0) -> Integers:
    """Numbers of the rows that have a score, from the highest to the lowest; ties by the hash of the id."""
    if len(scores) != len(ids[0]):
        raise ValueError(f"{len(scores)} scores of {len(ids[0])} ids: each row has one of each")
    order = hashed(ids, seed, TIES)
    order = order[np.isfinite(scores[order])]
    return order[np.argsort(-scores[order], kind="stable")]


def count_of(share: float, rows: int) -> int:
    """How many of so many rows a share is: the nearest number, halves up, of the share as it is written."""
    exact = Fraction(str(share)) * rows  # 0.29 of 100 is 29, though the float 0.29 is a little less
    return int(exact + Fraction(1, 2))
