"""Check whether a whole chunk is a web address, as in spaCy's `URL_MATCH`.

The expression is (scheme://)? (anything@)? (an IPv4 address that is not private, or a domain name) (:port)? (path)?.
It is matched from every possible start of a host: the beginning, after a scheme, and after each `@`. A host has
no `@`, so all attempts together are linear.
"""

from winnow.filters.language.kernels.classes import decode
from winnow.filters.language.words.rules import DIGIT, HOST, LOWER, WORD
from winnow.schemas.kernels import leaf


@leaf
def is_address(ints, octets, buffer, begin, places, kinds, low, high):  # type: ignore[no-untyped-def]
    """Whether the characters `low` to `high` of the chunk at this byte are an address."""
    if _ends_here(ints, octets, buffer, begin, places, kinds, low, high):
        return True
    scheme = low
    while scheme < high and (octets[ints[WORD] + kinds[scheme]] != 0 or _is(buffer, begin, places, scheme, 43, 45, 46)):
        scheme += 1
    if (
        scheme - low >= 2
        and scheme + 3 < high
        and _is(buffer, begin, places, scheme, 58, 58, 58)
        and _is(buffer, begin, places, scheme + 1, 47, 47, 47)
        and _is(buffer, begin, places, scheme + 2, 47, 47, 47)
        and _ends_here(ints, octets, buffer, begin, places, kinds, scheme + 3, high)
    ):
        return True
    for at in range(low + 1, high - 1):
        if _is(buffer, begin, places, at, 64, 64, 64) and _ends_here(
            ints, octets, buffer, begin, places, kinds, at + 1, high
        ):
            return True
    return False


@leaf
def _is(buffer, begin, places, at, one, two, three):  # type: ignore[no-untyped-def]
    byte = buffer[begin + places[at]]
    return byte in (one, two, three)


@leaf
def _ends_here(ints, octets, buffer, begin, places, kinds, low, high):  # type: ignore[no-untyped-def]
    """Whether these positions enclose exactly a host and what may follow it."""
    labels = 0
    start = low
    while start < high:
        if labels > 0:
            end = start
            while end < high and octets[ints[LOWER] + kinds[end]] != 0:
                end += 1
            if 2 <= end - start <= 63 and _is_rest(ints, octets, buffer, begin, places, kinds, end, high):
                return True
        end = start
        while end < high and (octets[ints[HOST] + kinds[end]] != 0 or _is(buffer, begin, places, end, 45, 95, 95)):
            end += 1
        if end >= high or not _is(buffer, begin, places, end, 46, 46, 46) or not 1 <= end - start <= 64:
            break
        if octets[ints[HOST] + kinds[start]] == 0 or octets[ints[HOST] + kinds[end - 1]] == 0:
            break
        labels += 1
        start = end + 1
    return _is_number(ints, octets, buffer, begin, places, kinds, low, high)


@leaf
def _is_rest(ints, octets, buffer, begin, places, kinds, low, high):  # type: ignore[no-untyped-def]
    """(:[2-5 digits])? ([/?#] anything)?"""
    at = low
    if at < high and _is(buffer, begin, places, at, 58, 58, 58):
        at += 1
        while at < high and at - low <= 6 and octets[ints[DIGIT] + kinds[at]] != 0:
            at += 1
        if not 2 <= at - low - 1 <= 5:
            return False
    return at == high or _is(buffer, begin, places, at, 47, 63, 35)


@leaf
def _is_number(ints, octets, buffer, begin, places, kinds, low, high):  # type: ignore[no-untyped-def]
    """An IPv4 address outside private networks. As in `re`, most digits may be of any script."""
    if low >= high or not 49 <= buffer[begin + places[low]] <= 57:
        return False
    at = low
    a = b = c = d = e = f = -48
    for octet in range(4):
        if octet > 0:
            if at >= high or not _is(buffer, begin, places, at, 46, 46, 46):
                return False
            at += 1
        first = at
        x = y = z = -48
        while at < high and octets[ints[DIGIT] + kinds[at]] != 0:
            if at - first == 3:
                return False
            x, y, z = y, z, decode(buffer, begin + places[at]) - 48
            at += 1
        size = at - first
        if size == 1:
            x, y, z = z, y, x
        elif size == 2:
            x, y, z = y, z, x
        if not _is_octet(x, y, z, size, octet):
            return False
        if octet == 0:
            a, b, c = x, y, z
        elif octet == 1:
            d, e, f = x, y, z
    none = -48
    if a == 1 and ((b == 0 and c == none) or (b == 2 and c == 7)):
        return False
    if a == 1 and b == 6 and c == 9 and d == 2 and e == 5 and f == 4:
        return False
    if a == 1 and b == 9 and c == 2 and d == 1 and e == 6 and f == 8:
        return False
    if a == 1 and b == 7 and c == 2 and e != none:
        if d == 1 and 6 <= e <= 9 and f == none:
            return False
        if d == 2 and f == none:
            return False
        if d == 3 and 0 <= e <= 1 and f == none:
            return False
    return _is_rest(ints, octets, buffer, begin, places, kinds, at, high)


@leaf
def _is_octet(a, b, c, size, octet):  # type: ignore[no-untyped-def]
    if octet == 0 or octet == 3:
        if size < 3:
            return size > 0 and 1 <= a <= 9
        if a == 1:
            return True
        if octet == 0:
            return a == 2 and (b == 0 or b == 1 or (b == 2 and 0 <= c <= 3))
        return a == 2 and (0 <= b <= 4 or (b == 5 and 0 <= c <= 4))
    if size < 3:
        return size > 0
    return a == 1 or (a == 2 and (0 <= b <= 4 or (b == 5 and 0 <= c <= 5)))
