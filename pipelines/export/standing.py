"""What stands in a folder: an export of winnow, another's files, or nothing; and whether it is as it was written.

Nothing here writes, and nothing is locked.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from winnow.pipelines.export.manifest import MANIFEST, Manifest, sha256_of
from winnow.pipelines.store.local import LocalStore
from winnow.schemas.errors import ExportError

_SHOWN = 3
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


def damages(target: Path, manifest: Manifest, *, hashes: bool) -> Iterator[str]:
    """Each file that is gone or is not as it was written; by its size alone, or by its hash too."""
    for file in manifest.files:
        path = target / file.path
        found = size_of(path)
        if found is None:
            yield f"{file.path} is gone"
        elif found != file.bytes:
            yield f"{file.path} has {found:,} bytes, not {file.bytes:,}"
        elif hashes and sha256_of(path) != file.sha256:
            yield f"{file.path} is not as it was written"


def strangers(target: Path, manifest: Manifest) -> list[str]:
    """The files that somebody else put beside those of an export."""
    own = {MANIFEST, *(file.path for file in manifest.files)}
    found = [info.path for info in LocalStore(target).list() if info.path not in own]
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
