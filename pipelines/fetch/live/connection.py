"""A connection to a checked machine: what it sends is read no faster than it is used, and never waited for too long.

A server may be silent as long as it may be silent before its first byte; in each such span it must send as many bytes
as the least rate asks for.
"""

import asyncio
import errno
import resource
import socket
import ssl
from collections.abc import Sequence
from typing import Final

from aiohappyeyeballs import start_connection

from winnow.filters.web.machines import machine_of
from winnow.pipelines.fetch.live.names import Target
from winnow.pipelines.fetch.outcome import Reason
from winnow.schemas.errors import RecipeError, StageError
from winnow.schemas.recipe.fetch import FetchConfig

__all__ = ["BrokenError", "Connection", "Connections", "Pace", "allow_connections", "connect", "words_of"]

BUFFER_BYTES: Final = 64 << 10
_NEXT_ADDRESS_SECONDS: Final = 0.25  # RFC 8305: until the next address of a host is tried beside the first
_IDLE_SECONDS: Final = 15.0
_OTHER_FILES: Final = 256  # that a process has open
_IDLE_FOR_EACH: Final = 4  # connections that wait, for each request at once


class BrokenError(Exception):
    """Why an exchange ends without a response that counts."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


class Connection:
    """An open connection to one host; `target` is the machine at its other end."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, target: Target) -> None:
        self._reader = reader
        self._writer = writer
        self.target = target
        self.received = 0
        self.is_used = False  # whether a response came through it before

    async def send(self, content: bytes) -> None:
        """Sends a request."""
        self._writer.write(content)
        await self._writer.drain()

    async def receive(self) -> bytes:
        """Some bytes; none at the end."""
        piece = await self._reader.read(BUFFER_BYTES)
        self.received += len(piece)
        return piece

    @property
    def is_quiet(self) -> bool:
        """Whether it is open, and nothing came that was not asked for."""
        is_over = self._reader.at_eof() or self._writer.is_closing() or self._reader.exception()
        return not (self.has_bytes or is_over)

    @property
    def has_bytes(self) -> bool:
        """Whether bytes wait to be received."""
        buffered: bytearray = self._reader._buffer  # type: ignore[attr-defined]  # nothing public says if it is empty
        return bool(buffered)

    def close(self) -> None:
        """Closes it without waiting: nothing is left to say."""
        self._writer.transport.abort()


class Pace:
    """Raises BrokenError where a server keeps its client waiting."""

    def __init__(self, connection: Connection, config: FetchConfig) -> None:
        self._connection = connection
        self._silence = config.first_byte_seconds
        self._least = config.min_bytes_a_second * config.first_byte_seconds
        self._clock = asyncio.get_running_loop().time
        self._has_begun = False
        self._end = self._clock() + self._silence
        self._came = 0

    async def receive(self) -> bytes:
        """The next bytes; none at the end."""
        while True:
            try:
                async with asyncio.timeout_at(self._end) as span:
                    piece = await self._connection.receive()
            except TimeoutError:
                if not span.expired():  # the system's own
                    raise
                if not self._connection.has_bytes:  # they came in time if they are here: the process was busy
                    self._turn()
                continue
            self._came += len(piece)
            if not self._has_begun:
                self._has_begun = True
                self._end = self._clock() + self._silence
            elif self._clock() >= self._end:
                self._turn()
            return piece

    def _turn(self) -> None:
        """Begins the next span, if the last one brought enough."""
        if not self._has_begun:
            raise BrokenError(Reason.TIMEOUT, f"no answer within {self._silence:g} s (fetch.first_byte_seconds)")
        if self._came < self._least:
            raise BrokenError(
                Reason.TOO_SLOW, f"{self._came:,} bytes within {self._silence:g} s (fetch.min_bytes_a_second)"
            )
        self._came = 0
        self._end = self._clock() + self._silence


