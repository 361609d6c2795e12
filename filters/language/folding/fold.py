"""Fold texts into plain copies for searching, with a mapping back to the bytes of the originals.

Folding removes invisible characters (zero-width characters, soft hyphens, variation selectors, bidi controls, tags)
and unifies compatibility forms, decimal digits of every script, spaces, hyphens and straight quotes. With case folding,
characters are also composed; accents that compose with nothing ("zalgo" text), Hebrew points, Arabic vowels and the
tatweel are removed; and a word that mixes Latin letters with Latin-looking Cyrillic or Greek ones is written in one
script: `pаypal` with a Cyrillic letter becomes Latin, a Russian word stays.
"""

from threading import Lock

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from winnow.filters.language.folding.characters import (
    COMPOSES,
    CYRILLIC,
    ENTRY,
    GREEK,
    LATIN,
    LONGEST,
    LOOKALIKES,
    LOOKALIKES_AT,
    STRIPPED,
    WORD,
    characters,
)
from winnow.filters.language.folding.texts import FoldedTexts
from winnow.filters.language.kernels.classes import decode, width
from winnow.filters.language.kernels.memory import eight_bytes, put_eight_bytes
from winnow.filters.language.kernels.spans import Texts, texts_of
from winnow.schemas.kernels import inlined, kernel, leaf

__all__ = ["FoldedTexts", "fold"]

_HIGH = np.uint64(0x8080808080808080)
_FROM_A = np.uint64((0x80 - 0x41) * 0x0101010101010101)
_PAST_Z = np.uint64((0x7F - 0x5A) * 0x0101010101010101)
_TWO, _EIGHT, _NONE, _LOWEST = np.uint64(2), np.uint64(8), np.uint64(0), np.uint64(0x80)
_OTHER = CYRILLIC | GREEK
_AS_IS, _TO_LATIN, _TO_CYRILLIC = range(3)
_NO_LATIN, _NO_CYRILLIC = 1, 2  # some letter of the word has no lookalike in that script


_LOCK = Lock()
_REMEMBERED = 2  # with and without case
_slots: dict[tuple[int, ...], FoldedTexts] = {}  # the oldest first


def fold(texts: Texts, *, case: bool) -> FoldedTexts:
    """Fold every text; without `case`, ASCII texts are returned unchanged.

    Calls with the same array return the same object, as several operators read one batch.
    """
    # Cached arrays are kept alive, so that their addresses are not reused.
    addresses = (buffer.address if buffer is not None else 0 for buffer in texts.array.buffers())
    key = (*addresses, texts.array.offset, len(texts.array), case)
    with _LOCK:
        found = _slots.pop(key, None)
    if found is None:
        found = _folded(texts, case)
    with _LOCK:
        _slots[key] = found
        while len(_slots) > _REMEMBERED:
            del _slots[next(iter(_slots))]
    return found


def _folded(texts: Texts, case: bool) -> FoldedTexts:
    count = len(texts.offsets) - 1
    begin, end = int(texts.offsets[0]), int(texts.offsets[-1])
    high = np.count_nonzero(texts.buffer[begin:end] > 0x7F)
    if not case and high == 0:
        return FoldedTexts(texts, texts, np.zeros(count + 1, np.int64), *_no_runs())
    offsets, out, runs, *arrays = _fold(
        texts.buffer, texts.offsets, case, end - begin + (LONGEST - 1) * high + 16, characters(case=case)
    )
    column = pa.LargeStringArray.from_buffers(count, pa.py_buffer(offsets), pa.py_buffer(out))
    return FoldedTexts(texts_of(column), texts, runs, *arrays)


def _no_runs() -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.uint8], NDArray[np.int32]]:
    return np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0, np.uint8), np.zeros(0, np.int32)


@inlined  # type: ignore[untyped-decorator]
def _lower(block: np.uint64) -> np.uint64:
    """Eight bytes of ASCII in lower case; the result for other bytes is undefined."""
    plain = block & ~_HIGH
    capital = (plain + _FROM_A) & ~(plain + _PAST_Z) & _HIGH
    return block | (capital >> _TWO)


@leaf
def _compose(first, second, pairs, composed):  # type: ignore[no-untyped-def]
    """The composition of two characters, or -1."""
    if 0x1161 <= second <= 0x1175 and 0x1100 <= first <= 0x1112:
        return 0xAC00 + ((first - 0x1100) * 21 + second - 0x1161) * 28
    if 0x11A8 <= second <= 0x11C2 and 0xAC00 <= first <= 0xD7A3 and (first - 0xAC00) % 28 == 0:
        return first + second - 0x11A7
    slots = len(pairs)
    slot = ((first * 0x9E3779B1 + second * 0x85EBCA6B) >> 7) & (slots - 1)
    while pairs[slot] >= 0:
        if pairs[slot] == (first << 21) | second:
            return np.int64(composed[slot])
        slot = (slot + 1) & (slots - 1)
    return -1


