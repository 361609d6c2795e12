"""Overlap of filters over the same rows: exact counts for each pair and for all, with abstentions separate."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Pair:
    """The overlap of two filters. All measures are over rows that both decide; None if there are no such rows."""

    one: str
    other: str
    both: int  # rows that both keep
    only_one: int
    only_other: int
    neither: int  # rows that both drop
    one_abstains: int  # rows on which exactly one abstains
    other_abstains: int
    both_abstain: int

    @property
    def decided(self) -> int:
        """Rows that both keep or drop."""
        return self.both + self.only_one + self.only_other + self.neither

    @property
    def jaccard(self) -> float | None:
        """The share of rows kept by both, among those kept by either."""
        return _ratio(self.both, self.both + self.only_one + self.only_other)

    @property
    def agreement(self) -> float | None:
        """The share of rows decided the same way, among those that both decide."""
        return _ratio(self.both + self.neither, self.decided)

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa: agreement beyond that of independent filters; 1 for full agreement."""
        kept_by_one, kept_by_other = self.both + self.only_one, self.both + self.only_other
        dropped_by_one, dropped_by_other = self.only_other + self.neither, self.only_one + self.neither
        chance = kept_by_one * kept_by_other + dropped_by_one * dropped_by_other
        return _ratio(self.decided * (self.both + self.neither) - chance, self.decided**2 - chance)


@dataclass(frozen=True, slots=True)
class Overlap:
    """Filters over the same rows."""

    rows: int
    kept: Mapping[str, int]
    dropped: Mapping[str, int]
    abstained: Mapping[str, int]
    pairs: tuple[Pair, ...]  # in the order of the filters
    decided_by_all: int  # rows on which no filter abstains
    kept_by_all: int  # of these
    kept_by_any: int  # of these

    @property
    def jaccard(self) -> float | None:
        """The share of rows kept by all filters, among those kept by any; over rows that all decide."""
        return _ratio(self.kept_by_all, self.kept_by_any)


def overlap(filters: Mapping[str, NDArray[np.int8]]) -> Overlap:
    """Compare filters.

    Args:
        filters: The votes of each filter by name, one per row: 1 keeps, 0 drops, -1 abstains.
    """
    if len(filters) < 2:
        raise ValueError(f"{len(filters)} filters: expected two or more")
    sizes = {len(votes) for votes in filters.values()}
    if len(sizes) > 1:
        raise ValueError(f"filters over {', '.join(map(str, sorted(sizes)))} rows: expected the same rows of all")
    rows = sizes.pop()
    coded: dict[str, NDArray[np.int8]] = {}
    for name, votes in filters.items():
        if len(votes) and not -1 <= votes.min() <= votes.max() <= 1:
            raise ValueError(f"{name}: votes are 1, 0 or -1")
        coded[name] = votes.astype(np.int8) + np.int8(1)  # 0 abstains, 1 drops, 2 keeps
    single = {name: np.bincount(votes, minlength=3).tolist() for name, votes in coded.items()}
    decided, everywhere, anywhere = np.ones(rows, bool), np.ones(rows, bool), np.zeros(rows, bool)
    for votes in coded.values():
        decided &= votes > 0
        everywhere &= votes == 2
        anywhere |= votes == 2
    return Overlap(
        rows,
        {name: counts[2] for name, counts in single.items()},
        {name: counts[1] for name, counts in single.items()},
        {name: counts[0] for name, counts in single.items()},
        tuple(_pair(one, other, coded[one], coded[other]) for one, other in combinations(coded, 2)),
        int(decided.sum()),
        int(everywhere.sum()),
        int((anywhere & decided).sum()),
    )


def _pair(one: str, other: str, votes: NDArray[np.int8], others: NDArray[np.int8]) -> Pair:
    table = np.bincount(votes * np.int8(3) + others, minlength=9).reshape(3, 3).tolist()
    return Pair(
        one,
        other,
        both=table[2][2],
        only_one=table[2][1],
        only_other=table[1][2],
        neither=table[1][1],
        one_abstains=table[0][1] + table[0][2],
        other_abstains=table[1][0] + table[2][0],
        both_abstain=table[0][0],
    )


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None
