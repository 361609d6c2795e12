"""The host of an e-mail address: labels separated by dots, ending with an existing top-level domain."""

import numpy as np
import numpy.typing as npt

from winnow.filters.language.kernels.classes import ALPHA, MARK, Table, decode, flags_of, width
from winnow.filters.private.personal.candidates import glued_after
from winnow.filters.private.personal.domains import HASH_SEED, extended, is_top_level
from winnow.filters.private.personal.letters import among, bracketed, is_alnum, small_letter, unspaced, word_list
from winnow.schemas.kernels import leaf

__all__ = ["BRACKETED", "NONE", "SIGN", "SPELLED", "dot_start", "host_end", "is_reserved"]

NONE, SIGN, BRACKETED, SPELLED = range(4)
"""Notations of an at sign: none, `@` or `%40`, `[at]` and the like, ` AT `."""

_MAX_DOMAIN = 253
_MAX_LABEL = 63

_DOT_BYTES = 10  # of the longest bracketed dot
DOT_WORDS = word_list(". dot punkt punto ponto point kropka tečka")
_RESERVED = word_list("example.com example.net example.org")

Bytes = npt.NDArray[np.uint8]
Hashes = npt.NDArray[np.uint64]


@leaf  # type: ignore[untyped-decorator]
def dot_start(text: Bytes, low: int, at: int) -> int:
    """The start of the bracketed dot that ends here; -1 if there is none."""
    end = at - 1 if at > low and text[at - 1] == 32 else at
    for start in range(end - 3, max(low, end - _DOT_BYTES) - 1, -1):
        if bracketed(text, start, end, DOT_WORDS) == end:
            return start - 1 if start > low and text[start - 1] == 32 else start
    return -1


@leaf  # type: ignore[untyped-decorator]
def _dot_end(text: Bytes, at: int, high: int, form: int, spelled_out: bool) -> int:
    """The end of the dot between two labels that begins here; -1 if there is none."""
    if text[at] == 46:
        return at + 1
    if not spelled_out:
        return -1
    blank = at < high and text[at] == 32
    if blank:
        at += 1
    if at >= high:
        return -1
    if form != SIGN and blank and at + 4 <= high and text[at + 3] == 32:
        if text[at] == 68 and text[at + 1] == 79 and text[at + 2] == 84:  # DOT
            return at + 4
        if form == BRACKETED and text[at] == 100 and text[at + 1] == 111 and text[at + 2] == 116:
            return at + 4
    end = bracketed(text, at, high, DOT_WORDS)
    if end > 0 and blank and end < high and text[end] == 32:
        end += 1
    return int(end)


@leaf  # type: ignore[untyped-decorator]
def _top_level_end(text: Bytes, start: int, end: int, high: int, table: Hashes) -> int:
    """The end of the top-level domain at the start of this label, if no word continues after it; else -1."""
    found = -1
    seen = HASH_SEED
    at = start
    if text[start] < 0x80:
        punycode = end - start > 4 and text[start + 2] == 45 and text[start + 3] == 45
        while at < end and (punycode or is_alnum(text[at])) and text[at] < 0x80:
            seen = extended(seen, text[at])
            at += 1
        apart = at >= high or text[at] == 95 or not glued_after(text, at, high)  # _ada@host.org_
        return at if apart and at - start >= 2 and is_top_level(seen, table) else -1
    while at < end and text[at] >= 0x80:
        step = width(text[at])
        inside = unspaced(decode(text, at))
        for place in range(at, at + step):
            seen = extended(seen, text[place])
        at += step
        inside = inside or (at < end and unspaced(decode(text, at)))
        if (at == end or inside) and is_top_level(seen, table):
            found = at
    return found


@leaf  # type: ignore[untyped-decorator]
def _label_end(text: Bytes, at: int, high: int, classes: Table) -> int:
    """The end of the label that begins here: letters, digits and inner hyphens."""
    start = at
    while at < high:
        byte = text[at]
        if byte < 0x80:
            if not (is_alnum(byte) or (byte == 45 and at > start)):
                break
            at += 1
        elif flags_of(classes, decode(text, at)) & (ALPHA | MARK):
            at += width(byte)
        else:
            break
        if at - start > 4 * _MAX_LABEL:
            break
    while at > start and text[at - 1] == 45:
        at -= 1
    return at


@leaf  # type: ignore[untyped-decorator]
def _literal_end(text: Bytes, at: int, high: int) -> int:
    """The end of the IPv4 address in square brackets that begins here; -1 if there is none."""
    at += 1
    for number in range(4):
        start, value = at, 0
        while at < high and at - start < 3 and 48 <= text[at] <= 57:
            value = 10 * value + text[at] - 48
            at += 1
        if at == start or value > 255 or at >= high or text[at] != (93 if number == 3 else 46):
            return -1
        at += 1
    return at


@leaf  # type: ignore[untyped-decorator]
def host_end(
    text: Bytes, at: int, high: int, form: int, spelled_out: bool, classes: Table, table: Hashes
) -> tuple[int, bool]:
    """The end of the host that begins here, or -1, and whether it has non-ASCII letters.

    This is the longest host whose last label is a top-level domain; but a capitalised last label after lower-case ones
    is the next sentence (`ada@host.org.It was`).
    """
    first, found, other, capitals, labels = at, -1, False, False, 0
    if at < high and text[at] == 91 and form == SIGN:
        return _literal_end(text, at, high), False
    while at < high and at - first <= 2 * _MAX_DOMAIN:
        end = _label_end(text, at, high, classes)
        if end == at:
            break
        capital = 65 <= text[at] <= 90
        shouted = capital and at + 1 < end and 65 <= text[at + 1] <= 90
        if labels > 0:
            top = _top_level_end(text, at, end, high, table)
            if top > 0 and (found < 0 or capitals or shouted or not capital):
                found = top
        elif end - at == 2 and 48 <= text[at] <= 57 and small_letter(text[at + 1]) == 120:
            return -1, False  # icon@2x.png and other image names
        for place in range(at, end):
            other = other or text[place] >= 0x80
        capitals = capitals or (capital and not shouted)
        labels += 1
        if end >= high:
            break
        at = _dot_end(text, end, high, form, spelled_out)
        if at < 0:
            break
    return (found if found - first <= _MAX_DOMAIN + 64 else -1), other


@leaf  # type: ignore[untyped-decorator]
def is_reserved(text: Bytes, start: int, end: int) -> bool:
    """Whether the host is, or is below, one that is reserved for examples."""
    if end - start < 11:
        return False
    apart = end - start == 11 or text[end - 12] == 46
    return bool(apart and among(text, end - 11, end, _RESERVED))
