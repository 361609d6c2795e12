"""Registry of extractors: each is one file, `filters/extraction/extract_<name>.py`, that defines `EXTRACTOR`.

Another package adds one with an entry point of the group `winnow.extractors` that names such an object.
"""

import pkgutil
import re
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from functools import lru_cache
from importlib import import_module
from typing import Any

import pyarrow as pa

from winnow.filters.entry_points import entry_points
from winnow.schemas.errors import RecipeError
from winnow.schemas.rows.extraction import EXTRACTION

ENTRY_POINTS = "winnow.extractors"
_REMOVED = {"fast": "resiliparse", "precise": "trafilatura"}


@dataclass(frozen=True, slots=True)
class Extractor:
    """A kernel that turns decoded pages (PAGES) into text and structure (EXTRACTION), row by row.

    The version goes up whenever the output for any page changes; the configuration is a frozen dataclass. Columns of
    its own come after those of EXTRACTION, and last those that a configuration asks for.
    """

    name: str
    version: int
    config: type[Any]
    kernel: Callable[[pa.RecordBatch, Any], pa.RecordBatch]
    own: tuple[pa.Field, ...] = field(default=())
    asked: Callable[[Any], tuple[pa.Field, ...]] = field(default=lambda _config: ())

    def columns(self, config: Any) -> tuple[pa.Field, ...]:
        """The columns of its own that its layer has with a configuration."""
        return (*self.own, *self.asked(config))

    def schema(self, config: Any) -> pa.Schema:
        """The columns of its layer with a configuration."""
        return pa.schema([*EXTRACTION, *self.columns(config)])

    def asked_by(self, column: str) -> str | None:
        """The setting that is to be true for its layer to have this column; None if there is none."""
        for item in fields(self.config):
            if item.default is False and any(
                one.name == column for one in self.asked(self.config(**{item.name: True}))
            ):
                return item.name
        return None


def extractor_names() -> tuple[str, ...]:
    """The names of all extractors."""
    return tuple(sorted({*_own_names(), *(point.name for point in entry_points(ENTRY_POINTS))}))


def find_extractor(name: str) -> Extractor:
    """The extractor with this name; the error for an unknown name suggests the nearest."""
    if name not in extractor_names() or not re.fullmatch(r"[a-z0-9_-]+", name):
        if name in _REMOVED:
            raise RecipeError(
                f"extract: {name!r} is no longer an extractor; write 'main', which finds more of what it found, or "
                f"{_REMOVED[name]!r} for the library's own text"
            )
        near = get_close_matches(name, extractor_names(), n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"available: {', '.join(extractor_names())}"
        raise RecipeError(f"extract: unknown extractor {name!r} ({hint})")
    for point in entry_points(ENTRY_POINTS):
        if point.name == name:
            found = point.load()
            break
    else:
        found = import_module(f"winnow.filters.extraction.extract_{name}").EXTRACTOR
    if not isinstance(found, Extractor):
        raise RecipeError(f"extract: {name!r} is registered but is not an Extractor; correct its entry point")
    return found


@lru_cache(maxsize=1)
def _own_names() -> tuple[str, ...]:
    folder = import_module("winnow.filters.extraction")
    modules = [module.name for module in pkgutil.iter_modules(folder.__path__)]
    return tuple(name.removeprefix("extract_") for name in modules if name.startswith("extract_"))
