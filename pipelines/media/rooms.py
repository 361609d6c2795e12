"""Memory that pictures are decoded into, one behind the other, and that is used again once nothing refers to it.

New pages cost as much as decoding, so a room is kept for the next batch. It is a picture's for as long as that picture
is held: a room is lent again only when the last array or Arrow buffer that lies in it is gone.
"""

import mmap
import os
import weakref
from collections import deque
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from winnow.filters.image.decode.stills import DecodeLimits, Still, decode

__all__ = ["HELD_BYTES", "Room"]

HELD_BYTES: Final = 64 << 20  # of decoded pixels; a larger picture has memory of its own

_SPARES: Final = 2  # rooms kept while nobody uses them
_spare: deque[mmap.mmap] = deque(maxlen=_SPARES)
os.register_at_fork(after_in_child=_spare.clear)  # a fork would write to the same pages


class Room:
    """Where pictures are decoded to while there is room, so that a batch of them needs no copy.

    Args:
        size: The bytes that it holds. Pictures that no longer fit get memory of their own.
    """

    def __init__(self, size: int = HELD_BYTES) -> None:
        self._whole = _lent(size)
        self._free = self._whole[:size]

    def decode(self, content: bytes, mime: str, limits: DecodeLimits, side: int | None = None) -> Still:
        """Decodes a picture (`winnow.filters.image.decode.stills.decode`) behind those decoded before."""
        return self.placed(decode(content, mime, limits, side, self._free))

    def placed(self, still: Still) -> Still:
        """A picture moved behind those decoded before, if it fits."""
        size = still.pixels.nbytes
        if size > self._free.nbytes:
            return still
        held = self._free[:size].reshape(still.pixels.shape)
        if held.ctypes.data != still.pixels.ctypes.data:  # it was not decoded here
            held[:] = still.pixels
        self._free = self._free[size:]
        return replace(still, pixels=held)

    def holds(self, still: Still) -> bool:
        """Whether a picture lies in a room, so that keeping it takes no further memory."""
        return still.pixels.base is self._whole


def _lent(size: int) -> NDArray[np.uint8]:
    """Bytes that nothing refers to. Arrays that lie in them keep them from being lent again."""
    memory = _spare.pop() if _spare else None
    if memory is None or len(memory) < size:
        memory = mmap.mmap(-1, max(size, 1))
    whole = np.frombuffer(memory, np.uint8)
    weakref.finalize(whole, _spare.append, memory).atexit = False
    return whole
