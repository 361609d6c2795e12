"""Language-independent words: the style `unicode`, for operators that need no other system's tokens.

Words are runs of letters, digits and underscores with their marks, near to Unicode's word boundaries (UAX 29):
an apostrophe, a full stop, a colon or a middle dot between two letters joins them, a comma or a full stop between two
digits too. Punctuation and symbols belong to no word. In scripts without spaces the units are smaller, so that counts
are meaningful: in Han, Kana, Yi, Tangut and Nushu each character is a word; in Thai, Lao, Khmer, Burmese and other
scripts of South East Asia that need a dictionary each cluster is a word: a base letter with its marks, vowel signs
written before or after it, and the letters stacked under it.
"""

from functools import lru_cache

import numpy as np

from winnow.filters.language.kernels.classes import (
    ALPHA,
    DECIMAL,
    DIGIT,
    FORMAT,
    MARK,
    Table,
    decode,
    flags_by_point,
    table_of,
    width,
)
from winnow.filters.language.kernels.spans import Texts, Words
from winnow.filters.language.words.pieces import with_room
from winnow.schemas.kernels import kernel, leaf

# Roles of characters in words: the numbers of `word_roles`.
OTHER, LETTER, NUMBER, EXTEND, JOIN_LETTERS, JOIN_NUMBERS, JOIN_BOTH = range(7)
CHARACTER, BASE, BEFORE, AFTER, STACKER = range(7, 12)

_CHARACTERS = (
    (0x2E80, 0x2FD5), (0x3005, 0x3007), (0x3021, 0x3029), (0x3038, 0x303B), (0x3041, 0x309F), (0x30A1, 0x30FF),
    (0x31F0, 0x31FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xA000, 0xA48C), (0xF900, 0xFAFF), (0xFF66, 0xFF9D),
    (0x16FE1, 0x18CD5), (0x18D00, 0x18D08), (0x1AFF0, 0x1B2FB), (0x20000, 0x3FFFD),
)  # fmt: skip
_CLUSTERS = (
    (0x0E01, 0x0E4E), (0x0E81, 0x0ECD), (0x0EDC, 0x0EDF), (0x1000, 0x103F), (0x1050, 0x108F), (0x109A, 0x109F),
    (0x1780, 0x17D3), (0x1950, 0x19C9), (0x1A20, 0x1A7C), (0xA9E0, 0xA9EF), (0xA9FA, 0xA9FE), (0xAA60, 0xAADD),
    (0x11700, 0x1172B),
)  # fmt: skip
_BEFORE_BASES = ((0x0E40, 0x0E44), (0x0EC0, 0x0EC4), (0x19B5, 0x19B7), (0x19BA, 0x19BA), (0xAAB5, 0xAAB6),
                 (0xAAB9, 0xAAB9), (0xAABB, 0xAABC))  # fmt: skip
_AFTER_BASES = ((0x0E30, 0x0E33), (0x0E45, 0x0E46), (0x0EB0, 0x0EB3), (0x0EC6, 0x0EC6), (0x19B0, 0x19B4),
                (0x19B8, 0x19B9), (0x19BB, 0x19C9))  # fmt: skip
_STACKERS = (0x17D2, 0x1039, 0x1A60)
_EXTENDING = (0x30FC, 0xFF70, 0xFF9E, 0xFF9F, 0x309B, 0x309C)  # lengthening and voicing of the Kana before them


def split_unicode(texts: Texts) -> Words:
    """The words of every text."""
    table = word_roles()
    return Words(texts.buffer, *_words(texts.buffer, texts.offsets, table.pages, table.flags))


@lru_cache(maxsize=1)
def word_roles() -> Table:
    """The role of every code point in words."""
    flags = flags_by_point()
    roles = np.full(len(flags), OTHER, np.uint16)
    roles[(flags & ALPHA) != 0] = LETTER
    roles[(flags & (DECIMAL | DIGIT)) != 0] = NUMBER
    letters = (flags & ALPHA) != 0
    for low, high in _CHARACTERS:
        roles[low : high + 1][letters[low : high + 1]] = CHARACTER
    roles[[0x3005, 0x3007]] = CHARACTER
    for low, high in _CLUSTERS:
        roles[low : high + 1][letters[low : high + 1]] = BASE
    roles[(flags & (MARK | FORMAT)) != 0] = EXTEND
    for ranges, role in ((_BEFORE_BASES, BEFORE), (_AFTER_BASES, AFTER)):
        for low, high in ranges:
            roles[low : high + 1] = role
    roles[list(_STACKERS)] = STACKER
    roles[list(_EXTENDING)] = EXTEND
    roles[[ord("_")]] = LETTER
    roles[[ord(one) for one in ":·\u0387\u055f\u05f4\u2027\ufe13\ufe55\uff1a"]] = JOIN_LETTERS
    roles[[ord(one) for one in ",;\u037e\u0589\u060c\u060d\u066c\u07f8\u2044\ufe10\ufe14\ufe50\ufe54\uff0c\uff1b"]] = (
        JOIN_NUMBERS
    )
    roles[[ord(one) for one in "'.\u2018\u2019\u2024\ufe52\uff07\uff0e"]] = JOIN_BOTH
    return table_of(roles)


@kernel
def _words(buffer, offsets, pages, roles):  # type: ignore[no-untyped-def]
    documents = np.zeros(len(offsets), np.int64)
    starts = np.empty((offsets[-1] - offsets[0]) // 4 + 64, np.int64)
    ends = np.empty(len(starts), np.int64)
    count = 0
    for document in range(len(offsets) - 1):
        at, end = offsets[document], offsets[document + 1]
        starts = with_room(starts, count, end - at + 1)
        ends = with_room(ends, count, end - at + 1)
        count = _document_words(buffer, at, end, pages, roles, starts, ends, count)
        documents[document + 1] = count
    return documents, starts[:count].copy(), ends[:count].copy()


@leaf
def _document_words(buffer, at, end, pages, roles, starts, ends, count):  # type: ignore[no-untyped-def]
    last = np.int64(OTHER)  # the role of the last character that is not a mark; OTHER outside words
    joint = np.int64(OTHER)  # the role of a character after the open word that may join it to what follows
    while at < end:
        point = decode(buffer, at)
        role = np.int64(roles[(np.int64(pages[point >> 8]) << 8) | (point & 0xFF)])
        after = at + width(buffer[at])
        if role == EXTEND:
            if last != OTHER and joint == OTHER:
                ends[count - 1] = after
        elif role in (JOIN_LETTERS, JOIN_NUMBERS, JOIN_BOTH):
            if last != OTHER and joint == OTHER:
                joint = role
            else:
                last = joint = np.int64(OTHER)
        elif role == OTHER:
            last = joint = np.int64(OTHER)
        else:
            if continues(last, joint, role):
                ends[count - 1] = after
            else:
                starts[count] = at
                ends[count] = after
                count += 1
            last, joint = role, np.int64(OTHER)
        at = after
    return count


@leaf
def continues(last, joint, role):  # type: ignore[no-untyped-def]
    """Whether a character continues the open word."""
    if last in (LETTER, NUMBER):
        if role != LETTER and role != NUMBER:
            return False
        if joint == OTHER:
            return True
        if last == LETTER and role == LETTER:
            return joint != JOIN_NUMBERS
        return last == NUMBER and role == NUMBER and joint != JOIN_LETTERS
    if joint != OTHER:
        return False
    if last in (BEFORE, STACKER):
        return role in (BASE, AFTER, STACKER)
    return (last in (BASE, AFTER)) and (role in (AFTER, STACKER))
