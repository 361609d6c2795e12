"""Exports inside one another, whosever recipe they are of: said before anything is read.

An export takes its folder whole, by a rename: what lies in it would go with it when it is replaced.
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
_LOOKED_AT = 10_000  # folders below an export's; whoever has more of them there has no empty folder


def nesting_of(path: str) -> str | None:
    """What is wrong with a folder for an export: it lies in another's, it holds another's, or cannot be made."""
    if "://" in path:
        return None
    folder = Path(os.path.realpath(path))
    if (above := file_above(folder)) is not None:
        return f"{shown(str(above), 200)} is a file, not a folder; write the export elsewhere"
    for parent in folder.parents:
        if (what := _what_is(parent)) is not None:
            return f"lies in {shown(str(parent), 200)}, {what}; write the export elsewhere"
    for inside, what in _inside(folder):
        return f"holds {shown(str(inside), 200)}, {what}; write the export elsewhere, or move that away"
    return None


def _inside(folder: Path) -> Iterator[tuple[Path, str]]:
    """The exports below a folder, as far as it is looked through."""
    for number, (below, names, _) in enumerate(os.walk(folder)):
        if number >= _LOOKED_AT:
            return
        names.sort()
        if below != str(folder) and (what := _what_is(Path(below))) is not None:
            yield Path(below), what


def _what_is(folder: Path) -> str | None:
    """Whether a folder is of an export, finished or not."""
    if _ours(folder / MANIFEST):
        return "which is an export"
    if folder.name.startswith(".") and folder.name.endswith(_HIDDEN) and _ours(folder / MARKER):
        return "which is the unfinished work on an export"
    if _ours(unfinished_folder(folder) / MARKER):
        return "where an export is being made, or was when a run was stopped"
    return None


def _ours(file: Path) -> bool:
    try:
        found = orjson.loads(file.read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return False
    return isinstance(found, dict) and found.get("winnow") == OWN
