"""Stores objects in this process's memory, with the semantics of an object store: no rename, no folders, no append.

It runs the same tests as the disk, so that nothing above the facade depends on a filesystem. Stores
are found by name, so that a pickled reference means the same objects within the process.
"""

import hashlib
import io
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO, Self

from winnow.pipelines.processes.run_folder import run_folder
from winnow.pipelines.store.facade import ObjectInfo

_lock = threading.Lock()
_stores: dict[str, dict[str, bytes]] = {}


@dataclass(frozen=True)
class MemoryStore:
    """The objects of one named in-process store."""

    name: str
    owner: str = field(default="", kw_only=True)  # the identity of the store whose records these are

    @property
    def root(self) -> str:
        """The address of the store."""
        return f"memory://{self.name}"

    def owned_by(self, owner: str) -> Self:
        """The same objects, as those of this store."""
        return replace(self, owner=owner)

    @property
    def _objects(self) -> dict[str, bytes]:
        with _lock:
            return _stores.setdefault(self.name, {})

    def open(self, path: str) -> BinaryIO:
        """Opens a seekable reader of the object."""
        return io.BytesIO(self._get(path))

    def read(self, path: str, offset: int = 0, length: int | None = None) -> bytes:
        """Reads a range of the object."""
        return self._get(path)[offset : None if length is None else offset + length]

    def list(self, prefix: str = "") -> Iterator[ObjectInfo]:
        """Lists every object whose path starts with the prefix, sorted by path."""
        with _lock:
            found = sorted(item for item in _stores.get(self.name, {}).items() if item[0].startswith(prefix))
        return iter(
            [ObjectInfo(path, len(raw), hashlib.blake2b(raw, digest_size=8).hexdigest()) for path, raw in found]
        )

    def exists(self, path: str) -> bool:
        """Whether an object has this name."""
        return path in self._objects

    def size(self, path: str) -> int:
        """The object's size in bytes."""
        return len(self._get(path))

    def put(self, path: str, content: bytes | Path) -> None:
        """Puts the whole object."""
        raw = content.read_bytes() if isinstance(content, Path) else content
        objects = self._objects
        with _lock:
            objects[path] = raw

    def put_if_absent(self, path: str, content: bytes) -> bool:
        """Puts the object only if the name is free."""
        objects = self._objects
        with _lock:
            return objects.setdefault(path, content) is content

    def delete(self, path: str) -> None:
        """Removes the object."""
        objects = self._objects
        with _lock:
            objects.pop(path, None)

    def scratch(self) -> Path:
        """A local folder for unfinished files."""
        return run_folder()

    def clear_unfinished(self, *, elsewhere: bool = True) -> int:  # noqa: ARG002 - the facade's
        """Does nothing: there are no leftovers."""
        return 0

    def _get(self, path: str) -> bytes:
        try:
            return self._objects[path]
        except KeyError:
            raise FileNotFoundError(f"{self.root}: no object {path!r}") from None
