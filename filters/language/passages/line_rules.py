"""Properties of lines for C4's rules: bounds, words, end mark, citations and phrases."""

import numpy as np
import numpy.typing as npt

from winnow.filters.language.kernels.classes import (
    BREAK,
    DECIMAL,
    SPACE,
    Table,
    character_before,
    decode,
    flags_of,
    width,
)
from winnow.schemas.kernels import leaf

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]

_PHRASES = (
    "lorem ipsum",
    "javascript",
    "terms of use",
    "privacy policy",
    "cookie policy",
    "uses cookies",
    "use of cookies",
    "use cookies",
)
# Two adjacent letters of each phrase that are rare together, and their offset: up to there no letter is a Kelvin sign.
_HINTS = tuple((ord(pair[0]), ord(pair[1])) for pair in ("ps", "va", "ms", "oo"))
_HINT_AT = np.array([7, 2, 3, 3, 1, 6, 8, 5], np.int64)
LOREM, JAVASCRIPT, POLICY, CURLY = 1, 2, 4, 8
_CURLY_BYTE = 123
_BLOCK = 64  # bytes examined together
_PHRASE_BYTES = np.frombuffer("".join(_PHRASES).encode(), np.uint8)
_PHRASE_ENDS = np.cumsum([len(phrase) for phrase in _PHRASES], dtype=np.int64)
_ENDS, _GAP, _BRACKET, _WIDE = 1, 2, 4, 8  # classes of bytes, other than parts of words
_KINDS = np.zeros(256, np.uint8)
_KINDS[[9, 31, 32]] = _GAP
_KINDS[[*range(10, 14), *range(28, 31)]] = _ENDS
_KINDS[ord("[")] = _BRACKET
_KINDS[128:] = _WIDE


@leaf  # type: ignore[untyped-decorator]
def _space(text: Bytes, at: int, classes: Table) -> bool:
    """Whether a code point is white space; most are ASCII, which needs no table."""
    lead = text[at]
    if lead < 0x80:
        return bool(lead == 32 or 9 <= lead <= 13 or 28 <= lead <= 31)
    return bool(flags_of(classes, decode(text, at)) & SPACE != 0)


@leaf  # type: ignore[untyped-decorator]
def line_at(text: Bytes, at: int, end: int, classes: Table) -> tuple[int, int, int, int, int, int, bool]:
    """The line that begins here, as in `str.splitlines`.

    Returns its end, the start of the next line, its start and end without surrounding white space, its number of
    words, the bytes of the longest, and whether there is a square bracket.
    """
    words = longest = run = 0
    seen = np.uint8(0)
    first = final = at
    after = end
    while at < end:
        lead = text[at]
        kind = _KINDS[lead]
        size = 1
        if kind == _WIDE:
            flags = flags_of(classes, decode(text, at))
            kind = np.uint8(_ENDS if flags & BREAK else _GAP if flags & SPACE else 0)
            size = width(lead)
        if kind == _ENDS:
            after = at + size
            if lead == 13 and after < end and text[after] == 10:
                after += 1
            break
        seen |= kind
        solid = int(kind != _GAP)  # no branches from here: word ends are unpredictable
        words += solid & (run == 0)
        run = (run + size) * solid
        at += size
        longest = max(longest, run)
        final = at if solid else final
        first = at - run if words == 1 and run > 0 else first
    if words == 0:
        first = final = at
    bracket = bool(seen & _BRACKET != 0)
    return at, after, first, final, words, longest, bracket


@leaf  # type: ignore[untyped-decorator]
def _starts_with(text: Bytes, at: int, end: int, first: int, last: int) -> bool:
    """Whether the lower-cased text from here begins with the ASCII phrase in this range of the phrases."""
    for number in range(first, last):
        if at >= end:
            return False
        byte, wanted = text[at], _PHRASE_BYTES[number]
        if 65 <= byte <= 90:
            byte |= np.uint8(32)
        if byte == wanted:
            at += 1
        elif wanted == 107 and at + 2 < end and byte == 0xE2 and text[at + 1] == 0x84 and text[at + 2] == 0xAA:
            at += 3  # the Kelvin sign is the one other character whose lower case is a letter of these phrases
        else:
            return False
    return True


