"""Kernels of `text.refinedweb`: the lines and parts of lines that RefinedWeb removes from a page.

The rules run one after the other, each on the result of the previous ones, and all but one then strip the page; so a
line is stored as pieces of the text, which only get shorter.
"""

import numpy as np
import numpy.typing as npt

from winnow.filters.language.kernels.classes import (
    DECIMAL,
    DIGIT,
    SPACE,
    UPPER,
    Table,
    character_before,
    decode,
    flags_of,
    width,
)
from winnow.filters.language.passages.passages import without_space
from winnow.filters.spans import grown
from winnow.schemas.kernels import kernel, leaf

LINE_COUNTS = (
    "lines",
    "kept_lines",  # including empty ones
    "uppercase_lines",
    "numeric_lines",
    "counter_lines",
    "short_lines",
    "substring_cuts",  # removed substrings of short lines: at most one per line and kind
    "words",  # split at ASCII white space and beginning with a letter or digit
    "kept_words",
)
_LINES, _KEPT, _UPPERCASE, _NUMERIC, _COUNTER, _SHORT, _SUBSTRING, _WORDS, _KEPT_WORDS = range(len(LINE_COUNTS))

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]


@leaf  # type: ignore[untyped-decorator]
def _same(point: int, letter: int) -> bool:
    """Whether a code point matches a letter as in Python's `re.IGNORECASE`; a negative letter matches any."""
    if point == letter or letter < 0:
        return True
    if 97 <= letter <= 122 and point == letter - 32:
        return True
    return (letter == 105 and (point == 0x130 or point == 0x131)) or (letter == 115 and point == 0x17F)


@leaf  # type: ignore[untyped-decorator]
def _line_shape(text: Bytes, start: int, end: int, classes: Table) -> tuple[int, int, int, int]:
    """Counts of a line's characters, upper-case letters, digits and words."""
    chars = upper = digits = words = 0
    inside = False
    at = start
    while at < end:
        flags = flags_of(classes, decode(text, at))
        chars += 1
        upper += flags & UPPER != 0
        digits += flags & DIGIT != 0
        space = flags & SPACE != 0
        words += not space and not inside
        inside = not space
        at += width(text[at])
    return chars, upper, digits, words


@leaf  # type: ignore[untyped-decorator]
def _is_counter(
    text: Bytes, start: int, end: int, classes: Table, alphanumeric: Table, names: Bytes, name_ends: Ints
) -> bool:
    r"""Whether the lower-cased line is `\W*\d[,.\d]*[kmb]?\s+NAME\W*`."""
    at = start
    while at < end and text[at] != 95 and not flags_of(alphanumeric, decode(text, at)):
        at += width(text[at])
    if at == end or not flags_of(classes, decode(text, at)) & DECIMAL:
        return False
    while at < end and (text[at] == 44 or text[at] == 46 or flags_of(classes, decode(text, at)) & DECIMAL):
        at += width(text[at])
    if at < end:
        point = decode(text, at) | 32
        if point == 107 or point == 109 or point == 98 or point == 0x212A | 32:  # k m b, Kelvin
            at += width(text[at])
    gap = at
    while at < end and flags_of(classes, decode(text, at)) & SPACE:
        at += width(text[at])
    if at == gap:
        return False
    first = 0
    for last in name_ends:
        here, number = at, first
        while number < last and here < end:
            point = decode(text, here)
            letter = names[number]
            if not (point == letter or point == letter - 32 or (letter == 107 and point == 0x212A)):
                break
            here += width(text[here])
            number += 1
        if number == last:
            while here < end and text[here] != 95 and not flags_of(alphanumeric, decode(text, here)):
                here += width(text[here])
            if here == end:
                return True
        first = last
    return False


@leaf  # type: ignore[untyped-decorator]
def _trim(text: Bytes, pieces: Ints, heads: Ints, tails: Ints, count: int, classes: Table) -> tuple[int, int]:
    """Strip the rest of a page as in `str.strip`; returns the first and last remaining line and their pieces."""
    first, last = 0, count
    while first < last:
        while heads[first] < tails[first]:
            piece = heads[first]
            pieces[piece, 0], _ = without_space(text, pieces[piece, 0], pieces[piece, 1], classes)
            if pieces[piece, 0] < pieces[piece, 1]:
                break
            heads[first] += 1
        if heads[first] < tails[first]:
            break
        first += 1
    while last > first:
        while heads[last - 1] < tails[last - 1]:
            piece = tails[last - 1] - 1
            start, end = without_space(text, pieces[piece, 0], pieces[piece, 1], classes)
            if start < end:
                pieces[piece, 1] = end
                break
            tails[last - 1] -= 1
        if heads[last - 1] < tails[last - 1]:
            break
        last -= 1
    return first, last


