"""Files that workers on other machines take from the store: assets, and what the recipe names by its path.

The driver puts each file into the store once, under the SHA-256 of its bytes, and tells workers in Beam's options which
files there are. A worker that lacks one, or has another one under its path, takes it from there, compares the hash, and
keeps it in its machine's cache of assets for all processes after it.
"""

import fcntl
import glob
import hashlib
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import BinaryIO

import msgspec

from winnow.pipelines.assets.cached import FOLDER_VARIABLE, asset_path, cache_folder, content_digest, has_checksum
from winnow.pipelines.assets.catalogue import AssetError
from winnow.pipelines.assets.fetched import publish, publish_checksum
from winnow.pipelines.store import layout
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.location import open_location
from winnow.schemas.assets import AnyAsset, BuiltAsset
from winnow.schemas.environment.temporary_root import temporary_root
from winnow.schemas.records import to_json

OPTION = "winnow_node"
"""The option by which the driver tells workers on other machines what they need, as JSON."""

TAKEN = "from-stores"
"""The folder, in the cache of assets, of files that are no assets: the user's own, which nobody else may read."""

_PIECE = 1 << 20
_NAMED = 16  # digits of a hash that name a folder
_PRIVATE = 0o700


@dataclass(frozen=True, slots=True)
class NodeFile:
    """A file that workers may open."""

    name: str  # the path by which the driver knows it, or the name of an asset in the cache
    sha256: str
    is_asset: bool = False
    is_made: bool = False  # an asset whose hash is kept beside it

    @property
    def object(self) -> str:
        """Its name in the store."""
        return layout.node_file(self.sha256)


@dataclass(frozen=True, slots=True)
class Node:
    """What the driver tells workers on other machines."""

    store: str  # its address
    files: tuple[NodeFile, ...] = ()

    def to_option(self) -> str:
        """The option's value."""
        return to_json(self).decode()


def node_file(file: AnyAsset | str) -> NodeFile:
    """An asset, or a file by its path, as it is on this machine; AssetError if it is missing."""
    if isinstance(file, str):
        return NodeFile(file, content_digest(Path(file)))
    return NodeFile(file.file_name, content_digest(Path(asset_path(file))), True, isinstance(file, BuiltAsset))


def put_files(objects: ObjectStore, files: Iterable[AnyAsset | str]) -> tuple[NodeFile, ...]:
    """Put files of this machine into a store, unless it has them; returns all of them."""
    found = {file: node_file(file) for file in dict.fromkeys(files)}
    there = {info.path for info in objects.list(layout.NODE_FILES)} if found else set()
    for file, described in found.items():
        if described.object not in there:
            _put(objects, Path(file if isinstance(file, str) else asset_path(file)), described)
            there.add(described.object)
    return tuple(found.values())


def _put(objects: ObjectStore, path: Path, file: NodeFile) -> None:
    """Put a copy, as a store on a disk links to what it is given, and the user's own file may change."""
    with open(path, "rb") as stream, _copied(stream, objects.scratch()) as (copy, sha256):
        if sha256 != file.sha256:
            raise AssetError(f"{path}: changed during this run; run again")
        objects.put(file.object, copy)


@contextmanager
def _copied(stream: BinaryIO, folder: Path) -> Iterator[tuple[Path, str]]:
    """A copy of a file in a folder for as long as nobody has moved it away, and the SHA-256 of its bytes."""
    descriptor, name = tempfile.mkstemp(prefix=".unfinished-", dir=folder)
    copy, seen = Path(name), hashlib.sha256()
    try:
        with os.fdopen(descriptor, "wb") as target:
            while piece := stream.read(_PIECE):
                seen.update(piece)
                target.write(piece)
        yield copy, seen.hexdigest()
    finally:
        copy.unlink(missing_ok=True)


