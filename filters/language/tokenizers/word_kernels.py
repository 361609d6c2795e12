"""Kernels that split UTF-8 into the words of a byte-level BPE, each in one pass."""

from typing import Final

import numpy as np

from winnow.filters.language.kernels.classes import character_before, width
from winnow.schemas.kernels import kernel

UNKNOWN: Final = 0
SPACE: Final = 1
BREAK: Final = 2  # a carriage return or a line feed: space too
LETTER: Final = 3
NUMBER: Final = 4
OTHER: Final = 5
UNSURE: Final = 6  # the packages disagree


@kernel
def mark_kinds(raw, at, kinds, marks):  # type: ignore[no-untyped-def]
    """Mark each byte from `at` on with its character's kind; returns the first position of unknown kind, or -1."""
    while at < len(raw):
        lead = np.int64(raw[at])
        if lead < 0x80:
            size, code = 1, lead
        elif lead < 0xE0:
            size, code = 2, lead & 0x1F
        elif lead < 0xF0:
            size, code = 3, lead & 0x0F
        else:
            size, code = 4, lead & 0x07
        for more in range(at + 1, at + size):
            code = code << 6 | np.int64(raw[more]) & 0x3F
        kind = kinds[code]
        if kind == UNKNOWN:
            return at
        for byte in range(at, at + size):
            marks[byte] = kind
        at += size
    return -1


@kernel
def _run(marks, at, stop, kind, or_kind):  # type: ignore[no-untyped-def]
    while at < stop and (marks[at] == kind or marks[at] == or_kind):
        at += 1
    return at


@kernel
def _shortened(raw, at, stop, any_case):  # type: ignore[no-untyped-def]
    """The end of 's, 't, 're, 've, 'm, 'll or 'd; -1 if there is none."""
    case = np.uint8(0x20 if any_case else 0)
    if raw[at] != 0x27 or at + 1 >= stop:
        return -1
    first = raw[at + 1] | case
    if first == 0x73 or first == 0x74 or first == 0x6D or first == 0x64:
        return at + 2
    if at + 2 < stop:
        second = raw[at + 2] | case
        if ((first == 0x72 or first == 0x76) and second == 0x65) or (first == 0x6C and second == 0x6C):
            return at + 3
    return -1


@kernel
def _spaces(raw, marks, at, stop):  # type: ignore[no-untyped-def]
    r"""`\s+(?!\S)|\s+`: all but the last of those before something else."""
    end = _run(marks, at, stop, SPACE, BREAK)
    if end == stop:
        return end
    last = character_before(raw, at, end)
    return last if last > at else end


@kernel
def _word_gpt2(raw, marks, at, stop):  # type: ignore[no-untyped-def]
    end = _shortened(raw, at, stop, False)
    if end > 0:
        return end
    first = at + 1 if raw[at] == 0x20 else at
    if first < stop and marks[first] >= LETTER:
        return _run(marks, first, stop, marks[first], marks[first])
    return _spaces(raw, marks, at, stop)


@kernel
def _word_cl100k(raw, marks, at, stop, digits):  # type: ignore[no-untyped-def]
    end = _shortened(raw, at, stop, True)
    if end > 0:
        return end
    kind = marks[at]
    if kind == LETTER:
        return _run(marks, at, stop, LETTER, LETTER)
    if kind == NUMBER:
        for _ in range(digits):
            if at < stop and marks[at] == NUMBER:
                at = at + width(raw[at])
        return at
    if kind != BREAK:
        following = at + width(raw[at])
        if following < stop and marks[following] == LETTER:
            return _run(marks, following, stop, LETTER, LETTER)
    first = at + 1 if raw[at] == 0x20 else at
    if first < stop and marks[first] == OTHER:
        return _run(marks, _run(marks, first, stop, OTHER, OTHER), stop, BREAK, BREAK)
    end = _run(marks, at, stop, SPACE, BREAK)
    while end > at:
        if marks[end - 1] == BREAK:
            return end
        end -= 1
    return _spaces(raw, marks, at, stop)


@kernel
def cut_words(raw, marks, offsets, digits, ends, words):  # type: ignore[no-untyped-def]
    """The ends of all texts' words, the number of words per text and in all.

    A text with an unsure character is one word. `digits` is the most digits in a word; 0 for the pattern of GPT-2.
    """
    found = 0
    for text in range(len(offsets) - 1):
        at, stop, before = offsets[text], offsets[text + 1], found
        for byte in range(at, stop):
            if marks[byte] == UNSURE:
                marks[at] = UNSURE
                ends[found] = at = stop
                found += 1
                break
        while at < stop:
            at = _word_cl100k(raw, marks, at, stop, digits) if digits else _word_gpt2(raw, marks, at, stop)
            ends[found] = at
            found += 1
        words[text] = found - before
    return found