@leaf  # type: ignore[untyped-decorator]
def _put(out: NDArray[np.uint8], at: int, point: int) -> int:
    """Write a code point as UTF-8; returns its number of bytes."""
    if point < 0x80:
        out[at] = point
        return 1
    if point < 0x800:
        out[at], out[at + 1] = 0xC0 | point >> 6, 0x80 | point & 0x3F
        return 2
    if point < 0x10000:
        out[at], out[at + 1], out[at + 2] = 0xE0 | point >> 12, 0x80 | point >> 6 & 0x3F, 0x80 | point & 0x3F
        return 3
    out[at], out[at + 1] = 0xF0 | point >> 18, 0x80 | point >> 12 & 0x3F
    out[at + 2], out[at + 3] = 0x80 | point >> 6 & 0x3F, 0x80 | point & 0x3F
    return 4


@kernel
def _fold(buffer, offsets, case, room, tables):  # type: ignore[no-untyped-def]
    out = np.empty(room, np.uint8)
    new_offsets = np.zeros(len(offsets), np.int64)
    bounds = np.zeros(len(offsets), np.int64)
    folded, originals = np.empty(1024, np.int32), np.empty(1024, np.int32)
    folded_steps, original_steps = np.empty(1024, np.uint8), np.empty(1024, np.int32)
    used = 0
    top = np.int64(0)  # of `out`
    for document in range(len(offsets) - 1):
        while True:
            new_top, new_used = _document(
                buffer,
                offsets[document],
                offsets[document + 1],
                case,
                tables.pages,
                tables.values,
                tables.places,
                tables.sizes,
                tables.points,
                tables.pool,
                tables.pairs,
                tables.composed,
                tables.to_latin,
                tables.to_cyrillic,
                out,
                top,
                folded,
                originals,
                folded_steps,
                original_steps,
                used,
            )
            if new_used >= 0:
                break
            size = 2 * len(folded)  # too little room for the runs: retry with twice as much
            folded, originals = _longer(folded, size), _longer(originals, size)
            folded_steps, original_steps = _longer(folded_steps, size), _longer(original_steps, size)
        top, used = new_top, new_used
        new_offsets[document + 1] = top
        bounds[document + 1] = used
    return (
        new_offsets,
        out[:top],
        bounds,
        folded[:used].copy(),
        originals[:used].copy(),
        folded_steps[:used].copy(),
        original_steps[:used].copy(),
    )


@kernel
def _longer(array, size):  # type: ignore[no-untyped-def]
    longer = np.empty(size, array.dtype)
    longer[: len(array)] = array
    return longer


@inlined
def _is_word(byte):  # type: ignore[no-untyped-def]
    return 48 <= byte <= 57 or 97 <= byte | 0x20 <= 122 or byte == 95