def allow_connections(most: int) -> int:
    """Lets this process have so many connections, and a file for the body of each; RecipeError if it may not.

    Returns how many may stay open between requests: a crawl goes round among many more hosts than it asks at once.
    """
    needed = 2 * most + _OTHER_FILES
    wanted = needed + _IDLE_FOR_EACH * most
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)
    if files < needed:
        raise RecipeError(
            f"fetch.at_once: {most:,} needs {needed:,} open files, and the system allows {hard:,}: set at_once to "
            f"{max(1, (hard - _OTHER_FILES) // 2):,} or less, or raise the limit (ulimit -Hn)"
        )
    if soft != resource.RLIM_INFINITY and soft < files:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))
    return max(most, files - needed)


async def connect(targets: Sequence[Target], host: str, tls: ssl.SSLContext | None, seconds: float) -> Connection:
    """Connects to the first of the machines that answers, and to no other; BrokenError if none does."""
    infos = [(one.family, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (str(one.machine), one.port)) for one in targets]
    try:
        async with asyncio.timeout(seconds):
            plain = await start_connection(infos, happy_eyeballs_delay=_NEXT_ADDRESS_SECONDS)
            machine, port, *_ = plain.getpeername()
            target = next((one for one in targets if (one.machine, one.port) == (machine_of(machine), port)), None)
            if target is None:
                plain.close()
                raise BrokenError(Reason.CONNECT, "the machine at the other end is not the one that was asked for")
            reader, writer = await asyncio.open_connection(
                sock=plain, ssl=tls, server_hostname=host if tls else None, limit=BUFFER_BYTES
            )
    except TimeoutError:
        raise BrokenError(Reason.TIMEOUT, f"no connection within {seconds:g} s (fetch.connect_seconds)") from None
    except (ssl.SSLError, ValueError) as error:  # the second: a host that no certificate can name
        raise BrokenError(Reason.TLS, words_of(error)) from None
    except OSError as error:
        if error.errno in (errno.EMFILE, errno.ENFILE):  # no server's doing
            raise StageError(f"{words_of(error)}: lower fetch.at_once, or raise the limit (ulimit -n)") from error
        raise BrokenError(Reason.CONNECT, words_of(error)) from None
    return Connection(reader, writer, target)


class Connections:
    """Connections that wait some seconds for the next request to their host."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._idle: dict[tuple[str, str, int], list[tuple[Connection, asyncio.TimerHandle]]] = {}
        self._count = 0

    def take(self, key: tuple[str, str, int]) -> Connection | None:
        """One that still is open."""
        while waiting := self._idle.get(key):
            connection, timer = waiting.pop()
            self._forget(key, timer)
            if connection.is_quiet:
                return connection
            connection.close()
        return None

    def keep(self, key: tuple[str, str, int], connection: Connection) -> None:
        """Takes one back after a whole response."""
        if self._count >= self._most or not connection.is_quiet:
            connection.close()
            return
        connection.is_used = True
        timer = asyncio.get_running_loop().call_later(_IDLE_SECONDS, self._expire, key, connection)
        self._idle.setdefault(key, []).append((connection, timer))
        self._count += 1

    def close(self) -> None:
        """Closes all."""
        for key in list(self._idle):
            while (connection := self.take(key)) is not None:
                connection.close()

    def _expire(self, key: tuple[str, str, int], connection: Connection) -> None:
        entry = next(one for one in self._idle[key] if one[0] is connection)
        self._idle[key].remove(entry)
        self._forget(key, entry[1])
        connection.close()

    def _forget(self, key: tuple[str, str, int], timer: asyncio.TimerHandle) -> None:
        timer.cancel()
        self._count -= 1
        if not self._idle[key]:
            del self._idle[key]


def words_of(error: Exception) -> str:
    """What an error says, in one line."""
    said = (getattr(error, name, None) for name in ("verify_message", "reason", "strerror"))
    reason = next(filter(None, said), str(error))
    return " ".join(str(reason).split())[:200]