@kernel  # type: ignore[untyped-decorator]
def _without_middle(
    text: Bytes, pieces: Ints, used: int, line: int, heads: Ints, tails: Ints, phrase: Ints, classes: Table
) -> tuple[Ints, int, bool]:
    """Cut a phrase, and one space before it, anywhere in a line of one piece."""
    start, end = pieces[heads[line], 0], pieces[heads[line], 1]
    at = kept_from = start
    hit = False
    while at < end:
        here, number = at, 0
        while number < len(phrase) and here < end and _same(decode(text, here), phrase[number]):
            here += width(text[here])
            number += 1
        if number < len(phrase):
            at += width(text[at])
            continue
        space = character_before(text, kept_from, at)
        if not hit:
            hit = True
            heads[line] = used
        if used + 2 > len(pieces):
            wider = np.empty((2 * len(pieces) + 2, 2), np.int64)
            wider[:used] = pieces[:used]
            pieces = wider
        pieces[used, 0] = kept_from
        pieces[used, 1] = space if flags_of(classes, decode(text, space)) & SPACE else at
        used += 1
        at = kept_from = here
    if hit:
        pieces[used, 0], pieces[used, 1] = kept_from, end
        used += 1
        tails[line] = used
    return pieces, used, hit


@leaf  # type: ignore[untyped-decorator]
def _without_last(text: Bytes, pieces: Ints, line: int, heads: Ints, tails: Ints, phrase: Ints, classes: Table) -> bool:
    """Cut a phrase, and one space before it, from the end of a line."""
    piece, at = tails[line] - 1, pieces[tails[line] - 1, 1]
    number = len(phrase)
    while number >= 0:
        while at == pieces[piece, 0] and piece > heads[line]:
            piece -= 1
            at = pieces[piece, 1]
        before = character_before(text, pieces[piece, 0], at)
        if number == 0:
            if before < at and flags_of(classes, decode(text, before)) & SPACE:
                at = before
            break
        if before == at or not _same(decode(text, before), phrase[number - 1]):
            return False
        at = before
        number -= 1
    pieces[piece, 1] = at
    tails[line] = piece + 1
    return True


@leaf  # type: ignore[untyped-decorator]
def _without_first(
    text: Bytes, pieces: Ints, line: int, heads: Ints, tails: Ints, phrase: Ints, classes: Table
) -> bool:
    """Cut a phrase, and one space after it, from the start of a line."""
    piece, at = heads[line], pieces[heads[line], 0]
    for number in range(len(phrase) + 1):
        while at == pieces[piece, 1] and piece < tails[line] - 1:
            piece += 1
            at = pieces[piece, 0]
        ended = at == pieces[piece, 1]
        if number == len(phrase):
            if not ended and flags_of(classes, decode(text, at)) & SPACE:
                at += width(text[at])
        elif ended or not _same(decode(text, at), phrase[number]):
            return False
        else:
            at += width(text[at])
    pieces[piece, 0] = at
    heads[line] = piece
    return True


@leaf  # type: ignore[untyped-decorator]
def _tokens(text: Bytes, pieces: Ints, head: int, tail: int, alphanumeric: Table) -> int:
    """The number of a line's words, split at ASCII white space, that begin with a letter or digit."""
    words, inside = 0, False
    for piece in range(head, tail):
        at = pieces[piece, 0]
        while at < pieces[piece, 1]:
            byte = text[at]
            if byte == 32 or 9 <= byte <= 13 or byte == 0:
                inside = False
            elif not inside:
                inside = True
                words += flags_of(alphanumeric, decode(text, at)) != 0
            at += width(byte)
    return words