@leaf
def _document(  # type: ignore[no-untyped-def]
    buffer,
    begin,
    end,
    case,
    pages,
    values,
    places,
    sizes,
    points,
    pool,
    pairs,
    composed,
    to_latin,
    to_cyrillic,
    out,
    top,
    folded,
    originals,
    folded_steps,
    original_steps,
    used,
):
    """Fold one text; returns the ends of `out` and of the runs, the latter -1 if they have no room.

    A word that mixes scripts is rewritten once its end is known.
    """
    first = top
    at = begin
    expected = begin  # position of a character that continues the last run
    step, old_step = np.int64(1), np.int64(1)  # of the last run
    # The last character, to go back to when a mark joins it.
    last_at, last_top, last_used, last_point = begin, top, used, np.int64(-1)
    last_expected, last_step, last_old_step = begin, step, old_step
    # The open word, to go back to if it mixes scripts; `ran` is the start of ASCII that was not examined yet.
    open_, scripts, lacks, latins, others = False, 0, 0, 0, 0
    word_at, word_top, word_used = begin, top, used
    word_expected, word_step, word_old_step = begin, step, old_step
    ran = np.int64(-1)
    manner, manner_end = _AS_IS, begin
    while at < end or (open_ and manner == _AS_IS and scripts & LATIN and scripts & _OTHER):
        point = np.int64(0)
        value = np.int64(0)
        wide = 0
        if at < end:
            lead = buffer[at]
            if lead < 0x80 and not scripts & _OTHER and manner == _AS_IS and at + 8 <= end:
                if ran < 0:
                    ran = at
                if at != expected or step != 1 or old_step != 1:
                    if used == len(folded):
                        return top, -1
                    folded[used], originals[used] = top - first, at - begin
                    folded_steps[used], original_steps[used] = 1, 1
                    used += 1
                    step = old_step = np.int64(1)
                while at + 8 <= end:
                    block = eight_bytes(buffer, at)
                    put_eight_bytes(out, top, _lower(block) if case else block)
                    mask = block & _HIGH
                    if mask == _NONE:
                        at += 8
                        top += 8
                        continue
                    while mask & _LOWEST == _NONE:
                        mask >>= _EIGHT
                        at += 1
                        top += 1
                    break
                expected = at
                last_at, last_top, last_used = at - 1, top - 1, used
                last_expected, last_step, last_old_step = at - 1, step, old_step
                last_point = np.int64(out[top - 1])
                continue
            wide = width(lead)
            point = np.int64(lead) if wide == 1 else decode(buffer, at)
            value = np.int64(values[(np.int64(pages[point >> 8]) << 8) | (point & 0xFF)])
        entry = value & ENTRY
        size = np.int64(wide)
        if entry:
            size = np.int64(sizes[entry])
        elif wide == 0:
            size = np.int64(1)
        changed = np.int64(-1)  # a code point that replaces the tables' result
        if case:
            if manner != _AS_IS:
                if at >= manner_end:
                    manner = _AS_IS
                    open_ = False
                elif manner == _TO_LATIN:
                    if LOOKALIKES_AT <= point < LOOKALIKES_AT + LOOKALIKES:
                        alike = np.int64(to_latin[point - LOOKALIKES_AT])
                        if alike:
                            changed = alike
                else:
                    small = point if entry == 0 else np.int64(points[entry])
                    if 0 <= small < 0x80 and to_cyrillic[small]:
                        changed = np.int64(to_cyrillic[small])
            if ran >= 0:  # ASCII letters and digits directly before this
                back = at
                while back > ran and _is_word(buffer[back - 1]):
                    back -= 1
                if back > ran or not open_:
                    open_, scripts, lacks, latins, others = back < at, 0, 0, 0, 0
                    word_at, word_top, word_used = back, top - (at - back), used
                    word_expected, word_step, word_old_step = back, step, old_step
                for place in range(back, at):
                    letter = np.int64(buffer[place]) | 0x20
                    if 97 <= letter <= 122:
                        scripts |= LATIN
                        latins += 1
                        if to_cyrillic[letter] == 0:
                            lacks |= _NO_CYRILLIC
                ran = np.int64(-1)
            if manner == _AS_IS and size > 0 and not value & STRIPPED:
                if value & WORD:
                    if not open_:
                        open_, scripts, lacks, latins, others = True, 0, 0, 0, 0
                        word_at, word_top, word_used = at, top, used
                        word_expected, word_step, word_old_step = expected, step, old_step
                    if value & LATIN:
                        latins += 1
                        small = point if entry == 0 else np.int64(points[entry])
                        if small < 0 or small >= 0x80 or to_cyrillic[small] == 0:
                            lacks |= _NO_CYRILLIC
                    elif value & _OTHER:
                        others += 1
                        alike = np.int64(0)
                        if LOOKALIKES_AT <= point < LOOKALIKES_AT + LOOKALIKES:
                            alike = np.int64(to_latin[point - LOOKALIKES_AT])
                        if alike == 0:
                            lacks |= _NO_LATIN
                    scripts |= int(value & (LATIN | _OTHER))
                elif open_:
                    open_ = False
                    if scripts & LATIN and scripts & _OTHER:
                        can_latin = lacks & _NO_LATIN == 0
                        # Folded ASCII may need more bytes than there are: hence the limit.
                        can_cyrillic = lacks & _NO_CYRILLIC == 0 and scripts & GREEK == 0 and latins <= 4 * others
                        if can_latin and (latins >= others or not can_cyrillic):
                            manner = _TO_LATIN
                        elif can_cyrillic:
                            manner = _TO_CYRILLIC
                    scripts = 0
                    if manner != _AS_IS:
                        manner_end = at
                        at, top, used = word_at, word_top, word_used
                        expected, step, old_step = word_expected, word_step, word_old_step
                        last_point = np.int64(-1)
                        continue
                if wide == 0:
                    continue
        if wide == 0:
            break
        old = np.int64(wide)
        if size == 0:
            at += wide
            continue
        if value & (COMPOSES | STRIPPED):
            together = np.int64(-1)
            if last_point >= 0:
                if value & COMPOSES:
                    together = np.int64(_compose(last_point, point if entry == 0 else points[entry], pairs, composed))
                if together < 0 and value & STRIPPED:
                    together = last_point
                if together >= 0:  # the last character is rewritten over the bytes of both
                    old = at + wide - last_at
                    at, top, used = last_at, last_top, last_used
                    expected, step, old_step = last_expected, last_step, last_old_step
                    changed = together
            if together < 0 and value & STRIPPED:
                at += wide
                continue
        last_at, last_top, last_used = at, top, used
        last_expected, last_step, last_old_step = expected, step, old_step
        if changed >= 0:
            size = np.int64(_put(out, top, changed))
            last_point = changed
        elif entry:
            place = places[entry]
            for offset in range(size):
                out[top + offset] = pool[place + offset]
            last_point = np.int64(points[entry])
        else:
            for offset in range(size):
                out[top + offset] = buffer[at + offset]
            last_point = point
        new_step, new_old_step = (np.int64(1), np.int64(1)) if size == old else (size, old)
        if at != expected or new_step != step or new_old_step != old_step:
            if used == len(folded):
                return top, -1
            folded[used], originals[used] = top - first, at - begin
            folded_steps[used], original_steps[used] = new_step, new_old_step
            used += 1
            step, old_step = new_step, new_old_step
        top += size
        at += old
        expected = at
    return top, used
