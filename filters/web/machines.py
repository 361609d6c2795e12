"""Which IP addresses a fetcher may ask: those that IANA's registries of special-purpose addresses call public.

Private networks, the machine itself, links, groups, addresses reserved or for documentation, and those that carry an
IPv4 address in an IPv6 one are not public. IPv6 is public only within 2000::/3, so what is unknown is refused.
"""

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final, TypeAlias

__all__ = ["DOCUMENTATION", "NOT_PUBLIC", "Machine", "is_private_network", "is_public", "machine_of"]

Machine: TypeAlias = IPv4Address | IPv6Address

# Not globally reachable, multicast, and reserved for the future.
NOT_PUBLIC: Final = (
    "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.88.99.0/24 "
    "192.168.0.0/16 198.18.0.0/15 224.0.0.0/4 240.0.0.0/4"
)
DOCUMENTATION: Final = "192.0.2.0/24 198.51.100.0/24 203.0.113.0/24"

_PUBLIC_IPV6: Final = "2000::/3"
_NOT_PUBLIC_IPV6: Final = (
    "2001::/23 "  # IETF protocols: Teredo carries IPv4 addresses, ORCHIDs are no machines
    "2001:db8::/32 3fff::/20 "  # documentation
    "2002::/16"  # 6to4 carries IPv4 addresses
)  # IPv4-mapped ::ffff:0:0/96, IPv4-compatible ::/96 and NAT64 64:ff9b::/96, 64:ff9b:1::/48 are outside 2000::/3
_PRIVATE: Final = "10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 172.16.0.0/12 192.168.0.0/16 ::1/128 fc00::/7"
# Where clouds tell a machine its secrets, if not at 169.254.169.254: Alibaba, Azure, AWS, Google.
_METADATA: Final = "100.100.100.200/32 168.63.129.16/32 fd00:ec2::/32 fd20:ce::/32"


def _ranges(blocks: str) -> tuple[tuple[int, int, int], ...]:
    """The version, the first and the last address of each of these blocks."""
    return tuple((one.version, int(one[0]), int(one[-1])) for one in map(ip_network, blocks.split()))


_REFUSED: Final = _ranges(f"{NOT_PUBLIC} {DOCUMENTATION} {_NOT_PUBLIC_IPV6} {_METADATA}")
_ROUTED: Final = _ranges(f"0.0.0.0/0 {_PUBLIC_IPV6}")
_OF_A_NETWORK: Final = _ranges(_PRIVATE)
_SECRET: Final = _ranges(_METADATA)


def machine_of(text: str) -> Machine | None:
    """The address that a text is, in its usual form; None for a name, or with a zone (`fe80::1%eth0`)."""
    try:
        return None if "%" in text else ip_address(text)
    except ValueError:
        return None


def is_public(machine: Machine) -> bool:
    """Whether anybody may be asked at this address."""
    return _within(machine, _ROUTED) and not _within(machine, _REFUSED)


def is_private_network(machine: Machine) -> bool:
    """Whether it belongs to a network of somebody's own, or is this machine; clouds' metadata never count."""
    return _within(machine, _OF_A_NETWORK) and not _within(machine, _SECRET)


def _within(machine: Machine, ranges: tuple[tuple[int, int, int], ...]) -> bool:
    version, number = machine.version, int(machine)
    return any(one == version and first <= number <= last for one, first, last in ranges)
