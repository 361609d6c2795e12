"""The current state of a file: a key for caching what was read from it.

A path alone does not suffice: the file under it may be replaced while a process lives.
"""

import os
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FileState:
    """A path as given, and the properties that change with the file under it."""

    path: str
    size: int
    mtime_ns: int
    inode: int


def file_state(path: str) -> FileState:
    """The state of a file; OSError if it does not exist."""
    found = os.stat(path)
    return FileState(path, found.st_size, found.st_mtime_ns, found.st_ino)
