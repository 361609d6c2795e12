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

import re
import string
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from winnow.filters.language.kernels.spans import Texts
from winnow.filters.private.personal.detections import Detections
from winnow.filters.private.personal.hosts import (
    AT,
    BRACKETED,
    DOT,
    SPELLED,
    bracketed,
    host_end,
    is_reserved,
    letters,
)
from winnow.filters.private.personal.matches import bytes_at
from winnow.schemas.kernels import kernel, leaf

__all__ = ["emails"]

_BLOCK = 64
_AFTER = 3  # bytes after a position that decide whether an at sign may be there
_MAX_DOTS = 4  # written-out dots in a local part
_MAX_LOCAL = 64  # RFC 5321, 4.5.3.1.1
_ROOM = 4 * _MAX_LOCAL + 8  # bytes before a position that may matter for a local part
_SERVICES = frozenset((b"git", b"hg", b"svn"))  # user names of repository hosts: git@host:owner/name
_PATH = re.compile(b":[^ ]", re.DOTALL)

_PLAIN_SIGN = re.compile(b"(@|%40)")
_ANY_SIGN = re.compile(f"(@|%40)|({bracketed(AT)})|( AT )".encode())
_DOT_BEFORE = re.compile(rf" ?{bracketed(DOT)} ?\Z".encode())
_DOT_BYTES = 12  # of the longest bracketed dot and the blanks around it
_ESCAPED = re.compile(r"%[0-9A-Fa-f]{2}(?=.)|\\u[0-9A-Fa-f]{4}(?=.)|\\[ntr](?=.)", re.DOTALL)

_BYTES = np.arange(256)
_ALNUM = np.isin(_BYTES, np.frombuffer((string.ascii_letters + string.digits).encode(), np.uint8)) | (_BYTES >= 0x80)
_ENDS_LOCAL = _ALNUM | np.isin(_BYTES, np.frombuffer(b"._-+'~=%", np.uint8))
_BEGINS_HOST = _ALNUM | (_BYTES == 91)

Bytes = npt.NDArray[np.uint8]


@lru_cache(maxsize=1)
def _backwards() -> re.Pattern[str]:
    """A local part, read backwards: in scripts with spaces, or in the others."""
    spaced, unspaced = letters()
    # The % of old gateways (`ada%host.org@relay.org`) is one that no two hexadecimal digits follow.
    old = r"(?:(?<=[^\x00-\x7f])|(?<=..)(?<![0-9A-Fa-f]{2}))%"
    some = f"{{1,{_MAX_LOCAL + 1}}}+"
    return re.compile(rf"(?:[0-9A-Za-z._\-+'~={spaced}]|{old}){some}|([{unspaced}]{some})", re.DOTALL)


def _local_start(text: bytes, low: int, at: int) -> tuple[int, bool]:
    """The start of the local part that ends here, or -1, and whether its script has no spaces."""
    window = text[max(low, at - _ROOM) : at].decode("utf-8", "ignore")[::-1]
    found = _backwards().match(window)
    if found is None or found.end() > _MAX_LOCAL:
        return -1, False
    local = found[0][::-1]
    if escape := _ESCAPED.match(window[found.end() : found.end() + 1] + local):
        local = local[escape.end() - 1 :]
    local = _cut(local)
    return (at - len(local.encode()) if local else -1), found[1] is not None


def _cut(local: str) -> str:
    """What is part of an address: without `href=`, a letter and quote (`l'`, `b'`) and leading signs."""
    start, plus = 0, False
    for place, character in enumerate(local):
        if character == "+" and place > start:
            plus = True
        elif character == "=" and not plus:  # `bounces+ada=host.tld@` keeps it
            start = place + 1
        elif character == "'" and place - start == 1 and local[start].isascii() and local[start] not in "oOdD":
            start = place + 1  # but O'Brien and D'Angelo
    return local[start:].lstrip(".-+'~=%")


def _address(text: bytes, low: int, at: int, spelled_out: bool, reserved: bool) -> tuple[int, int] | None:
    """The range of the address whose at sign begins here, in what of a text begins at `low`; None if there is none."""
    sign = (_ANY_SIGN if spelled_out else _PLAIN_SIGN).match(text, at)
    if sign is None:
        return None
    form, before, after = sign.lastindex or 0, at, sign.end()
    if form == BRACKETED and (after - at > 3 or text[at + 1] == 64):  # `word(a) word` is prose
        before -= before > low and text[before - 1] == 32
        after += after < len(text) and text[after] == 32
    if before <= low or after >= len(text):
        return None
    start, unspaced = _local_start(text, low, before)
    if start < 0:
        return None
    if form == BRACKETED:
        for _ in range(_MAX_DOTS):
            dot = _DOT_BEFORE.search(text, max(low, start - _DOT_BYTES), start)
            before_dot = _local_start(text, low, dot.start())[0] if dot and dot.start() > low else -1
            if before_dot < 0:
                break
            start = before_dot
    end, other = host_end(text, after, form, spelled_out)
    if end < 0 or (unspaced and not other):
        return None
    if form == SPELLED and not (_has_small(text[start:before]) and _has_small(text[after:end])):
        return None
    if not reserved and is_reserved(text[after:end]):
        return None
    is_service = _PATH.match(text, end) and text[start:before].lower() in _SERVICES
    return None if is_service else (start, end)