@leaf  # type: ignore[untyped-decorator]
def _may_hold(line: Bytes) -> bool:
    """Whether a line has any of the hint pairs or a curly bracket; compiles to vectors."""
    hinted = np.uint8(0)
    for at in range(len(line) - 1):
        one, two = line[at] | np.uint8(32), line[at + 1] | np.uint8(32)
        hinted |= np.uint8((one == _HINTS[0][0]) & (two == _HINTS[0][1]))
        hinted |= np.uint8((one == _HINTS[1][0]) & (two == _HINTS[1][1]))
        hinted |= np.uint8((one == _HINTS[2][0]) & (two == _HINTS[2][1]))
        hinted |= np.uint8((one == _HINTS[3][0]) & (two == _HINTS[3][1]))
        hinted |= np.uint8(line[at] == _CURLY_BYTE)
    return bool(hinted) or bool(len(line) > 0 and line[len(line) - 1] == _CURLY_BYTE)


@leaf  # type: ignore[untyped-decorator]
def found_phrases(text: Bytes, start: int, end: int) -> int:
    """Which of the phrases a line has, and whether it has a curly bracket."""
    found = 0
    for low in range(start, end, _BLOCK):
        high = min(low + _BLOCK, end)
        if not _may_hold(text[low : min(high + 1, end)]):
            continue
        for at in range(low, high):
            if text[at] == _CURLY_BYTE:
                found |= CURLY
            hinted = False
            if at + 1 < end:
                one, two = text[at] | np.uint8(32), text[at + 1] | np.uint8(32)
                for hint in _HINTS:
                    hinted |= one == hint[0] and two == hint[1]
            if hinted:
                first = 0
                for number in range(len(_PHRASE_ENDS)):
                    begun = at - _HINT_AT[number]
                    if begun >= start and _starts_with(text, begun, end, first, _PHRASE_ENDS[number]):
                        found |= LOREM if number == 0 else JAVASCRIPT if number == 1 else POLICY
                    first = _PHRASE_ENDS[number]
    return found


@leaf  # type: ignore[untyped-decorator]
def next_citation(text: Bytes, at: int, end: int, classes: Table, marks: Bytes, mark_ends: Ints) -> tuple[int, int]:
    """The start of the next citation and its length in bytes; the end and 0 if there is none."""
    for bracket in range(at, end):
        if text[bracket] != 91:
            continue
        first = 0
        for last in mark_ends:
            here, number = bracket, first
            while number < last and here < end and text[here] == marks[number]:
                here += 1
                number += 1
            if number == last:
                return bracket, here - bracket
            first = last
        here = bracket + 1
        while here < end and text[here] != 93 and flags_of(classes, decode(text, here)) & DECIMAL:
            here += width(text[here])
        if here < end and text[here] == 93:
            return bracket, here + 1 - bracket
    return end, 0


@leaf  # type: ignore[untyped-decorator]
def counted_words(text: Bytes, start: int, end: int, classes: Table) -> tuple[int, int]:
    """The number of words split at white space, and the characters of the longest."""
    words = longest = length = 0
    at = start
    while at < end:
        if _space(text, at, classes):
            length = 0
        else:
            words += length == 0
            length += 1
            longest = max(longest, length)
        at += width(text[at])
    return words, longest


@leaf  # type: ignore[untyped-decorator]
def terminated(text: Bytes, start: int, end: int, marks: Ints) -> bool:
    """Whether a line ends with an end mark other than three dots."""
    if end == start:
        return False
    if end - start >= 3 and text[end - 1] == 46 and text[end - 2] == 46 and text[end - 3] == 46:
        return False
    last = decode(text, character_before(text, start, end))
    for mark in marks:  # noqa: SIM110  (numba compiles no generators)
        if last == mark:
            return True
    return False
