"""Sites on loopback, in a thread of their own: `with Farm() as farm: farm.site("a.example", {"/": page("…")})`.

All hosts share one port for http and one for https; a test's resolver maps their names and the usual ports there, so
addresses need no port. Every visit is in `farm.visits`, from which politeness is counted.
"""

import asyncio
import ssl
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeAlias

from tests.pipelines.fetch.farm.certificates import Authority, Kind
from winnow.pipelines.fetch.live.names import NoHostError
from winnow.schemas.recipe.fetch import FetchConfig

LOOPBACK = "127.0.0.1"


@dataclass(slots=True)
class Visit:
    """A request that a site got, by the server's clock."""

    host: str
    target: str
    headers: Mapping[str, str]  # by lower-case name
    raw: bytes
    is_secure: bool
    connection: int
    began: float  # seconds of a clock that only goes forward
    ended: float | None = None


Answer: TypeAlias = Callable[[Visit, asyncio.StreamWriter], Awaitable[None]]
"""Writes what comes back; closes the writer unless another request may follow."""


def page(
    body: bytes | str = b"", status: int = 200, mime: str = "text/html", headers: Mapping[str, str] | None = None
) -> Answer:
    """An ordinary answer."""
    content = body.encode() if isinstance(body, str) else body
    fields = {"Content-Type": mime, "Content-Length": str(len(content)), **(headers or {})}
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    whole = f"HTTP/1.1 {status} Answer\r\n{head}\r\n".encode() + content

    async def answer(_visit: Visit, writer: asyncio.StreamWriter) -> None:
        writer.write(whole)
        await writer.drain()

    return answer


@dataclass
class Farm:
    """Servers on loopback, until the block ends."""

    visits: list[Visit] = field(default_factory=list)
    looked_up: list[str] = field(default_factory=list)
    port: int = 0
    tls_port: int = 0
    open_connections: int = 0

    def __post_init__(self) -> None:
        self._sites: dict[str, Mapping[str, Answer] | Answer] = {}
        self._answers: dict[str, list[Sequence[str]]] = {}
        self._certificates: dict[str, Kind] = {}
        self._contexts: dict[str, ssl.SSLContext] = {}
        self._connections = 0
        self._folder = tempfile.TemporaryDirectory()
        self.authority = Authority(Path(self._folder.name))
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="farm", daemon=True)

    def site(self, host: str, answers: Mapping[str, Answer] | Answer, certificate: Kind = "good") -> str:
        """Add a site: what each of its paths answers, or all of them; other paths are not found. Returns its origin."""
        self._sites[host] = answers
        self._certificates[host] = certificate
        return f"http://{host}"

    def name(self, host: str, *answers: Sequence[str]) -> None:
        """Say which addresses name servers give for a host, each time they are asked; the last answer stays."""
        self._answers[host] = list(answers)

    async def look_up(self, host: str, port: int) -> list[tuple[str, int]]:
        """The farm's name server."""
        self.looked_up.append(host)
        if host in self._answers:
            given = self._answers[host]
            found = given.pop(0) if len(given) > 1 else given[0]
        elif host in self._sites:
            found = (LOOPBACK,)
        else:
            raise NoHostError(f"{host}: no such host")
        here = {80: self.port, 443: self.tls_port}.get(port, port)
        return [(address, here if address == LOOPBACK else port) for address in found]

    def config(self, **changes: Any) -> FetchConfig:
        """The limits of a fetch that may visit these sites, and waits for none of them for long."""
        usual: dict[str, Any] = {
            "contact": "mailto:crawler@example.org",
            "allow_hosts": tuple(self._sites),
            "connect_seconds": 2.0,
            "first_byte_seconds": 0.5,
            "total_seconds": 10.0,
            "seconds_between": 0.0,
        }
        return FetchConfig(**{**usual, **changes})

    def tls(self) -> ssl.SSLContext:
        """What a client needs to believe the good certificates."""
        return self.authority.trust()

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._open(), self._loop).result()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._folder.cleanup()

    async def _open(self) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.sni_callback = self._choose
        self._servers = [
            await asyncio.start_server(self._plain, LOOPBACK, 0, limit=1 << 20, backlog=1024),
            await asyncio.start_server(self._secure, LOOPBACK, 0, limit=1 << 20, backlog=1024, ssl=context),
        ]
        self.port, self.tls_port = (server.sockets[0].getsockname()[1] for server in self._servers)

    async def _close(self) -> None:
        for server in self._servers:
            server.close()
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _choose(self, connection: ssl.SSLObject | ssl.SSLSocket, name: str | None, _context: ssl.SSLContext) -> None:
        host = name or ""
        if host not in self._contexts:
            self._contexts[host] = self.authority.server(host, self._certificates.get(host, "good"))
        connection.context = self._contexts[host]

    async def _plain(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._serve(reader, writer, False)

    async def _secure(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._serve(reader, writer, True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, is_secure: bool) -> None:
        self._connections += 1
        self.open_connections += 1
        number = self._connections
        try:
            while not writer.is_closing():
                raw = await reader.readuntil(b"\r\n\r\n")
                visit = _visit(raw, is_secure, number)
                self.visits.append(visit)
                site = self._sites.get(visit.host.partition(":")[0], {})
                answer = site if callable(site) else site.get(visit.target, page("not found", 404))
                try:
                    await answer(visit, writer)
                finally:
                    visit.ended = time.monotonic()
        except (asyncio.IncompleteReadError, OSError, asyncio.CancelledError):
            return  # the client went, or the farm closes
        finally:
            writer.transport.abort()
            self.open_connections -= 1


def _visit(raw: bytes, is_secure: bool, connection: int) -> Visit:
    first, *lines = raw.decode("latin-1").split("\r\n")
    headers = {
        name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)
    }
    return Visit(headers.get("host", ""), first.split(" ")[1], headers, raw, is_secure, connection, time.monotonic())
