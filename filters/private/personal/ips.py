"""Publicly routed IP addresses: IPv4 in dotted form, IPv6 as in RFC 4291.

Private, loopback, link-local, multicast, reserved and documentation addresses identify nobody and are left out (the
last are found on request); so are six that datatrove uses as replacements.

Four numbers separated by dots are as often a version, a section or an object identifier. They are not an address if a
fifth follows or a letter touches them; after a word such as `version`, `build` or `section`, or a product (`Chrome/`);
after a hyphen, dot or underscore that ends a word (`libfoo-11.2.202.235.zip`), except words of access networks (`dsl-`,
`host-`); before a hyphen that does not lead to the end of a range; and if the four are as small as in versions and
sections, or begin like X.500 object identifiers, unless `ip`, `server` or the like precedes or a port follows.
"""

import re
from functools import partial
from ipaddress import IPv4Address, IPv4Network

import numpy as np

from winnow.filters.language.kernels.spans import Texts
from winnow.filters.private.personal.candidates import DigitGroups
from winnow.filters.private.personal.detections import Detections
from winnow.filters.private.personal.ipv6 import ipv6_end
from winnow.filters.private.personal.matches import bytes_at, found_at_runs, is_apart, is_glued
from winnow.filters.web.machines import DOCUMENTATION, NOT_PUBLIC

_SMALL, _FIRST_SMALL, _NEXT_SMALL = 32, 10, 20  # see `_is_small`: one address in a thousand is small
_WORD_BYTES = 64  # more than the longest word below


def _endings(words: str) -> re.Pattern[bytes]:
    """A pattern of the ends of lower-case texts: one of these words, whole if it begins with an ASCII letter."""
    encoded = sorted((word.encode() for word in words.split()), key=len, reverse=True)
    plain, others = (
        b"|".join(re.escape(word) for word in encoded if word[:1].isascii() is kind) for kind in (True, False)
    )
    return re.compile(rb"(?:(?<![a-z\x80-\xff])(?:%b)|(?:%b))\Z" % (plain, others or rb"(?!)"))


# Endings of words that precede other numbers; without first letters that may be capitals in other scripts.
_OTHER_WORDS = _endings("""
    version versions ver ver. versi vers versión versione versão versie wersja wersji verze verzi verzió verzija
    versiune versiunea versjon versio sürüm sürümü ерсия ерсии ерсию ерсія ерсії έκδοση إصدار نسخه نسخة גרסה संस्करण
    版本 版本号 版 バージョン 버전 v release rel rev revision build firmware driver update patch hotfix upgrade sp
    section sections sec sect chapter clause article paragraph para subsection appendix annex table figure fig rule item
    step part oid identifier § §§
""")
_ADDRESS_WORDS = _endings("""
    ip ips ipv4 addr address addresses adresse adres dirección indirizzo адрес adress host hosts server servers dns
    nameserver nameservers gateway router proxy peer client user from ping traceroute telnet ssh whois tcp udp
""")
_NETWORK_WORDS = _endings("""
    ip ips host hosts dyn dynamic static ppp pool dsl adsl vdsl xdsl cpe client clients user users cable dialup dhcp nat
    fiber ftth server srv ns mail ec2
""")


def _networks(blocks: str) -> tuple[tuple[int, int], ...]:
    """The first and last address of each of these blocks, as numbers."""
    return tuple((int(one[0]), int(one[-1])) for one in map(IPv4Network, blocks.split()))


_NOT_PUBLIC = _networks(NOT_PUBLIC)
_DOCUMENTATION = _networks(DOCUMENTATION)
_REPLACEMENTS = _networks(
    "22.214.171.124/32 126.96.36.199/32 188.8.131.52/32 184.108.40.206/32 220.127.116.11/32 18.104.22.168/32"
)

_NUMBER = rb"(?:0|[1-9][0-9]{0,2})"
_IPV4 = re.compile(rb"\.".join([_NUMBER] * 4) + rb"(?![0-9]|\.[0-9])")
_FIFTH = re.compile(rb"[0-9]\.\Z")
_PORT = re.compile(rb":[0-9]")
_PRODUCT = re.compile(rb"(?<![./A-Za-z])[A-Za-z]{1,24}/\Z|(?<=[A-Za-z])[A-Za-z]{24}/\Z")  # Chrome/11.2.202.235
_WORD_END = re.compile(rb"(?:[A-Za-z][-._]|--|\.\.|__)\Z")
_SIGNS = re.compile(rb"""[ :=("'.#]{0,3}\Z""")
_RANGE_END = re.compile(rb"[0-9]{0,3}")
_GOES_ON = re.compile(rb"\.[0-9]")


