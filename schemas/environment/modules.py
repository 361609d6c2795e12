"""Which code winnow runs: what is installed or on PYTHONPATH, and the modules that a recipe names; nothing else.

The working directory is on no process's search path, as anybody's files may lie beside a recipe: a `coverage.py` there
would be run by numba, which imports a package of that name where there is one.
"""

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from types import ModuleType

SAFE_PATH = {"PYTHONSAFEPATH": "1"}
"""The environment in which no Python, whoever starts it, looks for modules in its working directory."""


def python_module(module: str, *words: str) -> list[str]:
    """The command that runs a module in a process of its own."""
    return [sys.executable, "-P", "-m", module, *words]


def module_path() -> dict[str, str]:
    """The environment in which a child finds modules where this process does."""
    return {"PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)}


def find_users_module(name: str) -> ModuleSpec | None:
    """Where the module is that a recipe names; for a module in a package, the package is imported."""
    _look_beside()
    return find_spec(name)


def import_users_module(name: str) -> ModuleType:
    """Import a module that a recipe names: an installed one, or else one in the working directory."""
    _look_beside()
    return import_module(name)


class _WorkingDirectory(MetaPathFinder):
    """Finds modules in the working directory for this file, and for modules that it has found: no other import."""

    def __init__(self) -> None:
        self._found: set[str] = set()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Called last, so what is installed comes first."""
        if path is not None or not self._is_asked():
            return None
        spec = PathFinder.find_spec(fullname, [os.getcwd()], target)
        if spec is not None:
            self._found.add(fullname)
        return spec

    def _is_asked(self) -> bool:
        frame = sys._getframe(2)
        while (name := frame.f_globals.get("__name__", "")).partition(".")[0] == "importlib" and frame.f_back:
            frame = frame.f_back
        return name == __name__ or name.partition(".")[0] in self._found


_BESIDE = _WorkingDirectory()


def _look_beside() -> None:
    if _BESIDE not in sys.meta_path:
        sys.meta_path.append(_BESIDE)
