r"""E-mail addresses, with at signs in any notation.

An address is `local@host.tld` with an existing top-level domain. The local part is what people use, not all that
RFC 5322 allows: letters (with accents, Greek, Cyrillic …: `müller@`, `иван@`), digits, and `._-+'~=` between them, at
most 64 characters. In scripts without spaces the text before an address is not part of it (`邮箱abc@…`). It is cut
where markup, a query or an escape adjoins it: `href=abc@`, `%20abc@`, `\nabc@`.

`user@host` of the Fediverse, XMPP and SSH, and user and host inside a URL, count too: they name a person's account like
an address and cannot be distinguished. `git@github.com:owner/name` names no account and is left out, and so are
addresses that RFC 2606 reserves for examples, unless requested.

Written-out forms are `name [at] host.tld`, `name(at)host(dot)tld`, `name AT host DOT tld`, `name%40host.tld` and forms
in some other languages. `name at host dot tld` in lower case without brackets is prose too often to count. The text
read for one at sign is bounded and ends at the next one, so the scan is linear.
"""

import numpy as np
import numpy.typing as npt

from winnow.filters.language.kernels.classes import ALPHA, MARK, Table, decode, flags_of, unicode_classes
from winnow.filters.language.kernels.spans import Texts
from winnow.filters.private.personal.detections import FIRST_ROOM, Detections, roomier
from winnow.filters.private.personal.domains import top_level_domains
from winnow.filters.private.personal.hosts import BRACKETED, NONE, SIGN, SPELLED, dot_start, host_end, is_reserved
from winnow.filters.private.personal.letters import (
    among,
    bracketed,
    character_before,
    is_alnum,
    is_hex,
    small_letter,
    unspaced,
    word_list,
)
from winnow.schemas.kernels import kernel, leaf

__all__ = ["emails"]

_BLOCK = 64
_AFTER = 4  # bytes after a position that decide whether an at sign may be there
_MAX_DOTS = 4  # written-out dots in a local part
_MAX_LOCAL = 64  # RFC 5321, 4.5.3.1.1

# In brackets; `_none_near` checks their first letters.
AT_WORDS = word_list("at a @ ät arroba arobase arobas chiocciola")
_SERVICES = word_list("git hg svn")  # user names of repository hosts: git@host:owner/name

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]


@leaf  # type: ignore[untyped-decorator]
def _sign(text: Bytes, at: int, high: int, spelled_out: bool) -> tuple[int, int]:
    """The notation of the at sign that begins here, and its end."""
    byte = text[at]
    if byte == 64:
        return SIGN, at + 1
    if byte == 37:
        if at + 2 < high and text[at + 1] == 52 and text[at + 2] == 48:
            return SIGN, at + 3
        return NONE, at
    if not spelled_out:
        return NONE, at
    if byte == 32:
        if at + 3 < high and text[at + 1] == 65 and text[at + 2] == 84 and text[at + 3] == 32:
            return SPELLED, at + 4
        return NONE, at
    end = bracketed(text, at, high, AT_WORDS)
    return (NONE, at) if end < 0 else (BRACKETED, end)


@leaf  # type: ignore[untyped-decorator]
def _local_start(text: Bytes, low: int, at: int, classes: Table) -> tuple[int, bool]:
    """The start of the local part that ends here, or -1, and whether its script has no spaces."""
    start, characters, other = at, 0, False
    while start > low:
        byte = text[start - 1]
        if byte < 0x80:
            # . _ - + ' ~ = and the % of old gateways (`ada%host.org@relay.org`), which no two hexadecimal digits follow
            plain = byte == 46 or byte == 95 or byte == 45 or byte == 43 or byte == 39 or byte == 126 or byte == 61
            plain = plain or (byte == 37 and start + 1 < at and not (is_hex(text[start]) and is_hex(text[start + 1])))
            if other or not (plain or is_alnum(byte)):
                break
            start -= 1
        else:
            begin = character_before(text, low, start)
            point = decode(text, begin)
            if not flags_of(classes, point) & (ALPHA | MARK):
                break
            if unspaced(point):
                if start < at and not other:
                    break
                other = True
            elif other:
                break
            start = begin
        characters += 1
        if characters > _MAX_LOCAL:
            return -1, False
    if start > low and start < at:
        start = _unescaped(text, start, at)
    start = _cut(text, start, at)
    return (start if start < at else -1), other


@leaf  # type: ignore[untyped-decorator]
def _unescaped(text: Bytes, start: int, at: int) -> int:
    r"""The position after the rest of an escape whose sign ended the local part: %20, \n and \u003c."""
    byte = text[start - 1]
    if byte == 37 and at - start > 2 and is_hex(text[start]) and is_hex(text[start + 1]):
        return start + 2
    if byte == 92 and at - start > 1:
        if text[start] == 117 and at - start > 5:
            hexadecimal = True
            for place in range(start + 1, start + 5):
                hexadecimal = hexadecimal and is_hex(text[place])
            return start + 5 if hexadecimal else start
        if text[start] == 110 or text[start] == 116 or text[start] == 114:
            return start + 1
    return start


