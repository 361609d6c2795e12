"""Write the text of a page: references decoded, white space collapsed, invisible marks removed."""

import numpy as np

from winnow.filters.extraction.main_content.names import (
    ENTITY_KEYS,
    ENTITY_PLACES,
    ENTITY_POINTS,
    FNV_BASIS,
    FNV_PRIME,
    LONGEST_ENTITY,
    PLAIN_KEYS,
    PLAIN_PLACES,
    PLAIN_POINTS,
    WINDOWS_POINTS,
)
from winnow.filters.extraction.main_content.sheet import (
    BEGINS,
    BREAKS,
    BUTTONED,
    ENDS,
    FROM,
    LINKED,
    LINKS,
    N_BLOCKS,
    N_BREAKS,
    N_BROKEN,
    N_BUTTON,
    N_BUTTONED,
    N_ELEMENTS,
    N_LINK,
    N_LINKED,
    N_LINKS,
    N_OWNER,
    N_PENDING,
    N_PICTURES,
    N_PRE,
    N_RUNS,
    N_START,
    N_TEXT,
    OWNER,
    PICTURES,
    RUNS,
    UNTIL,
    is_letter,
    is_space,
)
from winnow.filters.language.kernels.open_tables import look_up
from winnow.schemas.kernels import leaf

_BASIS, _PRIME = np.uint64(FNV_BASIS), np.uint64(FNV_PRIME)
_AMPERSAND, _HASH, _SEMICOLON = 38, 35, 59
_IS_PLAIN = np.arange(256) > 32
_IS_PLAIN[[_AMPERSAND, 0x7F, 0xC2, 0xE2, 0xEF]] = False  # with which a reference or what is not seen may begin


@leaf
def _write(sheet, byte):  # type: ignore[no-untyped-def]
    """One byte of a character that is seen, after the white space before it."""
    counts, text = sheet.counts, sheet.text
    at = counts[N_TEXT]
    if counts[N_PENDING]:
        counts[N_PENDING] = 0
        if at > counts[N_START] and not counts[N_BREAKS]:
            text[at] = 32
            at += 1
    if counts[N_BREAKS]:
        if at > counts[N_START]:
            text[at] = 10
            at += 1
        counts[N_BREAKS] = 0
    text[at] = byte
    counts[N_TEXT] = at + 1
    if counts[N_LINK]:
        counts[N_LINKED] += 1
    if counts[N_BUTTON]:
        counts[N_BUTTONED] += 1


@leaf
def write_space(sheet, byte):  # type: ignore[no-untyped-def]
    """One byte of white space, which is written as it is in listings alone."""
    counts = sheet.counts
    if counts[N_PRE] and byte != 13:
        at = counts[N_TEXT]
        if at > counts[N_START] or byte != 10:
            sheet.text[at] = 10 if byte == 10 else 9 if byte == 9 else 32
            counts[N_TEXT] = at + 1
    else:
        counts[N_PENDING] = 1


@leaf
def _write_point(sheet, point):  # type: ignore[no-untyped-def]
    """One code point out of a character reference."""
    if point == 0xA0 or point == 32 or 9 <= point <= 13:
        write_space(sheet, 32 if point == 0xA0 else point)
    elif point == 0xAD or point == 0xFEFF or point == 0x2060 or point == 0x200B or point < 32 or 0x7F <= point < 0xA0:
        return
    elif point < 0x80:
        _write(sheet, point)
    elif point < 0x800:
        _write(sheet, 0xC0 | point >> 6)
        _write(sheet, 0x80 | point & 63)
    elif point < 0x10000:
        _write(sheet, 0xE0 | point >> 12)
        _write(sheet, 0x80 | point >> 6 & 63)
        _write(sheet, 0x80 | point & 63)
    else:
        _write(sheet, 0xF0 | point >> 18)
        _write(sheet, 0x80 | point >> 12 & 63)
        _write(sheet, 0x80 | point >> 6 & 63)
        _write(sheet, 0x80 | point & 63)


@leaf
def _numeric(sheet, source, at, end):  # type: ignore[no-untyped-def]
    """Read `#…` after an ampersand, and write what it stands for; where it ends, or -1."""
    place, value, digits = at + 1, 0, 0
    if place < end and source[place] | 32 == 120:
        place += 1
        while place < end:
            byte = source[place]
            digit = byte - 48 if 48 <= byte <= 57 else (byte | 32) - 87 if 97 <= (byte | 32) <= 102 else -1
            if digit < 0:
                break
            value = min(value * 16 + digit, 0x110000)
            place += 1
            digits += 1
    else:
        while place < end and 48 <= source[place] <= 57:
            value = min(value * 10 + source[place] - 48, 0x110000)
            place += 1
            digits += 1
    if not digits:
        return -1
    if 128 <= value < 160:
        value = WINDOWS_POINTS[value - 128]
    if value > 0x10FFFF or 0xD800 <= value < 0xE000 or value == 0:
        value = 0xFFFD
    _write_point(sheet, value)
    return place + 1 if place < end and source[place] == _SEMICOLON else place


