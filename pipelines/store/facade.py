"""The few operations on objects that the store needs, the same on a disk, in memory, on S3 and on GCS.

There is no rename and no append: an object is finished elsewhere and put in one call, and the only
condition is put-if-absent (law 5). Paths are relative to the root and use forward slashes.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol


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
        ...

    def open(self, path: str) -> BinaryIO:
        """A seekable reader of the object."""
        ...

    def read(self, path: str, offset: int = 0, length: int | None = None) -> bytes:
        """A range of the object in one request."""
        ...

    def list(self, prefix: str = "") -> Iterator[ObjectInfo]:
        """Every object whose path starts with the prefix, sorted by path."""
        ...

    def exists(self, path: str) -> bool:
        """Whether an object has this name."""
        ...

    def size(self, path: str) -> int:
        """The object's size in bytes."""
        ...

    def put(self, path: str, content: bytes | Path) -> None:
        """Publish the whole object or nothing; replaces what had the name."""
        ...

    def put_if_absent(self, path: str, content: bytes) -> bool:
        """Publish only if no object has the name; exactly one of racing callers gets True."""
        ...

    def delete(self, path: str) -> None:
        """Remove the object; one that is gone already is fine."""
        ...

    def scratch(self) -> Path:
        """A local folder for files that are still being made; on a disk, one from which `put` need not copy."""
        ...

    def clear_unfinished(self) -> int:
        """Remove what dead writers left behind and say how many; only the holder of the lease may."""
        ...
