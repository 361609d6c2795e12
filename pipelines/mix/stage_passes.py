"""The passes of a mixture's stages: candidates that a stage may take, their strata, and what is drawn of them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow.pipelines.mix.banding import bands_of, descending, exact_parts, without_nulls
from winnow.pipelines.mix.passes import Arrays, Pass, RowsPass, largest, summed, sums_by
from winnow.pipelines.mix.scratch import Scratch
from winnow.pipelines.mix.split_passes import HELD_OUT
from winnow.scoring.mixture.cuts import Part

NO_STRATUM = np.uint32((1 << 32) - 1)
"""The stratum of a candidate that a stage may not take."""

OUTSIDE, TOO_LONG = range(2)  # why a candidate is in no output: no stage may take it, or it is too long for those

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

    def arrays(self, name: str) -> dict[str, NDArray[Any]]:
        """The same as arrays whose names begin so."""
        return {f"{name}.{part}": getattr(self, part) for part in ("level", "cut", "some")}

    @classmethod
    def of(cls, arrays: Arrays, name: str) -> "DrawLimit":
        """The inverse of `arrays`."""
        return cls(*(arrays[f"{name}.{part}"] for part in ("level", "cut", "some")))


def mark_column(stage: int) -> str:
    """Return the name of a stage's column of marks: the cell and band of each candidate, as one number."""
    return f"mark{stage}"


def first_copies(columns: Scratch, shard: int, stage: int, rows: int) -> NDArray[np.uint16]:
    """Return how often each candidate was taken before a stage."""
    return columns.load(shard, _first_column(stage)) if stage else np.zeros(rows, np.uint16)


def _first_column(stage: int) -> str:
    return f"first{stage}"


@dataclass(frozen=True, kw_only=True)
class _StagePass(Pass):
    stage: int
    longest: int  # units of a sample that is not too long

    def is_available(self, columns: Scratch, shard: int, units: Numbers) -> NDArray[np.bool_]:
        """Which candidates of a shard the stage may take."""
        held, stages = columns.columns(shard, (HELD_OUT, "stages"))
        found: NDArray[np.bool_] = ~held & ((stages & np.uint32(1 << self.stage)) != 0) & (units <= self.longest)
        return found


@dataclass(frozen=True, kw_only=True)
class Available(_StagePass):
    """How much the stage may take."""

    name = "Available"

    def of_shard(self, columns: Scratch, shard: int) -> Arrays:
        """Sums of `rows` and `units`, under key 0."""
        units = columns.load(shard, "units")
        some = units[self.is_available(columns, shard, units)]
        return sums_by(np.zeros(len(some), np.int64), units=some)


@dataclass(frozen=True, kw_only=True)
class BandRows(_StagePass, RowsPass):
    """Candidates with a value, by cell, in the order of their values."""

    column: str
    falling: bool = False

    def of_shard(self, columns: Scratch, shard: int) -> Arrays:
        """The rows."""
        cell, keys, units = columns.columns(shard, ("cell", self.column, "units"))
        some = self.is_available(columns, shard, units)
        part = (descending if self.falling else without_nulls)(Part(cell[some], keys[some], units[some]))
        return {"group": part.group, "key": part.key, "weight": part.weight}


@dataclass(frozen=True, kw_only=True)
class MarkStrata(_StagePass):
    """Saves the stage's marks; counts the candidates of each mark by how often they were taken before.

    given: `cuts`, those between bands, if there are some.
    """

    name = "Strata"
    cells: int
    width: int = 1  # bands
    most: int = 0  # times that a candidate was taken before
    column: str | None = None  # of the bands' values

    def of_shard(self, columns: Scratch, shard: int) -> Arrays:
        """Sums of `rows` and `units` by mark × (most + 1) + times."""
        cell, units = columns.columns(shard, ("cell", "units"))
        some = self.is_available(columns, shard, units)
        raw = cell[some].astype(np.int64) * self.width
        if self.column is not None:
            values = columns.load(shard, self.column)[some]
            cuts, each = self.given["cuts"], self.width - 2  # of a cell, or of all: bands but for that of nulls
            cuts = cuts.reshape(1 if len(cuts) == each else self.cells, each)
            raw += bands_of(cuts, self.width, cell[some], values)
        marks = np.full(len(some), self.cells * self.width, np.uint32)  # the number above all others: no stratum
        marks[some] = raw
        columns.save(shard, mark_column(self.stage), marks)
        exposed = first_copies(columns, shard, self.stage, len(some))[some]
        return sums_by(raw * (self.most + 1) + exposed, units=units[some])


@dataclass(frozen=True, kw_only=True)
class SumValues(Pass):
    """The exact sum of the values of each mark, in parts by exponent, so that no order of rows changes it."""

    name = "Values"
    stage: int
    column: str
    marks: int

    def of_shard(self, columns: Scratch, shard: int) -> Arrays:
        """Sums of `high` and `low`, by mark and exponent."""
        marks, keys = columns.columns(shard, (mark_column(self.stage), self.column))
        some = marks < self.marks
        code, high, low = exact_parts(marks[some].astype(np.int64), keys[some])
        return sums_by(code, high=high, low=low)