@leaf
def _reference(sheet, source, at, end):  # type: ignore[no-untyped-def]
    """Read a character reference after its ampersand, and write what it stands for; where it ends, or -1."""
    if at < end and source[at] == _HASH:
        return _numeric(sheet, source, at, end)
    found, place, plain, plain_end = _BASIS, at, -1, -1
    while place < end and place - at < LONGEST_ENTITY:
        byte = source[place]
        if byte == _SEMICOLON:
            which = look_up(ENTITY_KEYS, ENTITY_PLACES, found)
            if which >= 0:
                _write_point(sheet, ENTITY_POINTS[which, 0])
                if ENTITY_POINTS[which, 1]:
                    _write_point(sheet, ENTITY_POINTS[which, 1])
                return place + 1
            break
        if not (is_letter(byte) or 48 <= byte <= 57):
            break
        found = (found ^ np.uint64(byte)) * _PRIME
        place += 1
        which = look_up(PLAIN_KEYS, PLAIN_PLACES, found)
        if which >= 0:
            plain, plain_end = which, place
    if plain >= 0:
        _write_point(sheet, PLAIN_POINTS[plain, 0])
    return plain_end


@leaf
def _write_run(sheet, at, end):  # type: ignore[no-untyped-def]
    """The bytes from here that stand for themselves, after another that was written; where they end."""
    source, text, counts = sheet.source, sheet.text, sheet.counts
    first, to = at, counts[N_TEXT]
    while at < end and _IS_PLAIN[source[at]]:
        text[to] = source[at]
        at += 1
        to += 1
    counts[N_TEXT] = to
    if counts[N_LINK]:
        counts[N_LINKED] += at - first
    if counts[N_BUTTON]:
        counts[N_BUTTONED] += at - first
    return at


@leaf
def write_text(sheet, at, end):  # type: ignore[no-untyped-def]
    """Text of the source, as it is shown."""
    source, counts = sheet.source, sheet.counts
    before = counts[N_TEXT]
    while at < end:
        byte = source[at]
        if byte == _AMPERSAND:
            after = _reference(sheet, source, at + 1, end)
            if after >= 0:
                at = after
                continue
            _write(sheet, byte)
        elif byte <= 32:
            if is_space(byte):
                write_space(sheet, byte)
        elif byte == 0xC2 and at + 1 < end and source[at + 1] in (0xA0, 0xAD):
            if source[at + 1] == 0xA0:
                write_space(sheet, 32)
            at += 1
        elif (byte == 0xEF and at + 2 < end and source[at + 1] == 0xBB and source[at + 2] == 0xBF) or (
            byte == 0xE2
            and at + 2 < end
            and (
                (source[at + 1] == 0x80 and source[at + 2] == 0x8B)
                or (source[at + 1] == 0x81 and source[at + 2] == 0xA0)
            )
        ):
            at += 2
        elif byte != 0x7F:
            _write(sheet, byte)
            at = _write_run(sheet, at + 1, end)
            continue
        at += 1
    if counts[N_TEXT] > before:
        counts[N_RUNS] += 1


@leaf
def end_block(sheet):  # type: ignore[no-untyped-def]
    """End the block that is being written, if it has text."""
    counts = sheet.counts
    end, start = counts[N_TEXT], counts[N_START]
    while end > start and is_space(sheet.text[end - 1]):
        end -= 1
    counts[N_TEXT] = end
    element = counts[N_ELEMENTS] - 1
    while element >= 0 and sheet.elements[BEGINS, element] > end:  # it began in white space that is cut off
        sheet.elements[BEGINS, element] = end
        sheet.elements[ENDS, element] = min(sheet.elements[ENDS, element], end)
        element -= 1
    if end > start:
        block = counts[N_BLOCKS]
        sheet.blocks[OWNER, block] = counts[N_OWNER]
        sheet.blocks[FROM, block] = start
        sheet.blocks[UNTIL, block] = end
        sheet.blocks[LINKED, block] = counts[N_LINKED]
        sheet.blocks[BUTTONED, block] = counts[N_BUTTONED]
        sheet.blocks[LINKS, block] = counts[N_LINKS]
        sheet.blocks[RUNS, block] = counts[N_RUNS]
        sheet.blocks[BREAKS, block] = counts[N_BROKEN]
        sheet.blocks[PICTURES, block] = counts[N_PICTURES]
        counts[N_BLOCKS] = block + 1
        counts[N_START] = end
    counts[N_LINKED] = counts[N_BUTTONED] = counts[N_LINKS] = counts[N_RUNS] = counts[N_BROKEN] = 0
    counts[N_PENDING] = counts[N_BREAKS] = 0
