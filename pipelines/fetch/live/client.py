"""Asks one address at a time, under every limit of `fetch`, and keeps what was sent and what came as it was.

The header is kept as it came. aiohttp keeps no header as it came, limits no header as a whole and knows no least rate,
which is why it is not used here.

Cookies are not kept, proxies of the environment are not used, and certificates are always verified. Memory: for each
request at once, 256 KiB of its body and 128 KiB of what waits to be read; longer bodies lie in files.
"""

import asyncio
import re
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeAlias
from urllib.parse import quote

from winnow.pipelines.fetch.live.connection import (
    BrokenError,
    Connection,
    Connections,
    Pace,
    allow_connections,
    connect,
    words_of,
)
from winnow.pipelines.fetch.live.exchange import Body, Conditions, Failed, Followed, Hop, Response
from winnow.pipelines.fetch.live.framing import FramingError, framing_of
from winnow.pipelines.fetch.live.names import Names
from winnow.pipelines.fetch.live.places import Place, place_of
from winnow.pipelines.fetch.live.unpacking import unpacked_size
from winnow.pipelines.fetch.outcome import Reason
from winnow.pipelines.ingest.archives.http import BLANK_LINE, MAX_CODINGS, STATUS_LINE, HttpHead, header_fields
from winnow.schemas.environment.version import winnow_version
from winnow.schemas.errors import RecipeError
from winnow.schemas.recipe.fetch import FetchConfig

__all__ = ["Client", "Gate", "user_agent"]

Gate: TypeAlias = Callable[[Place], AbstractAsyncContextManager[Failed | None]]
"""Entered before a request: waits for its turn, asks for consent; what it gives refuses the request."""

_ACCEPTED: Final = "gzip, br, zstd"
_MOST_INTERIM: Final = 8  # responses such as 103 before the one that counts
_ERROR_BYTES: Final = 64 << 10  # of a body that nobody reads: of redirects and errors
_FRAMING_BYTES: Final = 64 << 10  # by which chunks may exceed their content, and once more as much as they have
_FIRST_LOOK_BYTES: Final = 64 << 10  # of a packed body, after which it is unpacked for the first time
_FEW_PACKED_BYTES: Final = 256 << 10  # that are unpacked at once, if they hold few bytes; others beside the event loop
_FEW_BYTES: Final = 2 << 20
_SENDABLE: Final = re.compile(r"[!-~]([ -~]{0,1022}[!-~])?")


def user_agent(config: FetchConfig) -> str:
    """The name of the fetcher with the address where it can be reached; RecipeError if the recipe gives none."""
    if config.contact is None:
        raise RecipeError(
            "fetch.contact is missing: sites must be able to reach you; add 'fetch: {contact: mailto:you@example.org}'"
        )
    return f"{config.agent}/{winnow_version()} (+{quote(config.contact, safe=':/?#@!$&()*+,;=%~-._[]')})"


