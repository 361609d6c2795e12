"""Private keys in multi-line blocks: PEM, OpenSSH, SSH2, OpenPGP and PuTTY, with bounded size."""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from winnow.filters.private.credentials.scan import Anchored, Bytes
from winnow.schemas.kernels import kernel, leaf

Ints: TypeAlias = npt.NDArray[np.int64]

PEM, PUTTY = 10, 11
ANCHORS = (Anchored("PRIVATE KEY", PEM), Anchored("PuTTY-User-Key-File-", PUTTY))

_MOST = 64 << 10  # bytes of a block: a key of 16 384 bits has 13 kB, an OpenPGP key with several subkeys some more
_HEADER = 40  # bytes before `PRIVATE KEY` that contain `BEGIN`
_RUN = 32  # consecutive characters of base64; with fewer, a block is a mention, such as `BEGIN … END`
_GAP = 16  # bytes between the lines of a key: breaks, indents, quote marks
_FIRST_GAP = 400  # and before its first line: `Proc-Type`, `DEK-Info`, `Version`, `Comment`
_NAME = 11  # len("PRIVATE KEY")


@leaf  # type: ignore[untyped-decorator]
def _base64(byte: int) -> bool:
    return 97 <= byte <= 122 or 65 <= byte <= 90 or 48 <= byte <= 57 or byte == 43 or byte == 47 or byte == 61


@leaf  # type: ignore[untyped-decorator]
def _is(text: Bytes, at: int, end: int, word: tuple[int, ...]) -> bool:
    if at + len(word) > end:
        return False
    for place in range(len(word)):  # noqa: SIM110, numba knows no generators here
        if text[at + place] != word[place]:
            return False
    return True


_BEGIN = tuple(b"BEGIN ")
_END = tuple(b"END ")
_PRIVATE = tuple(b"PRIVATE KEY")
_BLOCK = tuple(b" BLOCK")
_USER_KEY = tuple(b"PuTTY-User-Key-File-")
_LINES = tuple(b"Private-Lines:")
_MAC = tuple(b"Private-MAC:")


@leaf  # type: ignore[untyped-decorator]
def _dashes_before(text: Bytes, at: int, begin: int) -> int:
    while at > begin and text[at - 1] == 32:
        at -= 1
    while at > begin and text[at - 1] == 45:
        at -= 1
    return at


@leaf  # type: ignore[untyped-decorator]
def _dashes_behind(text: Bytes, at: int, end: int) -> int:
    if _is(text, at, end, _BLOCK):
        at += 6
    stop = at
    while stop < end and text[stop] == 32:
        stop += 1
    if stop < end and text[stop] == 45:
        at = stop
        while at < end and text[at] == 45:
            at += 1
    return at


@leaf  # type: ignore[untyped-decorator]
def _pem(text: Bytes, at: int, begin: int, end: int) -> tuple[int, int]:
    """The block whose header has `PRIVATE KEY` at this position; an empty range if there is none."""
    header = at - 6
    least = max(begin, at - _HEADER)
    while header >= least and not _is(text, header, end, _BEGIN):
        if not (text[header] == 32 or 65 <= text[header] <= 90 or 48 <= text[header] <= 57):
            return at, at
        header -= 1
    if header < least:
        return at, at
    start = _dashes_before(text, header, begin)
    body = _dashes_behind(text, at + _NAME, end)
    last = min(end, body + _MOST)
    longest, run, solid = 0, 0, body  # `solid`: end of the key's last line
    place = body
    while place < last:
        if _is(text, place, end, _BEGIN):
            break
        if (text[place - 1] == 45 or text[place - 2] == 45) and _is(text, place, end, _END):
            name, stop = place + 4, min(end, place + _HEADER)
            while name < stop and not _is(text, name, end, _PRIVATE):
                name += 1
            if name < stop:
                return (start, _dashes_behind(text, name + _NAME, end)) if longest >= _RUN else (at, at)
        if _base64(text[place]):
            run += 1
            longest = max(longest, run)
        else:
            run = 0
        if run >= _GAP and (place - solid <= run + _GAP or (solid == body and place - solid <= run + _FIRST_GAP)):
            solid = place + 1
        place += 1
    # its end is cut off: use all its lines
    return (start, solid) if longest >= _RUN and solid - body >= _RUN else (at, at)


@leaf  # type: ignore[untyped-decorator]
def _putty(text: Bytes, at: int, end: int) -> tuple[int, int]:
    """The key file that begins here; an empty range if no private lines follow."""
    place, last, lines = at + len(_USER_KEY), min(end, at + _MOST), False
    while place < last:
        if text[place] == 80:
            if _is(text, place, end, _USER_KEY):
                return at, at
            lines |= _is(text, place, end, _LINES)
            if lines and _is(text, place, end, _MAC):
                stop = place + len(_MAC)
                while stop < end and text[stop] == 32:
                    stop += 1
                while stop < end and _base64(text[stop]):
                    stop += 1
                return at, stop
        place += 1
    return at, at


@kernel  # type: ignore[untyped-decorator]
def blocks(text: Bytes, offsets: Ints, rows: Ints, starts: Ints, routes: Ints) -> Ints:
    """The byte ranges of the blocks at these positions; empty if there is none."""
    found = np.zeros((len(rows), 2), np.int64)
    for number in range(len(rows)):
        begin, end = offsets[rows[number]], offsets[rows[number] + 1]
        if routes[number] == PEM:
            found[number] = _pem(text, starts[number], begin, end)
        else:
            found[number] = _putty(text, starts[number], end)
    return found
