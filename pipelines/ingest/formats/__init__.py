"""Source formats: every module of this folder that defines `FORMAT`, found by its name.

Another package adds one with an entry point of the group `winnow.source_formats` that names such an object.
"""

import pkgutil
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib import import_module
from typing import Final

from winnow.filters.entry_points import entry_points
from winnow.pipelines.ingest.boundary import GuardedReader
from winnow.pipelines.ingest.formats.source_format import (
    CLIPS_APART,
    HowRead,
    MediaPlace,
    SourceFormat,
    refused_columns,
)
from winnow.pipelines.ingest.records import Reader
from winnow.pipelines.ingest.tables.columns import ColumnMapping
from winnow.schemas.errors import RecipeError
from winnow.schemas.problems import shown, suggestion
from winnow.schemas.recipe import SourceConfig

ENTRY_POINTS: Final = "winnow.source_formats"
AUTO: Final = "auto"
HEAD_BYTES: Final = 512  # of a file, by which its content is known


@cache
def _own() -> Mapping[str, SourceFormat]:
    """winnow's own formats by their names, by which recipes name them."""
    modules = (import_module(f"{__name__}.{found.name}") for found in pkgutil.iter_modules(__path__))
    made: list[SourceFormat] = [module.FORMAT for module in modules if hasattr(module, "FORMAT")]
    return {name: one for one in made for name in (one.name, *one.aliases)}


def formats() -> Mapping[str, SourceFormat]:
    """Every format by name, those of installed packages after winnow's own, which they cannot replace."""
    points = [point for point in entry_points(ENTRY_POINTS) if point.name not in _own()]
    return {**_own(), **{point.name: find_format(point.name) for point in sorted(points)}}


def find_format(name: str) -> SourceFormat:
    """The format with this name; the error for an unknown name suggests the nearest."""
    if name in _own():
        return _own()[name]
    point = next((point for point in entry_points(ENTRY_POINTS) if point.name == name), None)
    if point is None:
        names = (AUTO, *_own(), *(point.name for point in entry_points(ENTRY_POINTS)))
        raise RecipeError(f"expected one of {', '.join(names)}, found {shown(name)}{suggestion(name, names)}")
    try:
        found = point.load()
    except (ImportError, AttributeError) as error:  # the other package, or one that it needs, is broken
        raise RecipeError(f"source format {name!r} cannot be loaded: {error}") from error
    if not isinstance(found, SourceFormat) or {found.name, found.container} != {name} or found.is_auto:
        raise RecipeError(
            f"{name!r} is registered as a source format but is none of this name; correct its entry point"
        )
    return found


def format_of(name: str, path: str) -> SourceFormat:
    """The format of a file; `auto` takes one with an unknown ending as one record, sniffed like any other."""
    return _by_ending(path) if name == AUTO else find_format(name)


@lru_cache(maxsize=1 << 10)  # every row asks for the format of its file
def _by_ending(path: str) -> SourceFormat:
    return next((one for one in _own().values() if one.is_auto and one.ending(path)), _own()["text"])


def format_by_name(path: str) -> SourceFormat | None:
    """The format that a file's name shows, whether or not `auto` reads it; None if there is none."""
    return next((one for one in formats().values() if one.ending(path)), None)


def format_by_content(head: bytes, expected: SourceFormat) -> SourceFormat | None:
    """The expected format, or one of winnow's, that a file's first bytes show beyond doubt; None if it may be any."""
    known = (expected, *_own().values())
    return next((one for one in known for at, mark in one.marks if head.startswith(mark, at)), None)


@cache
def format_of_container(container: str) -> SourceFormat | None:
    """The format that a record or reference names as its container, such as `warc.gz`; None if there is none."""
    name = container.partition(".")[0]
    own = next((one for one in _own().values() if one.container == name), None)
    is_added = any(point.name == name for point in entry_points(ENTRY_POINTS))
    return find_format(name) if own is None and is_added else own


def media_place(container: str) -> MediaPlace:
    """How the media of a container are found again."""
    found = format_of_container(container)
    return "records" if found is None else found.media


def refused_settings(source: SourceConfig) -> str:
    """Settings of a source that do not fit its format; empty if there are none. RecipeError if there is no such
    format."""
    if source.format != AUTO:
        return find_format(source.format).refused_settings(source)
    return CLIPS_APART if source.clips is not None else refused_columns(source.columns)


def container_reader(
    format_name: str, path: str, columns: ColumnMapping, *, checked: bool = True, with_referrers: bool = False
) -> Reader:
    """Creates the reader of a file (see `HowRead`), which quarantines what it cannot read."""
    return GuardedReader(format_of(format_name, path).reader(HowRead(path, columns, checked, with_referrers)))
