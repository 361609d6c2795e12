"""The amount of visible text of a page, by which pages are divided into shards.

Counted in one pass over the source: the bytes outside tags, comments, scripts and styles, with each run of white space
as one. It is independent of extractors, so a shard's rows do not depend on which of them run; what they extract is
about as much or, without navigation, less. Another count would move the borders of shards: raise ingest's version with
it.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from winnow.filters.language.kernels.memory import eight_bytes
from winnow.filters.language.kernels.spans import texts_of
from winnow.schemas.kernels import kernel, leaf

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]

_SPACE, _OPEN, _CLOSE, _BANG, _DASH, _SLASH, _QUESTION = 32, 60, 62, 33, 45, 47, 63
_LOWER = np.uint8(32)
_ONES, _HIGHS = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
_C, _R, _S, _T, _Y = 99, 114, 115, 116, 121


def visible_bytes(pages: pa.LargeStringArray) -> Ints:
    """The bytes of visible text of each page; 0 for a null."""
    column = texts_of(pages)
    return np.asarray(_visible(column.buffer, column.offsets))


@leaf  # type: ignore[untyped-decorator]
def _find(text: Bytes, at: int, end: int, byte: int) -> int:
    """The first position of a byte, or the end; most of a page is skipped here, so eight bytes are compared at once."""
    pattern = _ONES * np.uint64(byte)
    while at + 8 <= end:
        other = eight_bytes(text, at) ^ pattern
        if (other - _ONES) & ~other & _HIGHS:  # one of the eight is zero
            break
        at += 8
    while at < end and text[at] != byte:
        at += 1
    return at


@leaf  # type: ignore[untyped-decorator]
def _after_tag(text: Bytes, at: int, end: int) -> int:
    """Where a tag ends whose `<` is just before this position, with the content of a script or style."""
    hides = False
    if end - at > 6 and text[at] | _LOWER == _S:  # room for the name, so that no byte is looked for past the end
        second, third = text[at + 1] | _LOWER, text[at + 2] | _LOWER
        hides = (second == _C and third == _R) or (second == _T and third == _Y)
    at = _find(text, at, end, _CLOSE)
    if hides:
        at = _find(text, at, end, _OPEN)
        while at + 2 < end and not (text[at + 1] == _SLASH and text[at + 2] | _LOWER == _S):
            at = _find(text, at + 1, end, _OPEN)
        at = _find(text, at, end, _CLOSE) if at + 2 < end else end
    return min(at + 1, end)


@kernel  # type: ignore[untyped-decorator]
def _visible(text: Bytes, offsets: Ints) -> Ints:
    counts = np.zeros(len(offsets) - 1, np.int64)
    for row in range(len(offsets) - 1):
        at, end = offsets[row], offsets[row + 1]
        count = 0
        in_word = False
        while at < end:
            byte = text[at]
            if byte != _OPEN:
                solid = byte > _SPACE
                count += solid or in_word  # the first blank after a word counts as well
                in_word = solid
                at += 1
                continue
            after = text[at + 1] if at + 1 < end else _SPACE
            if after == _BANG and end - at > 3 and text[at + 2] == _DASH and text[at + 3] == _DASH:
                at = _find(text, at + 4, end, _CLOSE)
                while at < end and not (text[at - 1] == _DASH and text[at - 2] == _DASH):
                    at = _find(text, at + 1, end, _CLOSE)
                at = min(at + 1, end)
            elif 97 <= after | _LOWER <= 122 or after in (_SLASH, _BANG, _QUESTION):
                at = _after_tag(text, at + 1, end)
            else:
                count += 1
                in_word = True
                at += 1
        counts[row] = count
    return counts
