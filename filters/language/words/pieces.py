"""Split texts like Python's `str.split`, `str.split("\\n")` and `str.splitlines`."""

import numpy as np

from winnow.filters.language.kernels.classes import BREAK, SPACE, decode, unicode_classes, width
from winnow.filters.language.kernels.spans import Texts, Words
from winnow.schemas.kernels import kernel, leaf


def split_whitespace(texts: Texts) -> Words:
    """The words of `str.split()`."""
    return Words(texts.buffer, *_whitespace(texts.buffer, texts.offsets, unicode_classes()))


def split_lines(texts: Texts) -> Words:
    r"""The lines of `str.split("\n")`: an empty text has one empty line."""
    offsets = texts.offsets
    newlines = np.flatnonzero(texts.buffer[offsets[0] : offsets[-1]] == 10) + offsets[0]
    passed = np.searchsorted(newlines, offsets)  # newlines before each text
    ends = np.insert(newlines, passed[1:], offsets[1:])
    starts = np.insert(newlines + 1, passed[:-1], offsets[:-1])
    return Words(texts.buffer, passed + np.arange(len(offsets)), starts, ends)


def split_breaks(texts: Texts) -> Words:
    """The lines of `str.splitlines()`: an empty text has none."""
    return Words(texts.buffer, *_breaks(texts.buffer, texts.offsets, unicode_classes()))


@kernel
def roomy(values, used, more):  # type: ignore[no-untyped-def]
    """The values with room for more. Untouched pages cost no memory, so the bound may be generous.

    Kernels call it once per document: an array that may change inside a hot loop costs more than the loop's work.
    """
    if used + more <= len(values):
        return values
    larger = np.empty(max(used + more, 2 * len(values)), np.int64)
    larger[:used] = values[:used]
    return larger


@kernel
def _whitespace(buffer, offsets, classes):  # type: ignore[no-untyped-def]
    documents = np.zeros(len(offsets), np.int64)
    starts = np.empty((offsets[-1] - offsets[0]) // 4 + 64, np.int64)
    ends = np.empty(len(starts), np.int64)
    count = 0
    for document in range(len(offsets) - 1):
        at, end = offsets[document], offsets[document + 1]
        starts = roomy(starts, count, (end - at) // 2 + 1)
        ends = roomy(ends, count, (end - at) // 2 + 1)
        count = _document_words(buffer, at, end, classes.pages, classes.flags, starts, ends, count)
        documents[document + 1] = count
    return documents, starts[:count].copy(), ends[:count].copy()


@leaf
def _document_words(buffer, at, end, pages, flags, starts, ends, count):  # type: ignore[no-untyped-def]
    inside = False
    while at < end:
        lead = buffer[at]
        if lead < 0x80:
            space = lead <= 32 and (lead == 32 or 9 <= lead <= 13 or 28 <= lead <= 31)
        else:
            point = decode(buffer, at)
            space = (flags[(np.int64(pages[point >> 8]) << 8) | (point & 0xFF)] & SPACE) != 0
        if space == inside:
            if inside:
                ends[count] = at
                count += 1
            else:
                starts[count] = at
            inside = not inside
        at += width(lead)
    if inside:
        ends[count] = end
        count += 1
    return count


@kernel
def _breaks(buffer, offsets, classes):  # type: ignore[no-untyped-def]
    documents = np.zeros(len(offsets), np.int64)
    starts = np.empty((offsets[-1] - offsets[0]) // 32 + 64, np.int64)
    ends = np.empty(len(starts), np.int64)
    count = 0
    for document in range(len(offsets) - 1):
        at, end = offsets[document], offsets[document + 1]
        starts = roomy(starts, count, end - at)
        ends = roomy(ends, count, end - at)
        count = _document_breaks(buffer, at, end, classes.pages, classes.flags, starts, ends, count)
        documents[document + 1] = count
    return documents, starts[:count].copy(), ends[:count].copy()


@leaf
def _document_breaks(buffer, at, end, pages, flags, starts, ends, count):  # type: ignore[no-untyped-def]
    begun = at
    while at < end:
        lead = buffer[at]
        size = width(lead)
        if lead < 0x80:
            stop = lead <= 30 and (10 <= lead <= 13 or lead >= 28)
        else:
            point = decode(buffer, at)
            stop = (flags[(np.int64(pages[point >> 8]) << 8) | (point & 0xFF)] & BREAK) != 0
        if stop:
            if lead == 13 and at + 1 < end and buffer[at + 1] == 10:
                size = 2
            starts[count] = begun
            ends[count] = at
            count += 1
            begun = at + size
        at += size
    if begun < end:
        starts[count] = begun
        ends[count] = end
        count += 1
    return count
