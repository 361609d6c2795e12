"""Hash a text's shingles (`winnow.filters.duplicates.shingles`) and compute its digest, in one pass.

No word or normal form is materialised. A walk fills a buffer and continues from there on the next call, so that texts
of any size take the same memory. Sequences of ASCII words, which are most of the text in Latin script, are processed
64 bytes at a time.
"""

import numpy as np

from winnow.filters.duplicates.bits import trailing_zeros, word_bits
from winnow.filters.duplicates.normal_form import (
    ACCENTED,
    AT,
    FIRST_LEAD,
    FIRST_SYLLABLE,
    FIRST_TAIL,
    FIRST_VOWEL,
    POINT,
    ROLE,
    SEVERAL,
    STACKED,
    STACKED_POINT,
    SYLLABLE,
    SYLLABLES_OF_LEAD,
    TAILS,
    UNUSUAL,
)
from winnow.filters.duplicates.shingles import LONG, MOST_UNITS, MULTIPLIERS, POWER, SEED
from winnow.filters.language.kernels.classes import decode, width
from winnow.filters.language.kernels.memory import eight_bytes
from winnow.filters.language.words.unspaced import (
    CHARACTER,
    EXTEND,
    JOIN_BOTH,
    JOIN_LETTERS,
    LETTER,
    NUMBER,
    OTHER,
    continues,
)
from winnow.schemas.kernels import inlined, leaf

ROOM = 64  # most hashes added by a character, by 64 bytes of words, or by the end of the text
PLACES, SUMS, RING = 10, 6, MOST_UNITS  # sizes of a walk's state between calls
DONE = 9

_SEED, _POWER = np.uint64(SEED), np.uint64(POWER)
_K1, _K2, _K3 = (np.uint64(one) for one in MULTIPLIERS)
_HALF, _NEARLY_HALF = np.uint64(32), np.uint64(29)

_ZERO, _ONE, _EIGHT, _SIXTEEN = np.uint64(0), np.uint64(1), np.uint64(8), np.uint64(16)
_LONG = np.uint64(LONG)
_HIGH = np.uint64(0x8080808080808080)
_LOW = np.uint64(0x7F7F7F7F7F7F7F7F)
_CASE = np.uint64(0x2020202020202020)
_UNDERSCORE = np.uint64(0x5F5F5F5F5F5F5F5F)
_FROM_A = np.uint64((0x80 - ord("a")) * 0x0101010101010101)
_BEYOND_Z = np.uint64((0x7F - ord("z")) * 0x0101010101010101)
_FROM_0 = np.uint64((0x80 - ord("0")) * 0x0101010101010101)
_BEYOND_9 = np.uint64((0x7F - ord("9")) * 0x0101010101010101)
_THREE, _LAST_BIT, _SPACE = np.uint64(3), np.uint64(63), np.uint64(0x20)
_ALL = np.uint64((1 << 64) - 1)
_BITS = np.uint64(64)
_BLOCK = 64 + 16  # a word may be read sixteen bytes past its end


@inlined
def _step(state, eight):  # type: ignore[no-untyped-def]
    state = (state ^ eight) * _K1
    return state ^ (state >> _HALF)


@inlined
def _stirred(value):  # type: ignore[no-untyped-def]
    value = (value ^ (value >> _HALF)) * _K2
    value = (value ^ (value >> _NEARLY_HALF)) * _K3
    return value ^ (value >> _HALF)


@inlined
def _word_bytes(eight):  # type: ignore[no-untyped-def]
    """The leading letters, digits and underscores of eight bytes, without case, zero-padded; and their number."""
    low = eight & _LOW
    small = low | _CASE
    letters = (small + _FROM_A) & ~(small + _BEYOND_Z)
    digits = (low + _FROM_0) & ~(low + _BEYOND_9)
    underscores = ~((low ^ _UNDERSCORE) + _LOW)
    stops = (~(letters | digits | underscores) | eight) & _HIGH
    found = trailing_zeros(stops) >> _THREE
    return (eight | _CASE) & _first_bytes(found), np.int64(found)


@inlined
def _first_bytes(count):  # type: ignore[no-untyped-def]
    """A mask of this many bytes, at most eight."""
    return ~((_ALL << (count << np.uint64(2))) << (count << np.uint64(2)))


@inlined
def _put(point, state, joined, fill, flushed):  # type: ignore[no-untyped-def]
    """Append a code point to its unit."""
    item, more = np.uint64(point) | _SPACE, 1
    if point >= 0x80:
        item, more = np.uint64(point) | _LONG, 3
    joined |= item << np.uint64(8 * fill)
    fill += more
    if fill >= 8:
        state = _step(state, joined)
        flushed += 8
        fill -= 8
        joined = item >> np.uint64(8 * (more - fill))
    return state, joined, fill, flushed


@inlined
def _mark(point, place):  # type: ignore[no-untyped-def]
    """The contribution of a stacked mark after this many bytes."""
    return _stirred((np.uint64(point) << _HALF) ^ np.uint64(place))