@leaf  # type: ignore[untyped-decorator]
def _cut(text: Bytes, start: int, at: int) -> int:
    """The position after text that is not part of an address: `href=`, a letter and quote (`l'`, `b'`), leading
    signs."""
    plus = False
    for place in range(start, at):
        byte = text[place]
        if byte == 43 and place > start:
            plus = True
        elif byte == 61 and not plus:  # `bounces+ada=host.tld@` keeps it
            start = place + 1
        elif (
            byte == 39 and place - start == 1 and small_letter(text[start]) != 111 and small_letter(text[start]) != 100
        ):
            start = place + 1  # but O'Brien and D'Angelo
    while start < at and (
        text[start] == 46
        or text[start] == 45
        or text[start] == 43
        or text[start] == 39
        or text[start] == 126
        or text[start] == 61
        or text[start] == 37
    ):
        start += 1
    return start


@leaf  # type: ignore[untyped-decorator]
def _has_small(text: Bytes, start: int, end: int) -> bool:
    found = False
    for at in range(start, end):
        found = found or 97 <= text[at] <= 122
    return found


@leaf  # type: ignore[untyped-decorator]
def _address(
    text: Bytes, low: int, at: int, high: int, spelled_out: bool, reserved: bool, classes: Table, table: Hashes
) -> tuple[int, int]:
    """The range of the address whose at sign begins here, in a text from `low` to `high`; -1 and -1 if there is
    none."""
    form, after = _sign(text, at, high, spelled_out)
    if form == NONE:
        return -1, -1
    before = at
    if form == BRACKETED and (after - at > 3 or text[at + 1] == 64):  # `word(a) word` is prose
        if before > low and text[before - 1] == 32:
            before -= 1
        if after < high and text[after] == 32:
            after += 1
    if before <= low or after >= high:
        return -1, -1
    start, unspaced = _local_start(text, low, before, classes)
    if start < 0:
        return -1, -1
    if form == BRACKETED:
        for _ in range(_MAX_DOTS):
            dot = dot_start(text, low, start)
            before_dot = _local_start(text, low, dot, classes)[0] if dot > low else -1
            if before_dot < 0:
                break
            start = before_dot
    end, other = host_end(text, after, high, form, spelled_out, classes, table)
    if end < 0 or (unspaced and not other):
        return -1, -1
    if form == SPELLED and not (_has_small(text, start, before) and _has_small(text, after, end)):
        return -1, -1
    if not reserved and is_reserved(text, after, end):
        return -1, -1
    if end + 1 < high and text[end] == 58 and text[end + 1] != 32 and among(text, start, before, _SERVICES):
        return -1, -1
    return start, end


@leaf  # type: ignore[untyped-decorator]
def _none_near(text: Bytes, at: np.uint64, spelled_out: bool) -> bool:
    """Whether no at sign begins in the block of bytes from here on, in a few vector instructions."""
    one, two, three = np.uint64(1), np.uint64(2), np.uint64(3)
    found = np.uint8(0)
    if not spelled_out:
        for place in range(_BLOCK):
            here = at + np.uint64(place)
            byte = text[here]
            found |= np.uint8(byte == 64) | (np.uint8(byte == 37) & np.uint8(text[here + one] == 52))
        return bool(found == 0)
    for place in range(_BLOCK):
        here = at + np.uint64(place)
        byte, second, third, fourth = text[here], text[here + one], text[here + two], text[here + three]
        small = second | np.uint8(32)
        found |= (
            np.uint8(byte == 64)
            | (np.uint8(byte == 37) & np.uint8(second == 52))
            | (np.uint8(byte == 32) & np.uint8(second == 65) & np.uint8(third == 84) & np.uint8(fourth == 32))
            | (
                (np.uint8(byte == 40) | np.uint8((byte | np.uint8(32)) == 123))
                & (
                    np.uint8(small == 97)
                    | np.uint8(small == 99)
                    | np.uint8(small == 96)
                    | np.uint8(second == 32)
                    | np.uint8(second == 0xC3)
                )
            )
        )
    return bool(found == 0)


@kernel  # type: ignore[untyped-decorator]
def _emails(
    text: Bytes, offsets: Ints, spelled_out: bool, reserved: bool, classes: Table, table: Hashes
) -> npt.NDArray[np.int64]:
    """The text, start and end of every address."""
    spans, count = np.empty((FIRST_ROOM, 3), np.int64), 0
    for row in range(len(offsets) - 1):
        low, high = offsets[row], offsets[row + 1]
        at = low
        while at < high:
            stop = min(at + _BLOCK, high)
            if at + _BLOCK + _AFTER <= high and _none_near(text, np.uint64(at), spelled_out):
                at = stop
                continue
            while at < stop:
                byte = text[at]
                if byte == 64 or byte == 37 or (spelled_out and (byte in (32, 40, 91, 123))):
                    start, end = _address(text, low, at, high, spelled_out, reserved, classes, table)
                    if end > 0:
                        if count == len(spans):
                            spans = roomier(spans)
                        spans[count] = (row, start, end)
                        count += 1
                        low = at = end
                        continue
                at += 1
    return spans[:count].copy()


def emails(texts: Texts, *, spelled_out: bool, reserved: bool) -> Detections:
    """The e-mail addresses of every text.

    Args:
        texts: Folded texts.
        spelled_out: Also find obfuscated forms, such as `name [at] host [dot] tld`.
        reserved: Also find addresses that are reserved for examples.
    """
    spans = _emails(texts.buffer, texts.offsets, spelled_out, reserved, unicode_classes(), top_level_domains())
    searched = np.ones(len(texts.offsets) - 1, np.bool_)
    return Detections("email", spans[:, 0], spans[:, 1], spans[:, 2], searched)
