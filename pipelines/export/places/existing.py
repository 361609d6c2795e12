"""Inspects a folder: an export, other files, or nothing; and whether an export is undamaged.

Nothing here writes, and nothing is locked.
"""

import hashlib
import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from winnow.pipelines.export.places.manifest import MANIFEST, Manifest, Outline
from winnow.pipelines.store.facade import ObjectStore
from winnow.schemas.errors import ExportError

_SHOWN = 3
_PIECE = 1 << 20
_COMPILED = "__pycache__"  # left by importing a Python file of an export


def absolute_folder(path: str | Path) -> Path:
    """The folder as an absolute path; a `..` behind a link is the parent of where the link leads, as for the system."""
    parts = Path(path).parts
    if ".." not in parts:
        return Path(os.path.abspath(path))
    resolved = len(parts) - parts[::-1].index("..")
    return Path(os.path.realpath(Path(*parts[:resolved])), *parts[resolved:])


def unfinished_folder(target: str | Path) -> Path:
    """The folder of the unfinished work on an export, beside its own."""
    absolute = absolute_folder(target)
    return absolute.parent / f".{absolute.name}.winnow-unfinished"


def replaced_folder(target: str | Path) -> Path:
    """Where an export is kept briefly while another replaces it."""
    absolute = absolute_folder(target)
    return absolute.parent / f".{absolute.name}.winnow-replaced"


def read_manifest(target: Path, path: str | Path) -> Manifest | None:
    """The manifest of the export there; None if there is nothing. `path`: the folder's name in errors.

    ExportError if there are files, but no manifest of ours.
    """
    try:
        held = os.listdir(target)
    except FileNotFoundError:
        return None
    if not held:
        return None
    if MANIFEST not in held:
        raise ExportError(
            f"{path}: contains files not written by winnow ({first_few(sorted(held))}); "
            "nothing was changed; choose an empty or new folder"
        )
    return Manifest.from_json((target / MANIFEST).read_bytes(), str(Path(path) / MANIFEST))


def damages(target: ObjectStore, manifest: Manifest, *, hashes: bool) -> Iterator[str]:
    """Each file that is missing or altered, judged by size or also by hash."""
    for file in manifest.files:
        try:
            found = target.size(file.path)
        except (FileNotFoundError, NotADirectoryError):
            yield f"{file.path} is missing"
            continue
        if found != file.bytes:
            yield f"{file.path} has {found:,} bytes instead of {file.bytes:,}"
        elif hashes and sha256_in(target, file.path) != file.sha256:
            yield f"{file.path} has changed since it was written"


def sha256_in(target: ObjectStore, path: str) -> str:
    """The SHA-256 of an object's bytes."""
    hashed = hashlib.sha256()
    with closing(target.open(path)) as stream:
        while piece := stream.read(_PIECE):
            hashed.update(piece)
    return hashed.hexdigest()


class OtherPlanError(ExportError):
    """A place has an export of another plan, which may not be replaced."""


@dataclass(frozen=True)
class WantedExport:
    """The export that is to be written to a place."""

    path: str  # the place's name in errors
    identity: str
    outline: Outline | None  # the same, for messages

    def is_met_by(self, manifest: Manifest, target: ObjectStore, *, replace: bool, notes: list[str] | None) -> bool:
        """Whether the existing export is the wanted one; if not, it is to be replaced.

        With `replace`, one of the same plan is read in full, and is replaced too if files are damaged or samples were
        left out; `notes` receives the reason.

        ExportError if it is a different or damaged export that may not be replaced.
        """
        if manifest.identity != self.identity:
            if replace:
                return False
            is_of_other_plan = self.outline is not None and manifest.plan != self.outline.plan
            raise (OtherPlanError if is_of_other_plan else ExportError)(
                f"{self.path}: {manifest.unlike(self.outline)}; write to another folder, or replace it with --replace"
            )
        damage = next(damages(target, manifest, hashes=replace), None)
        lacking = sum(line.samples for line in manifest.left_out if line.may_return)
        if damage is None and not (replace and lacking):
            return True
        if not replace:
            raise ExportError(f"{self.path}: {damage}; write the export again with --replace")
        if notes is not None:
            why = damage or f"lacks {lacking:,} samples because their media were missing"
            notes.append(f"{self.path}: {why}; writing it again")
        return False


def require_own_folder(target: Path, path: str | Path) -> None:
    """Raise an ExportError if a folder can be neither made, renamed nor replaced there. `path`: its name in errors."""
    if os.path.ismount(target):
        raise ExportError(f"{path}: this is a mount point and cannot be renamed; name a folder in it")
    for one in (target, unfinished_folder(target), replaced_folder(target)):
        if one.is_symlink():
            raise ExportError(f"{one}: is a link; name the folder itself")
        if one.exists() and not one.is_dir():
            raise ExportError(f"{one}: this is a file; name a folder")


def refuse_strangers(target: ObjectStore, manifest: Manifest, path: str | Path) -> None:
    """Refuse to replace an export if that would remove other files beside its own."""
    if found := foreign_files(target, manifest):
        raise ExportError(
            f"{path}: --replace would remove files that are not part of the export ({first_few(found)}); move them away"
        )


def foreign_files(target: ObjectStore, manifest: Manifest) -> list[str]:
    """Files beside those of an export that winnow did not write."""
    own = {MANIFEST, *(file.path for file in manifest.files)}
    found = [info.path for info in target.list() if info.path not in own]
    return sorted(path for path in found if _COMPILED not in path.split("/"))


def first_few(names: list[str]) -> str:
    """The first few of these names."""
    return ", ".join([*names[:_SHOWN], *(["…"] if len(names) > _SHOWN else [])])


def file_above(target: Path) -> Path | None:
    """The file that is in the way of a parent folder of the target."""
    for above in target.parents:
        if os.path.lexists(above):
            return None if above.is_dir() else above
    return None


def size_of(path: Path) -> int | None:
    """The size of a file; None if it does not exist."""
    try:
        return path.stat().st_size
    except (FileNotFoundError, NotADirectoryError):
        return None
