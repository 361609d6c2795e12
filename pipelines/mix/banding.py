"""Bands within a language: finds the band of each candidate by its value in a column."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from winnow.filters.duplicates.rehydration import FINEWEB2, Rehydration
from winnow.schemas.recipe import BandLevel
from winnow.schemas.rows.draws import NO_BAND
from winnow.scoring.mixture.cuts import Cut, Part, ordered_key, value_of_key

Keys = NDArray[np.uint64]
_TABLES: Final = {"fineweb2": FINEWEB2}


@dataclass(frozen=True)
class Bands:
    """The bands of a level, and the cuts between them in each group.

    A band is a number; the last one holds nulls.
    """

    names: tuple[str, ...]
    repeats: tuple[int, ...] | None  # how often each band is repeated, if bands are repeat steps
    cuts: Keys  # by group, or one row for all: the smallest key of each band except the first
    notes: tuple[str, ...] = ()  # for the user


class ValuedRows(Protocol):
    """The candidates with a value, in groups, in passes over all of them."""

    def totals(self) -> NDArray[np.int64]:
        """The units of each group."""
        ...

    def cuts(self, targets: Mapping[int, Sequence[int]], *, falling: bool = False) -> dict[int, tuple[Cut, ...]]:
        """The cuts of targets in the order of values; `falling`: from the largest down, in keys below `NO_BAND`."""
        ...


def bands_of(cuts: Keys, bands: int, groups: NDArray[np.uint32], keys: Keys) -> NDArray[np.uint16]:
    """Return the band of each candidate, given its group and the ordered key of its value."""
    found = np.zeros(len(keys), np.uint16)
    if not len(keys):
        return found
    if len(cuts) == 1:
        found[:] = np.searchsorted(cuts[0], keys, side="right")
    else:
        # numpy sorts integers of 16 bits stably by radix, several times faster than wider ones.
        order = np.argsort(groups.astype(np.uint16 if len(cuts) <= 1 << 16 else np.uint32), kind="stable")
        in_order, of_group = keys[order], groups[order]
        bounds = [0, *(np.flatnonzero(np.diff(of_group)) + 1).tolist(), len(order)]
        in_bands = np.empty(len(keys), np.uint16)
        for first, last in itertools.pairwise(bounds):  # not hot: one iteration per group
            in_bands[first:last] = np.searchsorted(cuts[of_group[first]], in_order[first:last], side="right")
        found[order] = in_bands
    found[keys == np.uint64(NO_BAND)] = bands - 1
    return found


def find_bands(level: BandLevel, groups: int, rows: ValuedRows) -> Bands:
    """Find the bands of every group. Bands that are shares have their own cuts in each group."""
    if level.rehydrate is not None or level.repeats is not None:
        return _repeat_bands(level)
    if level.cuts is not None:
        cuts = ordered_key(np.array(level.cuts, np.float64))
        return Bands(_band_names(len(level.cuts) + 1), None, cuts[None])
    totals = rows.totals()
    if level.top is not None:
        targets = {group: [_share_of(int(total), level.top)] for group, total in enumerate(totals) if total}
        top = rows.cuts(targets, falling=True)
        borders = _no_cuts(groups, 1)
        for group, (cut,) in top.items():
            borders[group] = NO_BAND - cut.key
        target = sum(target for (target,) in targets.values())
        taken = sum(cut.taken for (cut,) in top.values())
        return Bands(_band_names(2), None, borders, _note_on_ties(level, target, taken))
    count = level.count
    targets = {
        group: [int(total) * step // count for step in range(1, count)] for group, total in enumerate(totals) if total
    }
    # A band ends with the key at which its share is reached; the next one begins above it.
    borders = _no_cuts(groups, count - 1)
    for group, found in rows.cuts(targets).items():
        borders[group] = [min(cut.key + 1, NO_BAND) for cut in found]
    return Bands(_band_names(count), None, borders)


def _no_cuts(groups: int, count: int) -> Keys:
    """Return cuts above all values, for groups without any."""
    return np.full((groups, count), NO_BAND, np.uint64)


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


def _repeat_bands(level: BandLevel) -> Bands:
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
    return Bands(names, repeats, cuts[None])


def _share_of(total: int, share: float) -> int:
    return min(total, -(-total * round(share * 1_000_000) // 1_000_000))


def descending(part: Part) -> Part:
    """Return the part with reversed keys, so that the largest value comes first."""
    valued = without_nulls(part)
    return Part(valued.group, np.uint64(NO_BAND) - valued.key, valued.weight)


def without_nulls(part: Part) -> Part:
    """Return the rows of the part that have a value."""
    there = part.key != np.uint64(NO_BAND)
    return part if there.all() else Part(part.group[there], part.key[there], part.weight[there])


def exact_parts(marks: NDArray[np.int64], keys: Keys) -> tuple[NDArray[np.int64], ...]:
    """Return the values of keys as integers: a code of mark and exponent, and two parts of the mantissa.

    Sums of the parts by code are exact, and sums of floats are not. Null counts as 0.
    """
    none = keys == np.uint64(NO_BAND)
    values = np.where(none, 0.0, value_of_key(np.where(none, np.uint64(0), keys)))
    finite = np.isfinite(values)
    fraction, exponent = np.frexp(np.where(finite, values, 0.0))
    whole = (fraction * float(1 << _MANTISSA)).astype(np.int64)
    at = np.where(finite, exponent.astype(np.int64) + _LEAST, np.where(values > 0, _POSITIVE, _NEGATIVE))
    high = np.where(finite, whole >> _LOW, 1)
    return marks * _EXPONENTS + at, high, np.where(finite, whole & ((1 << _LOW) - 1), 0)


def summed_values(codes: NDArray[np.int64], high: NDArray[np.int64], low: NDArray[np.int64]) -> dict[int, float]:
    """Return the sum of the values of each mark, rounded once."""
    sums: dict[int, Fraction] = {}
    infinite: dict[int, float] = {}
    for code, more, less in zip(codes.tolist(), high.tolist(), low.tolist(), strict=True):  # a few for each mark
        mark, at = divmod(code, _EXPONENTS)
        if at >= _POSITIVE:
            infinite[mark] = infinite.get(mark, 0.0) + (math.inf if at == _POSITIVE else -math.inf)
        else:
            part = Fraction((more << _LOW) + less) * Fraction(2) ** (at - _LEAST - _MANTISSA)
            sums[mark] = sums.get(mark, Fraction(0)) + part
    return {**{mark: _rounded(value) for mark, value in sums.items()}, **infinite}


def _rounded(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, value)


_MANTISSA, _LOW = 53, 26  # bits of a float's mantissa, and of its lower part: sums of 2³⁶ parts fit in an integer
_LEAST, _POSITIVE, _NEGATIVE, _EXPONENTS = 1_100, 4_094, 4_095, 4_096  # codes of exponents; the last two: infinities
