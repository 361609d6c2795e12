"""How kernels are compiled, and where what was compiled is kept.

numba keeps machine code beside the source and looks at the date of one file alone: a kernel whose callee in another
file has changed would go on as it was, and give wrong values. Here machine code is kept under a hash of what is
compiled into it (`winnow.schemas.kernel_sources`). An edit recompiles what it changes; another checkout, or a wheel,
with the same sources compiles nothing.
"""

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba import njit, types
from numba.core.caching import IndexDataCacheFile

from winnow.schemas import kernel_sources
from winnow.schemas.environment.temporary_root import temporary_root

FOLDER_VARIABLE = "NUMBA_CACHE_DIR"
_PRIVATE = 0o700
_OTHERS_WRITE = 0o022
_HOUSE = Path(__file__).resolve().parent.parent
_ROOMS = ("schemas", "filters", "scoring", "pipelines", "runners")


@cache
def kernel_folder() -> Path | None:
    """A folder that only this user can write to, as its contents are run; None if there is none."""
    caches = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    given = os.environ.get(FOLDER_VARIABLE)
    usual = Path(given) if given else Path(caches).expanduser() / "winnow" / "kernels"
    for named in (usual, None):
        try:
            folder = named or temporary_root() / "kernels"
            folder.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
            facts = folder.stat()
            if facts.st_uid == os.getuid() and not facts.st_mode & _OTHERS_WRITE and os.access(folder, os.W_OK):
                return folder
        except OSError:
            continue
    return None


@cache
def source_key(path: Path) -> str:
    """A hash of everything that is compiled into the kernels of a file of winnow."""
    return kernel_sources.source_key(path, kernel_folder())


class KernelLocator:
    """Tells numba where the machine code of a kernel of winnow lies, and of which sources it is."""

    def __init__(self, path: Path) -> None:
        self._key = source_key(path)

    @classmethod
    def from_function(cls, _function: Callable[..., object], file: str) -> "KernelLocator | None":
        """One for a kernel of winnow's; None for anybody else's, which numba keeps in its own way."""
        path = Path(file).resolve()
        ours = any(path.is_relative_to(_HOUSE / room) for room in _ROOMS)  # an environment may lie in the checkout
        return cls(path) if ours and kernel_folder() is not None else None

    def ensure_cache_path(self) -> None:
        """Make the folder."""
        os.makedirs(self.get_cache_path(), mode=_PRIVATE, exist_ok=True)

    def get_cache_path(self) -> str:
        """The folder of this kernel's file."""
        folder = kernel_folder()
        assert folder is not None
        return str(folder / self._key)

    def get_source_stamp(self) -> str:
        """What the machine code was made of."""
        return self._key

    def get_disambiguator(self) -> str:
        """None is needed: no two kernels of one file have the same name, and lines change with every message."""
        return ""


_OURS = f"{__name__}.{KernelLocator.__name__}"
_NUMBAS = "UserProvidedCacheLocator,InTreeCacheLocator,UserWideCacheLocator,IPythonCacheLocator"
if _OURS not in (known := numba.config.CACHE_LOCATOR_CLASSES or _NUMBAS):
    numba.config.CACHE_LOCATOR_CLASSES = f"{_OURS},{known}"

# A kernel may take a named tuple that its own file does not name. numba knows such a type by its class and the types of
# its fields, and would give machine code that was made when the fields stood in another order.
types.NamedTuple.key = property(lambda self: (self.instance_class, self.types, self.fields))
types.NamedUniTuple.key = property(lambda self: (self.instance_class, self.dtype, self.count, self.fields))

_load_index = IndexDataCacheFile._load_index


def _load_what_is_there(index: Any) -> Any:
    """The signatures of a kernel that are compiled; none where one has a class that has been moved or renamed."""
    try:
        return _load_index(index)
    except (AttributeError, ImportError):
        return {}


IndexDataCacheFile._load_index = _load_what_is_there

_kept = kernel_folder() is not None

# numba's published types know neither of the last two as decorators of untyped functions, nor `_nrt`.
kernel: Any = njit(cache=_kept, nogil=True)
"""Compile a function over arrays."""

# Divisions give what IEEE 754 says: with an exception for each, no loop would become vectors.
arithmetic: Any = njit(cache=_kept, nogil=True, error_model="numpy")
"""Compile a function over arrays of numbers that divides."""

inlined: Any = njit(cache=_kept, nogil=True, inline="always")
"""Compile a small function into each of its callers."""

# Without numba's runtime a function can make no array, and counts no references to those that it gets: in functions
# that run once a word, counting takes longer than the work.
leaf: Any = njit(cache=_kept, nogil=True, _nrt=False)
"""Compile a function that makes no array."""
