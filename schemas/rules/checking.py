"""Rules over columns, checked against the existing columns before any row is read.

A recipe has ordered lists. `eligible` decides which rows may represent a cluster, so it cannot read results of
later stages (duplicates, scores); `keep` may read everything, and so may `items`, whose rules decide on each medium of
a row. Only TRUE drops; `when_null` is required if a column can be null, as "not measured" is neither safe nor good
(law 2).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import pyarrow as pa

from winnow.schemas.problems import Place, Problem, nearest, shown, suggestion
from winnow.schemas.recipe.model import Rule
from winnow.schemas.rules.conditions import ConditionError, columns_read, type_complaint

__all__ = ["ColumnInfo", "Phase", "Rule", "check_rules", "check_where"]

Phase: TypeAlias = Literal["eligible", "dedupe", "items", "keep"]
"""The list of a rule; rules of phase `dedupe` follow from the recipe's `dedupe` section."""


@dataclass(frozen=True, slots=True)
class ColumnInfo:
    """A column that rules can read."""

    nullable: bool
    type: pa.DataType | None = None  # if all are known, a condition's types are checked
    phase: Phase = "eligible"  # the first list that may read it; `keep` for duplicate and score layers


def check_rules(
    rules: Sequence[Rule], known: Mapping[str, ColumnInfo], phase: Phase, paths: Sequence[str] | None = None
) -> list[Problem]:
    """The problems of a list of rules; empty if it is valid.

    Args:
        rules: One of the recipe's lists.
        known: All columns that a rule may name, by dotted name, including leaves of structs.
        phase: The list.
        paths: The path of each rule in the recipe; by default `keep[0]` and so on.
    """
    problems = []
    for rule, where in zip(rules, paths or [f"{phase}[{number}]" for number in range(len(rules))], strict=True):
        columns, complaints = _columns(rule.drop, known, phase)
        nullable = [column for column in columns if column in known and known[column].nullable]
        if nullable and rule.when_null is None:
            names = ", ".join(nullable[:5])
            complaints.append(f"{names} can be null; set when_null: keep, drop or error")
        problems += [Problem(rule.place, where, complaint) for complaint in complaints]
    return problems


def check_where(
    condition: str, known: Mapping[str, ColumnInfo], place: Place, where: str
) -> tuple[tuple[str, ...], list[Problem]]:
    """The columns that a layer's `where` reads, and its problems. The layer is computed where the condition is true.

    Args:
        condition: As written in the recipe.
        known: The columns that it may name.
        place: Its line in the recipe.
        where: Its path, such as `extract.main.where`.
    """
    columns, complaints = _columns(condition, known, "eligible")
    return columns, [Problem(place, where, complaint) for complaint in complaints]


def _meant(column: str, known: Mapping[str, ColumnInfo]) -> str:
    """What an unknown column could be: a misspelt one, or a text without its quotes."""
    if column[:1] in "‘’“”„«»‚":
        return f" (texts are in straight single quotes: '{column.strip('‘’“”„«»‚')}')"
    near = nearest(column, known)
    if what := _missing_layer(column, known, near):
        return what
    if "." in column or near is not None:
        return suggestion(column, known)
    return f" (if it is a text, it needs single quotes: '{column}')" if column.isascii() else suggestion(column, known)


def _missing_layer(column: str, known: Mapping[str, ColumnInfo], near: str | None) -> str:
    """What a recipe lacks that has no such layer; empty if it has the layer, or if the name is no column's."""
    room, *others = column.split(".")
    layers = {one.split(".")[1] for one in known if one.startswith(f"{room}.")}
    if len(others) < 2 or others[0] in layers:
        return ""
    if room in ("dedupe", "score", "extract") and nearest(others[0], layers) is None:
        return f" ({room} has no {shown(others[0])}; add it to '{room}')"
    if room in _MEASURED and near is None:
        return f" (no layer {shown(f'{room}.{others[0]}')}; if it is an operator's, add it to 'annotate')"
    return ""


_MEASURED: Final = frozenset({"caption", "image", "page", "text", "url", "video"})
"""The rooms of winnow's own operators."""


def _columns(condition: str, known: Mapping[str, ColumnInfo], phase: Phase) -> tuple[tuple[str, ...], list[str]]:
    try:
        columns = columns_read(condition)
    except ConditionError as error:
        return (), [str(error)]
    complaints = []
    for column in columns:
        if column not in known:
            complaints.append(f"unknown column {shown(column)}{_meant(column, known)}")
        elif phase == "eligible" and known[column].phase == "keep":
            complaints.append(f"{column} is computed after `eligible` is decided; move the rule to `keep`")
    if not columns:
        complaints.append("reads no column, so it treats all rows the same")
    types = {column: known[column].type for column in columns if column in known}
    if not complaints and all(kind is not None for kind in types.values()):
        complaint = type_complaint(condition, types)
        complaints += [] if complaint is None else [complaint]
    return columns, complaints
