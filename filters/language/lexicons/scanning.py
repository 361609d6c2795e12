"""Find a lexicon's words and phrases in folded texts, in one pass with one hash per word.

A word is a run of letters, digits and their marks, excluding letters of scripts without spaces. A phrase is words with
only spaces, hyphens, apostrophes and the like between them. 64-bit hashes represent words.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from winnow.filters.language.kernels.classes import (
    ALPHA,
    DECIMAL,
    DIGIT,
    MARK,
    Table,
    decode,
    flags_by_point,
    table_of,
    width,
)
from winnow.schemas.kernels import inlined, kernel, leaf
from winnow.schemas.languages import script_ranges

UNSPACED = frozenset({"Hani", "Hira", "Kana", "Thai", "Laoo", "Khmr", "Mymr", "Yiii", "Bopo"})
"""Scripts whose words only a dictionary can separate."""

_OTHER, _INSIDE, _MARK, _ALONE, _GAP = range(5)

_SEED = np.uint64(0xCBF29CE484222325)
_PRIME = np.uint64(0x100000001B3)
_MIX = np.uint64(0x9E3779B97F4A7C15)
_LEET_SEED = np.uint64(0x84222325CBF29CE4)
_SHIFT, _SLOT = np.uint64(29), np.uint64(20)
_ONE = np.uint64(1)
STARTS = 4096
"""Flags for how a set's words begin."""

START_BYTES = 3
"""The bytes that they cover; shorter words have none."""

_MOST_GAP = 3  # bytes between two words of a phrase

Roles = Table


@lru_cache(maxsize=1)
def roles() -> Roles:
    """The role of every code point in words."""
    flags = flags_by_point()
    found = np.full(len(flags), _OTHER, np.uint16)
    found[(flags & (ALPHA | DECIMAL | DIGIT)) != 0] = _INSIDE
    for one in script_ranges():
        if one.script in UNSPACED:
            found[one.first : one.last + 1] = _ALONE
    found[(flags & MARK) != 0] = _MARK
    for character in " \t\n\r-'_/+":
        found[ord(character)] = _GAP
    return table_of(found)


class HashTable(NamedTuple):
    """Sets of hashes, by open addressing, all in the same arrays: `masks[i] + 1` slots of set i from `begins[i]` on."""

    keys: NDArray[np.uint64]  # 0: free
    entries: NDArray[np.int32]  # the word's number; -1 if it is only the beginning of a phrase
    longer: NDArray[np.uint8]  # whether a phrase continues after it
    stems: NDArray[np.uint8]  # whether it may have affixes
    begins: NDArray[np.int64]
    masks: NDArray[np.int64]
    starts: NDArray[np.uint8]  # for each set, whether one of its words begins like this
    prefixes: NDArray[np.int64]  # the set of its prefixes, or -1
    suffixes: NDArray[np.int64]  # the set of its suffixes, or -1
    leet: NDArray[np.int64]  # the set of its words with digits for letters, or -1


@inlined
def _final(value):  # type: ignore[no-untyped-def]
    value = (value ^ (value >> _SHIFT)) * _MIX
    return (value ^ (value >> _SHIFT)) | _ONE


@inlined
def chained(first, second):  # type: ignore[no-untyped-def]
    """The hash of a phrase extended by one word."""
    return _final((first * _MIX) ^ second)


@inlined
def _find(keys, begin, mask, value):  # type: ignore[no-untyped-def]
    """The slot of a hash in a set, or -1."""
    slot = np.int64(value >> _SLOT) & mask
    while keys[begin + slot] != 0 and keys[begin + slot] != value:
        slot = (slot + 1) & mask
    return begin + slot if keys[begin + slot] != 0 else np.int64(-1)


@inlined
def _start(buffer, at):  # type: ignore[no-untyped-def]
    """The index of a set's flag for the three first bytes of a word."""
    return ((np.int64(buffer[at]) * 31 + np.int64(buffer[at + 1])) * 31 + np.int64(buffer[at + 2])) & (STARTS - 1)


def start_of(word: bytes) -> int:
    """The index of the flag for how a word of at least three bytes begins."""
    return int(_start(np.frombuffer(word, np.uint8), 0))


@leaf
def _role(buffer, at, pages, flags):  # type: ignore[no-untyped-def]
    point = np.int64(buffer[at]) if buffer[at] < 0x80 else decode(buffer, at)
    return flags[(np.int64(pages[point >> 8]) << 8) | (point & 0xFF)]


