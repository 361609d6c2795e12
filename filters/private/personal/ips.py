"""Publicly routed IP addresses: IPv4 in dotted form, IPv6 as in RFC 4291.

Private, loopback, link-local, multicast, reserved and documentation addresses identify nobody and are left out (the
last are found on request); so are six that datatrove uses as replacements.

Four numbers separated by dots are as often a version, a section or an object identifier. They are not an address if a
fifth follows or a letter touches them; after a word such as `version`, `build` or `section`, or a product (`Chrome/`);
after a hyphen, dot or underscore that ends a word (`libfoo-11.2.202.235.zip`), except words of access networks (`dsl-`,
`host-`); before a hyphen that does not lead to the end of a range; and if the four are as small as in versions and
sections, or begin like X.500 object identifiers, unless `ip`, `server` or the like precedes or a port follows.
"""

import numpy as np
import numpy.typing as npt

from winnow.filters.language.kernels.spans import Texts
from winnow.filters.private.personal.candidates import DigitGroups, glued_after, glued_before
from winnow.filters.private.personal.detections import FIRST_ROOM, Detections, roomier
from winnow.filters.private.personal.ipv6 import ipv6
from winnow.filters.private.personal.letters import is_letter, word_list
from winnow.schemas.kernels import kernel, leaf

__all__ = ["ips"]

_SMALL, _FIRST_SMALL, _NEXT_SMALL = 32, 10, 20  # see `_is_small`: one address in a thousand is small
_WORD_BYTES = 24  # of a product's name

# Endings of words that precede other numbers; without first letters that may be capitals in other scripts.
_OTHER_WORDS = word_list("""
    version versions ver ver. versi vers versión versione versão versie wersja wersji verze verzi verzió verzija
    versiune versiunea versjon versio sürüm sürümü ерсия ерсии ерсию ерсія ерсії έκδοση إصدار نسخه نسخة גרסה संस्करण
    版本 版本号 版 バージョン 버전 v release rel rev revision build firmware driver update patch hotfix upgrade sp
    section sections sec sect chapter clause article paragraph para subsection appendix annex table figure fig rule item
    step part oid identifier § §§
""")
_ADDRESS_WORDS = word_list("""
    ip ips ipv4 addr address addresses adresse adres dirección indirizzo адрес adress host hosts server servers dns
    nameserver nameservers gateway router proxy peer client user from ping traceroute telnet ssh whois tcp udp
""")
_NETWORK_WORDS = word_list("""
    ip ips host hosts dyn dynamic static ppp pool dsl adsl vdsl xdsl cpe client clients user users cable dialup dhcp nat
    fiber ftth server srv ns mail ec2
""")


def _blocks(blocks: str) -> npt.NDArray[np.int64]:
    rows = []
    for block in blocks.split():
        address, _, bits = block.partition("/")
        value = 0
        for number in address.split("."):
            value = value << 8 | int(number)
        rows.append((value, value + (1 << (32 - int(bits))) - 1))
    return np.array(rows, np.int64)


# The IANA special-purpose registry: not globally reachable, multicast, and reserved for the future.
_NOT_PUBLIC = _blocks(
    "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.88.99.0/24 "
    "192.168.0.0/16 198.18.0.0/15 224.0.0.0/4 240.0.0.0/4"
)
_DOCUMENTATION = _blocks("192.0.2.0/24 198.51.100.0/24 203.0.113.0/24")
_REPLACEMENTS = _blocks(
    "22.214.171.124/32 126.96.36.199/32 188.8.131.52/32 184.108.40.206/32 220.127.116.11/32 18.104.22.168/32"
)

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]


@leaf  # type: ignore[untyped-decorator]
def _ends_with(text: Bytes, low: int, at: int, listed: Bytes) -> bool:
    """Whether one of the words (each ends in a line break) ends at this position of a text, ignoring ASCII case."""
    start = 0
    for stop in range(len(listed)):
        if listed[stop] != 10:
            continue
        place, size = at, stop
        while size > start and place > low:
            byte = text[place - 1]
            if 65 <= byte <= 90:
                byte |= np.uint8(32)
            if byte != listed[size - 1]:
                break
            size -= 1
            place -= 1
        if size == start and (
            listed[start] >= 0x80 or place == low or (not is_letter(text[place - 1]) and text[place - 1] < 0x80)
        ):
            return True
        start = stop + 1
    return False


@leaf  # type: ignore[untyped-decorator]
def _before_signs(text: Bytes, low: int, at: int) -> int:
    """The position before the blanks and signs that may separate a word and its number, such as `: "`."""
    for _ in range(3):
        if at <= low:
            break
        byte = text[at - 1]
        if not (
            byte == 32 or byte == 58 or byte == 61 or byte == 40 or byte == 34 or byte == 39 or byte == 46 or byte == 35
        ):
            break
        at -= 1
    return at


@leaf  # type: ignore[untyped-decorator]
def _is_range(text: Bytes, start: int, end: int, high: int) -> bool:
    """Whether `-` and the end of a range follow an address: another address, or a larger last number."""
    last, place = 0, end
    while place > start and 48 <= text[place - 1] <= 57:
        place -= 1
    for at in range(place, end):
        last = 10 * last + text[at] - 48
    at, other = end + 1, 0
    while at < high and at - end <= 3 and 48 <= text[at] <= 57:
        other = 10 * other + text[at] - 48
        at += 1
    if at + 1 < high and text[at] == 46 and 48 <= text[at + 1] <= 57:
        return True
    return last < other < 256 and not glued_after(text, at, high)


