"""What changed rules would decide: at once from the frame, or, where others would stand for duplicates, by the whole
program as `winnow plan` runs it.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import pyarrow as pa

from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.binding.rule_presets import ProgramRule
from winnow.pipelines.binding.rules import RuleProgram
from winnow.pipelines.query.recipe_rules import pinned_rules
from winnow.pipelines.store import layout
from winnow.runners.inspect.counting import Weights
from winnow.runners.inspect.frame import Frame, Marks, fill_frame, frame_of
from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.trials.changes import ChangedRecipe, with_move
from winnow.runners.inspect.trials.firing import Fired, OneRule, fired_by
from winnow.runners.inspect.trials.sliding import Slider, make_slider
from winnow.runners.inspect.units import units_of
from winnow.runners.inspect.view import AskedError, UnavailableError
from winnow.schemas.errors import RecipeError
from winnow.schemas.identity import fingerprint_of
from winnow.schemas.problems import suggestion
from winnow.schemas.rules.conditions import columns_read

SLIDING_ROWS: Final = 1 << 18
"""From how many rows on those that a moved threshold decides are sorted: fewer are decided anew as fast."""


@dataclass(frozen=True)
class Simulation:
    """Which rows stay after changes."""

    frame: Frame  # of the rules as they are
    kept: Marks
    exact: bool  # False if a plan could choose other representatives of duplicates

    @property
    def nbytes(self) -> int:
        """A byte a row."""
        return int(self.kept.nbytes)

    @cached_property
    def dropped_now(self) -> Marks:
        """The rows that only the rules as they are keep."""
        found: Marks = self.frame.kept & ~self.kept
        return found

    @cached_property
    def kept_now(self) -> Marks:
        """The rows that only the changed rules keep."""
        found: Marks = self.kept & ~self.frame.kept
        return found


def decided_frame(opened: Opened) -> Frame:
    """The frame of what the recipe's rules decide; UnavailableError, with what to do, if they decide nothing."""
    frame = frame_of(opened)
    if frame.why_no_rules is not None:
        raise UnavailableError(frame.why_no_rules)
    return frame


@dataclass(frozen=True)
class _Tried:
    """What of changed rules is as it was, and what has to be decided."""

    same: list[int]  # the numbers of rules that decide as they did
    other: list[ProgramRule]
    exact: bool  # whether the frame can tell what stays, as nobody else comes to stand for duplicates
    of_items: bool  # whether rules of `items` have changed, which decide on media, not on rows

    @classmethod
    def of(cls, old: RuleProgram, new: RuleProgram) -> "_Tried":
        """Compare rules with changed ones."""
        same, other = _compared(old, new)
        touched = {rule.phase for rule in other} | _gone(old, new)
        of_items = "items" in touched
        return cls(same, other, not of_items and (old.choice is None or "eligible" not in touched), of_items)


def weights_of(opened: Opened, frame: Frame, unit: str) -> Weights:
    """The amount of every row in a unit; AskedError if no row has any of it."""
    if unit == "bytes":
        return frame.size
    amounts = units_of(opened, frame).amounts
    if unit not in amounts:
        raise AskedError(f"unit: no row has {unit}{suggestion(unit, amounts)}")
    return amounts[unit]


def simulated(opened: Opened, changed: ChangedRecipe, *, settle: bool) -> Simulation:
    """Which rows stay; `settle`: as the whole program decides, even if that takes as long as a plan."""
    frame = decided_frame(opened)
    tried = _Tried.of(frame.rules, changed.program)
    if tried.of_items or (settle and not tried.exact):
        key = "settled", fingerprint_of(changed.written[0])
        return opened.kept.get(key, lambda: _settled(opened, frame, changed))
    return Simulation(frame, _free(opened, frame, changed, tried.same, tried.other), tried.exact)


