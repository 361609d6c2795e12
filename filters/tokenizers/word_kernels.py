"""Cutting UTF-8 into the words of a byte-level BPE, and looking each up, in one pass over the bytes each."""

from typing import Final

import numba
import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
Uint32s = NDArray[np.uint32]
Uint64s = NDArray[np.uint64]

UNKNOWN: Final = 0
SPACE: Final = 1
BREAK: Final = 2  # a carriage return or a line feed: space too
LETTER: Final = 3
NUMBER: Final = 4
OTHER: Final = 5
UNSURE: Final = 6  # the packages say different things


@numba.njit(cache=True, nogil=True)
def mark_kinds(raw: Bytes, at: int, kinds: Bytes, marks: Bytes) -> int:
    """Give each byte from `at` on the kind of its character; where the first stands whose kind is unknown, or -1."""
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


@numba.njit(cache=True, nogil=True)
def _run(marks: Bytes, at: int, stop: int, kind: int, or_kind: int) -> int:
    while at < stop and (marks[at] == kind or marks[at] == or_kind):
        at += 1
    return at


@numba.njit(cache=True, nogil=True)
def _after(raw: Bytes, at: int, stop: int) -> int:
    """Where the next character begins."""
    at += 1
    while at < stop and raw[at] & 0xC0 == 0x80:
        at += 1
    return at


@numba.njit(cache=True, nogil=True)
def _shortened(raw: Bytes, at: int, stop: int, any_case: bool) -> int:
    """Where 's, 't, 're, 've, 'm, 'll or 'd ends; -1 where there is none."""
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


@numba.njit(cache=True, nogil=True)
def _spaces(raw: Bytes, marks: Bytes, at: int, stop: int) -> int:
    r"""`\s+(?!\S)|\s+`: all but the last of those before something else."""
    end = _run(marks, at, stop, SPACE, BREAK)
    if end == stop:
        return end
    last = end - 1
    while raw[last] & 0xC0 == 0x80:
        last -= 1
    return last if last > at else end


@numba.njit(cache=True, nogil=True)
def _word_gpt2(raw: Bytes, marks: Bytes, at: int, stop: int) -> int:
    end = _shortened(raw, at, stop, False)
    if end > 0:
        return end
    first = at + 1 if raw[at] == 0x20 else at
    if first < stop and marks[first] >= LETTER:
        return _run(marks, first, stop, marks[first], marks[first])
    return _spaces(raw, marks, at, stop)


@numba.njit(cache=True, nogil=True)
def _word_cl100k(raw: Bytes, marks: Bytes, at: int, stop: int, digits: int) -> int:
    end = _shortened(raw, at, stop, True)
    if end > 0:
        return end
    kind = marks[at]
    if kind == LETTER:
        return _run(marks, at, stop, LETTER, LETTER)
    if kind == NUMBER:
        for _ in range(digits):
            if at < stop and marks[at] == NUMBER:
                at = _after(raw, at, stop)
        return at
    if kind != BREAK:
        following = _after(raw, at, stop)
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


@numba.njit(cache=True, nogil=True)
def cut_words(raw: Bytes, marks: Bytes, offsets: Int64s, digits: int, ends: Int64s, words: Int64s) -> int:
    """Where the words of all texts end, and how many each text has; how many there are.

    A text with an unsure character is one word. Of a number, `digits` are a word at most; 0: the pattern is GPT-2's.
    """
    found = 0
    for text in range(len(offsets) - 1):
        at, stop, before = offsets[text], offsets[text + 1], found
        for byte in range(at, stop):
            if marks[byte] == UNSURE:
                ends[found] = at = stop
                found += 1
                break
        while at < stop:
            at = _word_cl100k(raw, marks, at, stop, digits) if digits else _word_gpt2(raw, marks, at, stop)
            ends[found] = at
            found += 1
        words[text] = found - before
    return found


@numba.njit(cache=True, nogil=True)
def _hash(raw: Bytes, begin: int, end: int) -> np.uint64:
    """FNV-1a, its upper half brought down: places are taken from the lower."""
    code = np.uint64(0xCBF29CE484222325)
    for byte in range(begin, end):
        code = (code ^ np.uint64(raw[byte])) * np.uint64(0x100000001B3)
    return code ^ code >> np.uint64(32)


@numba.njit(cache=True, nogil=True)
def _place(
    raw: Bytes, begin: int, end: int, slots: Int32s, hashes: Uint64s, key_ends: Int64s, keys: Bytes, code: np.uint64
) -> np.uint64:
    """Where in `slots` a word is, or would be."""
    mask = np.uint64(len(slots) - 1)
    place = code & mask
    while slots[place] >= 0:
        entry = slots[place]
        if hashes[entry] == code:
            first = key_ends[entry]
            same = key_ends[entry + 1] - first == end - begin
            for byte in range(end - begin):
                if not same:
                    break
                same = keys[first + byte] == raw[begin + byte]
            if same:
                return place
        place = (place + np.uint64(1)) & mask
    return place


@numba.njit(cache=True, nogil=True)
def look_up(
    raw: Bytes, ends: Int64s, slots: Int32s, hashes: Uint64s, key_ends: Int64s, keys: Bytes, entries: Int32s
) -> int:
    """The entry of each word, or -1; how many have none. A word begins where the one before it ends."""
    missing = 0
    begin = np.int64(0)
    for word in range(len(ends)):
        end = ends[word]
        code = _hash(raw, begin, end)
        entries[word] = slots[_place(raw, begin, end, slots, hashes, key_ends, keys, code)]
        missing += entries[word] < 0
        begin = end
    return missing


@numba.njit(cache=True, nogil=True)
def add_entry(
    raw: Bytes, begin: int, end: int, slots: Int32s, hashes: Uint64s, key_ends: Int64s, keys: Bytes, entry: int
) -> None:
    """Make a new word the next entry."""
    code = _hash(raw, begin, end)
    place = _place(raw, begin, end, slots, hashes, key_ends, keys, code)
    slots[place] = entry
    hashes[entry] = code
    first = key_ends[entry]
    for byte in range(end - begin):
        keys[first + byte] = raw[begin + byte]
    key_ends[entry + 1] = first + end - begin


@numba.njit(cache=True, nogil=True)
def count_ids(entries: Int32s, words: Int64s, id_ends: Int64s, counts: Int64s) -> None:
    """How many ids each text has."""
    word = 0
    for text in range(len(words)):
        for _ in range(words[text]):
            counts[text] += id_ends[entries[word] + 1] - id_ends[entries[word]]
            word += 1


@numba.njit(cache=True, nogil=True)
def gather_ids(entries: Int32s, id_ends: Int64s, ids: Uint32s, out: Uint32s) -> None:
    """The ids of all words, one after the other."""
    at = 0
    for entry in entries:
        for one in range(id_ends[entry], id_ends[entry + 1]):
            out[at] = ids[one]
            at += 1