@inlined
def _rolled(unit, rolled, first, second, count, filled, size, power, ring, out):  # type: ignore[no-untyped-def]
    """Append a unit."""
    leaving = ring[(count - size) & (MOST_UNITS - 1)]
    rolled = rolled * _POWER + (unit - leaving * power)
    ring[count & (MOST_UNITS - 1)] = unit
    count += 1
    out[filled] = _stirred(rolled)
    filled += count >= size
    return rolled, _step(first, unit), (second + unit) * _K3 ^ (second >> _HALF), count, filled


@leaf
def _plain_words(buffer, at, end, rolled, first, second, count, filled, size, power, ring, out):  # type: ignore[no-untyped-def]
    """Append ASCII words that end in ASCII; the first begins at `at`."""
    room, last_block = len(out) - ROOM, len(buffer) - _BLOCK
    while filled < room and at <= last_block:
        inside, joining, ending = word_bits(buffer, at)
        if at + 64 > end:
            within = (_ONE << np.uint64(end - at)) - _ONE
            inside, joining, ending = inside & within, joining & within, ending & within
        ending |= joining & ((ending | joining) >> _ONE)  # nothing follows that it might join
        begun = at
        passed = trailing_zeros(~ending)
        while passed < _BITS:
            inside >>= passed
            ending >>= passed
            at += np.int64(passed)
            length = trailing_zeros(~inside)
            if length in (_ZERO, _BITS) or (ending >> length) & _ONE == _ZERO:
                break
            unit, start, left = _SEED, at, length
            while left >= _SIXTEEN:
                unit = _step(unit, eight_bytes(buffer, start) | _CASE)
                start += 8
                left -= _EIGHT
            # One or two eights: unpredictable, so both are computed and one is chosen without a branch.
            first_size = min(left, _EIGHT)
            unit = _step(unit, (eight_bytes(buffer, start) | _CASE) & _first_bytes(first_size))
            longer = _step(unit, (eight_bytes(buffer, start + 8) | _CASE) & _first_bytes(left - first_size))
            unit ^= (unit ^ longer) & (_ZERO - (first_size >> _THREE))
            rolled, first, second, count, filled = _rolled(
                unit, rolled, first, second, count, filled, size, power, ring, out
            )
            passed = length + trailing_zeros(~(ending >> length))
        else:
            at += 64
        if at == begun:
            break
    return at, rolled, first, second, count, filled


@leaf
def begin(at, places, sums, ring):  # type: ignore[no-untyped-def]
    """Start a walk at the text's first byte."""
    places[:] = 0
    places[0] = places[4] = at
    places[1] = places[2] = OTHER
    sums[:] = _ZERO
    sums[0] = _SEED
    ring[:] = _ZERO


