"""The positions of a text that a model of the next byte reads: each byte with those before it.

A text with more positions than the limit is cut into that many equal parts, and a hash picks one position of each: a
fixed stride would always hit the same byte in scripts with two-byte characters.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numba import uint64
from numpy.typing import NDArray

from winnow.schemas.kernels import arithmetic
from winnow.scoring.linear.features import Integers, joined_offsets, places_of
from winnow.scoring.linear.hashed import mixed, text_places

_SPREAD = uint64(0x94D049BB133111EB)


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows of text i are at offsets[i] .. offsets[i + 1]; a window is a byte, then those before it, nearest first.

    Zero is padding before the beginning.
    """

    content: NDArray[np.uint8]  # windows × (1 + bytes before)
    offsets: Integers

    def __len__(self) -> int:
        return len(self.offsets) - 1


def windows_of(texts: pa.Array, before: int, most: int) -> Windows:
    """Windows of texts; an empty text has none.

    Args:
        texts: Strings, or nulls.
        before: The number of bytes before each.
        most: The most windows per text.
    """
    raw, starts, ends = text_places(texts)
    offsets = np.concatenate([[0], np.cumsum(np.minimum(ends - starts, most))]).astype(np.int64)
    content = np.empty((int(offsets[-1]), before + 1), np.uint8)
    _fill(raw, starts, ends, offsets, content)
    return Windows(content, offsets)


def joined_windows(parts: Sequence[Windows]) -> Windows:
    """Concatenate windows."""
    return Windows(np.concatenate([part.content for part in parts]), joined_offsets([part.offsets for part in parts]))


def chosen_windows(windows: Windows, which: Integers) -> Windows:
    """The windows of some texts, in this order."""
    places, offsets = places_of(windows.offsets, which)
    return Windows(windows.content[places], offsets)


@arithmetic
def _fill(raw, starts, ends, offsets, content):  # type: ignore[no-untyped-def]
    for row in range(len(starts)):
        start, size = starts[row], ends[row] - starts[row]
        count = offsets[row + 1] - offsets[row]
        for number in range(count):
            place = number
            if count < size:
                low, high = number * size // count, (number + 1) * size // count
                place = low + np.int64((mixed(uint64(number + 1) * _SPREAD) >> uint64(33)) % uint64(high - low))
            for back in range(content.shape[1]):
                at = place - back
                content[offsets[row] + number, back] = raw[start + at] if at >= 0 else np.uint8(0)