@kernel  # type: ignore[untyped-decorator]
def clean_lines(
    text: Bytes,
    offsets: Ints,
    pages: Ints,
    starts: Ints,
    ends: Ints,
    classes: Table,
    alphanumeric: Table,
    names: Bytes,
    name_ends: Ints,
    phrases: tuple[Ints, Ints, Ints],
    max_uppercase: float,
    max_digits: float,
    min_words: int,
    max_substring_words: int,
) -> tuple[Ints, Ints, npt.NDArray[np.int32]]:
    """The counts and spans of every page."""
    rows = len(pages) - 1
    counts = np.zeros((rows, len(LINE_COUNTS)), np.int64)
    spans, filled, bounds = np.empty((256, 2), np.int32), 0, np.zeros(rows + 1, np.int64)
    for row in range(rows):
        total = pages[row + 1] - pages[row]
        # Remaining line i has the pieces heads[i] to tails[i], and the newline at breaks[i] if another follows.
        pieces = np.empty((total, 2), np.int64)
        heads, tails = np.empty(total, np.int64), np.empty(total, np.int64)
        breaks, words = np.empty(total, np.int64), np.empty(total, np.int64)
        used = count = newlines = 0
        for line in range(pages[row], pages[row + 1]):
            start, end = starts[line], ends[line]
            empty = start == end
            squeezed = empty and newlines >= 2 and line + 1 < pages[row + 1]  # two newlines of a run stay
            newlines = newlines + 1 if empty else 1
            if squeezed:
                continue
            chars, upper, _, words[count] = _line_shape(text, start, end, classes)
            pieces[used, 0], pieces[used, 1] = start, end
            counts[row, _WORDS] += _tokens(text, pieces, used, used + 1, alphanumeric)
            if not empty and upper / chars > max_uppercase:
                counts[row, _UPPERCASE] += 1
                continue
            heads[count], tails[count], breaks[count] = used, used + 1, end
            used += 1
            count += 1
        counts[row, _LINES] = total
        for step in range(6):  # digits, counters, words, and the three phrases
            first, last = (0, count) if step == 3 else _trim(text, pieces, heads, tails, count, classes)
            count = 0
            for line in range(first, last):
                head, tail = heads[line], tails[line]
                start, end = pieces[head, 0], pieces[head, 1]
                drop = False
                if step < 3 and start == end:
                    pass  # an empty line stays
                elif step == 0:
                    chars, _, digits, _ = _line_shape(text, start, end, classes)
                    drop = digits / chars > max_digits
                    counts[row, _NUMERIC] += drop
                elif step == 1:
                    drop = _is_counter(text, start, end, classes, alphanumeric, names, name_ends)
                    counts[row, _COUNTER] += drop
                elif step == 2:
                    drop = words[line] < min_words
                    counts[row, _SHORT] += drop
                elif words[line] <= max_substring_words and head < tail:
                    if step == 3:
                        pieces, used, hit = _without_middle(text, pieces, used, line, heads, tails, phrases[0], classes)
                    elif step == 4:
                        hit = _without_last(text, pieces, line, heads, tails, phrases[1], classes)
                    else:
                        hit = _without_first(text, pieces, line, heads, tails, phrases[2], classes)
                    counts[row, _SUBSTRING] += hit
                    drop = hit
                    for piece in range(heads[line], tails[line]):
                        start, end = without_space(text, pieces[piece, 0], pieces[piece, 1], classes)
                        drop &= start >= end
                if not drop:
                    heads[count], tails[count] = heads[line], tails[line]
                    breaks[count], words[count] = breaks[line], words[line]
                    count += 1
        first, last = _trim(text, pieces, heads, tails, count, classes)
        cursor = offsets[row]
        for line in range(first, last):
            counts[row, _KEPT_WORDS] += _tokens(text, pieces, heads[line], tails[line], alphanumeric)
            for piece in range(heads[line], tails[line] + 1):
                start, end = 0, 0
                if piece < tails[line]:
                    start, end = pieces[piece, 0], pieces[piece, 1]
                elif line + 1 < last:
                    start, end = breaks[line], breaks[line] + 1
                if start == end:
                    continue
                if cursor < start:
                    spans = grown(spans, filled + 1)
                    spans[filled, 0], spans[filled, 1] = cursor - offsets[row], start - offsets[row]
                    filled += 1
                cursor = end
        if cursor < offsets[row + 1]:
            spans = grown(spans, filled + 1)
            spans[filled, 0], spans[filled, 1] = cursor - offsets[row], offsets[row + 1] - offsets[row]
            filled += 1
        counts[row, _KEPT] = last - first
        bounds[row + 1] = filled
    return counts, bounds, spans