def slider_of(
    opened: Opened, changed: ChangedRecipe, filter_: object, among: Callable[[], Marks], unit: str
) -> Slider | None:
    """The rows that a threshold decides, if it alone has changed; None for other changes, and while they are sorted.

    `filter_` and `among`: the rows that are meant; `unit`: what amounts are in.
    """
    frame = decided_frame(opened)
    if len(changed.changes) != 1 or len(changed.moved) != 1 or frame.rows < SLIDING_ROWS:
        return None
    (move,) = changed.moved
    _, other = _compared(frame.rules, changed.program)
    if [(rule.phase, rule.rule.reason) for rule in other] != [move.rule]:
        return None  # other rules read the cell of the table, too
    number = next(at for at, one in enumerate(frame.rules.rules) if (one.phase, one.rule.reason) == move.rule)
    one, kind = frame.rules.rules[number], opened.tables.columns.get(move.cut.column)
    if one.phase == "items" or (one.phase == "eligible" and frame.rules.choice is not None):
        return None
    if one.rule.when_null == "error" or kind is None or not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return None

    def rule_at(limit: float) -> OneRule:
        program = with_move(frame.rules, replace(move, limit=limit))
        return OneRule.of(program, program.rules[number])

    def make() -> _Made:
        rows = among()
        free = _free(opened, frame, changed, [at for at in range(len(frame.rules.rules)) if at != number], [])
        return _Made(make_slider(opened, frame, rule_at, move, free & rows, rows, weights_of(opened, frame, unit)))

    key = "slider", move.rule, move.cut, move.language, unit, json.dumps(filter_, sort_keys=True)
    found = opened.kept.begin(key, make, newest_of="slider")
    return None if found is None else found.slider


@dataclass(frozen=True)
class _Made:
    """A slider, or that a threshold has none."""

    slider: Slider | None

    @property
    def nbytes(self) -> int:
        """The bytes of the slider."""
        return 0 if self.slider is None else self.slider.nbytes


def _free(
    opened: Opened, frame: Frame, changed: ChangedRecipe, same: Sequence[int], other: Iterable[ProgramRule]
) -> Marks:
    """The rows that none of these rules drops; `same`: numbers of the rules as they are."""
    key = "fired", tuple(same)
    found = opened.kept.find(key)
    if found is None:
        found = Fired(frame.fires(same) | ~frame.seen)
        opened.kept.put(key, found)
    fired: Marks = found.marks.copy()
    moved = {move.rule for move in changed.moved}  # whose numbers change with each step
    for rule in other:
        keep = (rule.phase, rule.rule.reason) not in moved
        fired |= fired_by(opened, frame, OneRule.of(changed.program, rule), keep=keep)
    return ~fired


def _compared(old: RuleProgram, new: RuleProgram) -> tuple[list[int], list[ProgramRule]]:
    """The numbers of the old rules that still decide as they did, and the new rules that none of the old is."""
    known = {_decides(old, rule): number for number, rule in enumerate(old.rules)}
    same, other = [], []
    for rule in new.rules:
        number = known.get(_decides(new, rule))
        if number is None:
            other.append(rule)
        else:
            same.append(number)
    return same, other


def _decides(program: RuleProgram, rule: ProgramRule) -> tuple[object, ...]:
    """Everything of a rule that decides, with the cells of tables that it reads."""
    names = columns_read(rule.rule.drop)
    cells = tuple(
        (table.column_name(column), table.keys, values)
        for table in program.tables
        for column, values in table.columns.items()
        if table.column_name(column) in names
    )
    return rule.phase, rule.rule.drop, rule.rule.when_null, cells


def _gone(old: RuleProgram, new: RuleProgram) -> set[str]:
    """The lists of rules that are there no longer."""
    there = {_decides(new, rule) for rule in new.rules}
    return {rule.phase for rule in old.rules if _decides(old, rule) not in there}


def _settled(opened: Opened, frame: Frame, changed: ChangedRecipe) -> Simulation:
    try:
        pinned = pinned_rules(bind(changed.written[1]), opened.store, opened.generation, (layout.SAMPLES,))
    except RecipeError as error:
        raise UnavailableError(str(error).splitlines()[0]) from None
    assert pinned is not None  # as the samples are asked for
    return Simulation(frame, fill_frame(pinned).kept, exact=True)
