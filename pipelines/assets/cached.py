"""Where assets lie on this machine, and whether they are what they should be.

They are kept under their hash in a cache folder (`$WINNOW_ASSETS`, else the user's cache). Where a recipe names an
asset it may also give the path of a file of the user's own.
"""

import hashlib
import os
from functools import lru_cache
from pathlib import Path
from typing import Literal

from winnow.pipelines.assets import listed
from winnow.pipelines.assets.listed import AnyAsset, Asset
from winnow.schemas.errors import WinnowError
from winnow.schemas.problems import nearest

FOLDER_VARIABLE = "WINNOW_ASSETS"
CHECKSUM = ".sha256"
"""What the name of a made file ends with when it holds that file's hash."""

State = Literal["present", "missing", "damaged"]


class AssetError(WinnowError):
    """An asset is missing, damaged or cannot be fetched."""


class AssetUnavailableError(AssetError):
    """An asset cannot be fetched here for want of a program or a package; the line says how to get it."""


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


def find_asset(name: str) -> AnyAsset:
    """The asset of this name; an unknown one is answered with the nearest."""
    found = next((asset for asset in listed.ASSETS if asset.name == name), None)
    if found is None:
        near = nearest(name, [asset.name for asset in listed.ASSETS])
        hint = f"did you mean {near!r}?" if near else "`winnow assets` lists them; a file's path needs a '/'"
        raise AssetError(f"unknown asset {name!r} ({hint})")
    return found


def lookup(name: str) -> str:
    """Where an asset lies, checked.

    Args:
        name: A name from `ASSETS`, or the path of a file of the user's own, which is given back as it is.

    Raises:
        AssetError: It is not there, or not what it should be; the line says what to run.
    """
    if is_user_file(name):
        require_file(name)
        return name
    asset = find_asset(name)
    state = state_of(asset)
    if state != "present":
        where = cache_folder() / asset.file_name
        said = "is missing" if state == "missing" else "is damaged"
        raise AssetError(f"asset {name!r} {said} ({where}); run: winnow assets fetch {name}")
    return str(cache_folder() / asset.file_name)


def asset_digest(name: str) -> str:
    """The hash of an asset's content, for the keys of the layers that it shapes; an asset need not be fetched yet."""
    if is_user_file(name):
        require_file(name)
        return _digest(Path(name))
    return find_asset(name).value_digest


def is_asset(name: str) -> bool:
    """Whether winnow's list of assets has this name."""
    return any(asset.name == name for asset in listed.ASSETS)


def is_user_file(name: str) -> bool:
    """Whether a recipe's value is the path of a file rather than the name of an asset."""
    return not is_asset(name) and ("/" in name or os.sep in name or Path(name).is_file())


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
