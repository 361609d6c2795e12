"""The validation split: the first clusters of each language by hash, so that no cluster is on both sides."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.pipelines.mix.inventory import Inventory
from winnow.pipelines.mix.passes import Arrays, cuts_of, table_of
from winnow.pipelines.mix.split_passes import (
    ByGroup,
    ByLanguage,
    HeldOut,
    KeysAbove,
    KeyWeights,
    LargeClusters,
    MarkHeldOut,
    SplitTotals,
    UpTo,
)
from winnow.schemas.recipe import SplitConfig
from winnow.schemas.uint128 import Words

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
    rows = _Rows(inventory, {"language": of_cell}, len(languages))
    chosen = _choose(rows, config) if config.validation > 0 or config.min_samples > 0 else None
    given = rows.given if chosen is None else rows.given | chosen.held.arrays()
    marked = inventory.passes.run(MarkHeldOut(given=given, side=inventory.side, languages=len(languages)))
    counted = np.array(table_of(marked, 3 * len(languages), "rows", "units")).reshape(2, 3, len(languages))
    counted = counted.transpose(1, 0, 2)
    if chosen is None:
        return ()
    return (*_cap_notes(rows, languages, counted, chosen), *_shortfall_notes(languages, counted, config, chosen.cap))


@dataclass(frozen=True)
class _Rows:
    """The candidates, in groups: those of each language, and as the last group all that share a cluster."""

    inventory: Inventory
    given: dict[str, NDArray[Any]]
    languages: int

    def by_group(self, *, weighed: bool, without: Words = _NONE) -> ByGroup:
        """Candidates by group, weighing their units or 1; some keys may be left out."""
        given = self.given | {"blocked": without}
        return ByGroup(given=given, side=self.inventory.side, languages=self.languages, weighed=weighed)

    def by_language(self, chosen: HeldOut | None = None) -> ByLanguage:
        """Candidates twice: language `n` has group `2n` for samples and `2n + 1` for units. `chosen`: only those
        held out by this choice."""
        given = self.given if chosen is None else self.given | chosen.arrays()
        return ByLanguage(given=given, side=self.inventory.side, languages=self.languages)

    def totals(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """The units and the samples of each group, and both of each language as in `by_language`."""
        found = self.inventory.passes.run(
            SplitTotals(given=self.given, side=self.inventory.side, languages=self.languages)
        )
        samples, units = (of.reshape(-1, 2) for of in table_of(found, 2 * self.languages, "rows", "units"))
        both = np.stack([samples.sum(axis=1), units.sum(axis=1)], axis=1).ravel()
        return np.append(units[:, 0], units[:, 1].sum()), np.append(samples[:, 0], samples[:, 1].sum()), both


@dataclass(frozen=True)
class _Chosen:
    """What is held out, and why something is not."""

    cap: Fraction
    held: HeldOut
    heavy: Mapping[int, tuple[int, Fraction]]  # a key alone above it: language, share


def _choose(rows: _Rows, config: SplitConfig) -> _Chosen:
    """Choose what is held out."""
    passes, groups = rows.inventory.passes, rows.languages + 1
    units, counts, both = rows.totals()
    cap = Fraction(str(config.largest_share))
    most = [int(total) * cap.numerator // cap.denominator for total in both]
    heavy = _heavy(rows, both, most)
    blocked = np.array(sorted(heavy), np.uint64)
    share = Fraction(str(config.validation))
    wanted = {number: [-(-int(total) * share.numerator // share.denominator)] for number, total in enumerate(units)}
    cuts = cuts_of(passes, rows.by_group(weighed=True, without=blocked), wanted)
    capped, none = UpTo.of({number: cut.key for number, (cut,) in cuts.items()}, groups), UpTo.of({}, groups)
    fewest = none
    if config.min_samples:
        few = {number: [min(config.min_samples, int(count) // 2)] for number, count in enumerate(counts[:-1])}
        cuts = cuts_of(passes, rows.by_group(weighed=False), few)
        fewest = UpTo.of({number: cut.key for number, (cut,) in cuts.items()}, groups)
    chosen = HeldOut(capped, none, blocked)
    above = cuts_of(passes, rows.by_language(chosen), {number: [limit + 1] for number, limit in enumerate(most)})
    limits: dict[int, int] = {}  # by language: the first key that exceeds the cap
    for number, (cut,) in above.items():
        if cut.taken > most[number]:
            limits[number // 2] = min(cut.key, limits.get(number // 2, cut.key))
    over = _above(rows, chosen, limits)
    return _Chosen(cap, HeldOut(capped, fewest, np.union1d(blocked, over)), heavy)


def _heavy(rows: _Rows, totals: NDArray[np.int64], most: Sequence[int]) -> dict[int, tuple[int, Fraction]]:
    """Return the samples and clusters that alone are more than a language may hold out: its number, and their share.

    Rows in the order of their keys reach a multiple of `most + 1` within each of them, so few keys must be weighed.
    """
    steps = {
        group: list(range(limit + 1, int(total) + 1, limit + 1))
        for group, (total, limit) in enumerate(zip(totals, most, strict=True))
    }
    passes, side = rows.inventory.passes, rows.inventory.side
    reached = cuts_of(passes, rows.by_language(), {group: at for group, at in steps.items() if at})
    keys = np.unique(np.array([cut.key for cuts in reached.values() for cut in cuts], np.uint64))
    given = rows.given | {"keys": keys}
    weights = passes.run(KeyWeights(given=given, side=side, languages=rows.languages)) if len(keys) else _NO_WEIGHTS
    heavy: dict[int, tuple[int, Fraction]] = {}
    for code, weight in zip(weights["key"].tolist(), weights["weight"].tolist(), strict=True):
        number, group = divmod(code, 2 * rows.languages)
        if weight > most[group]:
            found_share = group // 2, Fraction(weight, int(totals[group]))
            key = int(keys[number])
            heavy[key] = max(heavy.get(key, found_share), found_share, key=lambda one: one[1])
    return heavy


_NO_WEIGHTS: Arrays = {"key": np.zeros(0, np.int64), "weight": np.zeros(0, np.int64)}


def _above(rows: _Rows, chosen: HeldOut, limits: Mapping[int, int]) -> Words:
    """Return the keys, in order, that are held out though they are at or above their language's limit.

    Those are few: a language exceeds the cap only if it is small, or if the share is near the cap.
    """
    if not limits:
        return _NONE
    limit = np.full(rows.languages, np.iinfo(np.uint64).max, np.uint64)
    limit[list(limits)] = np.array(list(limits.values()), np.uint64)
    given = rows.given | chosen.arrays() | {"limit": limit}
    above = KeysAbove(given=given, side=rows.inventory.side, languages=rows.languages)
    found: Words = rows.inventory.passes.run(above)["key"]
    return found


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
    given = {"keys": np.array(sorted(keys), np.uint64)}
    found = rows.inventory.passes.run(LargeClusters(given=given, side=rows.inventory.side))
    lines = zip(*(found[name].tolist() for name in ("key", "rows", "high", "low")), strict=True)
    return sorted(
        ((f"{high:016x}{low:016x}", samples, *keys[key]) for key, samples, high, low in lines),
        key=lambda one: (-one[1], -one[3], one[0]),
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
