"""A keep-fraction ladder: the top, the bottom and a random part of the rows, of equal size at each fraction.

Membership is by exact ranks, ties by the hash of the id; a larger fraction holds the smaller ones. The bottom is the
top's order from its end: the top of a fraction and the bottom of the rest are all rows, each once.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from winnow.schemas.errors import RecipeError
from winnow.scoring.selection.ranks import RANDOM, Floats, Ids, Integers, count_of, hashed, ranked

ArmName: TypeAlias = Literal["top", "bottom", "random"]

FRACTIONS: Final = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
NOWHERE: Final = -1


@dataclass(frozen=True, slots=True)
class Arm:
    """One order of the rows that have a score."""

    place: Integers  # of each row, from 0; -1: no score, in no arm
    counts: tuple[int, ...]  # how many rows each fraction takes

    def members(self, fraction: int) -> NDArray[np.bool_]:
        """The rows of the fraction of this number."""
        found: NDArray[np.bool_] = (self.place != NOWHERE) & (self.place < self.counts[fraction])
        return found

    def entry(self) -> NDArray[np.int16]:
        """The number of the smallest fraction that holds each row; as many as there are fractions: of none; -1: no
        score."""
        found = np.searchsorted(np.array(self.counts), self.place, side="right").astype(np.int16)
        return np.where(self.place == NOWHERE, np.int16(NOWHERE), found)


@dataclass(frozen=True, slots=True)
class Ladder:
    """Arms of equal size."""

    fractions: tuple[float, ...]
    counts: tuple[int, ...]
    rows: int  # that have a score
    arms: Mapping[ArmName, Arm]


def ladder(scores: Floats, ids: Ids, fractions: Sequence[float] = FRACTIONS, seed: int = 0) -> Ladder:
    """The arms at each fraction.

    Args:
        scores: One of each row; rows without a finite one are in no arm, the random one included, so that arms differ
            in nothing but the score.
        ids: Of the rows.
        fractions: Rising, from 0 to 1.
        seed: Of ties and of the random arm.
    """
    if not fractions or not all(0 <= one <= 1 for one in fractions) or list(fractions) != sorted(set(fractions)):
        raise RecipeError(f"fractions {list(fractions)}: expected rising numbers from 0 to 1")
    order = ranked(scores, ids, seed)
    drawn = hashed(ids, seed, RANDOM)
    drawn = drawn[np.isfinite(scores[drawn])]
    counts = tuple(count_of(one, len(order)) for one in fractions)
    orders: dict[ArmName, Integers] = {"top": order, "bottom": order[::-1], "random": drawn}
    arms = {}
    for name, rows in orders.items():
        place = np.full(len(scores), NOWHERE, np.int64)
        place[rows] = np.arange(len(rows))
        arms[name] = Arm(place, counts)
    return Ladder(tuple(fractions), counts, len(order), arms)
