"""Names of hosts: what name servers say is checked and kept, and what they do not say is a reason."""

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar, cast

import pytest

from winnow.filters.web.machines import machine_of
from winnow.pipelines.fetch.live.exchange import Failed
from winnow.pipelines.fetch.live.names import DnsLookUp, Names, NameServerError, NoHostError, Target
from winnow.pipelines.fetch.outcome import Reason

Given = TypeVar("Given")
A, CNAME, AAAA = 1, 5, 28
NO_ERROR, SERVER_FAILURE, NO_NAME, REFUSED = 0, 2, 3, 5


class NameServer(asyncio.DatagramProtocol):
    """Answers each name with a code and addresses; a name it does not have gets no answer."""

    def __init__(self, answers: dict[str, tuple[int, Sequence[str]]]) -> None:
        self.answers = answers
        self.asked: list[str] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        labels, at = [], 12
        while data[at]:
            labels.append(data[at + 1 : at + 1 + data[at]].decode())
            at += 1 + data[at]
        name, kind = ".".join(labels).lower(), struct.unpack(">H", data[at + 1 : at + 3])[0]
        self.asked.append(name)
        if name not in self.answers:
            return
        code, addresses = self.answers[name]
        records = [self.record(one) for one in addresses if (AAAA if ":" in one else A) == kind]
        head = data[:2] + struct.pack(">HHHHH", 0x8180 | code, 1, len(records), 0, 0)
        self.transport.sendto(head + data[12 : at + 5] + b"".join(records), addr)

    @staticmethod
    def record(address: str) -> bytes:
        kind, family = (AAAA, socket.AF_INET6) if ":" in address else (A, socket.AF_INET)
        raw = socket.inet_pton(family, address)
        return b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, 60, len(raw)) + raw


def asked(
    answers: dict[str, tuple[int, Sequence[str]]], use: Callable[[DnsLookUp], Awaitable[Given]]
) -> tuple[Given, list[str]]:
    """What a function does with a look-up that asks a server of these answers, and what the server was asked."""

    async def run() -> tuple[Given, list[str]]:
        server = NameServer(answers)
        transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
            lambda: server, local_addr=("127.0.0.1", 0)
        )
        look_up = DnsLookUp([f"127.0.0.1:{transport.get_extra_info('sockname')[1]}"])
        try:
            return await use(look_up), server.asked
        finally:
            await look_up.close()
            transport.close()

    return asyncio.run(run())


def test_a_host_has_the_addresses_that_its_name_server_gives() -> None:
    found, names = asked({"a.example": (NO_ERROR, ["8.8.8.8", "2606:4700::1"])}, lambda look: look("a.example", 443))
    assert sorted(found) == [("2606:4700::1", 443), ("8.8.8.8", 443)]
    assert set(names) == {"a.example"}


def test_a_host_with_addresses_of_one_kind() -> None:
    found, _ = asked({"a.example": (NO_ERROR, ["8.8.8.8"])}, lambda look: look("a.example", 80))
    assert found == [("8.8.8.8", 80)]


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (NO_NAME, NoHostError),
        (NO_ERROR, NoHostError),
        (SERVER_FAILURE, NameServerError),
        (REFUSED, NameServerError),
    ],
)
def test_no_address_is_told_from_no_answer(code: int, kind: type[Exception]) -> None:
    with pytest.raises(kind, match=r"a\.example: "):
        asked({"a.example": (code, [])}, lambda look: look("a.example", 80))


def test_search_domains_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCALDOMAIN", "corp.example")
    monkeypatch.setenv("RES_OPTIONS", "ndots:5")

    async def use(look: DnsLookUp) -> None:
        with pytest.raises(NoHostError):
            await look("a.example", 80)

    assert set(asked({"a.example": (NO_NAME, [])}, use)[1]) == {"a.example"}


@pytest.mark.parametrize("host", ["a.example", "xn--nxasmq6b.example", "a_b.example", "-a.example", "1e.example"])
def test_unusual_names_are_asked_as_they_are(host: str) -> None:
    found, _ = asked({host: (NO_ERROR, ["8.8.8.8"])}, lambda look: look(host, 80))
    assert found == [("8.8.8.8", 80)]


def names_of(answers: Sequence[Sequence[str] | Exception], hosts: Sequence[str]) -> list[tuple[Target, ...] | Failed]:
    """What is said of hosts, one after another, by a look-up with these answers."""
    left = list(answers)

    async def look_up(_host: str, port: int) -> list[tuple[str, int]]:
        answer = left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return [(address, port) for address in answer]

    async def run() -> list[tuple[Target, ...] | Failed]:
        names = Names(look_up, ["allowed.example", "[fd00::1]"])
        return [await names.machines(host, 80) for host in hosts]

    return asyncio.run(run())


def target(text: str) -> Target:
    machine = machine_of(text)
    assert machine is not None
    return Target(machine, 80)


def test_an_answer_is_kept_but_a_server_that_failed_is_asked_again() -> None:
    failed = NameServerError("no answer")
    found = names_of([failed, ["8.8.8.8"]], ["a.example"] * 3)
    assert found == [Failed(Reason.NAME_SERVER, "no answer"), (target("8.8.8.8"),), (target("8.8.8.8"),)]


def test_a_refusal_is_kept() -> None:
    found = names_of([["10.0.0.1"], ["8.8.8.8"]], ["a.example"] * 2)
    assert found == [Failed(Reason.PRIVATE_ADDRESS, "a.example is 10.0.0.1, which is no public address")] * 2


def test_addresses_of_machines_are_asked_of_nobody() -> None:
    found = names_of([], ["8.8.8.8", "2606:4700::1", "127.0.0.1", "::1", "fd00::1"])
    assert [one if isinstance(one, tuple) else one.reason for one in found] == [
        (target("8.8.8.8"),),
        (target("2606:4700::1"),),
        Reason.PRIVATE_ADDRESS,
        Reason.PRIVATE_ADDRESS,
        (target("fd00::1"),),
    ]


def test_no_address_and_too_many() -> None:
    assert names_of([[]], ["a.example"]) == [Failed(Reason.NO_HOST, "a.example has no address")]
    many = [f"8.8.{number}.8" for number in range(200)]
    assert names_of([many], ["a.example"]) == [tuple(map(target, many[:8]))]
    assert isinstance(names_of([[*many, "10.0.0.1"]], ["a.example"])[0], Failed)


def test_only_an_allowed_host_may_be_private() -> None:
    found = names_of([["10.0.0.1"], ["10.0.0.1"]], ["allowed.example", "not.allowed.example"])
    assert found[0] == (target("10.0.0.1"),)
    assert isinstance(found[1], Failed)


def test_one_who_gives_up_does_not_end_the_question_of_others() -> None:
    async def run() -> tuple[Target, ...] | Failed:
        answer = asyncio.Event()

        async def look_up(_host: str, port: int) -> list[tuple[str, int]]:
            await answer.wait()
            return [("8.8.8.8", port)]

        names = Names(look_up)
        impatient = asyncio.create_task(names.machines("a.example", 80))
        patient = asyncio.create_task(names.machines("a.example", 80))
        await asyncio.sleep(0)
        impatient.cancel()
        await asyncio.gather(impatient, return_exceptions=True)
        answer.set()
        return await patient

    assert asyncio.run(run()) == (target("8.8.8.8"),)