def _has_small(text: bytes) -> bool:
    return any(97 <= byte <= 122 for byte in text)


@leaf  # type: ignore[untyped-decorator]
def _mark_signs(text: Bytes, at: np.uint64, spelled_out: bool, maybe: Bytes) -> np.uint8:
    """Mark where in a block an at sign may begin, by four bytes, in a few vector instructions; 0 if there is none."""
    one, two, three = np.uint64(1), np.uint64(2), np.uint64(3)
    some = np.uint8(0)
    for place in range(_BLOCK):
        here = at + np.uint64(place)
        byte, second, third, fourth = text[here], text[here + one], text[here + two], text[here + three]
        small = second | np.uint8(32)
        found = np.uint8(byte == 64) | (np.uint8(byte == 37) & np.uint8(second == 52))
        spelled = (np.uint8(byte == 32) & np.uint8(second == 65) & np.uint8(third == 84) & np.uint8(fourth == 32)) | (
            (np.uint8(byte == 40) | np.uint8((byte | np.uint8(32)) == 123))
            & (
                np.uint8(small == 97)
                | np.uint8(small == 99)
                | np.uint8(small == 96)
                | np.uint8(second == 32)
                | np.uint8(second == 0xC3)
            )
        )
        found |= spelled & np.uint8(spelled_out)
        maybe[place] = found
        some |= found
    return some


@kernel  # type: ignore[untyped-decorator]
def _signs(text: Bytes, spelled_out: bool) -> npt.NDArray[np.int64]:
    """Where an at sign may begin."""
    whole = max(0, (len(text) - _AFTER) // _BLOCK * _BLOCK)
    rest = np.zeros(2 * _BLOCK + _AFTER, np.uint8)  # so that no block reads beyond the end
    for place in range(whole, len(text)):
        rest[place - whole] = text[place]
    places, count = np.empty(256, np.int64), 0
    maybe = np.empty(_BLOCK, np.uint8)
    for first in range(0, whole + 2 * _BLOCK, _BLOCK):
        if first < whole:
            some = _mark_signs(text, np.uint64(first), spelled_out, maybe)
        else:
            some = _mark_signs(rest, np.uint64(first - whole), spelled_out, maybe)
        if some:
            if count + _BLOCK > len(places):
                wider = np.empty(2 * len(places), np.int64)
                wider[:count] = places[:count]
                places = wider
            for place in range(_BLOCK):
                places[count] = first + place
                count += maybe[place]
    return places[:count].copy()


def emails(texts: Texts, *, spelled_out: bool, reserved: bool) -> Detections:
    """The e-mail addresses of every text.

    Args:
        texts: Folded texts.
        spelled_out: Also find obfuscated forms, such as `name [at] host [dot] tld`.
        reserved: Also find addresses that are reserved for examples.
    """
    first = int(texts.offsets[0])
    places = _signs(texts.buffer[first : int(texts.offsets[-1])], spelled_out) + first
    between = _ENDS_LOCAL[bytes_at(texts, places - 1)] & _BEGINS_HOST[bytes_at(texts, places + 1)]
    places = places[between | (texts.buffer[places] != 64)]  # few names after a blank and `@` reach Python
    rows = np.searchsorted(texts.offsets, places, side="right") - 1
    found, read, text, begin, low = [], -1, b"", 0, 0
    for row, place in zip(rows.tolist(), places.tolist(), strict=True):
        if row != read:
            begin, end = texts.offsets[row : row + 2].tolist()
            read, text, low = row, texts.buffer[begin:end].tobytes(), 0
        at = place - begin
        if at >= low and (address := _address(text, low, at, spelled_out, reserved)):
            found.append((row, begin + address[0], begin + address[1]))
            low = address[1]
    spans = np.array(found, np.int64).reshape(-1, 3)
    searched = np.ones(len(texts.offsets) - 1, np.bool_)
    return Detections("email", spans[:, 0], spans[:, 1], spans[:, 2], searched)