class Client:
    """Sends requests; for one event loop.

    Args:
        config: Every limit.
        names: Looks up and checks hosts.
        scratch: A folder for long bodies; their files have no name and vanish with the process.
        tls: Verifies certificates; the system's authorities by default.
    """

    def __init__(self, config: FetchConfig, names: Names, scratch: Path, *, tls: ssl.SSLContext | None = None) -> None:
        idle = allow_connections(config.at_once)
        self._config = config
        self._names = names
        self._scratch = scratch
        self._tls = tls or ssl.create_default_context()
        self._agent = user_agent(config)
        self._idle = Connections(idle)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._idle.close()

    async def follow(
        self, place: Place, gate: Gate, *, conditions: Conditions | None = None, max_bytes: int | None = None
    ) -> Followed:
        """Asks an address and those that it redirects to, each only through the gate."""
        hops: list[Hop] = []
        while True:
            async with gate(place) as refused:
                last = refused or await self.ask(place, conditions=conditions, max_bytes=max_bytes)
            to = None if isinstance(last, Failed) else last.redirect()
            if to is None or isinstance(last, Failed):
                return Followed(place, last, tuple(hops))
            last.close()
            hops.append(Hop(place.url, last.status))
            following = place_of(to, self._config.ports, place.url)
            if isinstance(following, Failed):
                detail = f"{place.url} redirects to {to[:200]!a}: {following.detail}"
                reason = Reason.REDIRECTS if following.reason is Reason.NO_ADDRESS else following.reason
                return Followed(place, Failed(reason, detail), tuple(hops))
            is_circle = any(hop.url == following.url for hop in hops)
            if is_circle or len(hops) > self._config.max_redirects:
                why = "in a circle" if is_circle else "more often than fetch.max_redirects"
                return Followed(place, Failed(Reason.REDIRECTS, f"redirects {why}: {following.url}"), tuple(hops))
            place = following

    async def ask(
        self, place: Place, *, conditions: Conditions | None = None, max_bytes: int | None = None
    ) -> Response | Failed:
        """Sends one request; no redirect is followed. Nothing that a server does raises."""
        began, clock = time.time_ns() // 1000, time.perf_counter()
        exchange = _Exchange(self._config, Body(self._scratch), max_bytes or self._config.max_bytes)
        try:
            async with asyncio.timeout(self._config.total_seconds):
                connection, request = await self._exchanged(place, conditions or Conditions(), exchange)
        except BrokenError as error:
            failed = Failed(error.reason, error.detail)
        except TimeoutError:
            failed = Failed(Reason.TIMEOUT, f"took more than {self._config.total_seconds:g} s (fetch.total_seconds)")
        except BaseException:
            exchange.body.close()
            raise
        else:
            ms = round((time.perf_counter() - clock) * 1000)
            address = str(connection.target.machine)
            return Response(place, request, bytes(exchange.header), exchange.head, exchange.body, address, began, ms)
        exchange.body.close()
        return Failed(failed.reason, failed.detail, round((time.perf_counter() - clock) * 1000), exchange.received)

    async def _exchanged(self, place: Place, conditions: Conditions, exchange: "_Exchange") -> tuple[Connection, bytes]:
        """One request and its response; a connection that was closed while it waited is replaced once."""
        key = (place.scheme, place.host, place.port)
        request = self._request(place, conditions)
        connection = self._idle.take(key) or await self._connected(place)
        while True:
            is_whole = False
            try:
                is_whole = await exchange.run(connection, request)
                break
            except BrokenError as error:
                if not (error.reason is Reason.CUT_OFF and connection.is_used and exchange.received == 0):
                    raise
            finally:
                if is_whole:
                    self._idle.keep(key, connection)
                else:
                    connection.close()
            connection = await self._connected(place)
        return connection, request

    async def _connected(self, place: Place) -> Connection:
        seconds = self._config.connect_seconds
        try:
            async with asyncio.timeout(seconds):
                targets = await self._names.machines(place.host, place.port)
        except TimeoutError:
            raise BrokenError(Reason.NAME_SERVER, f"{place.host}: no answer within {seconds:g} s") from None
        if isinstance(targets, Failed):
            raise BrokenError(targets.reason, targets.detail)
        tls = self._tls if place.scheme == "https" else None
        return await connect(targets, place.host, tls, seconds)

    def _request(self, place: Place, conditions: Conditions) -> bytes:
        fields = {
            "Host": place.authority,
            "User-Agent": self._agent,
            "Accept": "*/*",
            "Accept-Encoding": _ACCEPTED,
        }
        known = {"If-None-Match": conditions.etag, "If-Modified-Since": conditions.last_modified}
        # A server wrote them.
        fields |= {name: value for name, value in known.items() if value and _SENDABLE.fullmatch(value)}
        lines = [f"GET {place.target} HTTP/1.1", *map(": ".join, fields.items()), "", ""]
        return "\r\n".join(lines).encode("ascii")


