"""IP addresses: against the standard library on what an address is, and by their context on what is none."""

from ipaddress import AddressValueError, IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.filters.private.personal.reading import spans
from tests.property_sizes import bait_bytes
from winnow.filters.private.personal.ips import ips


def ips_in(text: str, *, reserved: bool = True) -> list[str]:
    (row,) = spans(lambda texts, groups, _regions: ips(texts, groups, reserved=reserved), [text], [""])
    return row[0]


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("from 203.0.113.5.", "203.0.113.5"),
        ("203.0.113.5:8080", "203.0.113.5"),
        ("http://203.0.113.5/a", "203.0.113.5"),
        ("203.0.113.0/24", "203.0.113.0"),
        ("IP地址203.0.113.5的", "203.0.113.5"),
        ("IP: 1.2.3.4", "1.2.3.4"),
        ("http://1.2.3.4/", "1.2.3.4"),
        ("1.2.3.4:80", "1.2.3.4"),
        ("203.0.113.5-9", "203.0.113.5"),
        ("203.0.113.5-203.0.113.9", "203.0.113.5 203.0.113.9"),
        ("dsl-203.0.113.5.example.net", "203.0.113.5"),
        ("5.113.0.203.in-addr.arpa", "5.113.0.203"),
        ("::ffff:203.0.113.5", "203.0.113.5"),
        ("[2001:db8::1]:80", "2001:db8::1"),
        ("2001:db8::1%eth0", "2001:db8::1"),
        ("2001:db8::/32", "2001:db8::"),
        ("2001:DB8:0:0:8:800:200C:417A,", "2001:DB8:0:0:8:800:200C:417A"),
        ("2001:db8::1: and", "2001:db8::1"),
        ("version 4 of 203.0.113.5", "203.0.113.5"),
    ],
)
def test_an_address_is_found(text: str, address: str) -> None:
    assert ips_in(text) == address.split()


@pytest.mark.parametrize(
    "text",
    [
        *("version 203.0.113.5", "Versión: 203.0.113.5", "версия 203.0.113.5", "バージョン203.0.113.5", "v203.0.113.5"),
        *("build 203.0.113.5", "section 203.0.113.5", "§ 203.0.113.5", 'version="203.0.113.5"', "(ver. 203.0.113.5)"),
        *("Chrome/203.0.113.5", "libfoo-203.0.113.5.zip", "foo_203.0.113.5", "lib.so.203.0.113.5", "203.0.113.5-rc1"),
        *("203.0.113.5-1", "203.0.113.5a", "203.0.113.5_", "é203.0.113.5"),
        *("1.2.3.4", "6.3.7.1. A section", "2.6.38.6", "1.91.6.1", "2.5.29.37", "1.3.101.112"),
        *(
            "203.0.113.5.7",
            "1.203.0.113.5",
            "203.0.113",
            "203.0.113.256",
            "203.0.113.05",
            "203.0..113.5",
            "0203.0.113.5",
        ),
        *(
            "std::vector<a::b>",
            "a::b",
            "::",
            "::1",
            "dead::beef",
            "20:30:45",
            "2020:01:02 10:11:12",
            "00:1b:63:84:45:e6",
        ),
        *("2001:db8::1::2", "2001:db8:1:2:3:4:5", "2001:db8:1:2:3:4:5:6:7", "2001:db8::12345", "x2001:db8::1"),
        *("2001:db8:::1", "2001:", "2001:db8", "2001:db8::g"),
    ],
)
def test_what_is_no_address_is_left(text: str) -> None:
    assert ips_in(text) == []


@pytest.mark.parametrize(
    "address",
    [
        *("10.0.0.1", "127.0.0.1", "169.254.1.1", "172.16.0.1", "192.168.1.1", "100.64.0.1", "0.0.0.0", "224.0.0.251"),
        *("255.255.255.0", "198.18.0.1", "22.214.171.124", "fe80::1", "fc00::1", "ff02::1", "2001:0:1::1"),
        *("192.0.2.77", "198.51.100.77", "203.0.113.77", "2001:db8::1", "3fff::1"),
    ],
)
def test_an_address_that_names_nobody_is_left(address: str) -> None:
    assert ips_in(f"from {address} on", reserved=False) == []


@given(st.ip_addresses(v=4))
def test_the_public_ones_are_those_of_the_standard_library(address: IPv4Address) -> None:
    # Of these two the library's versions say different things; the others are what datatrove writes.
    assume(address.packed[:3] not in (b"\xc0\x58\x63", b"\xc0\0\0"))
    assume(address.packed[0] not in (22, 126, 188, 184, 220, 18))
    expected = [str(address)] if address.is_global and not address.is_multicast else []
    assert ips_in(f"ip {address}", reserved=False) == expected


_FOR_PROTOCOLS, _BEHIND = IPv6Address("2001::"), IPv6Address("2001:200::")
_GROUPS = st.integers(0, 2**125 - 1).map(lambda low: IPv6Address((1 << 125) | low))


@given(
    st.one_of(_GROUPS, st.integers(0, 0xFFFF).map(lambda low: IPv6Address((0x2400CB00 << 96) | low))),
    st.sampled_from(["compressed", "exploded", "upper"]),
)
def test_every_spelling_of_a_public_ipv6_address_is_found(address: IPv6Address, spelling: str) -> None:
    assume(address.is_global and not _FOR_PROTOCOLS <= address < _BEHIND and not address.packed.startswith(b"\x3f\xff"))
    text = address.exploded if spelling == "exploded" else address.compressed
    text = text.upper() if spelling == "upper" else text
    assert ips_in(f"[{text}]", reserved=False) == [text]


@given(st.text(st.sampled_from("23af0::..%/ "), min_size=4, max_size=40))
def test_what_is_found_is_an_address_to_the_standard_library(text: str) -> None:
    for found in ips_in("2400:" + text):
        try:
            assert ip_address(found).is_global or found.startswith("2001:db8")
        except (AddressValueError, ValueError):
            pytest.fail(f"{found!r} in {text!r}")


@pytest.mark.parametrize("bait", ["1.", "1.1.1.1.", "2001:", "2001::", "2001:db8:", "version ", "255.255.255.255", ":"])
def test_bait_ends_in_linear_time(bait: str) -> None:
    ips_in(bait * (bait_bytes(1_000_000) // len(bait)))
