"""Find cuts: in each group, the smallest key at which rows in key order reach a target weight.

One kernel cuts draws, splits, bands and the shards of an export. Keys are found bit by bit from the top with integer
histograms: each pass counts the open ranges of keys in as many bins as fit; for each target the bin that reaches it
stays open for the next pass. Once all rows of open ranges fit, they are collected and sorted instead: small inputs are
read once, 10 billion rows two or three times.

Sums are exact, and depend neither on the order of rows nor on how they are split into parts. So a pass may be divided:
each reader gets the `OpenRanges` of a `CutSearch` and returns the `SeenRows`, which merge; both travel as arrays.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from winnow.schemas.uint128 import Words

Integers = NDArray[np.int64]

ROOM = 1 << 22
"""How many rows, or bins, are held at once: some 200 MB."""
_FEW = 1 << 17  # rows that are faster to sort than to count
MAX_GROUP = 1 << 24
MAX_WEIGHT = 1 << 62

_KEY_BITS = 64
_BITS = 12  # per pass: a few thousandths of the rows remain in open bins
_CACHED_BITS = 18  # this many bins in all stay in a core's cache
_CLOSED = -1
_SIGN = np.uint64(1 << 63)


@dataclass(frozen=True, slots=True)
class Part:
    """Some of the rows, such as a shard's."""

    group: NDArray[np.uint32]
    key: Words
    weight: Integers

    def __post_init__(self) -> None:
        if not len(self.group) == len(self.key) == len(self.weight):
            raise ValueError("each row has a group, a key and a weight")


@dataclass(frozen=True, slots=True)
class Cut:
    """The rows taken from a group: those whose key is at most `key`."""

    key: int  # the largest taken; -1 for nothing
    taken: int  # their weight
    rows: int
    last: int  # the weight of the rows whose key is `key`


NOTHING = Cut(-1, 0, 0, 0)