@leaf
def _word(buffer, at, end, pages, flags, starts, home):  # type: ignore[no-untyped-def]
    """The next word: its start, its end and its hash, which is 0 if no word of the set begins like it.

    `home` is the position of the set's flags, -1 to get every hash. Returns `end` if there is no word.
    """
    while at < end:
        lead = buffer[at]
        if lead < 0x80:
            if flags[lead] == _INSIDE:
                break
            at += 1
        else:
            if _role(buffer, at, pages, flags) == _INSIDE:
                break
            at += width(lead)
    start = at
    asked = home < 0 or at + 3 > end or starts[home + _start(buffer, at)] != 0
    value = _SEED
    while at < end:
        lead = buffer[at]
        if lead < 0x80:
            if flags[lead] != _INSIDE:
                break
            after = at + 1
        else:
            role = _role(buffer, at, pages, flags)
            if role != _INSIDE and role != _MARK:
                break
            after = at + width(lead)
        if not asked and at - start >= 3:
            at = after
            continue
        while at < after:
            value = (value ^ np.uint64(buffer[at])) * _PRIME
            at += 1
    return start, at, _final(value) if asked or at - start < 3 else np.uint64(0)


@leaf
def _joined(buffer, start, stop, flags):  # type: ignore[no-untyped-def]
    """Whether the text between two words may be inside a phrase."""
    if stop - start > _MOST_GAP:
        return False
    joined = True
    for at in range(start, stop):
        joined = joined and buffer[at] < 0x80 and flags[buffer[at]] == _GAP
    return joined


@leaf
def _leet_hash(buffer, start, stop, digits):  # type: ignore[no-untyped-def]
    """The hash of an ASCII word with its digits as letters; `l` becomes `i`, as 1 may be either."""
    value = _LEET_SEED
    numbers = 0
    for at in range(start, stop):
        byte = buffer[at]
        if byte >= 0x80:
            return np.uint64(0), 0
        if 48 <= byte <= 57:
            byte = digits[byte - 48]
            numbers += 1
        elif byte == 108:
            byte = np.uint8(105)
        value = (value ^ np.uint64(byte)) * _PRIME
    return _final(value), numbers


@leaf
def _affixed(buffer, start, stop, keys, stems, starts, begins, masks, number, prefixes, suffixes):  # type: ignore[no-untyped-def]
    """The slot of the longest word that this is with affixes of the set, or -1."""
    best, size = np.int64(-1), 0
    before = _SEED
    base = start
    while base + 3 <= stop:
        may = starts[number * STARTS + _start(buffer, base)] != 0
        if may and (base == start or _find(keys, begins[prefixes], masks[prefixes], _final(before)) >= 0):
            value = _SEED
            at = base
            while at < stop:
                after = at + width(buffer[at])
                while at < after:
                    value = (value ^ np.uint64(buffer[at])) * _PRIME
                    at += 1
                slot = _find(keys, begins[number], masks[number], _final(value))
                if slot < 0 or stems[slot] == 0 or at - base <= size:
                    continue
                if at < stop:
                    rest = _SEED
                    for place in range(at, stop):
                        rest = (rest ^ np.uint64(buffer[place])) * _PRIME
                    if suffixes < 0 or _find(keys, begins[suffixes], masks[suffixes], _final(rest)) < 0:
                        continue
                best, size = slot, at - base
        if prefixes < 0 or base - start > _LONGEST_PREFIX:
            break
        after = base + width(buffer[base])
        while base < after:
            before = (before ^ np.uint64(buffer[base])) * _PRIME
            base += 1
    return best


_LONGEST_PREFIX = 12
_LONGEST = 120
"""Bytes; longer words are not checked for affixes, which takes several reads of each letter."""


