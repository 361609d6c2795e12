"""Bands inside a language: which band of a column's values each candidate is in."""

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from winnow.filters.duplicates.rehydration import FINEWEB2, Rehydration
from winnow.schemas.recipe import BandLevel
from winnow.schemas.rows.draws import NO_BAND
from winnow.scoring.mixture.cuts import Part, find_cuts, ordered_key, value_of_key

Keys = NDArray[np.uint64]
_TABLES: Final = {"fineweb2": FINEWEB2}


@dataclass(frozen=True)
class Bands:
    """Every band of a level, and where the keys of each group are cut.

    A band is a number; the one of nulls comes last.
    """

    names: tuple[str, ...]
    repeats: tuple[int, ...] | None  # of each band, where bands are of repeats
    cuts: tuple[Keys, ...]  # by group: the smallest key of each band but the first
    notes: tuple[str, ...] = ()  # what a reader should know of them

    def of(self, groups: NDArray[np.uint32], keys: Keys) -> NDArray[np.uint16]:
        """The band of each candidate.

        Args:
            groups: The group of each, as the cuts were found for.
            keys: The value of each, as an ordered key.
        """
        found = np.zeros(len(keys), np.uint16)
        if not len(keys):
            return found
        # numpy sorts integers of 16 bits stably by radix, several times faster than wider ones.
        order = np.argsort(groups.astype(np.uint16 if len(self.cuts) <= 1 << 16 else np.uint32), kind="stable")
        in_order, of_group = keys[order], groups[order]
        bounds = [0, *(np.flatnonzero(np.diff(of_group)) + 1).tolist(), len(order)]
        bands = np.empty(len(keys), np.uint16)
        for first, last in itertools.pairwise(bounds):  # not hot: a turn a group
            bands[first:last] = np.searchsorted(self.cuts[of_group[first]], in_order[first:last], side="right")
        found[order] = bands
        found[keys == np.uint64(NO_BAND)] = len(self.names) - 1
        return found


def bands_of(level: BandLevel, groups: int, parts: Callable[[], Iterator[Part]]) -> Bands:
    """The bands of every group.

    Args:
        level: What the recipe says of them.
        groups: How many groups there are: a band's borders are each group's own where they are shares of it.
        parts: The candidates with their group, the ordered key of their value, and their units.
    """
    if level.rehydrate is not None or level.repeats is not None:
        return _of_repeats(level, groups)
    if level.cuts is not None:
        cuts = ordered_key(np.array(level.cuts, np.float64))
        return Bands(_named(len(level.cuts) + 1), None, (cuts,) * groups)
    totals = np.zeros(groups, np.int64)
    for part in parts():
        there = part.key != np.uint64(NO_BAND)
        np.add.at(totals, part.group[there], part.weight[there])
    if level.top is not None:
        targets = {group: [_part_of(int(total), level.top)] for group, total in enumerate(totals) if total}
        top = find_cuts(lambda: (_turned(part) for part in parts()), targets)
        keys = [NO_BAND if group not in top else NO_BAND - top[group][0].key for group in range(groups)]
        borders = tuple(np.array([key], np.uint64) for key in keys)
        asked = sum(target for (target,) in targets.values())
        return Bands(_named(2), None, borders, _tied(level, asked, sum(cut.taken for (cut,) in top.values())))
    count = level.count
    targets = {
        group: [int(total) * step // count for step in range(1, count)] for group, total in enumerate(totals) if total
    }
    found = find_cuts(lambda: (_without_nulls(part) for part in parts()), targets)
    # A band ends with the key that its share is reached at: the next begins above it.
    cuts_of = (
        np.array([min(cut.key + 1, NO_BAND) for cut in found[group]] if group in found else [], np.uint64)
        for group in range(groups)
    )
    return Bands(_named(count), None, tuple(cuts_of))


def _tied(level: BandLevel, asked: int, taken: int) -> tuple[str, ...]:
    """What equal values and whole samples add to a top share, where that is more than a tenth of it."""
    if (taken - asked) * 10 <= asked:
        return ()
    return (
        f"mix.bands.top: {taken:,} are in the top bands where {asked:,} were asked for: samples are whole, and those "
        f"of equal {level.by} stay together",
    )


def _named(count: int) -> tuple[str, ...]:
    return (*(f"b{number:02d}" for number in range(count)), "null")


def _of_repeats(level: BandLevel, groups: int) -> Bands:
    if level.repeats is not None:
        # Below the first step a text is given as if there were none: once.
        steps = [(-math.inf, 1), *((one.at, one.repeats) for one in level.repeats)]
    else:
        table: Rehydration = _TABLES[level.rehydrate or "fineweb2"]
        steps = [(float(size), repeats) for size, repeats in table.steps]
    cuts = ordered_key(np.array([at for at, _ in steps[1:]], np.float64))
    repeats = (*(times for _, times in steps), 1)
    # Two bands may repeat alike: each has its own name all the same.
    names = (*(f"{number:02d}x{times}" for number, (_, times) in enumerate(steps)), "null")
    return Bands(names, repeats, (cuts,) * groups)


def _part_of(total: int, share: float) -> int:
    return min(total, -(-total * round(share * 1_000_000) // 1_000_000))


def _turned(part: Part) -> Part:
    """The same with the largest value first."""
    whole = _without_nulls(part)
    return Part(whole.group, np.uint64(NO_BAND) - whole.key, whole.weight)


def _without_nulls(part: Part) -> Part:
    there = part.key != np.uint64(NO_BAND)
    return part if there.all() else Part(part.group[there], part.key[there], part.weight[there])


def values_of(keys: Keys) -> NDArray[np.float64]:
    """The numbers whose keys these are; 0 for null."""
    none = keys == np.uint64(NO_BAND)
    return np.where(none, 0.0, value_of_key(np.where(none, np.uint64(0), keys)))
