"""Which columns rules of `items` may read, and which of them hold a value for each medium."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pyarrow as pa

from winnow.filters.operators import TextOperator
from winnow.pipelines.binding.duplicates import asked_kinds
from winnow.pipelines.binding.operators import measurements
from winnow.pipelines.binding.rule_presets import ProgramRule
from winnow.pipelines.reading.columns import MEDIA, leaves
from winnow.schemas.problems import Problem
from winnow.schemas.recipe import Recipe
from winnow.schemas.rows.duplicates import VIRTUAL
from winnow.schemas.rows.samples import MEDIA as MEDIUM
from winnow.schemas.rules.checking import ColumnInfo
from winnow.schemas.rules.conditions import ConditionError, columns_read


def media_lists(recipe: Recipe, known: Mapping[str, ColumnInfo]) -> frozenset[str]:
    """Return the columns that are lists aligned with the media of their rows, those about duplicates among them."""
    if not recipe.items:
        return frozenset()
    looking = [one for one in measurements(recipe) if not isinstance(one.operator, TextOperator)]
    of_media = [asked.kind for asked in asked_kinds(recipe) if asked.kind.unit.of_media]
    layers = {*(one.entry.layer for one in looking), *(kind.layer for kind in of_media)}
    lists = {
        name
        for name, info in known.items()
        if ".".join(name.split(".")[:2]) in layers and info.type is not None and pa.types.is_list(info.type)
    }
    return frozenset(lists | {f"{VIRTUAL}.{kind.name}" for kind in of_media})


def columns_of_media(known: Mapping[str, ColumnInfo], lists: frozenset[str]) -> dict[str, ColumnInfo]:
    """Return the columns that a condition on one medium may name; `lists` are those with a value for each medium."""
    found = {name: info for name, info in known.items() if name != MEDIA.name and not name.startswith("items.")}
    for name in lists & found.keys():
        kind = found[name].type
        if kind is not None and pa.types.is_list(kind):
            found[name] = replace(found[name], type=kind.value_type, nullable=True)
    return found | {f"{MEDIA.name}.{name}": info for name, info in leaves(MEDIUM)}


def blind_to_media(
    rules: Sequence[ProgramRule], lists: frozenset[str], known: Mapping[str, ColumnInfo]
) -> list[Problem]:
    """Return a problem for each rule of `items` that is equal for all media of a row."""
    said = "reads nothing of a medium, so it treats all media of a row the same; write it under 'keep'"
    return [Problem(one.rule.place, one.path, said) for one in rules if _is_blind(one, lists, known)]


def _is_blind(one: ProgramRule, lists: frozenset[str], known: Mapping[str, ColumnInfo]) -> bool:
    try:
        read = columns_read(one.rule.drop)
    except ConditionError:
        return False  # reported where the rule is checked
    of_media = any(name in lists or name.startswith(f"{MEDIA.name}.") for name in read)
    return bool(read) and not of_media and all(name in known for name in read)
