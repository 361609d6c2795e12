"""Plans the stages of a mixture in order: their strata, the target of each stratum, and where its draw ends."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.pipelines.binding.mixture import BoundMix, BoundStage, family_of
from winnow.pipelines.mix.banding import Bands, find_bands, values_of
from winnow.pipelines.mix.inventory import Inventory
from winnow.pipelines.mix.splitting import HELD_OUT
from winnow.pipelines.mix.unavailable import explain_empty, explain_missing
from winnow.schemas.counts import count_of
from winnow.schemas.errors import RecipeError
from winnow.schemas.law import ScalingLaw
from winnow.schemas.mixture import Amount, PlannedOutput, PlannedStratum, Stratum
from winnow.scoring.mixture.allocation import Allocation, allocate
from winnow.scoring.mixture.cells import Cell
from winnow.scoring.mixture.cuts import Part, find_cuts

_MAX_NAMED = 3
"""How many strata a note names if they cause half of the excess."""

LONG = "max_share_of_sample"
"""Why a kept sample is in no output: for each stage that may take it, it is too large a part of the budget."""

_REMARKABLE = 10
"""How many times as long as the mean of the others a sample is that a note names for its share."""

NO_STRATUM = np.uint32((1 << 32) - 1)
"""The stratum of a candidate that a stage may not take."""

Numbers = NDArray[np.int64]
Strata = NDArray[np.uint32]


@dataclass(frozen=True)
class DrawLimit:
    """Where the draw of each stratum ends: it takes all copies below `level`, and those at `level` up to a hash."""

    level: Numbers
    cut: NDArray[np.uint64]
    some: NDArray[np.bool_]  # whether any copies at `level` are taken

    def copies(self, strata: Strata, exposed: NDArray[np.uint16], draw: NDArray[np.uint64]) -> Numbers:
        """Return how many copies of each candidate the draw takes; all candidates must have a stratum."""
        level = self.level[strata]
        more = self.some[strata] & (draw <= self.cut[strata]) & (exposed <= level)
        found: Numbers = np.maximum(level - exposed, 0) + more
        return found


@dataclass(frozen=True, slots=True)
class _Heaviest:
    """The sample that gives most of an output, the first of several."""

    units: int = 0  # of all its copies
    copies: int = 0
    shard: int = 0
    row: int = 0  # among the shard's candidates


@dataclass(frozen=True)
class PlannedStage:
    """A stage's plan, and what its draw needs."""

    output: PlannedOutput
    limit: DrawLimit
    strata: Strata  # the stratum number of each mark


def mark_column(stage: int) -> str:
    """Return the name of a stage's column of marks: the cell and band of each candidate, as one number."""
    return f"mark{stage}"


def first_column(stage: int) -> str:
    """Return the name of the column that counts how often each candidate was taken before a stage."""
    return f"first{stage}"


def plan_stages(
    inventory: Inventory, bound: BoundMix, laws: Mapping[str, ScalingLaw], sample: Fraction
) -> list[PlannedStage]:
    """Plan every stage; each continues where those before it ended.

    Args:
        inventory: The candidates, after the split.
        bound: The recipe's mixture.
        laws: The scaling laws, by the names that stages use.
        sample: The share of each stratum to draw.
    """
    for shard in range(len(inventory.shards)):
        rows = len(inventory.column(shard, "cell"))
        inventory.scratch.save(shard, first_column(0), np.zeros(rows, np.uint16))
    stages = enumerate(bound.stages)
    return [_StagePlanner(inventory, bound, number, stage).plan(laws, sample) for number, stage in stages]


