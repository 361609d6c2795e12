"""Locates assets on this machine and checks them.

They are stored by hash in a cache folder (`$WINNOW_ASSETS`, else the user's cache). Instead of an
asset's name, a recipe may give the path of the user's own file.
"""

import hashlib
import os
from functools import lru_cache
from pathlib import Path
from typing import Literal

from winnow.filters.models.file_state import FileState, file_state
from winnow.pipelines.assets.catalogue import AssetError, all_assets, find_asset, known_asset
from winnow.schemas.assets import AnyAsset, Asset
from winnow.schemas.environment.local_files import from_elsewhere
from winnow.schemas.problems import nearest
from winnow.schemas.safetensors_index import files_of

FOLDER_VARIABLE = "WINNOW_ASSETS"
CHECKSUM = ".sha256"
"""The suffix of the file that holds a made file's hash."""

State = Literal["present", "missing", "damaged"]


class AssetFiles:
    """The assets of this machine, in the form that operators use."""

    def path(self, name: str) -> str:
        """The path of an asset, given by a name from winnow's list or by a path in the recipe."""
        return lookup(name)


def cache_folder() -> Path:
    """The folder of fetched assets."""
    if named := os.environ.get(FOLDER_VARIABLE):
        return Path(named).expanduser()
    caches = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(caches).expanduser() / "winnow" / "assets"


def lookup(name: str) -> str:
    """The checked path of an asset, given by its name or as the path of the user's own file. AssetError if it is
    missing or damaged; the message says what to run."""
    if is_user_file(name):
        require_file(name)
        return name
    return asset_path(find_asset(name))


def asset_path(asset: AnyAsset) -> str:
    """The path of an asset; AssetError, with what to run, if it is missing or damaged."""
    path = cache_folder() / asset.file_name
    state = state_of(asset)
    if state != "present":
        if (taken := from_elsewhere(str(path))) is not None:
            return taken
        problem = "is missing" if state == "missing" else "is damaged"
        raise AssetError(f"asset {asset.name!r} {problem} ({path}); run: winnow assets fetch {asset.name}")
    return str(path)


def asset_digest(name: str) -> str:
    """The hash of an asset's content, for keys of layers that depend on it; the asset need not be fetched yet."""
    if is_user_file(name):
        require_file(name)
        if (files := files_of(name)) == (name,):
            return content_digest(Path(name))
        return hashlib.sha256("\n".join(content_digest(Path(file)) for file in (name, *files)).encode()).hexdigest()
    return find_asset(name).value_digest


def is_user_file(name: str) -> bool:
    """Whether a recipe's value is a file path rather than an asset's name."""
    return "/" in name or os.sep in name or (Path(name).is_file() and known_asset(name) is None)


def state_of(asset: AnyAsset) -> State:
    """Whether an asset is in the cache and intact; reads its content once per process."""
    path = cache_folder() / asset.file_name
    if not path.is_file():
        return "missing"
    if isinstance(asset, Asset):
        whole = path.stat().st_size == asset.size_bytes and content_digest(path) == asset.sha256
    else:
        whole = has_checksum(path, content_digest(path))
    return "present" if whole else "damaged"


def size_of(asset: AnyAsset) -> int | None:
    """An asset's size in bytes; None for one that is made here and does not exist yet."""
    if isinstance(asset, Asset):
        return asset.size_bytes
    path = cache_folder() / asset.file_name
    return path.stat().st_size if path.is_file() else None


def checksum_of(path: Path) -> Path:
    """The file with the hash of an asset that was made here."""
    return path.with_name(path.name + CHECKSUM)


def has_checksum(path: Path, sha256: str) -> bool:
    """Whether this is the hash that is kept of an asset that was made here."""
    checksum = checksum_of(path)
    return checksum.is_file() and checksum.read_text("ascii", "replace").strip() == sha256


def require_file(path: str) -> None:
    """Raises AssetError unless the user's own file exists."""
    if not Path(path).is_file():
        near = nearest(Path(path).name, [asset.name for asset in all_assets()])
        hint = f"did you mean {near!r}?" if near else "`winnow assets`"
        raise AssetError(f"{path}: no such file; expected a file, or the name of an asset ({hint})")


def content_digest(path: Path) -> str:
    """The SHA-256 of a file; one that has not changed is read once per process."""
    return _digest_of(file_state(str(path)))


@lru_cache(maxsize=64)
def _digest_of(file: FileState) -> str:
    """The SHA-256 of a file, read again only when it has changed."""
    with open(file.path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
