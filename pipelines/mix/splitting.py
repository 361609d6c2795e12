"""The validation split: the first clusters of each language by hash, so that no cluster is on both sides."""

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from winnow.pipelines.mix.inventory import Inventory
from winnow.schemas.mixture import Amount
from winnow.schemas.recipe import SplitConfig
from winnow.scoring.mixture.cuts import NOTHING, Cut, Part, find_cuts

HELD_OUT = "held"
SHARED_CLUSTERS = "samples with duplicates"
WHERE = "where"
"""The reason for candidates in no output: no stage may take them."""


def split(inventory: Inventory, config: SplitConfig) -> tuple[str, ...]:
    """Mark the held-out candidates in the column `held`; return notes for the user.

    Each language contributes the share of its units and at least the requested samples, but never more than half of
    it; clusters that would exceed the half are not held out. Samples that share a cluster form one group across
    languages, because a cluster may span languages.
    """
    languages = sorted({cell.language for cell in inventory.cells})
    number_of = {name: number for number, name in enumerate(languages)}
    of_cell = np.array([number_of[cell.language] for cell in inventory.cells], np.uint32)
    languages.append(SHARED_CLUSTERS)
    most = np.zeros(len(languages), np.uint64)
    found = np.zeros(len(languages), np.bool_)
    notes: list[str] = []
    without_holdout: list[str] = []
    if config.validation > 0 or config.min_samples > 0:
        units, rows = _totals(inventory, of_cell, len(languages))
        share = Fraction(str(config.validation))
        wanted = {number: [-(-int(total) * share.numerator // share.denominator)] for number, total in enumerate(units)}
        cuts = {number: cut for number, (cut,) in _cuts(inventory, of_cell, wanted, weighed=True).items()}
        if config.min_samples:
            fewest = {number: [min(config.min_samples, int(count) // 2)] for number, count in enumerate(rows[:-1])}
            for number, (cut,) in _cuts(inventory, of_cell, fewest, weighed=False).items():
                cuts[number] = max(cuts[number], cut, key=lambda one: one.key)
        last = {number: cut.key for number, cut in cuts.items()}
        # For more than half: keep the keys below the one at which the half is exceeded, if there are any.
        above = {number: [1, int(rows[number]) // 2 + 1] for number, cut in cuts.items() if 2 * cut.rows > rows[number]}
        for number, (first, half) in _cuts(inventory, of_cell, above, weighed=False).items():
            last[number] = half.key - 1 if half.key > first.key else NOTHING.key
        without_holdout = [languages[number] for number in above if last[number] == NOTHING.key]
        if without_holdout:
            names = _names(without_holdout)
            notes.append(f"nothing is held out of {names}: one sample or one cluster is more than half of it")
        for number, key in last.items():
            if key >= 0:
                most[number], found[number] = key, True

    def mark_shard(shard: int) -> NDArray[np.int64]:
        """Mark a shard's held-out candidates; return the numbers of all and of held-out samples by language."""
        group = _groups(inventory, of_cell, shard)
        held = found[group] & (inventory.column(shard, "split") <= most[group])
        inventory.scratch.save(shard, HELD_OUT, held)
        language = of_cell[inventory.cell(shard)]
        return np.array([np.bincount(language[some], minlength=len(languages)) for some in (slice(None), held)])

    counted = sum(inventory.each(mark_shard), np.zeros((2, len(languages)), np.int64))
    return (*notes, *_shortfall_notes(languages, counted, config.min_samples, frozenset(without_holdout)))


def amount_without_stage(inventory: Inventory) -> Amount:
    """Return the amount of candidates that are neither held out nor selected by any stage's condition."""

    def of_none(shard: int) -> Amount:
        held, stages, units = inventory.scratch.columns(shard, (HELD_OUT, "stages", "units"))
        out = ~held & (stages == 0)
        return Amount(int(out.sum()), int(units[out].sum()))

    return sum(inventory.each(of_none), Amount())


def _shortfall_notes(
    languages: Sequence[str], counted: NDArray[np.int64], min_samples: int, noted: frozenset[str]
) -> Iterator[str]:
    """Yield notes on languages that hold out fewer samples than requested, unless noted already."""
    rows, held = counted
    short = [
        number
        for number, name in enumerate(languages[:-1])
        if rows[number] > 0 and held[number] < min_samples and name not in noted
    ]
    few = [languages[number] for number in short if rows[number] < 2 * min_samples]
    if few:
        yield f"languages with fewer than {2 * min_samples:,} samples hold out half at most: {_names(few)}"
    clustered = [languages[number] for number in short if rows[number] >= 2 * min_samples]
    if clustered:
        yield (
            f"fewer than {min_samples:,} samples are held out of {_names(clustered)}: the samples of a cluster stay on "
            "one side of the split"
        )


def _cuts(
    inventory: Inventory, of_cell: NDArray[np.uint32], targets: dict[int, list[int]], *, weighed: bool
) -> dict[int, tuple[Cut, ...]]:
    """Return the cut of each language, by units or by samples."""
    return find_cuts(lambda: _parts(inventory, of_cell, weighed=weighed), targets) if targets else {}


def _totals(
    inventory: Inventory, of_cell: NDArray[np.uint32], languages: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    units, rows = np.zeros(languages, np.int64), np.zeros(languages, np.int64)
    for part in _parts(inventory, of_cell, weighed=True):
        np.add.at(units, part.group, part.weight)
        rows += np.bincount(part.group, minlength=languages)
    return units, rows


def _groups(inventory: Inventory, of_cell: NDArray[np.uint32], shard: int) -> NDArray[np.uint32]:
    """Return the language number of each candidate; those that share a cluster have an extra number."""
    shared = inventory.column(shard, "shared")
    return np.where(shared, np.uint32(of_cell.max(initial=0) + 1), of_cell[inventory.cell(shard)])


def _parts(inventory: Inventory, of_cell: NDArray[np.uint32], *, weighed: bool) -> Iterator[Part]:
    def part(shard: int) -> Part:
        group = _groups(inventory, of_cell, shard)
        weight = inventory.column(shard, "units") if weighed else np.ones(len(group), np.int64)
        return Part(group, inventory.column(shard, "split"), weight)

    return inventory.each(part)


def _names(names: list[str]) -> str:
    return ", ".join(names[:6]) + (f" and {len(names) - 6:,} more" if len(names) > 6 else "")
