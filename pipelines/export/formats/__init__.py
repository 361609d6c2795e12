"""Export formats: every module of this folder that defines `FORMAT`, found by name."""

import importlib
import pkgutil
from functools import cache

from winnow.pipelines.export.formats.protocol import ExportFormat
from winnow.schemas.errors import RecipeError
from winnow.schemas.problems import shown, suggestion


@cache
def formats() -> dict[str, ExportFormat]:
    """Every format by name."""
    found: dict[str, ExportFormat] = {}
    for module in pkgutil.iter_modules(__path__):
        made = getattr(importlib.import_module(f"{__name__}.{module.name}"), "FORMAT", None)
        if made is not None:
            found[made.name] = made
    return dict(sorted(found.items()))


def find_format(name: str) -> ExportFormat:
    """Returns the named format; the error for an unknown name suggests the nearest."""
    found = formats().get(name)
    if found is None:
        raise RecipeError(
            f"unknown export format {shown(name)}{suggestion(name, formats())}; available: {', '.join(formats())}"
        )
    return found