class _Exchange:
    """Reads one response under all limits."""

    def __init__(self, config: FetchConfig, body: Body, max_bytes: int) -> None:
        self._config = config
        self._max_bytes = max_bytes
        self._next_look = _FIRST_LOOK_BYTES
        self.body = body
        self.header = b""
        self.head = HttpHead(0, None, {})
        self.received = 0

    async def run(self, connection: Connection, request: bytes) -> bool:
        """Sends the request and reads the response; whether the connection can take another."""
        before = connection.received
        pace = Pace(connection, self._config)
        try:
            await connection.send(request)
            rest = await self._read_header(pace)
            return await self._read_body(pace, rest)
        except OSError as error:
            raise BrokenError(Reason.CUT_OFF, words_of(error)) from None
        finally:
            self.received = connection.received - before

    async def _read_header(self, pace: Pace) -> bytes:
        """Reads to the end of the header; returns what came behind it."""
        most = self._config.max_header_bytes
        buffer = bytearray()
        interim = looked = 0
        while True:
            end = BLANK_LINE.search(buffer, max(0, looked - 2))
            if end is None or end.end() > most:
                if len(buffer) > most:
                    raise BrokenError(Reason.LARGE_HEADER, f"more than {most:,} bytes (fetch.max_header_bytes)")
                if not buffer.startswith(b"HTTP/1."[: len(buffer)]):
                    raise BrokenError(Reason.PROTOCOL, f"no HTTP/1 answer: {bytes(buffer[:40])!r}")
                looked = len(buffer)
                piece = await pace.receive()
                if not piece:
                    raise BrokenError(Reason.CUT_OFF, "closed before the end of a header")
                buffer += piece
                continue
            self.header = bytes(buffer[: end.end()])
            status = STATUS_LINE.match(self.header)
            if status is None or not self.header.startswith(b"HTTP/1."):
                raise BrokenError(Reason.PROTOCOL, f"no HTTP/1 answer: {self.header[:40]!r}")
            code = int(status[1])
            if code < 100:
                raise BrokenError(Reason.PROTOCOL, f"status {code}")
            if code >= 200:
                fields = header_fields(self.header.partition(b"\n")[2])
                self.head = HttpHead(len(self.header), code, fields)
                return bytes(buffer[end.end() :])
            interim += 1
            if code == 101 or interim > _MOST_INTERIM:
                raise BrokenError(Reason.PROTOCOL, f"{interim} answers before the answer, the last with {code}")
            most -= end.end()  # all headers together
            del buffer[: end.end()]
            looked = 0

    async def _read_body(self, pace: Pace, rest: bytes) -> bool:
        """Reads the body to its end; whether the connection can take another request."""
        code = self.head.status
        assert code is not None
        counts = 200 <= code < 300
        codings = self.head.codings(b"content-encoding")
        if len(codings) > MAX_CODINGS:
            raise BrokenError(Reason.PROTOCOL, f"more than {MAX_CODINGS} content codings")
        self._check_declared(counts)
        came = len(rest)
        try:
            framing = framing_of(self.header, self.head)
            is_enough = bool(rest) and await self._take(framing.content(rest), codings, counts)
            while not (framing.is_whole or is_enough):
                received = await pace.receive()
                came += len(received)
                if came - self.body.size > _FRAMING_BYTES + self.body.size:
                    raise BrokenError(Reason.PROTOCOL, "its chunks are mostly not content")
                is_enough = await self._take(framing.content(received), codings, counts)
        except FramingError:
            if counts:
                raise
            return False  # its status says enough
        if codings and counts:
            await self._check_unpacked(codings)
        return framing.takes_another and not is_enough

    async def _take(self, pieces: Iterator[bytes], codings: list[str], counts: bool) -> bool:
        """Adds to the body; whether no more of it is wanted."""
        for piece in pieces:
            self.body.add(piece)
            if self.body.size > self._max_bytes and counts:
                raise _too_large(self._max_bytes)
            if not counts and self.body.size >= _ERROR_BYTES:
                return True
            if codings and counts and self.body.size >= self._next_look:
                self._next_look *= 4
                await self._check_unpacked(codings)
        return False

    def _check_declared(self, counts: bool) -> None:
        """Refuses a body that says it is too large, before any of it is read."""
        declared = self.head.fields.get(b"content-length", [b""])[0]
        if counts and declared.isdigit() and len(declared) < 20 and int(declared) > self._max_bytes:
            raise _too_large(self._max_bytes)

    async def _check_unpacked(self, codings: list[str]) -> None:
        """Refuses a body of which what came already unpacks to more than the limit."""
        few = min(self._max_bytes, _FEW_BYTES)
        if self.body.size <= _FEW_PACKED_BYTES and unpacked_size(codings, self.body.pieces, few) <= few:
            return
        if await asyncio.to_thread(unpacked_size, codings, self.body.pieces, self._max_bytes) > self._max_bytes:
            raise BrokenError(
                Reason.BOMB, f"{self.body.size:,} bytes unpack to more than {self._max_bytes:,} (fetch.max_bytes)"
            )


def _too_large(most: int) -> BrokenError:
    return BrokenError(Reason.TOO_LARGE, f"more than {most:,} bytes (fetch.max_bytes)")
