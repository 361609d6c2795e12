"""Publicly routed IPv6 addresses as in RFC 4291: 2000::/3, which begins with four digits.

Times, MAC addresses and `std::vector` do not. Brackets, a port and a zone are not part of the span.
"""

import re

from winnow.filters.private.personal.matches import is_apart

_MORE = rb"(?::[0-9A-Fa-f]{1,4}){0,7}+"
_IPV6 = re.compile(rb"([23][0-9A-Fa-f]{3}(?=:)%b)(?:(::)([0-9A-Fa-f]{1,4}%b)?+)?+(?!:[0-9A-Fa-f:])" % (_MORE, _MORE))


def _is_routed(first: int, second: int, reserved: bool) -> bool:
    """Whether an address of 2000::/3 that begins with these groups is public."""
    documentation = (first == 0x2001 and second == 0xDB8) or (first == 0x3FFF and second < 0x1000)
    if documentation:
        return reserved
    return not (first == 0x2001 and second < 0x200)  # reserved by IANA for protocols, such as Teredo


def ipv6_end(text: bytes, start: int, reserved: bool) -> int:
    """The end of the IPv6 address that begins here; -1 if there is none."""
    match = _IPV6.match(text, start)
    if match is None or text[max(0, start - 1) : start] == b":" or not is_apart(text, *match.span()):
        return -1
    before, gap, after = match[1].split(b":"), match[2], match[3].split(b":") if match[3] else []
    count = len(before) + len(after)
    second = int(before[1], 16) if len(before) > 1 else 0
    if (count < 8 if gap else count == 8) and _is_routed(int(before[0], 16), second, reserved):
        return match.end()
    return -1