class _StagePlanner:
    """Plans one stage."""

    def __init__(self, inventory: Inventory, bound: BoundMix, number: int, stage: BoundStage) -> None:
        self._inventory = inventory
        self._bound = bound
        self._number = number
        self._stage = stage
        self._renumbered: Strata = np.zeros(0, np.uint32)  # the stratum number of each mark
        families = family_of(stage.config, [cell.language for cell in inventory.cells])
        self._bases = [
            Stratum(cell.source_class, cell.source, family, cell.language)
            for cell, family in zip(inventory.cells, families, strict=True)
        ]

    def plan(self, laws: Mapping[str, ScalingLaw], sample: Fraction) -> PlannedStage:
        of_long = self._leave_out_long()
        bands = self._bands()
        strata, available, by_exposure, scores = self._count(bands)
        exposed = (by_exposure @ np.arange(by_exposure.shape[1])).tolist()
        allocation = self._allocate(strata, available, exposed, scores, bands, laws)
        full = self._draw_limit(by_exposure, np.array(allocation.target, np.int64))
        drawn, part = full, allocation.target
        if sample != 1:
            part = tuple(-(-target * sample.numerator // sample.denominator) for target in allocation.target)
            drawn = self._draw_limit(by_exposure, np.array(part, np.int64))
        given, unique, heaviest = self._expose(len(strata), full, drawn)
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
            *of_long,
            *of_bands,
            *allocation.notes,
            *self._excess_notes(planned, part, budget if sample == 1 else sum(part)),
            *self._heaviest_notes(planned, heaviest),
        )
        return PlannedStage(PlannedOutput(config.name, budget, planned, tuple(notes)), drawn, self._renumbered)

    def _leave_out_long(self) -> list[str]:
        """Take samples that would be too large a part of the budget out of the stage; return a note on them.

        The limit is a share of the whole budget also where only a part of the plan is drawn.
        """
        share, unit, config = self._bound.config.max_share_of_sample, self._bound.config.unit, self._stage.config
        if share is None:
            return []

        def offer(shard: int) -> Amount:
            _, (units,) = self._candidates(shard, ("units",))
            return Amount(len(units), int(units.sum()))

        there = sum(self._inventory.each(offer), Amount())
        most = there.units if config.budget is None else int(self._bound.config.max_epochs * there.units)
        budget = most if config.budget is None else min(config.budget, most)
        limit = int(Fraction(repr(share)) * budget)
        bit = np.uint32(1 << self._number)

        def leave_out(shard: int) -> Amount:
            held, stages, units = self._inventory.scratch.columns(shard, (HELD_OUT, "stages", "units"))
            long = ~held & ((stages & bit) != 0) & (units > limit)
            if long.any():
                self._inventory.scratch.save(shard, "stages", np.where(long, stages & ~bit, stages))
            return Amount(int(long.sum()), int(units[long].sum()))

        out = sum(self._inventory.each(leave_out), Amount())
        longer = f"{count_of(out.samples, 'sample')} of more than {limit:,} {unit}, {share:g} of {budget:,}"
        if out.samples == there.samples > 0:
            raise RecipeError(
                f"{config.place}: mix.max_share_of_sample: nothing is left for {config.name} without the {longer}; "
                "raise it, or raise the budget"
            )
        return [f"{longer}, left out (mix.max_share_of_sample): {out.units:,} {unit}"] if out.samples else []

    def _excess_notes(self, planned: Sequence[PlannedStratum], targets: Sequence[int], budget: int) -> list[str]:
        """Return a note if whole samples miss the budget by more than a hundredth, with the strata that cause it."""
        unit = self._bound.config.unit
        missed = sum(one.given.units for one in planned) - sum(targets)
        if abs(missed) * 100 <= budget:
            return []
        sign, excess = (1, missed) if missed > 0 else (-1, -missed)
        over = [sign * (one.given.units - target) for one, target in zip(planned, targets, strict=True)]
        message = f"{excess:,} {unit} {'more' if missed > 0 else 'less'} than requested"
        most = sorted(range(len(over)), key=lambda number: -over[number])[:_MAX_NAMED]
        if 2 * sum(over[number] for number in most) <= excess:
            return [
                f"{message}: samples are not split, every stratum gives at least one, and {len(planned):,} strata are "
                f"many for {budget:,} {unit}"
            ]
        largest = self._largest(len(planned))
        named = "; ".join(
            f"{planned[number].stratum} gives {planned[number].given.units:,} instead of {targets[number]:,}, and its "
            f"largest sample has {largest[number]:,}"
            for number in most
            if 10 * over[number] > excess
        )
        return [f"{message}, as samples are not split: {named}{self._cure() if missed < 0 else ''}"]

    def _heaviest_notes(self, planned: Sequence[PlannedStratum], heaviest: _Heaviest) -> list[str]:
        """Return a note if one long sample is more than a hundredth of the output."""
        unit, whole = self._bound.config.unit, sum((one.given for one in planned), Amount())
        others = whole - Amount(heaviest.copies, heaviest.units)
        if heaviest.units * 100 <= whole.units or heaviest.units * others.samples <= _REMARKABLE * others.units * (
            heaviest.copies
        ):
            return []
        high, low = (int(self._inventory.column(heaviest.shard, name)[heaviest.row]) for name in ("high", "low"))
        note = f"sample {high:016x}{low:016x} is {100 * heaviest.units / whole.units:.1f} % of it: "
        note += f"{heaviest.units:,} {unit}" + (f" in {heaviest.copies} copies" if heaviest.copies > 1 else "")
        return [note + self._cure()]

    def _cure(self) -> str:
        """What to write against samples that are large for the budget, if it is not written yet."""
        if self._bound.config.max_share_of_sample is not None:
            return ""
        return "; 'max_share_of_sample: 0.01' leaves out samples above a hundredth of the budget"

    def _largest(self, strata: int) -> Numbers:
        """Return the units of the largest sample of each stratum."""
        found = np.zeros(strata, np.int64)

        def of_shard(shard: int) -> Numbers:
            raw, units = self._inventory.scratch.columns(shard, (mark_column(self._number), "units"))
            marks = self._renumbered[raw]
            takeable = marks != NO_STRATUM
            largest = np.zeros(strata, np.int64)
            np.maximum.at(largest, marks[takeable], units[takeable])
            return largest

        for largest in self._inventory.each(of_shard):
            np.maximum(found, largest, out=found)
        return found

    def _candidates(self, shard: int, names: Sequence[str]) -> tuple[NDArray[np.bool_], list[NDArray[Any]]]:
        """Return which candidates of a shard the stage may take, and columns of them."""
        held, stages = self._inventory.scratch.columns(shard, (HELD_OUT, "stages"))
        takeable = ~held & ((stages & np.uint32(1 << self._number)) != 0)
        columns = self._inventory.scratch.columns(shard, names)
        return takeable, columns if takeable.all() else [column[takeable] for column in columns]

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

        return find_bands(level, len(self._bases), lambda: self._inventory.each(part))

    def _band_column(self) -> str:
        assert self._stage.band is not None
        return f"band{self._inventory.bands.index(self._stage.band)}"

    def _count(self, bands: Bands | None) -> tuple[list[Stratum], list[Amount], Numbers, list[float | None]]:
        """Return the strata, and for each its amount, its units by exposure, and the mean of its values."""
        width = 1 if bands is None else len(bands.names)
        most = self._max_exposure()
        rows = np.zeros(len(self._bases) * width, np.int64)
        self._renumbered = np.full(len(rows) + 1, NO_STRATUM, np.uint32)
        units = np.zeros((len(rows), most + 1), np.int64)
        sums = np.zeros(len(rows), np.float64)
        names = ["cell", "units", first_column(self._number), *([self._band_column()] if bands is not None else [])]

        def counted(shard: int) -> tuple[Numbers, Numbers, NDArray[np.float64]]:
            takeable, (cell, size, exposed, *keys) = self._candidates(shard, names)
            raw = cell.astype(np.int64) * width
            theirs = np.zeros(len(rows))
            if bands is not None:
                raw += bands.of(cell, keys[0])
                theirs += np.bincount(raw, values_of(keys[0]), len(rows))
            marks = np.full(len(takeable), len(rows), np.uint32)  # the number above all others means no stratum
            marks[takeable] = raw
            self._inventory.scratch.save(shard, mark_column(self._number), marks)
            by_exposure = _group_sums(raw * (most + 1) + exposed, size, units.size)
            return np.bincount(raw, minlength=len(rows)), by_exposure, theirs

        for counts, of_exposure, values in self._inventory.each(counted):
            rows += counts
            units += of_exposure.reshape(units.shape)
            sums += values
        return self._number_strata(bands, width, rows, units, sums)

    def _number_strata(
        self, bands: Bands | None, width: int, rows: Numbers, units: Numbers, sums: NDArray[np.float64]
    ) -> tuple[list[Stratum], list[Amount], Numbers, list[float | None]]:
        """Return the strata with samples, sorted; number them so that marks can be looked up."""
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

    def _max_exposure(self) -> int:
        def most(shard: int) -> int:
            return int(self._inventory.column(shard, first_column(self._number)).max(initial=0))

        return max(self._inventory.each(most), default=0)

    def _allocate(
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
            why = explain_empty(self._inventory, self._stage, self._bound.config)
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
            explain_missing(self._inventory, self._stage, strata, self._bound.config),
            strict=self._bound.config.strict,
        )

    def _draw_limit(self, by_exposure: Numbers, targets: Numbers) -> DrawLimit:
        """Return where each stratum ends: with the sample whose end is nearest to its target, and at least its first.

        What is taken grows with the target.
        """
        level, rest = _levels(by_exposure, targets)
        reached = np.full(len(self._renumbered), -1, np.int64)  # by mark; -1 if nothing is left to cut
        there = self._renumbered != NO_STRATUM
        numbers = self._renumbered[there]
        reached[there] = np.where(rest[numbers] > 0, level[numbers], -1)

        def part(shard: int) -> Part:
            raw, exposed, draw, units = self._inventory.scratch.columns(shard, self._columns)
            at = np.flatnonzero(exposed <= reached[raw])
            return Part(self._renumbered[raw[at]], draw[at], units[at])

        cut, some = np.zeros(len(targets), np.uint64), np.zeros(len(targets), np.bool_)
        wanted = {number: [int(rest[number])] for number in np.flatnonzero(rest > 0).tolist()}
        for number, (found,) in find_cuts(lambda: self._inventory.each(part), wanted).items():
            if found.key < 0:
                continue
            without = found.taken - found.last
            last = found.taken - rest[number] <= rest[number] - without
            if last or (without == 0 and rest[number] == targets[number]):
                cut[number], some[number] = found.key, True
            elif without:
                cut[number], some[number] = found.key - 1, True
        return DrawLimit(level, cut, some)

    def _expose(self, strata: int, full: DrawLimit, drawn: DrawLimit) -> tuple[list[Amount], list[Amount], _Heaviest]:
        """Return what is drawn of each stratum, with copies and without, and the sample that gives most; count
        exposures for the next stage."""

        def exposed_of(shard: int) -> tuple[Numbers, _Heaviest]:
            raw, exposed, draw, units = self._inventory.scratch.columns(shard, self._columns)
            marks = self._renumbered[raw]
            takeable = np.flatnonzero(marks != NO_STRATUM)
            own, before, size = marks[takeable], exposed[takeable], units[takeable]
            copies = drawn.copies(own, before, draw[takeable])
            some = copies > 0
            amounts = (copies, copies * size, some.astype(np.int64), np.where(some, size, 0))
            planned = copies if drawn is full else full.copies(own, before, draw[takeable])
            exposed[takeable] += planned.astype(np.uint16)
            self._inventory.scratch.save(shard, first_column(self._number + 1), exposed)
            sums = np.array([_group_sums(own, amount, strata) for amount in amounts])
            if not len(own):
                return sums, _Heaviest()
            at = int(np.argmax(amounts[1]))
            return sums, _Heaviest(int(amounts[1][at]), int(copies[at]), shard, int(takeable[at]))

        counted, heaviest = np.zeros((4, strata), np.int64), _Heaviest()
        for sums, found in self._inventory.each(exposed_of):
            counted += sums
            heaviest = max(heaviest, found, key=lambda one: one.units)
        given = [Amount(*pair) for pair in zip(counted[0].tolist(), counted[1].tolist(), strict=True)]
        unique = [Amount(*pair) for pair in zip(counted[2].tolist(), counted[3].tolist(), strict=True)]
        return given, unique, heaviest


def _group_sums(groups: NDArray[Any], amounts: Numbers, count: int) -> Numbers:
    """Return the sum of each group's amounts within one shard, which is far below the limit of exact floats."""
    found: Numbers = np.bincount(groups, amounts, count).astype(np.int64)
    return found


def _levels(by_exposure: Numbers, targets: Numbers) -> tuple[Numbers, Numbers]:
    """Return the copy number at which each stratum reaches its target, and the units of these copies that it takes."""
    level, rest = np.zeros(len(targets), np.int64), np.zeros(len(targets), np.int64)
    offered = np.cumsum(
        by_exposure, axis=1
    )  # units of each copy number; all higher numbers have the units of the last one
    for number, target in enumerate(targets.tolist()):  # not hot: one iteration per stratum
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
