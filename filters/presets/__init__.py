"""Presets: published rule sets as operators with their settings and visible rules over what these measure.

A preset is a versioned name with pinned semantics, such as `gopher@datatrove`. Each family is one file of this
folder that defines `PRESETS`. A recipe takes a preset's rules in as if they were written there, and may override or
switch off each by its reason.
"""

import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from typing import Literal

from winnow.schemas.errors import RecipeError
from winnow.schemas.identity import Json
from winnow.schemas.places import nearest

__all__ = ["Preset", "PresetRule", "find_preset", "preset_names"]


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


@lru_cache(maxsize=1)
def _presets() -> dict[str, Preset]:
    modules = [module.name for module in pkgutil.iter_modules(__path__)]
    found = [preset for name in modules for preset in import_module(f"{__name__}.{name}").PRESETS]
    return {preset.name: preset for preset in sorted(found, key=lambda preset: preset.name)}


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
