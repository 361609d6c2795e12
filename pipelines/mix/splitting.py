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
SHARED = "what has duplicates"
WHERE = "where"
"""The reason why a candidate is in no output: no stage may take it."""


def split(inventory: Inventory, config: SplitConfig) -> tuple[str, ...]:
    """Marks the held-out candidates in the column `held`; returns notes for the user.

    Each language contributes the share of its units, and at least the requested samples, but at most half of it: if a
    cluster would exceed that, only those before it are held out. Samples that share a cluster contribute their
    share as one group, because a cluster may span languages.
    """
    languages = sorted({cell.language for cell in inventory.cells})
    number_of = {name: number for number, name in enumerate(languages)}
    of_cell = np.array([number_of[cell.language] for cell in inventory.cells], np.uint32)
    languages.append(SHARED)
    most = np.zeros(len(languages), np.uint64)
    found = np.zeros(len(languages), np.bool_)
    notes: list[str] = []
    bare: list[str] = []
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
        # Above half: the keys below the one that the half is passed at; none, where that is the first.
        above = {number: [1, int(rows[number]) // 2 + 1] for number, cut in cuts.items() if 2 * cut.rows > rows[number]}
        for number, (first, half) in _cuts(inventory, of_cell, above, weighed=False).items():
            last[number] = half.key - 1 if half.key > first.key else NOTHING.key
        bare = [languages[number] for number in above if last[number] == NOTHING.key]
        if bare:
            notes.append(f"nothing is held out of {_named(bare)}: one sample, or one cluster, is more than half of it")
        for number, key in last.items():
            if key >= 0:
                most[number], found[number] = key, True

    def marked(shard: int) -> NDArray[np.int64]:
        """Samples of each language: all, and held out."""
        group = _groups(inventory, of_cell, shard)
        held = found[group] & (inventory.column(shard, "split") <= most[group])
        inventory.scratch.save(shard, HELD_OUT, held)
        language = of_cell[inventory.cell(shard)]
        return np.array([np.bincount(language[some], minlength=len(languages)) for some in (slice(None), held)])

    counted = sum(inventory.each(marked), np.zeros((2, len(languages)), np.int64))
    return (*notes, *_short(languages, counted, config.min_samples, frozenset(bare)))


def of_no_stage(inventory: Inventory) -> Amount:
    """The candidates that are neither held out nor selected by any stage's condition."""

    def of_none(shard: int) -> Amount:
        held, stages, units = inventory.scratch.columns(shard, (HELD_OUT, "stages", "units"))
        out = ~held & (stages == 0)
        return Amount(int(out.sum()), int(units[out].sum()))

    return sum(inventory.each(of_none), Amount())


def _short(
    languages: Sequence[str], counted: NDArray[np.int64], min_samples: int, told: frozenset[str]
) -> Iterator[str]:
    """Notes on languages that hold out fewer samples than requested, unless already noted."""
    rows, held = counted
    short = [
        number
        for number, name in enumerate(languages[:-1])
        if rows[number] > 0 and held[number] < min_samples and name not in told
    ]
    few = [languages[number] for number in short if rows[number] < 2 * min_samples]
    if few:
        yield f"of fewer than {2 * min_samples:,} samples, half at most are held out: {_named(few)}"
    clustered = [languages[number] for number in short if rows[number] >= 2 * min_samples]
    if clustered:
        yield (
            f"fewer than {min_samples:,} samples are held out of {_named(clustered)}: what shares a cluster with "
            "others goes with it, to one side or the other"
        )


def _cuts(
    inventory: Inventory, of_cell: NDArray[np.uint32], targets: dict[int, list[int]], *, weighed: bool
) -> dict[int, tuple[Cut, ...]]:
    """Where each language is cut, by units or by samples."""
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
    """The language of each candidate; one extra number for those that share a cluster."""
    shared = inventory.column(shard, "shared")
    return np.where(shared, np.uint32(of_cell.max(initial=0) + 1), of_cell[inventory.cell(shard)])


def _parts(inventory: Inventory, of_cell: NDArray[np.uint32], *, weighed: bool) -> Iterator[Part]:
    def part(shard: int) -> Part:
        group = _groups(inventory, of_cell, shard)
        weight = inventory.column(shard, "units") if weighed else np.ones(len(group), np.int64)
        return Part(group, inventory.column(shard, "split"), weight)

    return inventory.each(part)


def _named(names: list[str]) -> str:
    return ", ".join(names[:6]) + (f" and {len(names) - 6:,} more" if len(names) > 6 else "")