def find_cuts(
    see: "Callable[[OpenRanges], SeenRows]", targets: Mapping[int, Sequence[int]], *, room: int = ROOM
) -> dict[int, tuple[Cut, ...]]:
    """Find the cut of each target of each group: the smallest key up to which rows weigh at least the target.

    Rows with equal keys are taken together. A group that cannot reach a target is taken whole; 0 takes nothing.

    Args:
        see: Makes a pass over all rows, the same ones on each call, and returns what it has seen of open ranges.
        targets: Target weights for each group. Groups without targets are skipped.
        room: The most rows, or bins, in memory at once.

    Returns:
        The cuts of each group, in the order of its targets.
    """
    asked = np.array([target for group in targets for target in targets[group]], np.int64)
    groups = np.array([group for group in targets for _ in targets[group]], np.int64)
    if len(groups) and not 0 <= groups.min() <= groups.max() <= MAX_GROUP:
        raise ValueError(f"groups are numbers from 0 to {MAX_GROUP}, not {groups.min()} to {groups.max()}")
    if len(asked) and not 0 <= asked.min() <= asked.max() <= MAX_WEIGHT:
        raise ValueError(f"targets are weights from 0 to {MAX_WEIGHT}, not {asked.min()} to {asked.max()}")
    found = [NOTHING] * len(asked)
    wanted = np.flatnonzero(asked)
    if len(wanted):
        search = CutSearch(groups[wanted], asked[wanted], room)
        while not search.done:
            search.narrow(see(search.openings))
        for number, cut in zip(wanted.tolist(), search.cuts(), strict=True):
            found[number] = cut
    cuts = iter(found)
    return {group: tuple(next(cuts) for _ in targets[group]) for group in targets}


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of open ranges."""

    slot: Integers  # the number of the range
    key: Words
    weight: Integers


@dataclass(frozen=True, slots=True)
class PassDivision:
    """How a pass divided the open ranges."""

    shift: int
    bits: int
    slots: NDArray[np.int32]  # each bin's new range number, or closed

    def opened(self, rows: Rows) -> Rows:
        """The rows in bins that are still open."""
        return _chosen(self.slots[_bins(rows, self.shift, self.bits)], rows.key, rows.weight)


@dataclass(frozen=True, slots=True)
class OpenRanges:
    """Where the cuts still may be, and how the next pass counts these ranges: all that a reader of rows needs."""

    slot_of_group: Integers  # the first range of each group, or closed; the last one is of all higher groups
    levels: tuple[PassDivision, ...]
    ranges: int
    depth: int  # known bits of keys
    bits: int  # of the bins of the next pass
    room: int

    def open(self, part: Part) -> Rows:
        """The rows of a part in open ranges."""
        slot = self.slot_of_group[np.minimum(part.group, len(self.slot_of_group) - 1)]
        found = _chosen(slot, part.key, part.weight)
        for level in self.levels:
            found = level.opened(found)
        return found

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The same as arrays."""
        facts = np.array([self.ranges, self.depth, self.bits, self.room], np.int64)
        shapes = np.array([(level.shift, level.bits) for level in self.levels], np.int64).ravel()
        levels = {f"level-{number}": level.slots for number, level in enumerate(self.levels)}
        return {"slots": self.slot_of_group, "facts": facts, "shapes": shapes, **levels}

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The inverse of `arrays`; others among them do not matter."""
        shapes = arrays["shapes"].reshape(-1, 2).tolist()
        levels = (PassDivision(shift, bits, arrays[f"level-{number}"]) for number, (shift, bits) in enumerate(shapes))
        return cls(arrays["slots"], tuple(levels), *arrays["facts"].tolist())


class SeenRows:
    """The rows in open ranges that a pass has seen: themselves while they fit, else their histogram."""

    def __init__(self, openings: OpenRanges) -> None:
        self.openings = openings
        self.rows = 0
        self.weight = 0.0  # of all rows, in open ranges or not
        self.gathered: list[Rows] = []
        self.histogram: Histogram | None = None

    def add(self, part: Part) -> None:
        """See more rows."""
        if len(part.weight) and part.weight.min() < 0:
            raise ValueError(f"a row weighs {part.weight.min()}: weights must not be negative")
        self._weigh(float(part.weight.sum(dtype=np.float64)))
        self._gather([self.openings.open(part)])

    def absorb(self, other: "SeenRows") -> None:
        """Add what another reader has seen in the same pass."""
        self._weigh(other.weight)
        self._gather(other.gathered)
        if other.histogram is not None:
            self.rows += other.rows
            self._count()
            assert self.histogram is not None
            self.histogram.absorb(other.histogram)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The same as arrays: rows, or the bins that are not empty. Weights that are all one are left out."""
        seen: dict[str, NDArray[Any]] = {"weight": np.array([self.weight])}
        if self.histogram is not None:
            bins = np.flatnonzero(self.histogram.rows)
            rows, weights = self.histogram.rows[bins], self.histogram.weights[bins]
            seen |= {"bins": bins, "rows": rows}
            return seen if np.array_equal(rows, weights) else seen | {"weights": weights}
        slots, keys, weights = _joined(self.gathered)
        seen |= {"slots": slots, "keys": keys}
        return seen if (weights == 1).all() else seen | {"weights": weights}

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]], openings: OpenRanges) -> Self:
        """The inverse of `arrays`."""
        seen = cls(openings)
        seen.weight = float(arrays["weight"][0])
        if "bins" not in arrays:
            slots = arrays["slots"]
            seen.gathered = [Rows(slots, arrays["keys"], arrays.get("weights", np.ones(len(slots), np.int64)))]
            seen.rows = len(slots)
            return seen
        bins, rows = arrays["bins"], arrays["rows"]
        seen.histogram = Histogram(openings.ranges, openings.depth, openings.bits)
        seen.histogram.rows[bins], seen.histogram.weights[bins] = rows, arrays.get("weights", rows)
        seen.rows = int(rows.sum())
        return seen

    def _gather(self, found: Sequence[Rows]) -> None:
        self.rows += sum(len(rows.slot) for rows in found)
        self.gathered += found
        if self.histogram is not None or self.rows > self.openings.room:
            self._count()

    def _count(self) -> None:
        if self.histogram is None:
            self.histogram = Histogram(self.openings.ranges, self.openings.depth, self.openings.bits)
        for held in self.gathered:
            self.histogram.add(held)
        self.gathered.clear()

    def _weigh(self, weight: float) -> None:
        self.weight += weight
        if self.weight > MAX_WEIGHT:
            raise ValueError(f"the rows weigh more than {MAX_WEIGHT}")


