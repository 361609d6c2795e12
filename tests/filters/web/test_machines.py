"""Which machines may be asked, whatever way their address is written."""

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from winnow.filters.web.machines import is_private_network, is_public, machine_of
from winnow.filters.web.urls import canonical_host

IPV4 = st.ip_addresses(v=4)
IPV6 = st.ip_addresses(v=6)

PUBLIC = """
    8.8.8.8 1.1.1.1 100.63.255.255 100.128.0.0 172.15.255.255 172.32.0.0 192.167.255.255 223.255.255.255
    198.17.255.255 198.20.0.0 2606:4700:4700::1111 2001:4860:4860::8888 2001:200:: 2a00:: 3ffe:ffff::
"""
NOT_PUBLIC = """
    0.0.0.0 0.1.2.3 10.0.0.1 100.64.0.1 127.0.0.1 127.255.255.255 169.254.169.254 172.16.0.1
    172.31.255.255 192.0.0.1 192.0.2.1 192.88.99.1 192.168.0.1 198.18.0.1 198.51.100.1 203.0.113.1
    224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255 100.100.100.200 168.63.129.16 :: ::1 ::8.8.8.8
    ::ffff:8.8.8.8 ::ffff:0:8.8.8.8 64:ff9b::8.8.8.8 64:ff9b:1::1 100::1 2001::1 2001:0:808:808::
    2001:10::1 2001:20::1 2001:db8::1 2002:808:808:: 3fff::1 5f00::1 fc00::1 fd00:ec2::254 fe80::1
    fec0::1 ff02::1
"""
OWN = """
    10.1.2.3 127.0.0.1 172.20.0.1 192.168.1.1 100.64.0.1 ::1 fd12:3456::1
"""
NEVER = """
    169.254.169.254 100.100.100.200 168.63.129.16 fd00:ec2::254 fd20:ce::254 0.0.0.0 224.0.0.1
    255.255.255.255 :: fe80::1 ff02::1 ::ffff:127.0.0.1 8.8.8.8
"""


@pytest.mark.parametrize("text", PUBLIC.split())
def test_machines_of_the_internet_are_public(text: str) -> None:
    machine = machine_of(text)
    assert machine is not None
    assert is_public(machine)
    assert not is_private_network(machine)


@pytest.mark.parametrize("text", NOT_PUBLIC.split())
def test_all_others_are_not(text: str) -> None:
    machine = machine_of(text)
    assert machine is not None
    assert not is_public(machine)


@pytest.mark.parametrize("text", OWN.split())
def test_networks_of_somebody_s_own_may_be_allowed(text: str) -> None:
    machine = machine_of(text)
    assert machine is not None
    assert is_private_network(machine)


@pytest.mark.parametrize("text", NEVER.split())
def test_what_never_can_be_allowed(text: str) -> None:
    machine = machine_of(text)
    assert machine is not None
    assert not is_private_network(machine)


@given(IPV4)
@example(IPv4Address("203.0.113.7"))
def test_what_python_calls_private_is_not_public(machine: IPv4Address) -> None:
    """An oracle: Python's tables of the same registries, of whatever year."""
    if (
        machine.is_private
        or machine.is_multicast
        or machine.is_reserved
        or machine.is_loopback
        or machine.is_link_local
    ):
        assert not is_public(machine)


@given(IPV6)
@example(IPv6Address("fe80::1"))
def test_the_same_for_ipv6(machine: IPv6Address) -> None:
    if (
        machine.is_private
        or machine.is_multicast
        or machine.is_reserved
        or machine.is_loopback
        or machine.is_link_local
    ):
        assert not is_public(machine)


@given(IPV4)
def test_an_ipv4_address_within_an_ipv6_one_is_never_public(inner: IPv4Address) -> None:
    number = int(inner)
    carriers = [
        IPv6Address(number),  # compatible
        IPv6Address(0xFFFF << 32 | number),  # mapped
        IPv6Address(0xFFFF << 48 | number),  # translated
        IPv6Address(int(IPv6Address("64:ff9b::")) | number),  # NAT64
        IPv6Address(int(IPv6Address("64:ff9b:1::")) | number),
        IPv6Address(0x2002 << 112 | number << 80),  # 6to4
        IPv6Address(0x20010000 << 96 | number << 64 | (number ^ 0xFFFFFFFF)),  # Teredo: server and client
    ]
    assert [one for one in carriers if is_public(one) or is_private_network(one)] == [
        one for one in carriers if one == IPv6Address("::1")
    ]


@given(IPV6)
def test_nothing_outside_global_unicast_is_public(machine: IPv6Address) -> None:
    assert not is_public(machine) or machine in IPv6Network("2000::/3")


def spellings(machine: IPv4Address) -> list[str]:
    """How browsers let an IPv4 address be written."""
    number = int(machine)
    a, b, c, d = machine.packed
    return [
        str(number),
        f"0x{number:x}",
        f"0X{number:08X}",
        f"0{number:o}",
        f"{a}.{number & 0xFFFFFF}",
        f"{a}.{b}.{c << 8 | d}",
        f"0{a:o}.0{b:o}.0{c:o}.0{d:o}",
        f"0x{a:x}.0x{b:x}.{c}.{d}",
        f"{a}.{b}.{c}.{d}.",
        f"%{ord(str(a)[0]):x}{str(a)[1:]}.{b}.{c}.{d}",
        f"{a}。{b}．{c}｡{d}",
        "".join(chr(0xFF10 + int(digit)) if digit.isdigit() else digit for digit in f"{a}.{b}.{c}.{d}"),
    ]


@given(IPV4)
@example(IPv4Address("127.0.0.1"))
@example(IPv4Address("169.254.169.254"))
def test_every_spelling_of_an_address_is_judged_as_the_address(machine: IPv4Address) -> None:
    for spelling in spellings(machine):
        host = canonical_host(spelling)
        assert host is not None, spelling
        assert machine_of(host) == machine, spelling


@given(IPV6)
def test_every_spelling_of_an_ipv6_address_is_judged_as_the_address(machine: IPv6Address) -> None:
    for spelling in (machine.compressed, machine.exploded, machine.exploded.upper()):
        host = canonical_host(f"[{spelling}]")
        assert host is not None
        assert machine_of(host) == machine


@pytest.mark.parametrize(
    "text", ["", "example.org", "fe80::1%eth0", "::1%1", "127.1", "0x7f000001", "1.2.3.4:80", "[::1]"]
)
def test_what_is_no_address_in_usual_form(text: str) -> None:
    assert machine_of(text) is None


@given(st.text(max_size=60))
def test_no_text_raises(text: str) -> None:
    machine = machine_of(text)
    assert machine is None or machine == ip_address(text)
