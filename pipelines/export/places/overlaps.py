"""Detects exports that overlap other paths, before anything is read.

An export owns its folder and replaces it by a rename: files of another export inside it would be lost. Inside the
store, it would be removed by garbage collection; where a source looks for files, it would be ingested by the next run,
as if its samples had been crawled.
"""

import os
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePath
from types import MappingProxyType

import orjson

from winnow.pipelines.binding.sources import source_root
from winnow.pipelines.export.places.existing import file_above, unfinished_folder
from winnow.pipelines.export.places.manifest import MANIFEST, OWN
from winnow.schemas.problems import shown
from winnow.schemas.recipe import ExportEntry, Recipe

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


_SCHEMES = ("s3", "gs", "memory")
_BESIDE = ("README.md", "card.json", "winnow.json")
_WRITTEN = MappingProxyType(
    {
        "parquet": ("train-00000-of-00001.parquet",),
        "jsonl": ("train-00000-of-00001.jsonl.zst", "train-00000-of-00001.jsonl.gz", "train-00000-of-00001.jsonl"),
        "webdataset": ("train-00000-of-00001.tar", "train-00000-of-00001.tar.idx", "split.yaml"),
        "mds": ("shard.00000.mds", "shard.00000.mds.zstd", "index.json"),
        "megatron": ("train_text_document.bin", "train_text_document.idx", "train_data_path.txt"),
        "arrayrecord": ("mixture-train.array_record-00000-of-00001", "features.json", "axlearn_mixture.py"),
    }
)
"""An example of each kind of file that a format writes; a format not listed here may write anything."""


def overlap_of(recipe: Recipe, number: int) -> str | None:
    """What is wrong with the path of one of the recipe's exports, or None."""
    entry = recipe.export[number]
    path = recipe.located(entry.path)
    scheme, separator, _ = path.partition("://")
    if separator and scheme not in _SCHEMES:
        return f"{shown(path)} is not a valid export path; name a folder, or an address that begins with s3:// or gs://"
    folder = _real(path)
    for before in recipe.export[:number]:
        other = _real(recipe.located(before.path))
        if other == folder:
            return f"writes {entry.path}, as does the export of line {before.place.line}; give each its own folder"
        if folder.is_relative_to(other) or other.is_relative_to(folder):
            return (
                f"writes {entry.path}, and the export of line {before.place.line} writes {before.path}: one is inside "
                "the other; give each its own folder"
            )
    store = recipe.located(recipe.store.path)
    if folder.is_relative_to(_real(store)) or _real(store).is_relative_to(folder):
        return f"{entry.path} overlaps the store, {recipe.store.path}; choose another folder"
    return _read_again(recipe, entry, folder)


def _read_again(recipe: Recipe, entry: ExportEntry, folder: PurePath) -> str | None:
    for source in recipe.sources:
        root = source_root(recipe, source)
        if not folder.is_relative_to(_real(root)):
            continue
        below = folder.relative_to(_real(root)).parts
        for pattern in source.files:
            if _reaches(pattern.split("/"), below, entry.name):
                return (
                    f"{entry.path} matches {pattern} of source {source.name!r}: the next ingest would read "
                    "the export; choose another folder"
                )
    return None


def _reaches(pattern: Sequence[str], folder: Sequence[str], export_format: str) -> bool:
    """Whether a pattern may match a file that the format writes under a folder."""
    last = pattern[-1]
    names = _WRITTEN.get(export_format)
    if last != "**" and names is not None and not any(fnmatchcase(name, last) for name in (*names, *_BESIDE)):
        return False
    for position, segment in enumerate(pattern):
        if segment == "**" or position == len(folder):
            return True
        if not fnmatchcase(folder[position], segment):
            return False
    return False


def _real(path: str) -> PurePath:
    """A path in comparable form; an address is never inside a folder."""
    scheme, separator, rest = path.partition("://")
    return PurePath(f"{scheme}:", *rest.strip("/").split("/")) if separator else PurePath(os.path.realpath(path))
