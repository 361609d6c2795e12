"""Plans the stages of a mixture in order: their strata, the target of each stratum, and where its draw ends."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

import numpy as np

from winnow.pipelines.binding.mixture import BoundMix, BoundStage, family_of
from winnow.pipelines.mix.banding import Bands, find_bands, summed_values
from winnow.pipelines.mix.inventory import Inventory
from winnow.pipelines.mix.passes import Arrays, Pass, PassesInTasks, cuts_of, table_of, totals_of
from winnow.pipelines.mix.stage_passes import (
    NO_STRATUM,
    Available,
    BandRows,
    DrawLimit,
    Expose,
    LargestSamples,
    LastCopies,
    MarkStrata,
    Numbers,
    Strata,
    SumValues,
)
from winnow.pipelines.mix.unavailable import explain_empty, explain_missing
from winnow.pipelines.running.job_tasks import rows_here
from winnow.schemas.counts import count_of
from winnow.schemas.errors import RecipeError
from winnow.schemas.law import ScalingLaw
from winnow.schemas.mixture import Amount, PlannedOutput, PlannedStratum, Stratum
from winnow.scoring.mixture.allocation import Allocation, allocate
from winnow.scoring.mixture.cells import Cell
from winnow.scoring.mixture.cuts import Cut

_MAX_NAMED = 3
"""How many strata a note names if they cause half of the excess."""

LONG = "max_share_of_sample"
"""Why a kept sample is in no output: for each stage that may take it, it is too large a part of the budget."""

_REMARKABLE = 10
"""How many times as long as the mean of the others a sample is that a note names for its share."""

MOST_STRATA: Final = 1 << 18
"""Strata of a stage where tasks plan: the driver holds some 2 kB for each, and merges their histograms."""

_NO_LIMIT: Final = np.iinfo(np.int64).max


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
    longest: int  # units of a sample that the stage may take


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
    planned: list[PlannedStage] = []
    exposed = 0  # the most times that a candidate was taken
    for number, stage in enumerate(bound.stages):
        planner = _StagePlanner(inventory, bound, number, stage, exposed)
        planned.append(planner.plan(laws, sample))
        exposed = planner.exposed
    return planned


class _StagePlanner:
    """Plans one stage."""

    def __init__(self, inventory: Inventory, bound: BoundMix, number: int, stage: BoundStage, exposed: int) -> None:
        self._inventory = inventory
        self._bound = bound
        self._number = number
        self._stage = stage
        self._renumbered: Strata = np.zeros(0, np.uint32)  # the stratum number of each mark
        self._longest = _NO_LIMIT
        self.exposed = exposed  # the most times that a candidate was taken, before the stage and then after it
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
        return PlannedStage(
            PlannedOutput(config.name, budget, planned, tuple(notes)), drawn, self._renumbered, self._longest
        )

    def _leave_out_long(self) -> list[str]:
        """Take samples that would be too large a part of the budget out of the stage; return a note on them.

        The limit is a share of the whole budget also where only a part of the plan is drawn.
        """
        share, unit, config = self._bound.config.max_share_of_sample, self._bound.config.unit, self._stage.config
        if share is None:
            return []

        there = self._available()
        most = there.units if config.budget is None else int(self._bound.config.max_epochs * there.units)
        budget = most if config.budget is None else min(config.budget, most)
        limit = int(Fraction(repr(share)) * budget)
        self._longest = min(limit, _NO_LIMIT)
        out = there - self._available()
        longer = f"{count_of(out.samples, 'sample')} of more than {limit:,} {unit}, {share:g} of {budget:,}"
        if out.samples == there.samples > 0:
            raise RecipeError(
                f"{config.place}: mix.max_share_of_sample: nothing is left for {config.name} without the {longer}; "
                "raise it, or raise the budget"
            )
        return [f"{longer}, left out (mix.max_share_of_sample): {out.units:,} {unit}"] if out.samples else []

    def _available(self) -> Amount:
        """What the stage may take."""
        found = self._run(Available(stage=self._number, longest=self._longest))
        (samples,), (units,) = table_of(found, 1, "rows", "units")
        return Amount(int(samples), int(units))

    def _run(self, one: Pass) -> Arrays:
        return self._inventory.passes.run(one)

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
        high, low = (int(self._inventory.columns.load(heaviest.shard, name)[heaviest.row]) for name in ("high", "low"))
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
        found = self._run(LargestSamples(given={"number": self._renumbered}, stage=self._number))
        (units,) = table_of(found, strata, "units")
        return units

    def _bands(self) -> Bands | None:
        level = self._stage.config.bands
        if level is None or self._stage.band is None:
            return None
        rows = BandRows(stage=self._number, longest=self._longest, column=self._band_column())
        return find_bands(level, len(self._bases), _ValuedRows(self._inventory, rows))

    def _band_column(self) -> str:
        assert self._stage.band is not None
        return f"band{self._inventory.bands.index(self._stage.band)}"

    def _count(self, bands: Bands | None) -> tuple[list[Stratum], list[Amount], Numbers, list[float | None]]:
        """Return the strata, and for each its amount, its units by exposure, and the mean of its values."""
        width = 1 if bands is None else len(bands.names)
        counted = self._run(
            MarkStrata(
                given={} if bands is None else {"cuts": bands.cuts.ravel()},
                stage=self._number,
                longest=self._longest,
                cells=len(self._bases),
                width=width,
                most=self.exposed,
                column=None if bands is None else self._band_column(),
            )
        )
        marks, exposures = np.divmod(counted["key"], self.exposed + 1)
        there, at = np.unique(marks, return_inverse=True)
        if isinstance(self._inventory.passes, PassesInTasks) and len(there) > MOST_STRATA:
            raise RecipeError(
                f"{self._stage.config.place}: {self._stage.path}: {len(there):,} strata (sources, languages and bands "
                f"with samples); with more than {rows_here():,} candidates at most {MOST_STRATA:,} are planned: use "
                "fewer bands, or drop languages by a rule"
            )
        rows, units = np.zeros(len(there), np.int64), np.zeros((len(there), self.exposed + 1), np.int64)
        np.add.at(rows, at, counted["rows"])
        units[at, exposures] = counted["units"]
        return self._number_strata(bands, width, there, rows, units)

    def _number_strata(
        self, bands: Bands | None, width: int, there: Numbers, rows: Numbers, units: Numbers
    ) -> tuple[list[Stratum], list[Amount], Numbers, list[float | None]]:
        """Return the strata with samples, sorted; number them so that marks, of which `there` are some, can be looked
        up."""
        marks = len(self._bases) * width
        strata = []
        for raw in there.tolist():
            base = self._bases[raw // width]
            band = "" if bands is None else bands.names[raw % width]
            strata.append(Stratum(base.source_class, base.source, base.family, base.language, band))
        order = sorted(range(len(strata)), key=strata.__getitem__)
        self._renumbered = np.full(marks + 1, NO_STRATUM, np.uint32)
        self._renumbered[there[order]] = np.arange(len(order), dtype=np.uint32)
        scores: list[float | None] = [None] * len(order)
        level = self._stage.config.bands
        if level is not None and level.softmax is not None:
            sums = self._run(SumValues(stage=self._number, column=self._band_column(), marks=marks))
            values = summed_values(sums["key"], sums["high"], sums["low"])
            scores = [values[int(there[at])] / int(rows[at]) for at in order]
        available = [Amount(int(rows[at]), int(units[at].sum())) for at in order]
        return [strata[at] for at in order], available, units[order], scores

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

        cut, some = np.zeros(len(targets), np.uint64), np.zeros(len(targets), np.bool_)
        wanted = {number: [int(rest[number])] for number in np.flatnonzero(rest > 0).tolist()}
        last = LastCopies(given={"number": self._renumbered, "reached": reached}, stage=self._number)
        for number, (found,) in cuts_of(self._inventory.passes, last, wanted).items():
            if found.key < 0:
                continue
            without = found.taken - found.last
            nearest = found.taken - rest[number] <= rest[number] - without
            if nearest or (without == 0 and rest[number] == targets[number]):
                cut[number], some[number] = found.key, True
            elif without:
                cut[number], some[number] = found.key - 1, True
        return DrawLimit(level, cut, some)

    def _expose(self, strata: int, full: DrawLimit, drawn: DrawLimit) -> tuple[list[Amount], list[Amount], _Heaviest]:
        """Return what is drawn of each stratum, with copies and without, and the sample that gives most; count
        exposures for the next stage."""

        given = {"number": self._renumbered, **drawn.arrays("drawn"), **({} if drawn is full else full.arrays("full"))}
        counted = self._run(Expose(given=given, stage=self._number))
        self.exposed = int(counted["most"][0])
        sums = [one.tolist() for one in table_of(counted, strata, "copies", "given", "once", "unique")]
        amounts = [[Amount(*pair) for pair in zip(*pairs, strict=True)] for pairs in (sums[:2], sums[2:])]
        return amounts[0], amounts[1], _Heaviest(*counted["heaviest"].tolist())


@dataclass(frozen=True)
class _ValuedRows:
    """The candidates of a stage that have a value, for bands."""

    inventory: Inventory
    rows: BandRows

    def totals(self) -> Numbers:
        """The units of each cell."""
        return totals_of(self.inventory.passes, self.rows, len(self.inventory.cells))

    def cuts(self, targets: Mapping[int, Sequence[int]], *, falling: bool = False) -> dict[int, tuple[Cut, ...]]:
        """The cuts of targets in the order of values."""
        return cuts_of(self.inventory.passes, replace(self.rows, falling=falling), targets)


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
