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
SAMPLE: Final = "score.sample"
"""The purposes of orders; orders of different purposes are independent."""


def hashes(ids: Ids, seed: int, purpose: str) -> Words:
    """The hash by which each row is ordered for a purpose."""
    return draw_order(ids, key_of(seed, purpose))


def hashed(ids: Ids, seed: int, purpose: str) -> Integers:
    """Row numbers in the order of a purpose: by the hash of the id, then by the id itself."""
    place = hashes(ids, seed, purpose)
    order = np.argsort(place, kind="stable")
    sorted_places = place[order]
    if (sorted_places[1:] == sorted_places[:-1]).any():  # one in 2^64 pairs of ids, or duplicate ids
        high, low = ids
        order = np.lexsort((low, high, place))
    return order.astype(np.int64, copy=False)


def ranked(scores: Floats, ids: Ids, seed: int = 0) -> Integers:
    """The numbers of scored rows, from the highest to the lowest score; ties are broken by the hash of the id."""
    if len(scores) != len(ids[0]):
        raise ValueError(f"{len(scores)} scores, but {len(ids[0])} ids")
    order = hashed(ids, seed, TIES)
    order = order[np.isfinite(scores[order])]
    return order[np.argsort(-scores[order], kind="stable")]


def count_of(share: float, rows: int) -> int:
    """The number of rows of a share: rounded, halves up, with the share as an exact decimal."""
    exact = Fraction(str(share)) * rows  # 0.29 of 100 is 29, although the float 0.29 is slightly less
    return int(exact + Fraction(1, 2))
