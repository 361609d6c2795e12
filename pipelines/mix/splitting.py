"""The validation split: the first clusters of each language by hash, so that no cluster is on both sides."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from winnow.pipelines.mix.inventory import Inventory
from winnow.schemas.mixture import Amount
from winnow.schemas.recipe import SplitConfig
from winnow.schemas.uint128 import Words
from winnow.scoring.mixture.cuts import Part, find_cuts

HELD_OUT = "held"
WHERE = "where"
"""The reason for candidates in no output: no stage may take them."""

_NONE: Words = np.zeros(0, np.uint64)
_NAMED = 3  # clusters in a note


def split(inventory: Inventory, config: SplitConfig) -> tuple[str, ...]:
    """Mark the held-out candidates in the column `held`; return notes for the user.

    Each language contributes the share of its units, and never more than the cap: samples and clusters that would
    exceed it stay in training. `min_samples` goes above the cap, up to half of a language. Samples that share a cluster
    form one group across languages, because a cluster may span languages.
    """
    languages = sorted({cell.language for cell in inventory.cells})
    number_of = {name: number for number, name in enumerate(languages)}
    of_cell = np.array([number_of[cell.language] for cell in inventory.cells], np.uint32)
    rows = _Rows(inventory, of_cell, len(languages))
    chosen = _choose(rows, config) if config.validation > 0 or config.min_samples > 0 else None

    def mark_shard(shard: int) -> NDArray[np.int64]:
        """Mark a shard's held-out candidates; count samples and units of all, held out and blocked by language."""
        language, key = rows.language(shard), inventory.column(shard, "split")
        held = blocked = np.zeros(len(key), np.bool_)
        if chosen is not None:
            blocked = _among(key, chosen.blocked)
            held = chosen.held(rows.group(shard), key)
        inventory.scratch.save(shard, HELD_OUT, held)
        units = inventory.column(shard, "units")
        counted = np.zeros((3, 2, len(languages)), np.int64)
        for number, some in enumerate((np.ones(len(key), np.bool_), held, blocked)):
            counted[number, 0] = np.bincount(language[some], minlength=len(languages))
            np.add.at(counted[number, 1], language[some], units[some])
        return counted

    counted = sum(inventory.each(mark_shard), np.zeros((3, 2, len(languages)), np.int64))
    if chosen is None:
        return ()
    return (*_cap_notes(rows, languages, counted, chosen), *_shortfall_notes(languages, counted, config, chosen.cap))


@dataclass(frozen=True)
class _Rows:
    """The candidates, in groups: those of each language, and as the last group all that share a cluster."""

    inventory: Inventory
    of_cell: NDArray[np.uint32]
    languages: int

    def language(self, shard: int) -> NDArray[np.uint32]:
        """The language number of each candidate."""
        return self.of_cell[self.inventory.cell(shard)]

    def group(self, shard: int) -> NDArray[np.uint32]:
        """The group of each candidate."""
        return np.where(self.inventory.column(shard, "shared"), np.uint32(self.languages), self.language(shard))

    def by_group(self, *, weighed: bool, without: Words = _NONE) -> Iterator[Part]:
        """Yield candidates by group, weighing their units or 1; some keys may be left out."""

        def part(shard: int) -> Part:
            group, key = self.group(shard), self.inventory.column(shard, "split")
            weight = self.inventory.column(shard, "units") if weighed else np.ones(len(group), np.int64)
            stay = ~_among(key, without)
            return Part(group[stay], key[stay], weight[stay])

        return self.inventory.each(part)

    def by_language(self, chosen: "_Chosen | None" = None) -> Iterator[Part]:
        """Yield candidates twice: language `n` has group `2n` for samples and `2n + 1` for units. `chosen`: only those
        held out by this choice."""

        def part(shard: int) -> Part:
            language, key = self.language(shard), self.inventory.column(shard, "split")
            units = self.inventory.column(shard, "units")
            if chosen is not None:
                held = chosen.held(self.group(shard), key)
                language, key, units = language[held], key[held], units[held]
            groups = np.concatenate([2 * language, 2 * language + 1]).astype(np.uint32)
            return Part(groups, np.tile(key, 2), np.concatenate([np.ones(len(units), np.int64), units]))

        return self.inventory.each(part)


@dataclass(frozen=True)
class _Chosen:
    """What is held out: in each group the keys up to `last`, but not the blocked ones."""

    cap: Fraction
    last: Mapping[int, int]  # by group; -1 for none
    fewest: Mapping[int, int]  # the same for `min_samples`, which goes above the cap
    blocked: Words  # in order: samples and clusters that would exceed the cap
    heavy: Mapping[int, tuple[int, Fraction]]  # a key alone above it: language, share

    def held(self, group: NDArray[np.uint32], key: Words) -> NDArray[np.bool_]:
        """Which of these candidates are held out."""
        capped = _up_to(self.last, group, key) & ~_among(key, self.blocked)
        found: NDArray[np.bool_] = capped | _up_to(self.fewest, group, key)
        return found


