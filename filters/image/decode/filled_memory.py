"""Memory that is filled with one byte when it is allocated, to see what a decoder leaves unwritten.

libtiff ends a strip of fax codes where its bytes end and says nothing, so the rows that are left show what was in its
memory before, perhaps of another picture. Decoded with two fillings, such rows differ.
"""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from winnow.filters.image.decode.containers import Bytes, UnreadableError, Walk, tiff_numbers, tiff_start

__all__ = ["FILLINGS", "filled_memory", "may_leave_rows"]

FILLINGS: Final = (0x55, 0xAA)

_PERTURB: Final = -6  # M_PERTURB of glibc's mallopt
_COMPRESSION: Final = 259  # a tag of TIFF
_FAX: Final = frozenset((2, 3, 4))


def may_leave_rows(image: Bytes, mime: str) -> bool:
    """Whether a picture is one whose decoder may leave rows unwritten: a TIFF of fax codes."""
    if mime != "image/tiff":
        return False
    walk = Walk(image)
    try:
        return tiff_numbers(walk, tiff_start(walk), (_COMPRESSION,)).get(_COMPRESSION) in _FAX
    except UnreadableError:
        return False


@contextmanager
def filled_memory(byte: int) -> Iterator[None]:
    """Within, memory that the process allocates is filled; nothing happens where the C library cannot do so."""
    option = getattr(ctypes.CDLL(None), "mallopt", None)
    if option is None:
        yield
        return
    option(_PERTURB, byte)
    try:
        yield
    finally:
        option(_PERTURB, 0)
