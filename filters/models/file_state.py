"""A file as it is now: the key under which what was read from it may be kept.

A path alone is no key: the user may put another file under it while a process lives.
"""

import os
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FileState:
    """A path as it was given, and what changes with the file under it."""

    path: str
    size: int
    mtime_ns: int
    inode: int


def file_state(path: str) -> FileState:
    """The state of a file; OSError if there is none."""
    found = os.stat(path)
    return FileState(path, found.st_size, found.st_mtime_ns, found.st_ino)
