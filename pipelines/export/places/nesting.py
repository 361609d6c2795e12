"""Detects exports inside one another, of any recipe, before anything is read.

An export owns its folder and replaces it by a rename: files of another export inside it would be lost.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import orjson

from winnow.pipelines.export.places.existing import file_above, unfinished_folder
from winnow.pipelines.export.places.manifest import MANIFEST, OWN
from winnow.schemas.problems import shown

MARKER = "unfinished.json"
_HIDDEN = (".winnow-unfinished", ".winnow-replaced")
_LOOKED_AT = 10_000  # folders searched below an export's; with more than this the folder is not empty anyway


def nesting_of(path: str) -> str | None:
    """What prevents a folder from taking an export: it is inside another export, contains one, or cannot be made."""
    if "://" in path:
        return None
    folder = Path(os.path.realpath(path))
    if (above := file_above(folder)) is not None:
        return f"{shown(str(above), 200)} is a file, not a folder; choose another folder"
    for parent in folder.parents:
        if (what := _what_is(parent)) is not None:
            return f"is inside {shown(str(parent), 200)}, {what}; choose another folder"
    for inside, what in _inside(folder):
        return f"contains {shown(str(inside), 200)}, {what}; choose another folder, or move that away"
    return None


def _inside(folder: Path) -> Iterator[tuple[Path, str]]:
    """The exports below a folder, up to a limit of folders searched."""
    for number, (below, names, _) in enumerate(os.walk(folder)):
        if number >= _LOOKED_AT:
            return
        names.sort()
        if below != str(folder) and (what := _what_is(Path(below))) is not None:
            yield Path(below), what


def _what_is(folder: Path) -> str | None:
    """Says whether a folder belongs to an export, finished or not."""
    if _ours(folder / MANIFEST):
        return "an export"
    if folder.name.startswith(".") and folder.name.endswith(_HIDDEN) and _ours(folder / MARKER):
        return "an unfinished export"
    if _ours(unfinished_folder(folder) / MARKER):
        return "where an export is being written, or was when a run stopped"
    return None


def _ours(file: Path) -> bool:
    try:
        found = orjson.loads(file.read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return False
    return isinstance(found, dict) and found.get("winnow") == OWN
