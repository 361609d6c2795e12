"""What changed rules would decide: at once from the frame, or, where others would stand for duplicates, by the whole
program as `winnow plan` runs it.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from winnow.pipelines.binding.bound_recipe import bind
from winnow.pipelines.binding.rule_presets import ProgramRule
from winnow.pipelines.binding.rules import RuleProgram
from winnow.pipelines.query.recipe_rules import pinned_rules
from winnow.pipelines.store import layout
from winnow.runners.inspect.changes import ChangedRecipe
from winnow.runners.inspect.firing import OneRule, fired_by
from winnow.runners.inspect.frame import Frame, Marks, fill_frame, frame_of
from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.view import UnavailableError
from winnow.schemas.errors import RecipeError
from winnow.schemas.identity import fingerprint_of
from winnow.schemas.rules.conditions import columns_read


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


def simulated(opened: Opened, changed: ChangedRecipe, *, settle: bool) -> Simulation:
    """Which rows stay; `settle`: as the whole program decides, even if that takes as long as a plan."""
    frame = decided_frame(opened)
    same, other = _compared(frame.rules, changed.program)
    eligible = any(rule.phase == "eligible" for rule in other) or _gone(frame.rules, changed.program, "eligible")
    of_items = any(rule.phase == "items" for rule in other) or _gone(frame.rules, changed.program, "items")
    exact = not of_items and (frame.rules.choice is None or not eligible)
    if of_items or (settle and not exact):
        key = "settled", fingerprint_of(changed.text)
        return opened.kept.get(key, lambda: _settled(opened, frame, changed))
    fired = np.zeros(frame.rows, np.bool_)
    if same:
        fired |= frame.fires(same)
    for rule in other:
        fired |= fired_by(opened, frame, OneRule.of(changed.program, rule))
    return Simulation(frame, frame.seen & ~fired, exact)


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


def _gone(old: RuleProgram, new: RuleProgram, phase: str) -> bool:
    there = {_decides(new, rule) for rule in new.rules}
    return any(rule.phase == phase and _decides(old, rule) not in there for rule in old.rules)


def _settled(opened: Opened, frame: Frame, changed: ChangedRecipe) -> Simulation:
    try:
        pinned = pinned_rules(bind(changed.recipe), opened.store, opened.generation, (layout.SAMPLES,))
    except RecipeError as error:
        raise UnavailableError(str(error).splitlines()[0]) from None
    assert pinned is not None  # as the samples are asked for
    return Simulation(frame, fill_frame(pinned).kept, exact=True)