def _choose(rows: _Rows, config: SplitConfig) -> _Chosen:
    """Choose what is held out."""
    units, counts, both = _totals(rows)
    cap = Fraction(str(config.largest_share))
    most = [int(total) * cap.numerator // cap.denominator for total in both]
    heavy = _heavy(rows, both, most)
    blocked = np.array(sorted(heavy), np.uint64)
    share = Fraction(str(config.validation))
    wanted = {number: [-(-int(total) * share.numerator // share.denominator)] for number, total in enumerate(units)}
    cuts = find_cuts(lambda: rows.by_group(weighed=True, without=blocked), wanted)
    last = {number: cut.key for number, (cut,) in cuts.items()}
    fewest: dict[int, int] = {}
    if config.min_samples:
        few = {number: [min(config.min_samples, int(count) // 2)] for number, count in enumerate(counts[:-1])}
        cuts = find_cuts(lambda: rows.by_group(weighed=False), few)
        fewest = {number: cut.key for number, (cut,) in cuts.items()}
    chosen = _Chosen(cap, last, {}, blocked, heavy)
    above = find_cuts(lambda: rows.by_language(chosen), {number: [limit + 1] for number, limit in enumerate(most)})
    limits: dict[int, int] = {}  # by language: the first key that exceeds the cap
    for number, (cut,) in above.items():
        if cut.taken > most[number]:
            limits[number // 2] = min(cut.key, limits.get(number // 2, cut.key))
    over = _above(rows, chosen, limits)
    return _Chosen(cap, last, fewest, np.union1d(blocked, over), heavy)


def _totals(rows: _Rows) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the units and the samples of each group, and both of each language as in `by_language`."""
    units, counts = np.zeros((2, rows.languages + 1), np.int64)
    both = np.zeros(2 * rows.languages, np.int64)
    for part in rows.by_group(weighed=True):
        np.add.at(units, part.group, part.weight)
        counts += np.bincount(part.group, minlength=rows.languages + 1)
    for part in rows.by_language():
        np.add.at(both, part.group, part.weight)
    return units, counts, both


def _heavy(rows: _Rows, totals: NDArray[np.int64], most: Sequence[int]) -> dict[int, tuple[int, Fraction]]:
    """Return the samples and clusters that alone are more than a language may hold out: its number, and their share.

    Rows in the order of their keys reach a multiple of `most + 1` within each of them, so few keys must be weighed.
    """
    steps = {
        group: list(range(limit + 1, int(total) + 1, limit + 1))
        for group, (total, limit) in enumerate(zip(totals, most, strict=True))
    }
    reached = find_cuts(rows.by_language, {group: at for group, at in steps.items() if at})
    keys = np.unique(np.array([cut.key for cuts in reached.values() for cut in cuts], np.uint64))
    weights: Counter[tuple[int, int]] = Counter()
    groups = max(1, len(totals))
    for part in rows.by_language():
        some = _among(part.key, keys)
        if some.any():
            code = np.searchsorted(keys, part.key[some]) * groups + part.group[some]
            found, place = np.unique(code, return_inverse=True)
            sums = np.zeros(len(found), np.int64)
            np.add.at(sums, place, part.weight[some])
            for one, weight in zip(found.tolist(), sums.tolist(), strict=True):
                weights[one // groups, one % groups] += weight
    heavy: dict[int, tuple[int, Fraction]] = {}
    for (number, group), weight in sorted(weights.items()):
        if weight > most[group]:
            found_share = group // 2, Fraction(weight, int(totals[group]))
            key = int(keys[number])
            heavy[key] = max(heavy.get(key, found_share), found_share, key=lambda one: one[1])
    return heavy


def _above(rows: _Rows, chosen: _Chosen, limits: Mapping[int, int]) -> Words:
    """Return the keys, in order, that are held out though they are at or above their language's limit.

    Those are few: a language exceeds the cap only if it is small, or if the share is near the cap.
    """
    if not limits:
        return _NONE
    limit = np.full(rows.languages, np.iinfo(np.uint64).max, np.uint64)
    limit[list(limits)] = np.array(list(limits.values()), np.uint64)

    def over(shard: int) -> Words:
        key = rows.inventory.column(shard, "split")
        out = chosen.held(rows.group(shard), key) & (key >= limit[rows.language(shard)])
        return np.unique(key[out])

    return np.unique(np.concatenate([_NONE, *rows.inventory.each(over)]))


def _among(key: Words, some: Words) -> NDArray[np.bool_]:
    """Which keys are among some, which are in order."""
    if not len(some):
        return np.zeros(len(key), np.bool_)
    found: NDArray[np.bool_] = some[np.minimum(np.searchsorted(some, key), len(some) - 1)] == key
    return found


def _up_to(last: Mapping[int, int], group: NDArray[np.uint32], key: Words) -> NDArray[np.bool_]:
    """Which keys are at most the last one of their group."""
    some = [number for number, one in last.items() if one >= 0]
    if not some or not len(group):
        return np.zeros(len(group), np.bool_)
    size = max(int(group.max()), *some) + 1
    most, found = np.zeros(size, np.uint64), np.zeros(size, np.bool_)
    most[some], found[some] = np.array([last[number] for number in some], np.uint64), True
    inside: NDArray[np.bool_] = found[group] & (key <= most[group])
    return inside


def amount_without_stage(inventory: Inventory) -> Amount:
    """Return the amount of candidates that are neither held out nor selected by any stage's condition."""

    def of_none(shard: int) -> Amount:
        held, stages, units = inventory.scratch.columns(shard, (HELD_OUT, "stages", "units"))
        out = ~held & (stages == 0)
        return Amount(int(out.sum()), int(units[out].sum()))

    return sum(inventory.each(of_none), Amount())


def _cap_notes(rows: _Rows, languages: Sequence[str], counted: NDArray[np.int64], chosen: _Chosen) -> Iterator[str]:
    """Yield notes on languages of which nothing is held out, and on the clusters that the cap kept in training."""
    (_, held, blocked), most = counted[:, 0], _percent(chosen.cap)
    nothing = [languages[number] for number in np.flatnonzero((held == 0) & (blocked > 0)).tolist()]
    if nothing:
        of = "half of it" if chosen.cap == Fraction(1, 2) else f"{most} of it (split.max_share)"
        yield f"nothing is held out of {_names(nothing)}: one sample or one cluster is more than {of}"
    if chosen.heavy:
        found = _clusters(rows, chosen.heavy)
        named = [
            f"that of sample {sample} ({samples:,} samples, {_percent(share)} of {languages[language]})"
            for sample, samples, language, share in found[:_NAMED]
        ]
        more = f" and {len(found) - _NAMED:,} more" if len(found) > _NAMED else ""
        if named:
            yield (
                f"clusters that are more than {most} of a language are not held out (split.max_share): "
                + ", ".join(named)
                + more
            )


def _clusters(rows: _Rows, keys: Mapping[int, tuple[int, Fraction]]) -> list[tuple[str, int, int, Fraction]]:
    """Return the clusters among keys, the largest first: its first sample, its samples, a language, its share."""
    some = np.array(sorted(keys), np.uint64)
    samples: Counter[int] = Counter()
    first: dict[int, str] = {}
    for shard in range(len(rows.inventory.shards)):
        shared, key, high, low = rows.inventory.scratch.columns(shard, ("shared", "split", "high", "low"))
        inside = np.flatnonzero(shared & _among(key, some))
        samples.update(key[inside].tolist())
        for one in np.unique(key[inside]):
            mine = inside[key[inside] == one]
            at = mine[np.lexsort((low[mine], high[mine]))[0]]
            name = f"{int(high[at]):016x}{int(low[at]):016x}"
            first[int(one)] = min(name, first.get(int(one), name))
    return sorted(
        ((first[key], count, *keys[key]) for key, count in samples.items()), key=lambda one: (-one[1], -one[3], one[0])
    )


def _shortfall_notes(
    languages: Sequence[str], counted: NDArray[np.int64], config: SplitConfig, cap: Fraction
) -> Iterator[str]:
    """Yield notes on languages that hold out fewer samples than requested, or more than the cap to reach them."""
    (rows, units), (held, held_units), (blocked, _) = counted
    nothing = (held == 0) & (blocked > 0)  # noted already
    short = [number for number in range(len(languages)) if rows[number] and held[number] < config.min_samples]
    few = [languages[number] for number in short if rows[number] < 2 * config.min_samples and not nothing[number]]
    if few:
        yield f"languages with fewer than {2 * config.min_samples:,} samples hold out half at most: {_names(few)}"
    clustered = [languages[number] for number in short if rows[number] >= 2 * config.min_samples]
    if clustered:
        yield (
            f"fewer than {config.min_samples:,} samples are held out of {_names(clustered)}: the samples of a cluster "
            "stay on one side of the split"
        )
    shares = {
        number: max(
            Fraction(int(held[number]), int(rows[number])), Fraction(int(held_units[number]), int(units[number]))
        )
        for number in np.flatnonzero(units).tolist()
    }
    over = [number for number, share in shares.items() if share > cap]
    if over:
        over.sort(key=lambda number: (-shares[number], number))
        named = _names([f"{languages[number]} {_percent(shares[number])}" for number in over])
        yield f"min_samples takes more than {_percent(cap)} of a language: {named}"


def _percent(share: Fraction) -> str:
    return f"{100 * float(share):.3g} %"


def _names(names: list[str]) -> str:
    return ", ".join(names[:6]) + (f" and {len(names) - 6:,} more" if len(names) > 6 else "")