def _ends_with(text: bytes, at: int, words: re.Pattern[bytes]) -> bool:
    """Whether one of the words ends at this position."""
    return words.search(text[max(0, at - _WORD_BYTES) : at].lower()) is not None


def _is_range(text: bytes, end: int, last: int) -> bool:
    """Whether `-` and the end of a range follow an address: another address, or a larger last number."""
    other = _RANGE_END.match(text, end + 1)
    assert other is not None
    if _GOES_ON.match(text, other.end()):
        return True
    return last < int(other[0] or 0) < 256 and not is_glued(text, other.end())


def _is_small(address: IPv4Address) -> bool:
    """Whether four numbers are more likely a version or an object identifier than an address."""
    first, second, third, fourth = address.packed
    small = sum(number < _NEXT_SMALL for number in (second, third, fourth))
    return (
        max(address.packed) < _SMALL
        or (first < _FIRST_SMALL and small >= 2)
        or (first == 2 and second == 5 and (third == 4 or third == 29))  # X.520, the extensions of certificates
        or (first == 1 and second == 3 and third == 101)  # elliptic curves
    )


def _is_address(text: bytes, start: int, end: int, address: IPv4Address) -> bool:
    """Whether the context of four dotted numbers allows an address."""
    if not is_apart(text, start, end) or _FIFTH.search(text[max(0, start - 2) : start]):
        return False
    small, port = _is_small(address), _PORT.match(text, end) is not None
    near = text[max(0, start - _WORD_BYTES) : start]
    if not port and _WORD_END.search(near):
        return not small and _ends_with(text, start - 1, _NETWORK_WORDS)
    if not port and _PRODUCT.search(near):
        return False
    signs = _SIGNS.search(near)
    assert signs is not None
    before = start - len(signs[0])
    if _ends_with(text, before, _ADDRESS_WORDS) or (start > 2 and near.endswith(b"//")):
        return True
    if text[end : end + 1] == b"-" and is_glued(text, end + 1):
        return not small and _is_range(text, end, address.packed[3])
    if _ends_with(text, before, _OTHER_WORDS):
        return False
    return not small or port


def _ipv4_end(text: bytes, start: int, refused: tuple[tuple[int, int], ...]) -> int:
    """The end of the IPv4 address that begins here; -1 if there is none."""
    match = _IPV4.match(text, start)
    if match is None or any(len(number) > 2 and int(number) > 255 for number in match[0].split(b".")):
        return -1
    address = IPv4Address(match[0].decode())
    value = int(address)
    if any(first <= value <= last for first, last in refused) or not _is_address(text, *match.span(), address):
        return -1
    return match.end()


def ips(texts: Texts, groups: DigitGroups, *, reserved: bool) -> Detections:
    """The public IP addresses of every text.

    Args:
        texts: Folded texts.
        groups: Their digits.
        reserved: Also find addresses that are reserved for documentation.
    """
    refused = _NOT_PUBLIC + _REPLACEMENTS + (() if reserved else _DOCUMENTATION)
    starts, ends = groups.run_starts, groups.run_ends
    grouped = (bytes_at(texts, starts) | 1 == ord("3")) & (bytes_at(texts, starts + 4) == ord(":"))
    six = found_at_runs("ip", texts, groups, grouped, 0, partial(ipv6_end, reserved=reserved))
    dotted = (starts[1:] == ends[:-1] + 1) & (bytes_at(texts, ends[:-1]) == ord("."))
    in_four = np.zeros(len(starts), np.bool_)
    in_four[:-3] = dotted[:-2] & dotted[1:-1] & dotted[2:]
    four = found_at_runs("ip", texts, groups, in_four, 0, partial(_ipv4_end, refused=refused))
    order = np.argsort(np.concatenate([four.starts, six.starts]), kind="stable")
    documents, starts, ends = (
        np.concatenate([getattr(four, name), getattr(six, name)])[order] for name in ("documents", "starts", "ends")
    )
    return Detections("ip", documents, starts, ends, six.searched)
