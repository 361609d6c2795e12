"""The few object operations that the store needs, the same on a disk, in memory, on S3 and on GCS.

There is no rename and no append: an object is finished elsewhere and put in one call, and the only
condition is put-if-absent (law 5). Paths are relative to the root, in UTF-8 (`names.py`), with forward slashes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol, Self


@dataclass(frozen=True, slots=True)
class ObjectInfo:
    """One listed object. `version` changes when its bytes are replaced (mtime on disk, etag on object stores)."""

    path: str
    size: int
    version: str


class ObjectStore(Protocol):
    """Objects under one root. A missing object raises FileNotFoundError from `open`, `read` and `size`."""

    @property
    def root(self) -> str:
        """The root as the user wrote it, for messages."""

    @property
    def owner(self) -> str:
        """The identity of the store whose records these are; empty until its `store.json` was read."""

    def owned_by(self, owner: str) -> Self:
        """The same objects, as those of this store."""

    def open(self, path: str) -> BinaryIO:
        """Opens a seekable reader of the object."""

    def read(self, path: str, offset: int = 0, length: int | None = None) -> bytes:
        """Reads a range of the object in one request."""

    def list(self, prefix: str = "") -> Iterator[ObjectInfo]:
        """Lists every object whose path starts with the prefix, sorted by path."""

    def exists(self, path: str) -> bool:
        """Whether an object has this name."""

    def size(self, path: str) -> int:
        """The object's size in bytes."""

    def put(self, path: str, content: bytes | Path) -> None:
        """Puts the whole object or nothing; replaces any of that name."""

    def put_if_absent(self, path: str, content: bytes) -> bool:
        """Puts the object only if the name is free; exactly one of several racing callers gets True."""

    def delete(self, path: str) -> None:
        """Removes the object; a missing one is fine."""

    def scratch(self) -> Path:
        """A local folder for unfinished files; on a disk, one from which `put` need not copy."""

    def clear_unfinished(self, *, elsewhere: bool = True) -> int:
        """Removes leftovers of dead writers and returns their number; only the holder of the lease may call this.

        Without `elsewhere`, only files that writers on this machine left on a disk: one look into a folder.
        """
