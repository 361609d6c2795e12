"""How small kernels are compiled."""

from numba import njit

__all__ = ["leaf"]

# Without numba's runtime a function can make no array, and counts no references to those that it gets: in functions
# that run once a word, counting takes longer than the work. numba's published types leave this option out.
leaf = njit(cache=True, nogil=True, _nrt=False)
"""Compile a function that makes no array."""
