"""Publicly routed IPv6 addresses as in RFC 4291: 2000::/3, which begins with four digits.

Times, MAC addresses and `std::vector` do not. Brackets, a port and a zone are not part of the span.
"""

import numpy as np
import numpy.typing as npt

from winnow.filters.private.personal.candidates import glued_after, glued_before
from winnow.filters.private.personal.detections import FIRST_ROOM, roomier
from winnow.filters.private.personal.letters import is_hex
from winnow.schemas.kernels import kernel, leaf

__all__ = ["ipv6"]

_BLOCK = 64

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]


@leaf  # type: ignore[untyped-decorator]
def _ipv6_end(text: Bytes, at: int, high: int) -> tuple[int, int, int]:
    """The end of the IPv6 address that begins here, or -1, and its first two groups."""
    groups, gap, first, second = 0, False, 0, 0
    while True:
        value, start = 0, at
        while at < high and at - start < 4 and is_hex(text[at]):
            byte = text[at]
            value = value << 4 | (byte - 48 if byte <= 57 else (byte | 32) - 87)
            at += 1
        if at == start:
            return -1, 0, 0
        if groups == 0:
            first = value
        elif groups == 1 and not gap:
            second = value
        groups += 1
        if groups == 8 or at >= high or text[at] != 58:
            break
        if at + 1 < high and text[at + 1] == 58:
            if gap:
                return -1, 0, 0
            gap = True
            if groups == 1:
                second = 0
            at += 2
            if at >= high or not is_hex(text[at]):
                break
        elif at + 1 < high and is_hex(text[at + 1]):
            at += 1
        else:
            break
    if (groups == 8) == gap:
        return -1, 0, 0
    on = at + 1 < high and text[at] == 58 and (text[at + 1] == 58 or is_hex(text[at + 1]))
    if on or glued_after(text, at, high):
        return -1, 0, 0
    return at, first, second


@leaf  # type: ignore[untyped-decorator]
def _routed(first: int, second: int, reserved: bool) -> bool:
    """Whether an address of 2000::/3 that begins with these groups is public."""
    documentation = (first == 0x2001 and second == 0xDB8) or (first == 0x3FFF and second < 0x1000)
    if documentation:
        return reserved
    return not (first == 0x2001 and second < 0x200)  # reserved by IANA for protocols, such as Teredo


@leaf  # type: ignore[untyped-decorator]
def _no_ipv6_near(text: Bytes, at: np.uint64) -> bool:
    """Whether no colon in the block of bytes from here on ends a group that may be the first of 2000::/3."""
    found = np.uint8(0)
    for place in range(_BLOCK):
        here = at + np.uint64(place)
        found |= np.uint8(text[here] == 58) & np.uint8((text[here - np.uint64(4)] | np.uint8(1)) == 51)
    return bool(found == 0)


@kernel  # type: ignore[untyped-decorator]
def ipv6(text: Bytes, offsets: Ints, reserved: bool) -> Ints:
    """The text, start and end of every IPv6 address."""
    spans, count = np.empty((FIRST_ROOM, 3), np.int64), 0
    for row in range(len(offsets) - 1):
        low, high = offsets[row], offsets[row + 1]
        at = low + 4
        while at < high:
            stop = min(at + _BLOCK, high)
            if stop - at == _BLOCK and _no_ipv6_near(text, np.uint64(at)):
                at = stop
                continue
            while at < stop:
                start = at - 4
                if not (
                    text[at] == 58
                    and text[start] | 1 == 51
                    and is_hex(text[at - 1])
                    and is_hex(text[at - 2])
                    and is_hex(text[at - 3])
                ):
                    at += 1
                    continue
                end = -1
                if not glued_before(text, low, start) and (start == low or text[start - 1] != 58):
                    end, first, second = _ipv6_end(text, start, high)
                if end < 0 or not _routed(first, second, reserved):
                    at += 1
                    continue
                if count == len(spans):
                    spans = roomier(spans)
                spans[count] = (row, start, end)
                count += 1
                at = end + 4
    return spans[:count].copy()
