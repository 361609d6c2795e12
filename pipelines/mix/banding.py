"""Bands within a language: finds the band of each candidate by its value in a column."""

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
    """The bands of a level, and the cuts between them in each group.

    A band is a number; the last one holds nulls.
    """

    names: tuple[str, ...]
    repeats: tuple[int, ...] | None  # how often each band is repeated, if bands are repeat steps
    cuts: tuple[Keys, ...]  # by group: the smallest key of each band except the first
    notes: tuple[str, ...] = ()  # for the user

    def of(self, groups: NDArray[np.uint32], keys: Keys) -> NDArray[np.uint16]:
        """Return the band of each candidate, given its group and the ordered key of its value."""
        found = np.zeros(len(keys), np.uint16)
        if not len(keys):
            return found
        # numpy sorts integers of 16 bits stably by radix, several times faster than wider ones.
        order = np.argsort(groups.astype(np.uint16 if len(self.cuts) <= 1 << 16 else np.uint32), kind="stable")
        in_order, of_group = keys[order], groups[order]
        bounds = [0, *(np.flatnonzero(np.diff(of_group)) + 1).tolist(), len(order)]
        bands = np.empty(len(keys), np.uint16)
        for first, last in itertools.pairwise(bounds):  # not hot: one iteration per group
            bands[first:last] = np.searchsorted(self.cuts[of_group[first]], in_order[first:last], side="right")
        found[order] = bands
        found[keys == np.uint64(NO_BAND)] = len(self.names) - 1
        return found


def find_bands(level: BandLevel, groups: int, parts: Callable[[], Iterator[Part]]) -> Bands:
    """Find the bands of every group. `parts`: candidates with their group, the ordered key of their value, and their
    units.

    Bands that are shares have their own cuts in each group.
    """
    if level.rehydrate is not None or level.repeats is not None:
        return _repeat_bands(level, groups)
    if level.cuts is not None:
        cuts = ordered_key(np.array(level.cuts, np.float64))
        return Bands(_band_names(len(level.cuts) + 1), None, (cuts,) * groups)
    totals = np.zeros(groups, np.int64)
    for part in parts():
        there = part.key != np.uint64(NO_BAND)
        np.add.at(totals, part.group[there], part.weight[there])
    if level.top is not None:
        targets = {group: [_share_of(int(total), level.top)] for group, total in enumerate(totals) if total}
        top = find_cuts(lambda: (_descending(part) for part in parts()), targets)
        keys = [NO_BAND if group not in top else NO_BAND - top[group][0].key for group in range(groups)]
        borders = tuple(np.array([key], np.uint64) for key in keys)
        target = sum(target for (target,) in targets.values())
        taken = sum(cut.taken for (cut,) in top.values())
        return Bands(_band_names(2), None, borders, _note_on_ties(level, target, taken))
    count = level.count
    targets = {
        group: [int(total) * step // count for step in range(1, count)] for group, total in enumerate(totals) if total
    }
    found = find_cuts(lambda: (_without_nulls(part) for part in parts()), targets)
    # A band ends with the key at which its share is reached; the next one begins above it.
    cuts_of = (
        np.array([min(cut.key + 1, NO_BAND) for cut in found[group]] if group in found else [], np.uint64)
        for group in range(groups)
    )
    return Bands(_band_names(count), None, tuple(cuts_of))


def _note_on_ties(level: BandLevel, target: int, taken: int) -> tuple[str, ...]:
    """Return a note if equal values and whole samples exceed the top share by more than a tenth."""
    if (taken - target) * 10 <= target:
        return ()
    return (
        f"mix.bands.top: the top bands hold {taken:,} instead of {target:,}: samples are not split, and those of equal "
        f"{level.by} stay in one band",
    )


def _band_names(count: int) -> tuple[str, ...]:
    return (*(f"b{number:02d}" for number in range(count)), "null")


def _repeat_bands(level: BandLevel, groups: int) -> Bands:
    if level.repeats is not None:
        # Below the first step a text is taken once.
        steps = [(-math.inf, 1), *((repeat.at, repeat.repeats) for repeat in level.repeats)]
    else:
        table: Rehydration = _TABLES[level.rehydrate or "fineweb2"]
        steps = [(float(size), repeats) for size, repeats in table.steps]
    cuts = ordered_key(np.array([at for at, _ in steps[1:]], np.float64))
    repeats = (*(times for _, times in steps), 1)
    # Two bands may have the same number of repeats, so the name starts with the band's number.
    names = (*(f"{number:02d}x{times}" for number, (_, times) in enumerate(steps)), "null")
    return Bands(names, repeats, (cuts,) * groups)


def _share_of(total: int, share: float) -> int:
    return min(total, -(-total * round(share * 1_000_000) // 1_000_000))


def _descending(part: Part) -> Part:
    """Return the part with reversed keys, so that the largest value comes first."""
    valued = _without_nulls(part)
    return Part(valued.group, np.uint64(NO_BAND) - valued.key, valued.weight)


def _without_nulls(part: Part) -> Part:
    there = part.key != np.uint64(NO_BAND)
    return part if there.all() else Part(part.group[there], part.key[there], part.weight[there])


def values_of(keys: Keys) -> NDArray[np.float64]:
    """Return the values of keys; 0 for null."""
    none = keys == np.uint64(NO_BAND)
    return np.where(none, 0.0, value_of_key(np.where(none, np.uint64(0), keys)))
