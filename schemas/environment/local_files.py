"""Where files that a recipe names lie on this machine.

A path travels to workers as the driver found it. On another machine the file may be missing, or be another one; there
the process that runs the worker knows where to take it from (`winnow.pipelines.assets.node_files`).
"""

from collections.abc import Callable

Finder = Callable[[str], str | None]


def _nowhere_else(_: str) -> str | None:
    return None


_finder: Finder = _nowhere_else


def take_files_with(finder: Finder) -> None:
    """Say how files are found that may not be where the driver found them."""
    global _finder
    _finder = finder


def from_elsewhere(path: str) -> str | None:
    """The path of a file that was taken from elsewhere, or is here as it should be; None if nothing is known of it."""
    return _finder(path)


def here(path: str) -> str:
    """The path under which a file that the driver named is opened on this machine."""
    return _finder(path) or path