@leaf
def _scan(buffer, begin, end, pages, flags, table, number, digits, found, count, stamps, stamp):  # type: ignore[no-untyped-def]
    """The number of words and of different entries in one text, and the end of `found`, -1 if it has no room."""
    keys, entries, longer = table.keys, table.entries, table.longer
    home, mask = table.begins[number], table.masks[number]
    prefixes, suffixes, leet = table.prefixes[number], table.suffixes[number], table.leet[number]
    affixes = prefixes >= 0 or suffixes >= 0
    words = distinct = 0
    starts = table.starts
    likely = np.int64(-1) if prefixes >= 0 or leet >= 0 else np.int64(number * STARTS)
    start, stop, value = _word(buffer, begin, end, pages, flags, starts, likely)
    while start < end:
        words += 1
        entry, last, inside = np.int64(-1), stop, 0
        slot = _find(keys, home, mask, value) if value != 0 else np.int64(-1)
        if slot >= 0:
            entry = np.int64(entries[slot])
            chain, at, more = value, stop, 0
            while longer[slot] != 0:
                further, after, one = _word(buffer, at, end, pages, flags, starts, -1)
                if further >= end or not _joined(buffer, at, further, flags):
                    break
                chain = chained(chain, one)
                slot = _find(keys, home, mask, chain)
                if slot < 0:
                    break
                more += 1
                at = after
                if entries[slot] >= 0:
                    entry, last, inside = np.int64(entries[slot]), at, more
        if entry < 0 and affixes and value != 0 and stop - start <= _LONGEST:
            slot = _affixed(
                buffer,
                start,
                stop,
                keys,
                table.stems,
                starts,
                table.begins,
                table.masks,
                number,
                prefixes,
                suffixes,
            )
            if slot >= 0:
                entry = np.int64(entries[slot])
        if entry < 0 and leet >= 0:
            spelled, numbers = _leet_hash(buffer, start, stop, digits)
            if 0 < numbers < stop - start:
                slot = _find(keys, table.begins[leet], table.masks[leet], spelled)
                if slot >= 0:
                    entry = np.int64(entries[slot])
        if entry >= 0:
            if count == len(found):
                return words, distinct, -1
            found[count, 0], found[count, 1], found[count, 2] = start, last, entry
            count += 1
            words += inside
            if stamps[entry] != stamp:
                stamps[entry] = stamp
                distinct += 1
        start, stop, value = _word(buffer, last, end, pages, flags, starts, likely)
    return words, distinct, count


@kernel
def scan(buffer, offsets, sets, flags, table, entries, digits):  # type: ignore[no-untyped-def]
    """Counts of words, occurrences and different entries per text, and each occurrence's bytes and entry.

    Args:
        buffer: The folded texts.
        offsets: The start of each text.
        sets: The set of words to search for in each text, -1 for none.
        flags: The role of every code point in words.
        table: The sets.
        entries: The number of entries.
        digits: The letter that each digit may stand for.
    """
    rows = len(offsets) - 1
    words, distinct = np.zeros(rows, np.int64), np.zeros(rows, np.int64)
    bounds = np.zeros(rows + 1, np.int64)
    found = np.empty((256, 3), np.int64)
    stamps = np.zeros(entries, np.int64)
    stamp = 0
    count = 0
    for row in range(rows):
        after = count
        while sets[row] >= 0:
            stamp += 1
            words[row], distinct[row], after = _scan(
                buffer,
                offsets[row],
                offsets[row + 1],
                flags.pages,
                flags.flags,
                table,
                sets[row],
                digits,
                found,
                count,
                stamps,
                stamp,
            )
            if after >= 0:
                break
            wider = np.empty((2 * len(found), 3), np.int64)
            wider[: len(found)] = found
            found = wider
        count = after
        bounds[row + 1] = count
    return words, distinct, bounds, found[:count].copy()


@kernel
def hashes(buffer, offsets, leet, digits):  # type: ignore[no-untyped-def]
    """The hashes of words, as `scan` uses them."""
    found = np.empty(len(offsets) - 1, np.uint64)
    for number in range(len(found)):
        start, stop = offsets[number], offsets[number + 1]
        if leet:
            found[number] = _leet_hash(buffer, start, stop, digits)[0]
        else:
            value = _SEED
            for at in range(start, stop):
                value = (value ^ np.uint64(buffer[at])) * _PRIME
            found[number] = _final(value)
    return found


@kernel
def words_of(buffer, flags):  # type: ignore[no-untyped-def]
    """The starts and ends of one text's words, and whether they form a phrase.

    Letters of scripts without spaces count as separate words here, so that entries with such letters can be recognised.
    """
    found = np.empty((len(buffer), 2), np.int64)
    count = 0
    none = np.zeros(0, np.uint8)
    start, stop, _ = _word(buffer, 0, len(buffer), flags.pages, flags.flags, none, -1)
    whole = start == 0
    while start < len(buffer):
        found[count, 0], found[count, 1] = start, stop
        count += 1
        start, after, _ = _word(buffer, stop, len(buffer), flags.pages, flags.flags, none, -1)
        whole = whole and _joined(buffer, stop, start, flags.flags)
        stop = after
    return found[:count], whole
