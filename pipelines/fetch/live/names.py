"""Names of hosts become addresses of machines, each checked before anything connects to it.

A name is looked up once; the connection goes to the address that was checked, so an answer that changes in between
(DNS rebinding) changes nothing. One address that is not public refuses the name, as no site needs one.
"""

import asyncio
import socket
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import aiodns
import pycares

from winnow.filters.web.machines import Machine, is_private_network, is_public, machine_of
from winnow.filters.web.urls import canonical_host
from winnow.pipelines.fetch.live.exchange import Failed
from winnow.pipelines.fetch.outcome import Reason

__all__ = ["DnsLookUp", "LookUp", "NameServerError", "Names", "NoHostError", "Target"]

_KEPT_SECONDS: Final = 300.0
_KEPT_NAMES: Final = 1 << 16
_MOST_ADDRESSES: Final = 8  # of one name that are tried

_NO_HOST: Final = frozenset(
    (pycares.errno.ARES_ENOTFOUND, pycares.errno.ARES_ENODATA, pycares.errno.ARES_EBADNAME, pycares.errno.ARES_ENONAME)
)


class NoHostError(Exception):
    """The name has no address."""


class NameServerError(Exception):
    """Whether it has one cannot be found out now."""


LookUp: TypeAlias = Callable[[str, int], Awaitable[Sequence[tuple[str, int]]]]
"""Gives the addresses of a host and a port, each with the port to connect to; raises the errors above."""


@dataclass(frozen=True, slots=True)
class Target:
    """A machine and its port, checked."""

    machine: Machine
    port: int

    @property
    def family(self) -> socket.AddressFamily:
        """The kind of its address."""
        return socket.AF_INET if self.machine.version == 4 else socket.AF_INET6


class Names:
    """Answers that were checked, kept for some minutes; for one event loop.

    Args:
        look_up: Asks name servers.
        allow_hosts: Hosts that may have addresses of private networks.
    """

    def __init__(self, look_up: LookUp, allow_hosts: Iterable[str] = ()) -> None:
        self._look_up = look_up
        self._allowed = frozenset(canonical_host(_bracketed(host)) or host for host in allow_hosts)
        self._kept: OrderedDict[tuple[str, int], tuple[float, tuple[Target, ...] | Failed]] = OrderedDict()
        self._asking: dict[tuple[str, int], asyncio.Task[tuple[Target, ...] | Failed]] = {}

    async def machines(self, host: str, port: int) -> tuple[Target, ...] | Failed:
        """The machines of a host, or why it must not be asked."""
        key = (host, port)
        kept = self._kept.get(key)
        if kept is not None and kept[0] > asyncio.get_running_loop().time():
            self._kept.move_to_end(key)
            return kept[1]
        asking = self._asking.get(key)
        if asking is None:
            asking = self._asking[key] = asyncio.create_task(self._ask(host, port))
            asking.add_done_callback(lambda _: self._asking.pop(key, None))
        return await asyncio.shield(asking)  # others may wait for the same answer

    async def _ask(self, host: str, port: int) -> tuple[Target, ...] | Failed:
        try:
            literal = machine_of(host)
            found = [(host, port)] if literal is not None else await self._look_up(host, port)
        except NoHostError as error:
            answer: tuple[Target, ...] | Failed = Failed(Reason.NO_HOST, str(error))
        except NameServerError as error:
            return Failed(Reason.NAME_SERVER, str(error))  # another try may have an answer
        else:
            answer = self._checked(host, found)
        self._kept[(host, port)] = (asyncio.get_running_loop().time() + _KEPT_SECONDS, answer)
        if len(self._kept) > _KEPT_NAMES:
            self._kept.popitem(last=False)
        return answer

    def _checked(self, host: str, found: Sequence[tuple[str, int]]) -> tuple[Target, ...] | Failed:
        targets: dict[Target, None] = {}
        for text, port in found:
            machine = machine_of(text)
            allowed = machine is not None and (
                is_public(machine) or (host in self._allowed and is_private_network(machine))
            )
            if machine is None or not allowed:
                named = text if host == text else f"{host} is {text}, which"
                return Failed(Reason.PRIVATE_ADDRESS, f"{named} is no public address")
            targets[Target(machine, port)] = None
        if not targets:
            return Failed(Reason.NO_HOST, f"{host} has no address")
        return tuple(targets)[:_MOST_ADDRESSES]


class DnsLookUp:
    """Asks the name servers of the system."""

    def __init__(self, servers: Sequence[str] | None = None) -> None:
        self._servers = servers
        self._resolver: aiodns.DNSResolver | None = None

    async def __call__(self, host: str, port: int) -> list[tuple[str, int]]:
        """The addresses of a host, with the port."""
        if self._resolver is None:  # it belongs to the running loop
            # Without search domains: `example.org` is not `example.org.corp.example`.
            self._resolver = aiodns.DNSResolver(nameservers=self._servers, flags=pycares.ARES_FLAG_NOSEARCH)
        try:
            found = await self._resolver.getaddrinfo(host, family=socket.AF_UNSPEC, type=socket.SOCK_STREAM)
        except aiodns.error.DNSError as error:
            code, words = (*error.args, "")[:2]
            kind = NoHostError if code in _NO_HOST else NameServerError
            raise kind(f"{host}: {words}") from None
        return [(_text(node.addr[0]), port) for node in found.nodes]

    async def close(self) -> None:
        """Ends questions that are still open."""
        if self._resolver is not None:
            await self._resolver.close()


def _text(address: bytes | str) -> str:
    return address.decode("ascii") if isinstance(address, bytes) else address


def _bracketed(host: str) -> str:
    return f"[{host}]" if host.count(":") > 1 and not host.startswith("[") else host
