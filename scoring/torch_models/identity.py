"""The code and package versions behind a user's function, for layer keys."""

import hashlib
import os
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from importlib.metadata import packages_distributions
from pathlib import Path

from winnow.schemas.environment.modules import find_users_module
from winnow.schemas.errors import ScoreError
from winnow.scoring.torch_models.packages import one_line, versions


def function_identity(architecture: str) -> tuple[str, ...]:
    """The hash of the code of a `module:function`, and the versions of its installed packages.

    The hash covers every `.py` below the module's top-level package, or the file of a module without one. The result
    is empty for built-in architectures and missing modules, which are reported when called.

    Raises:
        ScoreError: The module cannot be found or its code cannot be read.
    """
    package = architecture.partition(":")[0].partition(".")[0]
    if ":" not in architecture or not package:
        return ()
    try:
        spec = find_users_module(package)  # of the top-level package only; others would run its code
        hashed = None if spec is None else _hash(spec)
    except Exception as error:  # noqa: BLE001, what finds modules may be the user's own
        raise ScoreError(
            f"{architecture}: its code cannot be read: {one_line(error)}; expected `module:function`"
        ) from None
    if hashed is None:
        return ()
    return (f"{package} {hashed}", *versions(*sorted(set(packages_distributions().get(package, ())))))


def _hash(spec: ModuleSpec) -> str | None:
    files = list(_files(spec))
    if not files:
        return None
    found = hashlib.sha256()
    for name, path in files:
        found.update(f"{name}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return found.hexdigest()


def _files(spec: ModuleSpec) -> Iterator[tuple[str, Path]]:
    """Files of code by their names in the package, in one order on every machine."""
    if spec.submodule_search_locations is None:
        origin = Path(spec.origin) if spec.origin else None
        if origin is not None and origin.is_file():
            yield origin.name, origin
        return
    for root in spec.submodule_search_locations:
        below = Path(root)
        yield from sorted((path.relative_to(below).as_posix(), path) for path in _walked(root))


def _walked(root: str) -> Iterator[Path]:
    """Every `.py` that can be imported from below a folder, through links, each folder once."""
    seen: set[str] = set()
    for folder, folders, names in os.walk(root, followlinks=True):
        real = os.path.realpath(folder)
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        folders[:] = sorted(name for name in folders if name.isidentifier() and name != "__pycache__")
        yield from (Path(folder) / name for name in names if name.endswith(".py") and (Path(folder) / name).is_file())
