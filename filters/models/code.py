"""The identity of the code behind a model, for layer keys: packages with versions, and a hash of its source."""

import hashlib
from functools import lru_cache
from importlib.metadata import packages_distributions, version
from pathlib import Path

from winnow.schemas.environment.modules import find_users_module


@lru_cache(maxsize=32)
def code_identity(module: str) -> tuple[str, ...]:
    """The packages that a module belongs to with their versions, and the hash of its own file.

    Empty for a module that does not exist: loading it reports that.
    """
    names = sorted(packages_distributions().get(module.partition(".")[0], []))
    packages = tuple(f"{name} {version(name)}" for name in names)
    try:
        spec = find_users_module(module)
    except (ImportError, ValueError):
        spec = None
    origin = Path(spec.origin) if spec is not None and spec.origin else None
    if origin is None or not origin.is_file():
        return packages
    return (*packages, hashlib.sha256(origin.read_bytes()).hexdigest())
