"""How kernels are compiled, and where what was compiled is kept.

numba keeps machine code beside the source and looks at the date of one file alone: a kernel whose callee in another
file has changed would go on as it was, and give wrong values. Here machine code is kept under a hash of the sources
that it can depend on: the kernel's file, every file of winnow that it imports, directly or through others, and the
data files beside them, whose tables are constants of the machine code. An edit recompiles what depends on it; another
checkout, or a wheel, with the same sources compiles nothing.
"""

import hashlib
import os
import re
import unicodedata
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba import njit

from winnow.schemas.environment.temporary_root import temporary_root

FOLDER_VARIABLE = "NUMBA_CACHE_DIR"
_PRIVATE = 0o700
_OTHERS_WRITE = 0o022
_HOUSE = Path(__file__).resolve().parent.parent
_ROOMS = ("schemas", "filters", "scoring", "pipelines", "runners")
_IMPORTED = re.compile(
    rb"^\s*(?:from\s+winnow\.([\w.]+)\s+import\s+(\([^)]*\)|.*)|import\s+winnow\.([\w.]+))", re.MULTILINE
)
_NAME = re.compile(rb"\w+")


@cache
def _imported(path: Path) -> frozenset[Path]:
    """The files of winnow that a file names in its imports."""
    found = set()
    for package, names, module in _IMPORTED.findall(path.read_bytes()):
        parts = (package or module).decode().split(".")
        if source := _source(_HOUSE.joinpath(*parts)):
            found.add(source)
        for name in _NAME.findall(names):
            if source := _source(_HOUSE.joinpath(*parts, name.decode())):
                found.add(source)
    return frozenset(found)


@cache
def _source(module: Path) -> Path | None:
    """The file of a module or a package; None where there is none."""
    return next((one for one in (module.with_suffix(".py"), module / "__init__.py") if one.is_file()), None)


def sources_of(path: Path) -> frozenset[Path]:
    """A file and all files of winnow that it imports, directly or through others."""
    found: set[Path] = set()
    pending = [path]
    while pending:
        one = pending.pop()
        if one not in found:
            found.add(one)
            pending += _imported(one)
    return frozenset(found)


@cache
def source_key(path: Path) -> str:
    """A hash of everything in winnow that the machine code of a file's kernels can depend on."""
    return _key(sources_of(path))


@cache
def all_kernels_key() -> str:
    """A hash of everything that the machine code of any kernel can depend on."""
    return _key(frozenset(one for room in ("schemas", "filters", "scoring") for one in (_HOUSE / room).rglob("*.py")))


def _key(sources: frozenset[Path]) -> str:
    """A hash of sources and the data files beside them."""
    beside = {file for room in {one.parent for one in sources} for file in _data(room)}
    found = hashlib.blake2b(f"{numba.__version__} {unicodedata.unidata_version}".encode(), digest_size=12)
    for one in sorted(sources | beside):
        found.update(str(one.relative_to(_HOUSE)).encode() + b"\0" + _digest(one))
    return found.hexdigest()


@cache
def _data(room: Path) -> frozenset[Path]:
    """The files beside sources that are none."""
    files = (one for one in (*room.iterdir(), *room.glob("data/*")) if one.is_file())
    return frozenset(one for one in files if one.suffix not in (".py", ".pyc"))


@cache
def _digest(path: Path) -> bytes:
    return hashlib.blake2b(path.read_bytes(), digest_size=16).digest()


@cache
def kernel_folder() -> Path | None:
    """A folder that only this user can write to, as what lies in it is run; None where there is none."""
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


class KernelLocator:
    """Tells numba where the machine code of a kernel of winnow lies, and of which sources it is."""

    def __init__(self, function: Callable[..., object], path: Path) -> None:
        self._line = function.__code__.co_firstlineno
        self._key = source_key(path)

    @classmethod
    def from_function(cls, function: Callable[..., object], file: str) -> "KernelLocator | None":
        """One for a kernel of winnow's; None for anybody else's, which numba keeps in its own way."""
        path = Path(file).resolve()
        ours = any(path.is_relative_to(_HOUSE / room) for room in _ROOMS)  # an environment may lie in the checkout
        return cls(function, path) if ours and kernel_folder() is not None else None

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
        """Kernels of one name in one file differ in their lines."""
        return str(self._line)


_OURS = f"{__name__}.{KernelLocator.__name__}"
_NUMBAS = "UserProvidedCacheLocator,InTreeCacheLocator,UserWideCacheLocator,IPythonCacheLocator"
if _OURS not in (known := numba.config.CACHE_LOCATOR_CLASSES or _NUMBAS):
    numba.config.CACHE_LOCATOR_CLASSES = f"{_OURS},{known}"

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