@leaf  # type: ignore[untyped-decorator]
def _is_small(value: int) -> bool:
    """Whether four numbers are more likely a version or an object identifier than an address."""
    first, second, third, fourth = value >> 24, value >> 16 & 255, value >> 8 & 255, value & 255
    small = int(second < _NEXT_SMALL) + int(third < _NEXT_SMALL) + int(fourth < _NEXT_SMALL)
    return (
        (first < _SMALL and second < _SMALL and third < _SMALL and fourth < _SMALL)
        or (first < _FIRST_SMALL and small >= 2)
        or (first == 2 and second == 5 and (third == 4 or third == 29))  # X.520, the extensions of certificates
        or (first == 1 and second == 3 and third == 101)  # elliptic curves
    )


@leaf  # type: ignore[untyped-decorator]
def _is_address(
    text: Bytes, low: int, high: int, start: int, end: int, small: bool, others: Bytes, addresses: Bytes, nets: Bytes
) -> bool:
    """Whether the context of four dotted numbers allows an address."""
    if glued_before(text, low, start) or glued_after(text, end, high):
        return False
    port = end + 1 < high and text[end] == 58 and 48 <= text[end + 1] <= 57
    if start > low and not port:
        byte = text[start - 1]
        if byte == 45 or byte == 46 or byte == 95:
            if start - 1 > low and (is_letter(text[start - 2]) or text[start - 2] == byte):
                return not small and _ends_with(text, low, start - 1, nets)
        elif byte == 47:
            place = start - 1
            while place > low and start - place <= _WORD_BYTES and is_letter(text[place - 1]):
                place -= 1
            if place < start - 1 and not (place > low and (text[place - 1] == 46 or text[place - 1] == 47)):
                return False  # Chrome/11.2.202.235
    before = _before_signs(text, low, start)
    if _ends_with(text, low, before, addresses) or (
        start - 2 > low and text[start - 1] == 47 and text[start - 2] == 47
    ):
        return True
    if end + 1 < high and text[end] == 45 and glued_after(text, end + 1, high):
        return not small and _is_range(text, start, end, high)
    if _ends_with(text, low, before, others):
        return False
    return not small or port


@leaf  # type: ignore[untyped-decorator]
def _within(value: int, blocks: Ints) -> bool:
    found = False
    for block in range(len(blocks)):
        found = found or blocks[block, 0] <= value <= blocks[block, 1]
    return found


@leaf  # type: ignore[untyped-decorator]
def _value(text: Bytes, starts: Ints, ends: Ints, first: int) -> int:
    """The address of four runs, or -1."""
    value = 0
    for run in range(first, first + 4):
        size = ends[run] - starts[run]
        if size > 3 or (size > 1 and text[starts[run]] == 48):
            return -1
        number = 0
        for at in range(starts[run], ends[run]):
            number = 10 * number + text[at] - 48
        if number > 255:
            return -1
        value = value << 8 | number
    return value


@kernel  # type: ignore[untyped-decorator]
def _ipv4(
    text: Bytes,
    offsets: Ints,
    runs: Ints,
    starts: Ints,
    ends: Ints,
    refused: Ints,
    others: Bytes,
    addresses: Bytes,
    nets: Bytes,
) -> Ints:
    """The text, start and end of every IPv4 address outside the refused blocks."""
    spans, count = np.empty((FIRST_ROOM, 3), np.int64), 0
    for row in range(len(offsets) - 1):
        run, last = runs[row], runs[row + 1]
        while run < last:
            first = run
            run += 1
            while run < last and starts[run] == ends[run - 1] + 1 and text[ends[run - 1]] == 46:
                run += 1
            if run - first != 4:
                continue
            value = _value(text, starts, ends, first)
            if value < 0 or _within(value, refused):
                continue
            start, end = starts[first], ends[run - 1]
            if _is_address(text, offsets[row], offsets[row + 1], start, end, _is_small(value), others, addresses, nets):
                if count == len(spans):
                    spans = roomier(spans)
                spans[count] = (row, start, end)
                count += 1
    return spans[:count].copy()


def ips(texts: Texts, groups: DigitGroups, *, reserved: bool) -> Detections:
    """The public IP addresses of every text.

    Args:
        texts: Folded texts.
        groups: Their digits.
        reserved: Also find addresses that are reserved for documentation.
    """
    refused = np.concatenate([_NOT_PUBLIC, _REPLACEMENTS] if reserved else [_NOT_PUBLIC, _REPLACEMENTS, _DOCUMENTATION])
    old = _ipv4(
        texts.buffer,
        texts.offsets,
        groups.document_runs,
        groups.run_starts,
        groups.run_ends,
        refused,
        _OTHER_WORDS,
        _ADDRESS_WORDS,
        _NETWORK_WORDS,
    )
    spans = np.concatenate([old, ipv6(texts.buffer, texts.offsets, reserved)])
    spans = spans[np.argsort(spans[:, 1], kind="stable")]
    return Detections("ip", spans[:, 0], spans[:, 1], spans[:, 2], np.ones(len(texts.offsets) - 1, np.bool_))
