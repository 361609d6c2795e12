"""Top-level domains as a hash table for kernels.

They come from the Public Suffix List inside tldextract, as the list's own names and, for other scripts, also in ASCII
(`рф`, `xn--p1ai`).
"""

from functools import lru_cache
from importlib.resources import files

import numpy as np
import numpy.typing as npt

from winnow.schemas.kernels import leaf

__all__ = ["HASH_SEED", "extended", "is_top_level", "top_level_domains"]

HASH_SEED = np.uint64(0xCBF29CE484222325)
_PRIME = np.uint64(0x100000001B3)
_SLOTS = 8192  # several times the number of domains; a power of two
_FREE = np.uint64(0)

_NOT_OF_MAIL = frozenset(("zip", "mov", "map", "data", "foo", "java"))
"""Domains that end far more file names and program fields than addresses: `obj@meta.data`, `clip@2x.mov`."""

_RETIRED = frozenset(("an", "tp", "yu", "zr"))
"""Domains of former countries, which still occur in pages and archives."""

Table = npt.NDArray[np.uint64]


@leaf  # type: ignore[untyped-decorator]
def extended(seen: np.uint64, byte: int) -> np.uint64:
    """Extend an FNV-1a hash by one byte, with ASCII letters in lower case."""
    small = np.uint64(byte)
    if np.uint64(65) <= small <= np.uint64(90):
        small |= np.uint64(32)
    return (seen ^ small) * _PRIME


@leaf  # type: ignore[untyped-decorator]
def is_top_level(seen: np.uint64, table: Table) -> bool:
    """Whether a top-level domain has this hash."""
    mask = np.uint64(len(table) - 1)
    slot = (seen ^ (seen >> np.uint64(32))) & mask
    while table[slot] != _FREE:
        if table[slot] == seen:
            return True
        slot = (slot + np.uint64(1)) & mask
    return False


def _hash(name: bytes) -> int:
    seen = int(HASH_SEED)
    for byte in name.lower():
        seen = ((seen ^ byte) * int(_PRIME)) & 0xFFFFFFFFFFFFFFFF
    return seen


@lru_cache(maxsize=1)
def top_level_domains() -> Table:
    """The hashes of all top-level domains used in mail, for `is_top_level`."""
    lines = (files("tldextract") / ".tld_set_snapshot").read_text(encoding="utf-8").splitlines()
    names = {line.strip().rpartition(".")[2] for line in lines if line.strip() and not line.startswith("//")}
    table = np.zeros(_SLOTS, np.uint64)
    for name in sorted((names | _RETIRED) - _NOT_OF_MAIL):
        spellings = [name.encode()]
        if not name.isascii():
            spellings.append(b"xn--" + name.encode("punycode"))
        for spelling in spellings:
            seen = _hash(spelling)
            slot = (seen ^ (seen >> 32)) & (_SLOTS - 1)
            while table[slot]:
                slot = (slot + 1) & (_SLOTS - 1)
            table[slot] = seen
    return table
