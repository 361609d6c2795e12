"""What stands in a folder: an export of winnow, another's files, or nothing; and whether it is as it was written.

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
_COMPILED = "__pycache__"  # of who imports a Python file of an export


def unfinished_folder(target: str | Path) -> Path:
    """Where the work on an export lies while it is being made: beside its folder."""
    absolute = Path(os.path.abspath(target))
    return absolute.parent / f".{absolute.name}.winnow-unfinished"


def replaced_folder(target: str | Path) -> Path:
    """Where an export lies for the moment in which another takes its place."""
    absolute = Path(os.path.abspath(target))
    return absolute.parent / f".{absolute.name}.winnow-replaced"


def read_manifest(target: Path, path: str | Path) -> Manifest | None:
    """The record of the export that is there; None where there is nothing. `path`: how errors name the folder.

    Raises:
        ExportError: There are files, and no record of ours.
    """
    try:
        held = os.listdir(target)
    except FileNotFoundError:
        return None
    if not held:
        return None
    if MANIFEST not in held:
        raise ExportError(
            f"{path}: holds files that no export of winnow wrote ({some_of(sorted(held))}); "
            "nothing is touched: name an empty folder or one that is not there"
        )
    return Manifest.from_json((target / MANIFEST).read_bytes(), str(Path(path) / MANIFEST))


def damages(target: ObjectStore, manifest: Manifest, *, hashes: bool) -> Iterator[str]:
    """Each file that is gone or is not as it was written; by its size alone, or by its hash too."""
    for file in manifest.files:
        try:
            found = target.size(file.path)
        except (FileNotFoundError, NotADirectoryError):
            yield f"{file.path} is gone"
            continue
        if found != file.bytes:
            yield f"{file.path} has {found:,} bytes, not {file.bytes:,}"
        elif hashes and sha256_in(target, file.path) != file.sha256:
            yield f"{file.path} is not as it was written"


def sha256_in(target: ObjectStore, path: str) -> str:
    """The hash of an object's bytes."""
    hashed = hashlib.sha256()
    with closing(target.open(path)) as stream:
        while piece := stream.read(_PIECE):
            hashed.update(piece)
    return hashed.hexdigest()


@dataclass(frozen=True)
class Wish:
    """What is to be written to a place."""

    path: str  # how errors name the place
    identity: str
    outline: Outline | None  # the same, for people

    def granted_by(self, manifest: Manifest, target: ObjectStore, *, replace: bool, notes: list[str] | None) -> bool:
        """Whether what stands is what is wished for; if not, it makes room.

        Args:
            manifest: Of what stands.
            target: Where it stands.
            replace: It may make room. One of the same plan is read whole, and makes room too where its files are not as
                they were written, or samples were left out of it.
            notes: Gets why an export of the same plan makes room.

        Raises:
            ExportError: It is another one or damaged, and may not make room.
        """
        if manifest.identity != self.identity:
            if replace:
                return False
            raise ExportError(
                f"{self.path}: {manifest.unlike(self.outline)}; write to another folder, or replace it with --replace"
            )
        damage = next(damages(target, manifest, hashes=replace), None)
        if damage is None and not (replace and manifest.left_out):
            return True
        if not replace:
            raise ExportError(f"{self.path}: {damage}; write the export again with --replace")
        if notes is not None:
            lacking = sum(line.samples for line in manifest.left_out)
            why = damage or f"lacks {lacking:,} samples, as their media were gone"
            notes.append(f"{self.path}: {why}; it is written again")
        return False


def strangers(target: ObjectStore, manifest: Manifest) -> list[str]:
    """The files that somebody else put beside those of an export."""
    own = {MANIFEST, *(file.path for file in manifest.files)}
    found = [info.path for info in target.list() if info.path not in own]
    return sorted(path for path in found if _COMPILED not in path.split("/"))


def some_of(names: list[str]) -> str:
    """The first few of them."""
    return ", ".join([*names[:_SHOWN], *(["…"] if len(names) > _SHOWN else [])])


def file_above(target: Path) -> Path | None:
    """What stands where a folder above the target should be, or be made."""
    for above in target.parents:
        if os.path.lexists(above):
            return None if above.is_dir() else above
    return None


def size_of(path: Path) -> int | None:
    """The size of a file; None where there is none."""
    try:
        return path.stat().st_size
    except (FileNotFoundError, NotADirectoryError):
        return None
