"""Objects that are named by the hash of their bytes: statistics, tombstones, outputs, weights, files of workers."""

import hashlib
from contextlib import closing

from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.integrity.damage import damaged, missing
from winnow.schemas.identity import content_hash, content_name


def read_content(objects: ObjectStore, path: str) -> bytes:
    """The bytes of an object, checked against its name; DamagedError if they differ, MissingError if there is no such
    object."""
    try:
        raw = objects.read(path)
    except FileNotFoundError:
        raise missing(objects.root, path) from None
    _require(objects, path, content_name(raw))
    return raw


def check_content(objects: ObjectStore, path: str) -> None:
    """The same check in bounded memory."""
    _require(objects, path, _hash_of(objects, path, content_hash()))


def check_sha256(objects: ObjectStore, path: str) -> None:
    """The same of an object whose name is the SHA-256 of its bytes."""
    found = _hash_of(objects, path, hashlib.sha256())
    if found != path.rpartition("/")[2]:
        raise damaged(objects.root, path, f"its bytes have the hash {found}")


def _hash_of(objects: ObjectStore, path: str, state: "hashlib._Hash | hashlib.blake2b") -> str:
    try:
        with closing(objects.open(path)) as stream:
            while piece := stream.read(1 << 20):
                state.update(piece)
    except FileNotFoundError:
        raise missing(objects.root, path) from None
    return state.hexdigest()


def _require(objects: ObjectStore, path: str, found: str) -> None:
    if found != name_content(path):
        raise damaged(objects.root, path, f"its bytes have the hash {found}")


def name_content(path: str) -> str:
    """The hash in an object's name: its last part but one."""
    parts = path.rpartition("/")[2].split(".")
    return parts[-2] if len(parts) > 1 else ""
