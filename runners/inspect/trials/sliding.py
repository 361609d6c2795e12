"""A threshold that is moved: every answer at once, from the rows that it decides in the order of their values.

Most rows do not care where one threshold of one rule stands: another rule drops them, or the rule's other conditions
decide. They are found by deciding the rule twice, with the threshold beyond all values on either side. The rest, sorted
by value, with sums by language and source at every few thousand of them, give the counts of any threshold from the
place where it falls. That place is checked by the evaluator of `winnow plan` on the two rows beside it, so that it is
exact for any type of numbers.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from winnow.pipelines.rules.evaluation import Evaluator
from winnow.runners.inspect.counting import Codes, Weights, amounts_of
from winnow.runners.inspect.dimensions import floats_of
from winnow.runners.inspect.frame import Frame, Marks, Rows
from winnow.runners.inspect.measures import Measure, chunks_of, find_column, measure_of
from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.trials.changes import Moved
from winnow.runners.inspect.trials.effects import Amounts, Effect, Side, side_of
from winnow.runners.inspect.trials.firing import OneRule, evaluate, fired_by, values_at
from winnow.schemas.rules.conditions import number_text

_STEP: Final = 4096

Places = NDArray[np.uint32]
RuleAt = Callable[[float], OneRule]
"""The rule with a threshold at this number."""


@dataclass(frozen=True)
class Sums:
    """Amounts by code of any stretch of sorted rows."""

    codes: Codes
    ends: Amounts  # of each step, those of all rows before its end

    @classmethod
    def of(cls, codes: Codes, number: int, rows: Places, weights: Weights) -> "Sums":
        """Of rows in their order, whose codes are below `number`."""
        steps = -(-len(rows) // _STEP)
        ends = np.zeros((steps + 1, number, 2), np.int64)
        none = np.zeros(_STEP, np.uint8)
        own = codes[rows]
        for step in range(steps):
            part = slice(step * _STEP, (step + 1) * _STEP)
            weighed = weights[rows[part]]
            ends[step + 1] = ends[step] + amounts_of(own[part], number, none, 1, weighed)[:, 0]
        return cls(own, ends)

    def before(self, end: int, rows: Places, weights: Weights) -> Amounts:
        """The amounts of the first rows."""
        part = slice(end // _STEP * _STEP, end)
        none = np.zeros(_STEP, np.uint8)
        rest = amounts_of(self.codes[part], self.ends.shape[1], none, 1, weights[rows[part]])
        found: Amounts = self.ends[end // _STEP] + rest[:, 0]
        return found


@dataclass(frozen=True)
class Slider:
    """The rows that one threshold decides, in the order of their values."""

    rule_at: RuleAt
    operator: str
    values: NDArray[np.float64] | NDArray[np.float32]
    rows: Places
    weights: Weights  # of all rows, in the unit that is counted
    drops: bool  # whether rows are dropped where the comparison holds; otherwise where it does not
    languages: Sums
    sources: Sums
    were_kept: Sums  # whether the rules as they are keep each: 0 or 1
    before: Side  # of all rows that are meant, by the rules as they are
    always: Side  # those that stay wherever the threshold is
    always_before: int  # of these, how many the rules as they are keep

    @property
    def nbytes(self) -> int:
        """The bytes of its arrays."""
        sums = sum(one.ends.nbytes + one.codes.nbytes for one in (self.languages, self.sources, self.were_kept))
        return int(self.values.nbytes + self.rows.nbytes) + sums

    def effect(self, place: int) -> Effect:
        """The counts with the threshold at a place."""
        first, end = self._kept(place)

        def between(sums: Sums) -> Amounts:
            found: Amounts = sums.before(end, self.rows, self.weights) - sums.before(first, self.rows, self.weights)
            return found

        after = Side(self.always.by_language + between(self.languages), self.always.by_source + between(self.sources))
        both = self.always_before + int(between(self.were_kept)[1, 0])
        return Effect(self.before, after, self.before.rows - both, after.rows - both)

    def crossing(self, place: int, most: int, *, dropped: bool) -> tuple[Rows, list[float]]:
        """Some rows that are dropped now, or kept now, nearest to the threshold first, and their values."""
        low = self.drops_below == dropped  # whether they are below the place
        part = slice(0, place) if low else slice(place, len(self.rows))
        order = range(part.stop - 1, part.start - 1, -_STEP) if low else range(part.start, part.stop, _STEP)
        found: list[int] = []
        for at in order:  # a few steps, unless nearly all rows beside the threshold stay on their side
            some = (
                np.arange(max(part.start, at - _STEP + 1), at + 1)[::-1]
                if low
                else np.arange(at, min(part.stop, at + _STEP))
            )
            crossing = some[self.were_kept.codes[some] == int(dropped)]
            found += crossing[: most - len(found)].tolist()
            if len(found) >= most:
                break
        return self.rows[found].astype(np.int64), self.values[found].astype(np.float64).tolist()

    @property
    def drops_below(self) -> bool:
        """Whether the rows below the threshold are dropped."""
        return (self.operator in ("<", "<=")) == self.drops

    def _kept(self, place: int) -> tuple[int, int]:
        """The rows that stay, if the comparison changes at a place."""
        return (place, len(self.rows)) if self.drops_below else (0, place)

    def place(self, opened: Opened, frame: Frame, limit: float) -> int:
        """Where the comparison changes: the rows below have one answer, all others the other."""
        side = "left" if self.operator in ("<", ">=") else "right"
        place = int(np.searchsorted(self.values, np.array(limit, self.values.dtype), side=side))  # type: ignore[call-overload]  # either side
        below = self.drops_below
        one = self.rule_at(limit)
        with Evaluator(one.program) as evaluator:

            def dropped(at: int) -> bool:
                rows = self.rows[at : at + 1].astype(np.int64)
                return bool(evaluate(evaluator, one, values_at(opened, frame, one, rows), 1)[0])

            while place > 0 and dropped(place - 1) != below:  # numbers of fewer digits are rounded to be compared
                place = int(np.searchsorted(self.values, self.values[place - 1], side="left"))
            while place < len(self.rows) and dropped(place) == below:
                place = int(np.searchsorted(self.values, self.values[place], side="right"))
        return place


def make_slider(
    opened: Opened, frame: Frame, rule_at: RuleAt, move: Moved, free: Marks, among: Marks, weights: Weights
) -> Slider | None:
    """The rows that a threshold decides; None if some are dropped above it and others below.

    `free`: the rows that no other rule drops; `among`: the rows that are meant, which `free` are some of; `weights`: of
    all rows, in the unit that is counted.
    """
    measure = measure_of(opened, frame, find_column(opened, move.cut.column))
    holds, holds_not = _extremes(opened, frame, rule_at, move, measure)
    drops, keeps = bool((free & holds & ~holds_not).any()), bool((free & holds_not & ~holds).any())
    if drops and keeps:
        return None
    rows = np.flatnonzero(free & (holds != holds_not)).astype(np.uint32)
    values: NDArray[np.float32] | NDArray[np.float64] = np.zeros(len(rows))
    if _is_small(measure.type):
        values = values.astype(np.float32)
    for number, (start, end) in enumerate(chunks_of(frame)):
        own = slice(*np.searchsorted(rows, np.array([start, end], np.uint32)).tolist())
        values[own] = floats_of(measure.some(number, rows[own] - np.uint32(start)))
    rows = rows[np.argsort(values)]
    values.sort()
    always = free & ~holds & ~holds_not
    return Slider(
        rule_at,
        move.cut.operator,
        values,
        rows,
        weights,
        not keeps,
        Sums.of(frame.language, len(frame.languages), rows, weights),
        Sums.of(frame.source, len(frame.sources), rows, weights),
        Sums.of(frame.kept.view(np.uint8), 2, rows, weights),
        side_of(frame, frame.kept & among, weights),
        side_of(frame, always, weights),
        int((always & frame.kept).sum()),
    )


def _extremes(opened: Opened, frame: Frame, rule_at: RuleAt, move: Moved, measure: Measure) -> tuple[Marks, Marks]:
    """For which rows the rule fires where the comparison holds for all numbers, and where it holds for none."""
    ends = [pc.min_max(chunk) for chunk in measure.chunks]
    found = [float(one[name].as_py()) for one in ends for name in ("min", "max") if one[name].is_valid]
    finite = [value for value in found if np.isfinite(value)]
    low, high = (np.floor(min(finite)) - 1, np.ceil(max(finite)) + 1) if finite else (0.0, 1.0)
    under = move.cut.operator in ("<", "<=")
    one = rule_at(float(high))
    if len(finite) == len(found) and one.rule.rule.drop.split() == [
        move.cut.column,
        move.cut.operator,
        number_text(high),
    ]:
        null = np.concatenate([np.zeros(0, np.bool_), *(_null(chunk) for chunk in measure.chunks)])
        missing = null & (one.rule.rule.when_null == "drop")
        return ~null | missing, missing
    return (
        fired_by(opened, frame, one if under else rule_at(float(low)), keep=False),
        fired_by(opened, frame, rule_at(float(low)) if under else one, keep=False),
    )


def _is_small(kind: pa.DataType) -> bool:
    """Whether four bytes hold each number of a type."""
    if pa.types.is_integer(kind):
        return bool(kind.bit_width <= 16)
    return bool(kind.bit_width <= 32)


def _null(chunk: pa.Array) -> Marks:
    marks: Marks = chunk.is_null(nan_is_null=False).to_numpy(zero_copy_only=False)
    return marks
