"""How kernels are compiled, and where what was compiled is kept.

numba keeps machine code beside the source and looks at the date of one file alone: a kernel whose callee in another
file has changed would go on as it was, and give wrong values. Here it is kept under a hash of all sources instead.
"""

import hashlib
import os
import tempfile
from pathlib import Path
from typing import Any

import numba
from numba import njit

FOLDER_VARIABLE = "NUMBA_CACHE_DIR"
_PRIVATE = 0o700
_ROOMS = ("filters", "scoring/linear")
"""Where all kernels are."""


def _sources() -> str:
    """A hash of every source that a kernel may be made of, and of what compiles it."""
    found = hashlib.blake2b(numba.__version__.encode(), digest_size=8)
    house = Path(__file__).resolve().parent.parent
    for path in sorted([Path(__file__).resolve(), *(one for room in _ROOMS for one in (house / room).rglob("*.py"))]):
        found.update(str(path.relative_to(house)).encode() + b"\0" + path.read_bytes())
    return found.hexdigest()


def _folder() -> str | None:
    """A folder of this user's own, as what lies in it is run; None where there is none to write to."""
    caches = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    named = os.environ.get(FOLDER_VARIABLE)
    shared = Path(tempfile.gettempdir()) / f"winnow-{os.getuid()}" / "kernels"
    for root in (Path(named) if named else Path(caches).expanduser() / "winnow" / "kernels", shared):
        folder = root / _sources()
        try:
            folder.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
            if folder.stat().st_uid == os.getuid() and root.stat().st_uid == os.getuid() and os.access(folder, os.W_OK):
                return str(folder)
        except OSError:
            continue
    return None


_kept = _folder()
if _kept is not None:
    numba.config.CACHE_DIR = _kept

# numba's published types know neither of the last two as decorators of untyped functions, nor `_nrt`.
kernel: Any = njit(cache=_kept is not None, nogil=True)
"""Compile a function over arrays."""

# Divisions give what IEEE 754 says: with an exception for each, no loop would become vectors.
arithmetic: Any = njit(cache=_kept is not None, nogil=True, error_model="numpy")
"""Compile a function over arrays of numbers that divides."""

inlined: Any = njit(cache=_kept is not None, nogil=True, inline="always")
"""Compile a small function into each of its callers."""

# Without numba's runtime a function can make no array, and counts no references to those that it gets: in functions
# that run once a word, counting takes longer than the work.
leaf: Any = njit(cache=_kept is not None, nogil=True, _nrt=False)
"""Compile a function that makes no array."""
