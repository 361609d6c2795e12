"""Where assets lie on this machine, and whether they are what they should be.

They are kept under their hash in a cache folder (`$WINNOW_ASSETS`, else the user's cache). Where a recipe names an
asset it may also give the path of a file of the user's own.
"""

import hashlib
import os
from functools import lru_cache
from pathlib import Path
from typing import Literal

from winnow.pipelines.assets.catalogue import AssetError, find_asset, known_asset
from winnow.schemas.assets import AnyAsset, Asset

FOLDER_VARIABLE = "WINNOW_ASSETS"
CHECKSUM = ".sha256"
"""What the name of a made file ends with when it holds that file's hash."""

State = Literal["present", "missing", "damaged"]


class AssetFiles:
    """The assets of this machine, as operators ask for them."""

    def path(self, name: str) -> str:
        """Where an asset lies: a name from winnow's list of assets, or a path that the recipe gave."""
        return lookup(name)


def cache_folder() -> Path:
    """Where fetched assets lie."""
    if named := os.environ.get(FOLDER_VARIABLE):
        return Path(named).expanduser()
    caches = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(caches).expanduser() / "winnow" / "assets"


def lookup(name: str) -> str:
    """Where an asset lies, checked.

    Args:
        name: The name of an asset, or the path of a file of the user's own, which is given back as it is.

    Raises:
        AssetError: It is not there, or not what it should be; the line says what to run.
    """
    if is_user_file(name):
        require_file(name)
        return name
    return asset_path(find_asset(name))


def asset_path(asset: AnyAsset) -> str:
    """Where an asset lies; AssetError where it is not there or damaged, with what to run."""
    path = cache_folder() / asset.file_name
    state = state_of(asset)
    if state != "present":
        said = "is missing" if state == "missing" else "is damaged"
        raise AssetError(f"asset {asset.name!r} {said} ({path}); run: winnow assets fetch {asset.name}")
    return str(path)


def asset_digest(name: str) -> str:
    """The hash of an asset's content, for the keys of the layers that it shapes; an asset need not be fetched yet."""
    if is_user_file(name):
        require_file(name)
        return _digest(Path(name))
    return find_asset(name).value_digest


def is_user_file(name: str) -> bool:
    """Whether a recipe's value is the path of a file rather than the name of an asset."""
    return "/" in name or os.sep in name or (Path(name).is_file() and known_asset(name) is None)


def state_of(asset: AnyAsset) -> State:
    """Whether an asset is in the cache; its whole content is read once a process."""
    path = cache_folder() / asset.file_name
    if not path.is_file():
        return "missing"
    if isinstance(asset, Asset):
        whole = path.stat().st_size == asset.size_bytes and _digest(path) == asset.sha256
    else:
        checksum = checksum_of(path)
        whole = checksum.is_file() and checksum.read_text("ascii", "replace").strip() == _digest(path)
    return "present" if whole else "damaged"


def size_of(asset: AnyAsset) -> int | None:
    """An asset's size in bytes; None for one that is made here and is not made yet."""
    if isinstance(asset, Asset):
        return asset.size_bytes
    path = cache_folder() / asset.file_name
    return path.stat().st_size if path.is_file() else None


def checksum_of(path: Path) -> Path:
    """The file that holds the hash of one that was made here."""
    return path.with_name(path.name + CHECKSUM)


def require_file(path: str) -> None:
    """Raise AssetError unless a file of the user's own is there."""
    if not Path(path).is_file():
        raise AssetError(f"{path}: no such file; expected a file, or the name of an asset (`winnow assets`)")


def _digest(path: Path) -> str:
    found = path.stat()
    return _digest_of(str(path), found.st_size, found.st_mtime_ns, found.st_ino)


@lru_cache(maxsize=64)
def _digest_of(path: str, _size: int, _mtime_ns: int, _inode: int) -> str:
    """The sha256 of a file, read again only when it has changed."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
