"""Scan plain addresses: those that `canonical_url` would not change, except for upper case, port and fragment.

Most addresses are plain, and kernels read them in place. All others go through `canonical_url` first.
"""

import numpy as np

from winnow.filters.web.url_lists.hashing import Bytes
from winnow.filters.web.urls import MAX_HOST_CHARACTERS, MAX_LABEL_CHARACTERS, MAX_URL_CHARACTERS
from winnow.schemas.kernels import leaf

_HOST, _PATH, _QUERY, _UNRESERVED, _UPPER_HEX = 1, 2, 4, 8, 16

NOT_PLAIN = -1


def _classes() -> Bytes:
    """For each byte, the parts of an address in which it is literal."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
    classes = np.zeros(256, np.uint8)
    for bit, characters in (
        (_HOST, letters + "-_"),
        (_PATH, letters + "/._~!$&'()*+,;=:@[]|^-"),
        (_QUERY, "".join(chr(point) for point in range(33, 127) if chr(point) not in "\"#'<>")),
        (_UNRESERVED, letters + "-._~"),
        (_UPPER_HEX, "0123456789ABCDEF"),
    ):
        classes[[ord(character) for character in characters]] |= bit
    return classes


CLASSES = _classes()


@leaf  # type: ignore[untyped-decorator]
def after_scheme(text: Bytes, at: int, end: int) -> int:
    """The start of the host after `http://` or `https://`; NOT_PLAIN if there is neither."""
    if end - at < 8 or (text[at] | 0x20) != 104 or (text[at + 1] | 0x20) != 116:
        return NOT_PLAIN
    if (text[at + 2] | 0x20) != 116 or (text[at + 3] | 0x20) != 112:
        return NOT_PLAIN
    at += 5 if (text[at + 4] | 0x20) == 115 else 4
    if end - at < 4 or text[at] != 58 or text[at + 1] != 47 or text[at + 2] != 47:
        return NOT_PLAIN
    return at + 3


@leaf  # type: ignore[untyped-decorator]
def host_end(text: Bytes, start: int, end: int, canonical: bool, classes: Bytes) -> tuple[int, bool]:
    """The end of a plain host, without a final dot, and whether it is an IP address; or NOT_PLAIN.

    IP addresses have too many spellings: they are plain only if the text is known to be canonical.
    """
    at = label = start
    numeric = True  # the label so far
    while at < end:
        byte = text[at]
        if byte == 46:
            if at == label or at - label > MAX_LABEL_CHARACTERS:
                return NOT_PLAIN, False
            if at + 1 == end or not classes[text[at + 1]] & _HOST:
                break  # the final dot of a fully qualified name
            label, numeric = at + 1, True
        elif classes[byte] & _HOST:
            numeric = numeric and 48 <= byte <= 57
        else:
            break
        at += 1
    if at == label or at - label > MAX_LABEL_CHARACTERS or at - start > MAX_HOST_CHARACTERS:
        return NOT_PLAIN, False
    if numeric:
        return (at, True) if canonical else (NOT_PLAIN, False)
    if text[label] == 48 and at - label > 1 and (text[label + 1] | 0x20) == 120 and not canonical:
        return NOT_PLAIN, False
    return at, False


@leaf  # type: ignore[untyped-decorator]
def after_port(text: Bytes, at: int, end: int) -> int:
    """The start of the path, query or fragment after a host, its final dot and its port; or NOT_PLAIN."""
    if at < end and text[at] == 46:
        at += 1
    if at < end and text[at] == 58:
        at += 1
        port, first = 0, at
        while at < end and at - first < 5 and 48 <= text[at] <= 57:
            port = 10 * port + text[at] - 48
            at += 1
        if port > 65535:
            return NOT_PLAIN
    if at < end and text[at] != 47 and text[at] != 63 and text[at] != 35:
        return NOT_PLAIN
    return at


@leaf  # type: ignore[untyped-decorator]
def path_end(text: Bytes, at: int, end: int, canonical: bool, classes: Bytes) -> int:
    """The end of a plain path; or NOT_PLAIN."""
    while at < end:
        byte = text[at]
        if classes[byte] & _PATH:
            if byte == 47 and not canonical and at + 1 < end and text[at + 1] == 46:
                return NOT_PLAIN  # it may be a dot segment
            at += 1
        elif byte == 37:
            if not is_escape(text, at, end, classes):
                return NOT_PLAIN
            at += 3
        elif byte == 63 or byte == 35:
            break
        else:
            return NOT_PLAIN
    return at


@leaf  # type: ignore[untyped-decorator]
def is_escape(text: Bytes, at: int, end: int, classes: Bytes) -> bool:
    """Whether the percent sign here begins an escape in its canonical spelling."""
    if end - at < 3 or not classes[text[at + 1]] & classes[text[at + 2]] & _UPPER_HEX:
        return False
    return not classes[16 * hex_value(text[at + 1]) + hex_value(text[at + 2])] & _UNRESERVED


@leaf  # type: ignore[untyped-decorator]
def hex_value(byte: int) -> int:
    """The value of a hexadecimal digit."""
    return byte - 48 if byte <= 57 else (byte | 0x20) - 87


@leaf  # type: ignore[untyped-decorator]
def scan(
    text: Bytes, start: int, end: int, canonical: bool, classes: Bytes
) -> tuple[bool, bool, int, int, int, int, int]:
    """The parts of a plain address.

    Returns:
        Whether it is plain, whether its host is an IP address, the start and end of the host, the start of the path,
        its end (the query's start), and the end of the query.
    """
    nothing = (False, False, 0, 0, 0, 0, 0)
    if end - start > MAX_URL_CHARACTERS and not canonical:
        return nothing
    host = after_scheme(text, start, end)
    if host == NOT_PLAIN:
        return nothing
    if canonical and host < end and text[host] == 91:
        host += 1
        last, address = host, True
        while last < end and text[last] != 93:
            last += 1
        path = after_port(text, min(last + 1, end), end)
    else:
        last, address = host_end(text, host, end, canonical, classes)
        if last == NOT_PLAIN:
            return nothing
        path = after_port(text, last, end)
    if path == NOT_PLAIN:
        return nothing
    if not canonical and path < end and text[path] == 63:
        return nothing  # the canonical spelling has a path before a query
    query = path_end(text, path, end, canonical, classes)
    if query == NOT_PLAIN:
        return nothing
    stop = query
    while stop < end and text[stop] != 35:
        if not classes[text[stop]] & _QUERY:
            return nothing
        stop += 1
    return True, address, host, last, path, query, stop
