"""The validation split: the clusters of each language that come first by hash, so that no cluster is on both sides."""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from winnow.pipelines.mix.inventory import Inventory
from winnow.schemas.recipe import SplitConfig
from winnow.scoring.mixture.cuts import NOTHING, Cut, Part, find_cuts

HELD_OUT = "held"
SHARED = "what has duplicates"


def split(inventory: Inventory, config: SplitConfig) -> tuple[str, ...]:
    """Mark the candidates that are held out, in the column `held`; returns what a reader should know.

    Each language gives the share of its units, and as many samples as asked for, but never more than half of it. What
    shares a cluster with other samples gives its share as one group, as a cluster may be of several languages.
    """
    languages = sorted({cell.language for cell in inventory.cells})
    number_of = {name: number for number, name in enumerate(languages)}
    of_cell = np.array([number_of[cell.language] for cell in inventory.cells], np.uint32)
    languages.append(SHARED)
    most = np.zeros(len(languages), np.uint64)
    found = np.zeros(len(languages), np.bool_)
    notes: list[str] = []
    if config.validation > 0 or config.min_samples > 0:
        units, rows = _totals(inventory, of_cell, len(languages))
        share = Fraction(str(config.validation))
        wanted = {number: [-(-int(total) * share.numerator // share.denominator)] for number, total in enumerate(units)}
        cuts = {number: cut for number, (cut,) in _cuts(inventory, of_cell, wanted, weighed=True).items()}
        if config.min_samples:
            fewest = {number: [min(config.min_samples, int(count) // 2)] for number, count in enumerate(rows[:-1])}
            for number, (cut,) in _cuts(inventory, of_cell, fewest, weighed=False).items():
                cuts[number] = max(cuts[number], cut, key=lambda one: one.key)
        halves = {
            number: [-(-int(rows[number]) // 2)] for number, cut in cuts.items() if 2 * cut.rows > rows[number] + 1
        }
        for number, (half,) in _cuts(inventory, of_cell, halves, weighed=False).items():
            cuts[number] = half if half.rows < rows[number] else NOTHING
            if half.rows >= rows[number]:
                notes.append(f"nothing of {languages[number]} is held out: its samples are one cluster")
        for number, cut in cuts.items():
            if cut.key >= 0:
                most[number], found[number] = cut.key, True
        short = [name for number, name in enumerate(languages[:-1]) if 0 < rows[number] < 2 * config.min_samples]
        if short:
            least = 2 * config.min_samples
            notes.append(f"of fewer than {least:,} samples, half at most are held out: {_named(short)}")
    for shard in range(len(inventory.shards)):
        group = _groups(inventory, of_cell, shard)
        held = found[group] & (inventory.column(shard, "split") <= most[group])
        inventory.scratch.save(shard, HELD_OUT, held)
    return tuple(notes)


def _cuts(
    inventory: Inventory, of_cell: NDArray[np.uint32], targets: dict[int, list[int]], *, weighed: bool
) -> dict[int, tuple[Cut, ...]]:
    """Where each language is cut by units, or by samples."""
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
    """The language of each candidate; one number above them all for those that share a cluster."""
    shared = inventory.column(shard, "shared")
    return np.where(shared, np.uint32(of_cell.max(initial=0) + 1), of_cell[inventory.cell(shard)])


def _parts(inventory: Inventory, of_cell: NDArray[np.uint32], *, weighed: bool) -> Iterator[Part]:
    for shard in range(len(inventory.shards)):
        group = _groups(inventory, of_cell, shard)
        weight = inventory.column(shard, "units") if weighed else np.ones(len(group), np.int64)
        yield Part(group, inventory.column(shard, "split"), weight)


def _named(names: list[str]) -> str:
    return ", ".join(names[:6]) + (f" and {len(names) - 6:,} more" if len(names) > 6 else "")
