"""Objects that are read whole and named by the hash of their bytes: statistics, tombstones, outputs, weights."""

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
    state = content_hash()
    try:
        with closing(objects.open(path)) as stream:
            while piece := stream.read(1 << 20):
                state.update(piece)
    except FileNotFoundError:
        raise missing(objects.root, path) from None
    _require(objects, path, state.hexdigest())


def _require(objects: ObjectStore, path: str, found: str) -> None:
    if found != name_content(path):
        raise damaged(objects.root, path, f"its bytes have the hash {found}")


def name_content(path: str) -> str:
    """The hash in an object's name: its last part but one."""
    parts = path.rpartition("/")[2].split(".")
    return parts[-2] if len(parts) > 1 else ""