@dataclass(frozen=True, kw_only=True)
class LastCopies(RowsPass):
    """The candidates of which a draw may take the copy at which their stratum reaches its target.

    given: `number`, the stratum of each mark, and `reached`, that copy; -1 for none.
    """

    stage: int

    def of_shard(self, columns: Scratch, shard: int) -> Arrays:
        """The rows."""
        raw, draw, units = columns.columns(shard, (mark_column(self.stage), "draw", "units"))
        exposed = first_copies(columns, shard, self.stage, len(raw))
        at = np.flatnonzero(exposed <= self.given["reached"][raw])
        return {"group": self.given["number"][raw[at]], "key": draw[at], "weight": units[at]}


@dataclass(frozen=True, kw_only=True)
class Expose(Pass):
    """Counts what is drawn, with copies and without, and saves how often the next stage finds candidates taken.

    given: `number`, the limits `drawn` of what is drawn, and those of the whole plan, `full`, if that is more.
    """

    name = "Drawn"
    stage: int

    def of_shard(self, columns: Scratch, shard: int) -> Arrays:
        """Sums by stratum; `heaviest`: units, copies, shard and row of the sample that gives most; `most` exposures."""
        raw, draw, units = columns.columns(shard, (mark_column(self.stage), "draw", "units"))
        marks = self.given["number"][raw]
        exposed = first_copies(columns, shard, self.stage, len(raw)).copy()
        in_strata = np.flatnonzero(marks != NO_STRATUM)
        own, before, size, hashes = marks[in_strata], exposed[in_strata], units[in_strata], draw[in_strata]
        copies = DrawLimit.of(self.given, "drawn").copies(own, before, hashes)
        planned = DrawLimit.of(self.given, "full").copies(own, before, hashes) if "full.cut" in self.given else copies
        exposed[in_strata] += planned.astype(np.uint16)
        columns.save(shard, _first_column(self.stage + 1), exposed)
        some, given = copies > 0, copies * size
        sums = sums_by(own, copies=copies, given=given, once=some.astype(np.int64), unique=np.where(some, size, 0))
        heaviest = np.zeros(4, np.int64)
        if len(own):
            at = int(np.argmax(given))
            heaviest[:] = given[at], copies[at], shard, in_strata[at]
        return {**sums, "heaviest": heaviest, "most": np.array([exposed.max(initial=0)], np.int64)}

    def merged(self, parts: Iterator[Arrays]) -> Arrays:
        """The same of several shards; of several heaviest samples the first."""
        heaviest, most = np.zeros(4, np.int64), np.zeros(1, np.int64)

        def sums() -> Iterator[Arrays]:
            nonlocal heaviest, most
            for part in parts:
                heaviest = max(heaviest, part["heaviest"], key=lambda one: int(one[0]))
                most = np.maximum(most, part["most"])
                yield {name: values for name, values in part.items() if name not in ("heaviest", "most")}

        return {**summed(sums()), "heaviest": heaviest, "most": most}


@dataclass(frozen=True, kw_only=True)
class LargestSamples(Pass):
    """The units of the largest sample of each stratum. given: `number`, the stratum of each mark."""

    name = "Largest"
    stage: int

    def of_shard(self, columns: Scratch, shard: int) -> Arrays:
        """The largest `units` by stratum."""
        raw, units = columns.columns(shard, (mark_column(self.stage), "units"))
        marks = self.given["number"][raw]
        some = np.flatnonzero(marks != NO_STRATUM)
        return largest(iter([{"key": marks[some], "units": units[some]}, {"key": marks[:0], "units": units[:0]}]))

    def merged(self, parts: Iterator[Arrays]) -> Arrays:
        """The largest of several shards."""
        return largest(parts)


@dataclass(frozen=True, kw_only=True)
class HeldByCell(Pass):
    """The held-out candidates of each cell."""

    name = "Validation"

    def of_shard(self, columns: Scratch, shard: int) -> Arrays:
        """Sums of `rows` and `units`."""
        held, cell, units = columns.columns(shard, (HELD_OUT, "cell", "units"))
        return sums_by(cell[held], units=units[held])


@dataclass(frozen=True, kw_only=True)
class InNoOutput(Pass):
    """The candidates that are neither held out nor may be taken by a stage. given: `longest` samples by stage."""

    name = "LeftOut"

    def of_shard(self, columns: Scratch, shard: int) -> Arrays:
        """Sums of `rows` and `units` by reason."""
        held, stages, units = columns.columns(shard, (HELD_OUT, "stages", "units"))
        taken = np.zeros(len(held), np.bool_)
        for stage, longest in enumerate(self.given["longest"].tolist()):
            taken |= ((stages & np.uint32(1 << stage)) != 0) & (units <= longest)
        out = np.flatnonzero(~held & ~taken)
        return sums_by(np.where(stages[out] == 0, OUTSIDE, TOO_LONG), units=units[out])
