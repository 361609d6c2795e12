"""Changes of a recipe's rules that are tried on the page: the recipe's text with them, and the rules that it then has.

A change is made in the text, and what is simulated are the rules of that text: a saved recipe decides as was shown.
"""

import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from winnow.pipelines.binding.bound_recipe import BoundRecipe
from winnow.pipelines.binding.rule_presets import ProgramRule, expand_rules
from winnow.pipelines.binding.rules import RuleProgram, rule_program
from winnow.runners.inspect.opened import Opened
from winnow.runners.inspect.trials.recipe_edits import value_at, with_item, with_list_of, with_value, without_item
from winnow.runners.inspect.trials.variables import with_variables
from winnow.runners.inspect.view import AskedError, UnavailableError
from winnow.schemas.errors import RecipeError
from winnow.schemas.problems import suggestion
from winnow.schemas.recipe import Recipe, recipe_from_text
from winnow.schemas.recipe.render import Tree
from winnow.schemas.rules.conditions import Cut, cuts_of, with_limit
from winnow.schemas.rules.thresholds import PREFIX

Change = Mapping[str, Any]  # Any: checked here, field by field
LISTS = ("eligible", "items", "keep")


@dataclass(frozen=True)
class Moved:
    """One threshold that a change has moved."""

    rule: tuple[str, str]  # list and reason
    cut: Cut
    limit: float
    language: str | None  # whose cell of a table it is


@dataclass(frozen=True)
class ChangedRecipe:
    """A recipe with changes of its rules."""

    bound: BoundRecipe  # as it is
    changes: Sequence[Change]
    program: RuleProgram
    moved: tuple[Moved, ...]

    @property
    def nbytes(self) -> int:
        """About the bytes of a recipe."""
        return 1 << 16

    @property
    def written(self) -> tuple[str, Recipe]:
        """The recipe's text with the changes, and what it says."""
        return self._made.text, self._made.recipe

    @cached_property
    def _made(self) -> "_Written":
        return _written(self.bound, self.changes)


def changed_recipe(opened: Opened, changes: object) -> ChangedRecipe:
    """The recipe with changes; AskedError if one cannot be made, with the reason in the recipe's own words."""
    if not isinstance(changes, Sequence) or not all(isinstance(one, Mapping) for one in changes):
        raise AskedError("changes: expected a list of objects")
    bound = opened.recipe
    if bound is None:
        raise UnavailableError("a store without a recipe has no rules to try; run: winnow inspect RECIPE")
    key = "changes", json.dumps(changes, sort_keys=True)
    found = opened.kept.find(key)
    if found is None:
        found = _changed(bound, changes)
        opened.kept.put(key, found)
    assert isinstance(found, ChangedRecipe)
    return found


@dataclass(frozen=True)
class _Written:
    """A recipe's text with changes, each of what those before it have left."""

    text: str
    recipe: Recipe
    moved: tuple[Moved, ...]


def _written(bound: BoundRecipe, changes: Sequence[Change]) -> _Written:
    text, recipe, moves = recipe_text(bound), bound.config, _Moves()
    try:
        for change in changes:
            rules = expand_rules(recipe)
            move = moves.next(rules, change) if _is_move(change) else None
            text = _edited(text, recipe, rules, change, move)
            recipe = recipe_from_text(text, bound.file, os.environ)
            _require_made(recipe, change)
    except RecipeError as error:
        raise AskedError(str(error).splitlines()[0]) from None
    return _Written(text, recipe, tuple(moves.made))


def _changed(bound: BoundRecipe, changes: Sequence[Change]) -> ChangedRecipe:
    """The changed rules: of thresholds that move at once, of all other changes from the text with them."""
    if all(map(_is_move, changes)):
        program, moves = bound.rules, _Moves()
        for change in changes:
            program = with_move(program, moves.next(program.rules, change))
        return ChangedRecipe(bound, changes, program, tuple(moves.made))
    written = _written(bound, changes)
    try:
        program = rule_program(written.recipe, bound.columns)
    except RecipeError as error:
        raise AskedError(str(error).splitlines()[0]) from None
    return ChangedRecipe(bound, changes, program, written.moved)


class _Moves:
    """The thresholds that changes move, in their order."""

    def __init__(self) -> None:
        self.made: list[Moved] = []
        self._seen: set[tuple[object, ...]] = set()

    def next(self, rules: Sequence[ProgramRule], change: Change) -> Moved:
        """What a change moves of rules with the changes before; AskedError if one of these moves the same."""
        one = _only(_meant(rules, change), change, rules)
        move = _move(one, change)
        cell = (move.cut.table, move.language)  # of a table: whichever rule's it is
        what = (*move.rule, change["cut"]) if move.language is None else cell
        if what in self._seen:
            raise AskedError(f"changes: threshold {change['cut']} of {one.rule.reason} is moved twice; move it once")
        self._seen.add(what)
        self.made.append(move)
        return move


def _is_move(change: Change) -> bool:
    return "cut" in change and not change.get("remove")


def with_move(program: RuleProgram, move: Moved) -> RuleProgram:
    """Rules of which one has another threshold."""
    if move.language is not None:
        _, name, column = move.cut.table.split(".", 2)
        cells = {move.language: {column: move.limit}}
        return replace(
            program, tables=tuple(one.with_cells(cells) if one.name == name else one for one in program.tables)
        )
    rules = (
        replace(one, rule=replace(one.rule, drop=with_limit(one.rule.drop, move.cut, move.limit)))
        if (one.phase, one.rule.reason) == move.rule
        else one
        for one in program.rules
    )
    return replace(program, rules=tuple(rules))