class CutSearch:
    """The search for the cuts of targets: each is in one open range of keys, which a pass finds or narrows."""

    def __init__(self, groups: Integers, asked: Integers, room: int = ROOM) -> None:
        """Begin with whole groups.

        Args:
            groups: The group of each target.
            asked: The weight to reach, above 0.
            room: The most rows, or bins, in memory at once.
        """
        self._asked = asked
        self._room = room
        there, self._slot = np.unique(groups, return_inverse=True)
        self._slot_of_group = np.full(int(there[-1]) + 2, _CLOSED, np.int64)
        self._slot_of_group[there] = np.arange(len(there))
        self._levels: list[PassDivision] = []
        self._depth = 0  # known bits of keys
        self._expected: int | None = None  # rows of open ranges
        # Of each range: the keys' known bits, and the group's weight and rows before it.
        self._prefix = np.zeros(len(there), np.uint64)
        self._weight_before, self._rows_before = np.zeros((2, len(there)), np.int64)
        # Of each target, once it is known.
        self._key = np.zeros(len(asked), np.uint64)
        self._taken, self._rows, self._last = np.zeros((3, len(asked)), np.int64)
        self.done = False

    @property
    def openings(self) -> OpenRanges:
        """What the next pass reads."""
        bits = self._bits(self._room)
        return OpenRanges(self._slot_of_group, tuple(self._levels), len(self._prefix), self._depth, bits, self._room)

    def cuts(self) -> list[Cut]:
        """One cut per target; a group without rows gives nothing."""
        columns = zip(*(of.tolist() for of in (self._key, self._taken, self._rows, self._last)), strict=True)
        return [Cut(*cut) if cut[2] else NOTHING for cut in columns]

    def narrow(self, seen: SeenRows) -> None:
        """End a pass over all rows: find all cuts if the rows of open ranges fit, else narrow the ranges."""
        if self._expected not in (None, seen.rows):
            raise ValueError(
                f"found {seen.rows} rows where there were {self._expected} before: rows must not change between passes"
            )
        if seen.histogram is None:
            self._finish(seen.gathered, seen.rows)
        else:
            self._narrow(seen.histogram)

    def _bits(self, room: int) -> int:
        """The bits of bins for all open ranges."""
        ranges = len(self._prefix)
        fit = max(1, (room // ranges).bit_length() - 1)
        enough = max(_BITS, _CACHED_BITS - (ranges - 1).bit_length())  # more bins would only be slower to count in
        return min(fit, enough, _KEY_BITS - self._depth)

    def _finish(self, gathered: list[Rows], rows: int) -> None:
        """Find the cuts among all rows of open ranges; if there are many, they are counted first, so that few are
        sorted."""
        while rows > _FEW and not self.done:
            histogram = Histogram(len(self._prefix), self._depth, self._bits(rows))
            for held in gathered:
                histogram.add(held)
            self._narrow(histogram)
            if not self.done:
                gathered = [self._levels[-1].opened(held) for held in gathered]
                rows = sum(len(held.slot) for held in gathered)
        if not self.done:
            self._sort(gathered)

    def _sort(self, gathered: list[Rows]) -> None:
        """Find the cuts among few rows."""
        slot, key, weight = _joined(gathered)
        order = _sorted(slot, key, len(self._prefix))
        slot, key, weight = slot[order], key[order], weight[order]
        # Runs of equal keys; sums are cumulative over all ranges, including each run.
        last = np.flatnonzero(np.append((slot[1:] != slot[:-1]) | (key[1:] != key[:-1]), len(slot) > 0))
        slot, key, rows, weight = slot[last], key[last], last + 1, np.cumsum(weight)[last]
        first = np.searchsorted(slot, np.arange(len(self._prefix) + 1))
        start, end = first[self._slot], first[self._slot + 1]
        there = np.flatnonzero(start < end)
        of, start, end = self._slot[there], start[there], end[there]
        weight_before = self._weight_before[of] - np.where(start > 0, weight[start - 1], 0)
        rows_before = self._rows_before[of] - np.where(start > 0, rows[start - 1], 0)
        at = _first_reaching(weight, start, end - 1, self._asked[there] - weight_before)
        self._key[there] = key[at]
        self._taken[there] = weight[at] + weight_before
        self._rows[there] = rows[at] + rows_before
        self._last[there] = np.diff(weight, prepend=0)[at]
        self.done = True

    def _narrow(self, histogram: "Histogram") -> None:
        """Open the bin that reaches each target, or the last non-empty one of its group."""
        bins = 1 << histogram.bits
        weights = np.cumsum(histogram.weights.reshape(-1, bins), axis=1)
        weights += self._weight_before[:, None]
        rows = np.cumsum(histogram.rows.reshape(-1, bins), axis=1)
        rows += self._rows_before[:, None]
        weight, row = weights.ravel(), rows.ravel()
        start, end = self._slot * bins, self._slot * bins + bins - 1
        by_weight = _first_reaching(weight, start, end, self._asked)
        by_rows = _first_reaching(row, start, end, row[end])
        at = np.where(weight[end] >= self._asked, by_weight, by_rows)

        self._depth += histogram.bits
        shift = np.uint64(_KEY_BITS - self._depth)
        prefix = self._prefix[self._slot] | ((at - start).astype(np.uint64) << shift)
        if not shift:
            self._key, self._taken, self._rows, self._last = prefix, weight[at], row[at], histogram.weights[at]
            self.done = True
            return
        there, self._slot = np.unique(at, return_inverse=True)
        slots = np.full(len(weight), _CLOSED, np.int32)
        slots[there] = np.arange(len(there))
        # A group without rows stays in its first bin, which is empty.
        self._levels.append(PassDivision(int(shift), histogram.bits, slots))
        self._expected = int(histogram.rows[there].sum())
        self._weight_before = weight[there] - histogram.weights[there]
        self._rows_before = row[there] - histogram.rows[there]
        self._prefix = np.zeros(len(there), np.uint64)
        self._prefix[self._slot] = prefix


class Histogram:
    """Weights and rows by bin of each open range."""

    def __init__(self, ranges: int, depth: int, bits: int) -> None:
        self.bits = bits
        self._shift = _KEY_BITS - depth - bits
        self.weights, self.rows = np.zeros((2, ranges << bits), np.int64)

    def add(self, rows: Rows) -> None:
        """Count more rows."""
        at = _bins(rows, self._shift, self.bits)
        np.add.at(self.weights, at, rows.weight)  # integers: `bincount` adds floats
        np.add.at(self.rows, at, 1)

    def absorb(self, other: "Histogram") -> None:
        """Add the counts of another one of the same ranges."""
        self.weights += other.weights
        self.rows += other.rows


def _joined(gathered: Sequence[Rows]) -> tuple[Integers, Words, Integers]:
    """The slots, keys and weights of all rows."""
    none = Rows(np.zeros(0, np.int64), np.zeros(0, np.uint64), np.zeros(0, np.int64))
    every = [none, *gathered]
    return (
        np.concatenate([rows.slot for rows in every]),
        np.concatenate([rows.key for rows in every]),
        np.concatenate([rows.weight for rows in every]),
    )


def _bins(rows: Rows, shift: int, bits: int) -> Integers:
    inside = (rows.key >> np.uint64(shift)) & np.uint64((1 << bits) - 1)
    return (rows.slot << bits) | inside.view(np.int64)


def _chosen(slot: NDArray[np.signedinteger], key: Words, weight: Integers) -> Rows:
    """The rows that lie in open ranges."""
    stays = np.flatnonzero(slot != _CLOSED)
    numbers = slot.astype(np.int64, copy=False)
    if len(stays) == len(slot):
        return Rows(numbers, key, weight)
    return Rows(numbers[stays], key[stays], weight[stays])


def _sorted(slot: Integers, key: Words, slots: int) -> Integers:
    """The order by slot, then key."""
    by_key = np.argsort(key)
    # numpy sorts 16-bit integers stably by radix, several times faster than wider ones.
    narrow = slot[by_key].astype(np.uint16 if slots <= 1 << 16 else np.uint32)
    order: Integers = by_key[np.argsort(narrow, kind="stable")]
    return order


def _first_reaching(sums: Integers, first: Integers, last: Integers, asked: Integers) -> Integers:
    """In each range, from its first place to its last, the first place whose sum reaches what is asked; else the last.

    Sums rise within a range.
    """
    low, high = first.astype(np.int64), last.astype(np.int64)
    while (low < high).any():
        middle = (low + high) >> 1
        short = sums[middle] < asked
        low = np.where(short & (low < high), middle + 1, low)
        high = np.where(short, high, middle)
    return low


def ordered_key(values: NDArray[np.floating]) -> Words:
    """Map numbers to integers in the same order: -0.0 is 0.0; negate them for descending order."""
    numbers = values.astype(np.float64) + 0.0
    if np.isnan(numbers).any():
        raise ValueError("NaN cannot be ordered")
    bits = numbers.view(np.uint64)
    turned = (bits.view(np.int64) >> 63).view(np.uint64) | _SIGN
    key: Words = bits ^ turned
    return key


def value_of_key(keys: Words) -> NDArray[np.float64]:
    """The numbers whose keys these are."""
    turned = (~keys.view(np.int64) >> 63).view(np.uint64) | _SIGN
    return (keys ^ turned).view(np.float64)
