"""One stage after another: what each may take, what the recipe's shares give its strata, and where the draw is cut."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.pipelines.binding.mixture import BoundMix, BoundStage, family_of
from winnow.pipelines.mix.absence import absent, nothing_at_all
from winnow.pipelines.mix.banding import Bands, bands_of, values_of
from winnow.pipelines.mix.inventory import Inventory
from winnow.pipelines.mix.splitting import HELD_OUT
from winnow.schemas.errors import RecipeError
from winnow.schemas.law import ScalingLaw
from winnow.schemas.mixture import Amount, PlannedOutput, PlannedStratum, Stratum
from winnow.scoring.mixture.allocation import Allocation, allocate
from winnow.scoring.mixture.cells import Cell
from winnow.scoring.mixture.cuts import Part, find_cuts

_NAMED = 3
"""Strata that a note names, where they make half of what whole samples add."""

NOWHERE = np.uint32((1 << 32) - 1)
"""The stratum of a candidate that a stage may not take."""

Numbers = NDArray[np.int64]
Strata = NDArray[np.uint32]


@dataclass(frozen=True)
class Reach:
    """How far into its order each stratum is given: all copies below a number, and of that number up to a hash."""

    level: Numbers
    cut: NDArray[np.uint64]
    some: NDArray[np.bool_]  # whether any of that number are

    def copies(self, strata: Strata, exposed: NDArray[np.uint16], draw: NDArray[np.uint64]) -> Numbers:
        """How many copies of each candidate are given; `strata` names none that a stage may not take."""
        level = self.level[strata]
        more = self.some[strata] & (draw <= self.cut[strata]) & (exposed <= level)
        found: Numbers = np.maximum(level - exposed, 0) + more
        return found


@dataclass(frozen=True)
class PlannedStage:
    """A stage's plan, and what the draw needs to follow it."""

    output: PlannedOutput
    reach: Reach
    strata: Strata  # the number of a stratum by the marks of its candidates


def mark_column(stage: int) -> str:
    """The column of a stage's marks: cell and band of each candidate, by which its stratum is known."""
    return f"mark{stage}"


def first_column(stage: int) -> str:
    """The column of how often each candidate was given before a stage."""
    return f"first{stage}"


def plan_stages(
    inventory: Inventory, bound: BoundMix, laws: Mapping[str, ScalingLaw], sample: Fraction
) -> list[PlannedStage]:
    """Plan every stage; each goes on where those before it stopped.

    Args:
        inventory: The candidates, split.
        bound: The recipe's mixture.
        laws: The scaling laws that stages name, by that name.
        sample: The share of each stratum's gift that is drawn.
    """
    for shard in range(len(inventory.shards)):
        rows = len(inventory.column(shard, "cell"))
        inventory.scratch.save(shard, first_column(0), np.zeros(rows, np.uint16))
    return [_Planning(inventory, bound, number, stage).plan(laws, sample) for number, stage in enumerate(bound.stages)]