def recipe_text(bound: BoundRecipe) -> str:
    """The recipe's text, which must still be the one that is shown."""
    try:
        text = Path(bound.file).read_bytes().decode("utf-8-sig")
        same = recipe_from_text(text, bound.file, os.environ) == bound.config
    except (OSError, UnicodeDecodeError, RecipeError):
        same = False
    if not same:
        raise UnavailableError(f"{bound.file} has changed since it was opened; run again: winnow inspect {bound.file}")
    return text


def _edited(text: str, recipe: Recipe, rules: Sequence[ProgramRule], change: Change, move: Moved | None) -> str:
    found = _meant(rules, change)
    if change.get("remove"):
        return _without(text, recipe, _only(found, change, rules))
    if move is not None:
        one = _only(found, change, rules)
        if move.language is None:
            return _with_condition(text, recipe, one, with_limit(one.rule.drop, move.cut, move.limit), None, moved=True)
        _, table, column = move.cut.table.split(".", 2)
        value = int(move.limit) if move.limit.is_integer() else move.limit
        return with_value(text, (PREFIX, table, "cells", move.language, column), value)
    drop = _text_of(change, "drop")
    if found:
        return _with_condition(text, recipe, _only(found, change, rules), drop, change.get("when_null"))
    rule: dict[str, Tree] = {"drop": drop.replace("${", "$${"), "reason": _text_of(change, "reason")}
    if change.get("when_null") is not None:
        rule["when_null"] = _text_of(change, "when_null")
    section = _list_of(change) or "keep"
    return with_item(_own(text, recipe, section), section, rule)


def _meant(rules: Sequence[ProgramRule], change: Change) -> list[ProgramRule]:
    reason, wanted = _text_of(change, "reason"), _list_of(change)
    return [one for one in rules if one.rule.reason == reason and wanted in (None, one.phase)]


def _only(found: Sequence[ProgramRule], change: Change, rules: Sequence[ProgramRule]) -> ProgramRule:
    reason = change["reason"]
    if not found:
        known = [one.rule.reason for one in rules]
        raise AskedError(f"no rule has the reason {reason!r}{suggestion(reason, known)}")
    if found[0].phase not in LISTS:
        raise AskedError(f"{reason} follows from `dedupe`, whose settings are not changed here")
    if len(found) > 1:
        lists = " and ".join(one.phase for one in found)
        raise AskedError(f"{reason} is a reason in {lists}; say which list is meant")
    return found[0]


def _move(one: ProgramRule, change: Change) -> Moved:
    cuts, number, limit = cuts_of(one.rule.drop), change["cut"], change.get("value")
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < len(cuts):
        raise AskedError(f"cut: {one.rule.reason} has the thresholds 0 to {len(cuts) - 1}, not {number!r}")
    if isinstance(limit, bool) or not isinstance(limit, int | float) or not abs(limit) <= sys.float_info.max:
        raise AskedError(f"value: expected a number, found {limit!r}")
    language = _text_of(change, "language") if cuts[number].value is None else None
    return Moved((one.phase, one.rule.reason), cuts[number], float(limit), language)


def _with_condition(
    text: str, recipe: Recipe, one: ProgramRule, drop: str, when_null: object, *, moved: bool = False
) -> str:
    """The text with another condition of a rule, which keeps the variables of the one before; AskedError if a
    threshold is `moved` that is one: what it takes from the environment is not written into a recipe."""
    own, path = _own(text, recipe, one.phase), _path(one.path)
    before = value_at(own, (*path, "drop"))
    new, whole = with_variables("" if before is None else before, one.rule.drop, drop)
    if moved and not whole:
        raise AskedError(
            f"the condition of {one.rule.reason} takes this value from the environment (${{…}}); move its threshold by "
            f"hand in {recipe.file}"
        )
    own = with_value(own, (*path, "drop"), new)
    return own if when_null is None else with_value(own, (*path, "when_null"), str(when_null))


def _without(text: str, recipe: Recipe, one: ProgramRule) -> str:
    own, path = _own(text, recipe, one.phase), _path(one.path)
    if one.preset is not None:
        return with_value(own, path, "off")
    assert isinstance(path[1], int)
    return without_item(own, one.phase, path[1])


def _own(text: str, recipe: Recipe, section: str) -> str:
    """The text with a list of its own, copied from the recipe that it extends where that has it."""
    entries = {"eligible": recipe.eligible, "items": recipe.items, "keep": recipe.keep}[section]
    files = {entry.place.file for entry in entries} - {recipe.file}
    if not files or any(entry.place.file == recipe.file for entry in entries):
        return text
    (file,) = files  # a list is written in one file
    return with_list_of(text, section, Path(file).read_bytes().decode("utf-8-sig"))


def _require_made(recipe: Recipe, change: Change) -> None:
    """Check that the text says what was asked, however its YAML is written."""
    reason, wanted = change["reason"], change.get("list")
    rules = [one for one in expand_rules(recipe) if one.rule.reason == reason and wanted in (None, one.phase)]
    drop = change.get("drop")
    made = not rules if change.get("remove") else bool(rules) and (drop is None or rules[0].rule.drop == drop)
    if not made:
        raise AskedError(f"the text of {recipe.file} could not be changed for {reason}; change it by hand")


def _path(path: str) -> tuple[str | int, ...]:
    """`keep[3].rules.short` as keys and numbers."""
    parts = re.findall(r"\[(\d+)\]|([^.\[\]]+)", path)
    return tuple(int(number) if number else name for number, name in parts)


def _text_of(change: Change, name: str) -> str:
    value = change.get(name)
    if not isinstance(value, str) or not value:
        raise AskedError(f"{name}: expected a text, found {value!r}")
    return value


def _list_of(change: Change) -> str | None:
    value = change.get("list")
    if value is not None and value not in LISTS:
        raise AskedError(f"list: expected one of {', '.join(LISTS)}, found {value!r}")
    return None if value is None else str(value)