@cache
def this_node() -> Node | None:
    """What the driver told this process; None if it is on the driver's machine."""
    raw = os.environ.get("PIPELINE_OPTIONS", "")
    if not raw and (named := os.environ.get("PIPELINE_OPTIONS_FILE")):
        raw = Path(named).read_text("utf-8")
    told = msgspec.json.decode(raw, type=dict[str, object]).get(f"beam:option:{OPTION}:v1") if raw else None
    return msgspec.json.decode(told, type=Node) if isinstance(told, str) and told else None


def taken(path: str) -> str | None:
    """The path of a file that the driver named, taken from the store if it is not here as it should be.

    Raises:
        AssetError: It is neither here nor in the store, its bytes are not the driver's, or it can be kept nowhere.
    """
    node = this_node()
    file = None if node is None else _named(node, path)
    if node is None or file is None:
        return None
    if _is_whole(Path(path), file) and (not file.is_made or has_checksum(Path(path), file.sha256)):
        return path
    inside = file.name if file.is_asset else f"{TAKEN}/{file.sha256[:_NAMED]}/{os.path.basename(path)}"
    refused: list[str] = []
    for variable, choose in ((FOLDER_VARIABLE, cache_folder), ("TMPDIR", _own_folder)):
        folder: Path | str = variable
        try:
            folder = choose()
            return str(_kept(node, file, folder / inside))
        except OSError as error:  # as it cannot be written, is full, or takes no locks
            refused.append(f"{folder}: {error.strerror or error}")
    raise AssetError(
        f"{file.name} can be kept nowhere here ({'; '.join(refused)}); make room there, or let {FOLDER_VARIABLE} or "
        "TMPDIR name a folder with room that can be written and locked"
    )


def _own_folder() -> Path:
    return temporary_root() / "assets"


def _kept(node: Node, file: NodeFile, place: Path) -> Path:
    """The place of a file, once it is there; one process of this machine at a time takes it."""
    _make_folder(place.parent)
    lock = os.open(place.with_name(f".{place.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    with os.fdopen(lock, "wb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        if not _is_whole(place, file):
            _take(node, file, place)
        elif file.is_made and not has_checksum(place, file.sha256):
            publish_checksum(place, file.sha256)
    return place


def _is_whole(path: Path, file: NodeFile) -> bool:
    return path.is_file() and content_digest(path) == file.sha256


def _named(node: Node, path: str) -> NodeFile | None:
    """The file of a path: the driver's own, or that of an asset in this machine's cache."""
    asset = Path(path).parent == cache_folder()
    name = os.path.basename(path) if asset else path
    return next((file for file in node.files if file.name == name and file.is_asset == asset), None)


def _take(node: Node, file: NodeFile, place: Path) -> None:
    """Bring a file from the store to its place, whole or not at all."""
    try:
        stream = open_location(node.store).open(file.object)
    except FileNotFoundError:
        raise AssetError(
            f"{file.name} is missing here, and {node.store} has no {file.object}; run the same command again, which "
            "puts it there"
        ) from None
    except OSError as error:  # which no other folder here would mend
        raise AssetError(f"{node.store}: {file.object}: {error.strerror or error}") from error
    with closing(stream), _copied(stream, place.parent) as (copy, sha256):
        if sha256 != file.sha256:
            raise AssetError(f"{node.store}: {file.object} is damaged; delete it, and run the same command again")
        if file.is_made:
            publish_checksum(place, sha256)
        if file.is_asset:
            publish(copy, place)
        else:
            copy.replace(place)
            _remove_former(node, place)


def _make_folder(folder: Path) -> None:
    """Make the folder of a file; OSError where another user has made that of users' own files."""
    if folder.parent.name == TAKEN:
        folder.parent.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
        if stat.S_IMODE(folder.parent.stat().st_mode) != _PRIVATE:
            folder.parent.chmod(_PRIVATE)
    folder.mkdir(parents=True, exist_ok=True)


def _remove_former(node: Node, place: Path) -> None:
    """Remove what other runs took under the same name; one that still goes on takes it again."""
    wanted = {file.sha256[:_NAMED] for file in node.files}
    for former in place.parent.parent.glob(f"*/{glob.escape(place.name)}"):
        if former.parent.name not in wanted:
            former.unlink(missing_ok=True)