class _Planning:
    """One stage."""

    def __init__(self, inventory: Inventory, bound: BoundMix, number: int, stage: BoundStage) -> None:
        self._inventory = inventory
        self._bound = bound
        self._number = number
        self._stage = stage
        self._renumbered: Strata = np.zeros(0, np.uint32)  # by the raw mark of a candidate, the number of its stratum
        families = family_of(stage.config, [cell.language for cell in inventory.cells])
        self._bases = [
            Stratum(cell.source_class, cell.source, family, cell.language)
            for cell, family in zip(inventory.cells, families, strict=True)
        ]

    def plan(self, laws: Mapping[str, ScalingLaw], sample: Fraction) -> PlannedStage:
        bands = self._bands()
        strata, available, by_exposure, scores = self._count(bands)
        exposed = (by_exposure @ np.arange(by_exposure.shape[1])).tolist()
        allocation = self._allocated(strata, available, exposed, scores, bands, laws)
        full = self._reach(by_exposure, np.array(allocation.target, np.int64))
        drawn, part = full, allocation.target
        if sample != 1:
            part = tuple(-(-target * sample.numerator // sample.denominator) for target in allocation.target)
            drawn = self._reach(by_exposure, np.array(part, np.int64))
        given, unique = self._expose(len(strata), full, drawn)
        planned = tuple(
            PlannedStratum(
                stratum,
                available[number],
                exposed[number],
                allocation.asked[number],
                allocation.target[number],
                given[number],
                unique[number],
                int(drawn.level[number]),
                int(drawn.cut[number]) if drawn.some[number] else -1,
            )
            for number, stratum in enumerate(strata)
        )
        config = self._stage.config
        budget = sum(allocation.target) if config.budget is None else config.budget
        of_bands = () if bands is None else bands.notes
        notes = (
            *of_bands,
            *allocation.notes,
            *self._overshoot(planned, part, budget if sample == 1 else sum(part)),
        )
        return PlannedStage(PlannedOutput(config.name, budget, planned, tuple(notes)), drawn, self._renumbered)

    def _overshoot(self, planned: Sequence[PlannedStratum], asked: Sequence[int], budget: int) -> list[str]:
        """What whole samples add to a budget, where that is more than a hundredth of it, and to which strata."""
        unit, over = self._bound.config.unit, [one.given.units - part for one, part in zip(planned, asked, strict=True)]
        whole = sum(over)
        if whole * 100 <= budget:
            return []
        most = sorted(range(len(over)), key=lambda number: -over[number])[:_NAMED]
        if 2 * sum(over[number] for number in most) <= whole:
            return [
                f"{whole:,} {unit} more than asked: every stratum is given whole samples until its target is met, at "
                f"most one sample more than it; {len(planned):,} strata are many for {budget:,} {unit}"
            ]
        largest = self._largest(len(planned))
        named = "; ".join(
            f"{planned[number].stratum} gives {planned[number].given.units:,} where {asked[number]:,} are due, and "
            f"its largest sample has {largest[number]:,}"
            for number in most
            if 10 * over[number] > whole
        )
        huge, note = int(largest[most[0]]), f"{whole:,} {unit} more than asked, as samples are given whole: {named}"
        if 2 * over[most[0]] > whole and 10 * huge > budget:
            note += f"; 'where: mix.tokens.{unit} < {huge}' leaves it out"
        return [note]

    def _largest(self, strata: int) -> Numbers:
        """The units of the largest sample of each stratum."""
        found = np.zeros(strata, np.int64)

        def of_shard(shard: int) -> Numbers:
            raw, units = self._inventory.scratch.columns(shard, (mark_column(self._number), "units"))
            marks = self._renumbered[raw]
            may = marks != NOWHERE
            largest = np.zeros(strata, np.int64)
            np.maximum.at(largest, marks[may], units[may])
            return largest

        for largest in self._inventory.each(of_shard):
            np.maximum(found, largest, out=found)
        return found

    def _candidates(self, shard: int, names: Sequence[str]) -> tuple[NDArray[np.bool_], list[NDArray[Any]]]:
        """Which candidates of a shard the stage may take, and columns of them."""
        held, stages = self._inventory.scratch.columns(shard, (HELD_OUT, "stages"))
        may = ~held & ((stages & np.uint32(1 << self._number)) != 0)
        columns = self._inventory.scratch.columns(shard, names)
        return may, columns if may.all() else [column[may] for column in columns]

    @property
    def _columns(self) -> tuple[str, ...]:
        return (mark_column(self._number), first_column(self._number), "draw", "units")

    def _bands(self) -> Bands | None:
        level = self._stage.config.bands
        if level is None or self._stage.band is None:
            return None
        name = self._band_column()

        def part(shard: int) -> Part:
            _, (cell, keys, units) = self._candidates(shard, ("cell", name, "units"))
            return Part(cell, keys, units)

        return bands_of(level, len(self._bases), lambda: self._inventory.each(part))

    def _band_column(self) -> str:
        assert self._stage.band is not None
        return f"band{self._inventory.bands.index(self._stage.band)}"

    def _count(self, bands: Bands | None) -> tuple[list[Stratum], list[Amount], Numbers, list[float | None]]:
        """The strata; of each what there is, its units by exposure, and the mean of its values."""
        width = 1 if bands is None else len(bands.names)
        most = self._most_exposed()
        rows = np.zeros(len(self._bases) * width, np.int64)
        self._renumbered = np.full(len(rows) + 1, NOWHERE, np.uint32)
        units = np.zeros((len(rows), most + 1), np.int64)
        sums = np.zeros(len(rows), np.float64)
        names = ["cell", "units", first_column(self._number), *([self._band_column()] if bands is not None else [])]

        def counted(shard: int) -> tuple[Numbers, Numbers, NDArray[np.float64]]:
            may, (cell, size, exposed, *keys) = self._candidates(shard, names)
            raw = cell.astype(np.int64) * width
            theirs = np.zeros(len(rows))
            if bands is not None:
                raw += bands.of(cell, keys[0])
                theirs += np.bincount(raw, values_of(keys[0]), len(rows))
            marks = np.full(len(may), len(rows), np.uint32)  # the number above them all: nowhere
            marks[may] = raw
            self._inventory.scratch.save(shard, mark_column(self._number), marks)
            return np.bincount(raw, minlength=len(rows)), _summed(raw * (most + 1) + exposed, size, units.size), theirs

        for counts, of_exposure, values in self._inventory.each(counted):
            rows += counts
            units += of_exposure.reshape(units.shape)
            sums += values
        return self._named(bands, width, rows, units, sums)

    def _named(
        self, bands: Bands | None, width: int, rows: Numbers, units: Numbers, sums: NDArray[np.float64]
    ) -> tuple[list[Stratum], list[Amount], Numbers, list[float | None]]:
        """Strata that hold anything, in their order; and by what the candidates' marks are renumbered to it."""
        there = np.flatnonzero(rows).tolist()
        stratum_of = {}
        for raw in there:
            base = self._bases[raw // width]
            band = "" if bands is None else bands.names[raw % width]
            stratum_of[raw] = Stratum(base.source_class, base.source, base.family, base.language, band)
        order = sorted(there, key=lambda raw: stratum_of[raw])
        self._renumbered[order] = np.arange(len(order), dtype=np.uint32)
        scores = [None if bands is None else float(sums[raw] / rows[raw]) for raw in order]
        available = [Amount(int(rows[raw]), int(units[raw].sum())) for raw in order]
        return [stratum_of[raw] for raw in order], available, units[order], scores

    def _most_exposed(self) -> int:
        def most(shard: int) -> int:
            return int(self._inventory.column(shard, first_column(self._number)).max(initial=0))

        return max(self._inventory.each(most), default=0)

    def _allocated(
        self,
        strata: Sequence[Stratum],
        available: Sequence[Amount],
        exposed: Sequence[int],
        scores: Sequence[float | None],
        bands: Bands | None,
        laws: Mapping[str, ScalingLaw],
    ) -> Allocation:
        config = self._stage.config
        if not strata:
            why = nothing_at_all(self._inventory, self._stage, self._bound.config.unit)
            raise RecipeError(f"{config.place}: {self._stage.path}: {why}")
        repeats = {} if bands is None or bands.repeats is None else dict(zip(bands.names, bands.repeats, strict=True))
        cells = [
            Cell(stratum, available[number], exposed[number], scores[number], repeats.get(stratum.band))
            for number, stratum in enumerate(strata)
        ]
        law = config.families.law if config.families is not None else None
        return allocate(
            cells,
            config,
            config.budget,
            self._bound.config.max_epochs,
            None if law is None else laws[law],
            self._bound.config.unit,
            absent(self._inventory, self._stage, strata, self._bound.config.unit),
        )

    def _reach(self, by_exposure: Numbers, targets: Numbers) -> Reach:
        level, rest = _levels(by_exposure, targets)
        reached = np.full(len(self._renumbered), -1, np.int64)  # by mark; none where nothing is left to be cut
        there = self._renumbered != NOWHERE
        numbers = self._renumbered[there]
        reached[there] = np.where(rest[numbers] > 0, level[numbers], -1)

        def part(shard: int) -> Part:
            raw, exposed, draw, units = self._inventory.scratch.columns(shard, self._columns)
            at = np.flatnonzero(exposed <= reached[raw])
            return Part(self._renumbered[raw[at]], draw[at], units[at])

        cut, some = np.zeros(len(targets), np.uint64), np.zeros(len(targets), np.bool_)
        wanted = {number: [int(rest[number])] for number in np.flatnonzero(rest > 0).tolist()}
        for number, (found,) in find_cuts(lambda: self._inventory.each(part), wanted).items():
            if found.key >= 0:
                cut[number], some[number] = found.key, True
        return Reach(level, cut, some)

    def _expose(self, strata: int, full: Reach, drawn: Reach) -> tuple[list[Amount], list[Amount]]:
        """What is drawn of each stratum, and each sample of it once; candidates are marked with what the plan gives."""

        def exposed_of(shard: int) -> Numbers:
            raw, exposed, draw, units = self._inventory.scratch.columns(shard, self._columns)
            marks = self._renumbered[raw]
            may = np.flatnonzero(marks != NOWHERE)
            own, before, size = marks[may], exposed[may], units[may]
            copies = drawn.copies(own, before, draw[may])
            some = copies > 0
            amounts = (copies, copies * size, some.astype(np.int64), np.where(some, size, 0))
            exposed[may] += (copies if drawn is full else full.copies(own, before, draw[may])).astype(np.uint16)
            self._inventory.scratch.save(shard, first_column(self._number + 1), exposed)
            return np.array([_summed(own, amount, strata) for amount in amounts])

        counted = sum(self._inventory.each(exposed_of), np.zeros((4, strata), np.int64))
        given = [Amount(*pair) for pair in zip(counted[0].tolist(), counted[1].tolist(), strict=True)]
        unique = [Amount(*pair) for pair in zip(counted[2].tolist(), counted[3].tolist(), strict=True)]
        return given, unique


def _summed(groups: NDArray[Any], amounts: Numbers, count: int) -> Numbers:
    """The sum of the amounts of each group; of one shard, so that it is far below what a float holds exactly."""
    found: Numbers = np.bincount(groups, amounts, count).astype(np.int64)
    return found


def _levels(by_exposure: Numbers, targets: Numbers) -> tuple[Numbers, Numbers]:
    """For each stratum the number of the copies that its target is reached in, and how much of them is taken."""
    level, rest = np.zeros(len(targets), np.int64), np.zeros(len(targets), np.int64)
    offered = np.cumsum(by_exposure, axis=1)  # units of copies of each number; all numbers above the last offer as much
    for number, target in enumerate(targets.tolist()):  # not hot: a turn a stratum
        left, at = target, 0
        widths = offered[number].tolist()
        while left > 0:
            width = widths[min(at, len(widths) - 1)]
            if at >= len(widths) and width:
                skipped = (left - 1) // width
                at, left = at + skipped, left - skipped * width
            if left <= width or (at >= len(widths) and not width):
                break
            left, at = left - width, at + 1
        level[number], rest[number] = at, left
    return level, rest
