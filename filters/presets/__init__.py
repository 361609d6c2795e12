"""Presets: published rule sets as operators with their settings and visible rules over what these measure.

A preset is a versioned name with pinned semantics, such as `gopher@datatrove`. Each family is one file of this
folder that defines `PRESETS`. A recipe takes a preset's rules in as if they were written there, and may override or
switch off each by its reason. Thresholds that differ by language or the like are tables: a file may define `TABLES`,
from a table's name to the function that makes it, and rules read `thresholds.<table>.<column>`.
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
from winnow.schemas.problems import nearest
from winnow.schemas.thresholds import ThresholdTable

__all__ = ["Preset", "PresetRule", "find_preset", "find_table", "preset_names", "table_names"]


@dataclass(frozen=True, slots=True)
class PresetRule:
    """One rule of a preset; its condition names columns as a recipe would, with operators under their own names."""

    reason: str
    drop: str  # SQL, such as "text.gopher.words < 50"
    when_null: Literal["keep", "drop", "error"] = "keep"


@dataclass(frozen=True, slots=True)
class Preset:
    """A published set of filters: what must be measured, and which rows it drops."""

    name: str  # gopher@datatrove
    summary: str  # what it follows, in which version
    operators: Mapping[str, Mapping[str, Json]]  # by name, the settings that differ from the operator's defaults
    rules: tuple[PresetRule, ...]
    notes: tuple[str, ...] = field(default=())  # what a user should know, such as published values that were clamped


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
    """Every preset there is."""
    return tuple(_presets())


def find_preset(name: str) -> Preset:
    """The preset of this name; an unknown one is answered with the nearest."""
    found = _presets().get(name)
    if found is None:
        near = nearest(name, _presets())
        hint = f"did you mean {near!r}?" if near else f"there are: {', '.join(_presets())}"
        raise RecipeError(f"unknown preset {name!r} ({hint})")
    return found


def table_names() -> tuple[str, ...]:
    """Every threshold table that is built in."""
    return tuple(_tables())


@lru_cache(maxsize=32)
def find_table(name: str) -> ThresholdTable | None:
    """The threshold table of this name, made when it is first asked for; None where there is none."""
    make = _tables().get(name)
    return None if make is None else make()