@leaf
def walk(buffer, end, pages, values, entries, pool, words, size, power, places, sums, ring, out):  # type: ignore[no-untyped-def]
    """The next hashes of a text, as many as `out` has room for; `places[DONE]` is set at the end.

    Returns:
        The number of hashes. If it is 0 at the end, the text has no unit.
    """
    at, last, joint, joint_at, sure = places[0], places[1], places[2], places[3], places[4]
    count, fill, flushed = places[5], places[6], places[7]
    fresh, before, spaced = (places[8] & 1) != 0, (places[8] & 2) != 0, (places[8] & 4) != 0
    state, joined, marks, rolled, first, second = sums[0], sums[1], sums[2], sums[3], sums[4], sums[5]
    filled = 0
    plain = True  # whether whole ASCII words may follow: searching in vain only costs time
    room, safe = len(out) - ROOM, len(buffer) - 8
    while at < end and filled < room:
        lead = buffer[at]
        if lead < 0x80:
            point: np.int64 = np.int64(lead)
            value = np.int64(values[lead])  # the page of ASCII is the first
            after = at + 1
        else:
            point = decode(buffer, at)
            value = np.int64(values[(np.int64(pages[point >> 8]) << 8) | (point & 0xFF)])
            after = at + width(lead)
            if words and joint == OTHER and last == LETTER and value & (ROLE | UNUSUAL) == LETTER:
                state, joined, fill, flushed = _put((point + (value >> AT)) & POINT, state, joined, fill, flushed)
                at = after
                continue
            if words and value & (ROLE | UNUSUAL) == CHARACTER:
                if fill + flushed > 0 or marks != _ZERO:
                    rolled, first, second, count, filled = _rolled(
                        _step(state, joined) + marks, rolled, first, second, count, filled, size, power, ring, out
                    )
                state, joined = _SEED, np.uint64((point + (value >> AT)) & POINT) | _LONG
                marks, fill, flushed = _ZERO, 3, 0
                last, joint = CHARACTER, OTHER
                at = after
                continue
        role = value & ROLE
        if at < sure:  # of a word that continued after a possible end
            taken = True
        elif role == OTHER:
            last = joint = OTHER
            taken = False
        elif role == EXTEND:
            taken = last != OTHER and joint == OTHER
        elif JOIN_LETTERS <= role <= JOIN_BOTH:
            taken = False
            if last != OTHER and joint == OTHER:
                joint, joint_at = role, at
            else:
                last = joint = OTHER
        else:
            taken = True
            if not continues(last, joint, role):
                if words:
                    if fill + flushed > 0 or marks != _ZERO:
                        rolled, first, second, count, filled = _rolled(
                            _step(state, joined) + marks, rolled, first, second, count, filled, size, power, ring, out
                        )
                        state, joined, marks, fill, flushed = _SEED, _ZERO, _ZERO, 0, 0
                else:
                    fresh, spaced = True, role in (LETTER, NUMBER)
            elif joint != OTHER:  # go back for the joiner
                at, sure, joint = joint_at, at, OTHER
                continue
            last, joint = role, OTHER
            if words and lead < 0x80 and at <= safe:
                if plain and fill + flushed == 0 and marks == _ZERO and at + _BLOCK <= len(buffer):
                    # Consecutive ASCII words, until one that may continue differently.
                    begun = at
                    at, rolled, first, second, count, filled = _plain_words(
                        buffer, at, end, rolled, first, second, count, filled, size, power, ring, out
                    )
                    if at > begun:
                        last = OTHER
                        continue
                while True:
                    eight = eight_bytes(buffer, at)
                    if at + 8 > end:
                        eight &= (_ONE << np.uint64(8 * (end - at))) - _ONE
                    eight, found = _word_bytes(eight)
                    joined |= eight << np.uint64(8 * fill)
                    fill += found
                    if fill >= 8:
                        state = _step(state, joined)
                        flushed += 8
                        fill -= 8
                        joined = (eight >> _ONE) >> (_LAST_BIT - np.uint64(8 * (fill + 8 - found)))
                    at += found
                    if found < 8 or at > safe or at >= end:
                        break
                last = np.int64(values[buffer[at - 1]]) & ROLE
                plain = at < end and buffer[at] < 0x80
                continue
        at = after
        if not taken:
            continue
        form = value >> AT
        if words and not value & UNUSUAL:  # most characters
            state, joined, fill, flushed = _put((point + form) & POINT, state, joined, fill, flushed)
            continue
        if words and value & ACCENTED:
            entry = entries[form]
            state, joined, fill, flushed = _put(np.int64(pool[entry]), state, joined, fill, flushed)
            marks += _mark(np.int64(pool[entry + 1]) & POINT, fill + flushed)
            continue
        number = np.int64(1)
        syllable = np.int64(0)
        if value & (SEVERAL | SYLLABLE):
            if value & SEVERAL:
                number = np.int64(entries[form + 1] - entries[form])
            else:
                syllable = np.int64(point - FIRST_SYLLABLE)
                number = np.int64(2 + (syllable % TAILS != 0))
        for part in range(number):
            stacked = False
            if not value & (SEVERAL | SYLLABLE):
                point = (point + form) & POINT
                stacked = (value & STACKED) != 0
            elif value & SEVERAL:
                point = np.int64(pool[entries[form] + part])
                stacked = (point & STACKED_POINT) != 0
                point &= POINT
            elif part == 0:
                point = np.int64(FIRST_LEAD + syllable // SYLLABLES_OF_LEAD)
            elif part == 1:
                point = np.int64(FIRST_VOWEL + syllable % SYLLABLES_OF_LEAD // TAILS)
            else:
                point = np.int64(FIRST_TAIL + syllable % TAILS)
            if not words:
                # The space before a word is added with its first character, as a word may have only invisible ones.
                space = fresh and before and spaced
                for separate in range(1 - np.int64(space), 2):
                    opening = separate == 0 or not stacked
                    if opening and (fill + flushed > 0 or marks != _ZERO):
                        rolled, first, second, count, filled = _rolled(
                            _step(state, joined) + marks, rolled, first, second, count, filled, size, power, ring, out
                        )
                        state, joined, marks, fill, flushed = _SEED, _ZERO, _ZERO, 0, 0
                    if separate == 0:
                        joined, fill = np.uint64(32), 1
                if fresh:
                    before, fresh = spaced, False
            if stacked:
                marks += _mark(point, fill + flushed)
                continue
            state, joined, fill, flushed = _put(point, state, joined, fill, flushed)
    if at >= end and places[DONE] == 0:
        places[DONE] = 1
        if fill + flushed > 0 or marks != _ZERO:
            rolled, first, second, count, filled = _rolled(
                _step(state, joined) + marks, rolled, first, second, count, filled, size, power, ring, out
            )
        if 0 < count < size:
            out[filled] = _stirred(rolled)
            filled += 1
    places[0], places[1], places[2], places[3], places[4] = at, last, joint, joint_at, sure
    places[5], places[6], places[7] = count, fill, flushed
    places[8] = np.int64(fresh) | np.int64(before) << 1 | np.int64(spaced) << 2
    sums[0], sums[1], sums[2], sums[3], sums[4], sums[5] = state, joined, marks, rolled, first, second
    return filled


@leaf
def digest_of(places, sums, digest):  # type: ignore[no-untyped-def]
    """Write the two halves of a text's digest after its walk has ended."""
    count = np.uint64(places[5])
    digest[0] = _stirred(sums[4] + count)
    digest[1] = _stirred(sums[5] ^ count)
