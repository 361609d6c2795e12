"""Presets: published rule sets as operators with settings, and rules over their measurements.

A preset is a versioned name with pinned semantics, such as `gopher@datatrove`. Each family is one file of this
folder that defines `PRESETS`. A recipe includes a preset's rules as if they were written there, and may override or
switch off each by its reason. Thresholds by language or the like are tables: a file may define `TABLES`, which maps a
table's name to the function that makes it, and rules read `thresholds.<table>.<column>`.
"""

import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from types import ModuleType
from typing import Literal

from winnow.schemas.errors import RecipeError
from winnow.schemas.identity import Json
from winnow.schemas.problems import Place, nearest
from winnow.schemas.recipe import Rule
from winnow.schemas.rules.thresholds import ThresholdTable

__all__ = ["ENGLISH", "Preset", "find_preset", "find_table", "preset_names", "preset_rule", "table_names"]


ENGLISH = ("eng",)

BUILT_IN = Place("preset", 0)
"""Where the rules of presets are: in no recipe. Spelt out, each has the place where a recipe names the preset."""


def preset_rule(reason: str, drop: str, when_null: Literal["keep", "drop", "error"] = "keep") -> Rule:
    """A rule of a preset: its reason, and SQL over columns as a recipe names them, such as `text.gopher.words < 50`."""
    return Rule(drop, reason, BUILT_IN, when_null)


@dataclass(frozen=True, slots=True)
class Preset:
    """A published set of filters: the required operators, and the rules that drop rows, or single media."""

    name: str  # gopher@datatrove
    summary: str  # its source and version
    operators: Mapping[str, Mapping[str, Json]]  # by name: the settings that differ from the operator's defaults
    rules: tuple[Rule, ...]
    items: tuple[Rule, ...] = ()  # what it is under `items`, where it decides on each medium alone
    notes: tuple[str, ...] = field(default=())  # notes for users, such as clamped published values
    languages: tuple[str, ...] | None = None  # ISO 639-3, if it judges all texts as if they were in these languages


def _families() -> list[ModuleType]:
    return [import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]


@lru_cache(maxsize=1)
def _presets() -> dict[str, Preset]:
    found = [preset for family in _families() for preset in getattr(family, "PRESETS", ())]
    return {preset.name: preset for preset in sorted(found, key=lambda preset: preset.name)}


@lru_cache(maxsize=1)
def _tables() -> dict[str, Callable[[], ThresholdTable]]:
    return {name: make for family in _families() for name, make in sorted(getattr(family, "TABLES", {}).items())}


def preset_names() -> tuple[str, ...]:
    """The names of all presets."""
    return tuple(_presets())


def find_preset(name: str) -> Preset:
    """The preset with this name; the error for an unknown name suggests the nearest."""
    found = _presets().get(name)
    if found is None:
        near = nearest(name, _presets())
        hint = f"did you mean {near!r}?" if near else f"available: {', '.join(_presets())}"
        raise RecipeError(f"unknown preset {name!r} ({hint})")
    return found


def table_names() -> tuple[str, ...]:
    """The names of all built-in threshold tables."""
    return tuple(_tables())


@lru_cache(maxsize=32)
def find_table(name: str) -> ThresholdTable | None:
    """The threshold table with this name, made on first use; None if there is none."""
    make = _tables().get(name)
    return None if make is None else make()
