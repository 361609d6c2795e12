"""Reads ranges of an archive's files: over HTTP many at once and politely, or through an object store.

Archives throttle whoever asks too fast, and say so by 503, 429 or 403, with or without `Retry-After`. Then no request
goes to that endpoint until the time has passed, and half as many as before go out at once; each that succeeds allows
a little more. An answer that breaks off is continued where it ended, if the file is still the same.
"""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol
from urllib.parse import quote

from winnow.filters.extras import required_package
from winnow.pipelines.fetch.outcome import Again, Reason
from winnow.pipelines.store.buckets.http import proxy_of
from winnow.pipelines.store.buckets.retries import asked_wait
from winnow.pipelines.store.facade import ObjectStore
from winnow.pipelines.store.location import open_location
from winnow.schemas.errors import StoreError
from winnow.schemas.identity import seeded_hash
from winnow.schemas.problems import one_line
from winnow.schemas.recipe.fetch import FetchConfig

if TYPE_CHECKING:
    import aiohttp

FIRST_WAIT_SECONDS: Final = 0.5
LONGEST_WAIT_SECONDS: Final = 60.0
LONGEST_RETRY_AFTER_SECONDS: Final = 600.0
BREAK_AFTER: Final = 50  # ranges in a row that could not be had: the next one is asked for after the longest wait
BUSY_ATTEMPTS: Final = 6  # times `attempts`: a storm of refusals passes, a broken server does not

_BUSY: Final = frozenset((403, 429, 503))
_FORBIDDEN: Final = 403
_GONE: Final = frozenset((404, 410))
_CHUNK_BYTES: Final = 1 << 20


class RangeError(Exception):
    """A range that did not come; `reason` says whether asking again later may help."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail
        self.attempts = 1


@dataclass(frozen=True, slots=True)
class Came:
    """The bytes of a range, fewer where the file ends before, and how many requests they took."""

    content: bytes | bytearray
    attempts: int = 1


@dataclass(slots=True)
class Requests:
    """What was asked of an endpoint."""

    count: int = 0
    bytes: int = 0
    refused: int = 0


class RangeReader(Protocol):
    """Reads ranges of files."""

    requests: Requests

    async def read(self, path: str, start: int, stop: int) -> Came:
        """The bytes of a range; RangeError if it cannot be had."""
        ...

    async def close(self) -> None:
        """Ends all connections."""
        ...


def open_ranges(data: str, config: FetchConfig, at_once: int) -> RangeReader:
    """A reader of the files under an address, with at most so many requests at once."""
    if data.startswith(("http://", "https://")):
        return HttpRanges(data, config, at_once)
    return ObjectRanges(open_location(data), at_once)


@dataclass
class ObjectRanges:
    """Reads through an object store, which itself tries again."""

    objects: ObjectStore
    at_once: int
    requests: Requests = field(default_factory=Requests)

    def __post_init__(self) -> None:
        self._threads = ThreadPoolExecutor(self.at_once, thread_name_prefix="archive")

    async def read(self, path: str, start: int, stop: int) -> Came:
        """See `RangeReader`."""
        self.requests.count += 1
        loop = asyncio.get_running_loop()
        try:
            found = await loop.run_in_executor(self._threads, self.objects.read, path, start, stop - start)
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            raise RangeError(Reason.NO_ARCHIVE, f"no {one_line(path)}") from None
        except ValueError as error:
            raise RangeError(Reason.NO_ARCHIVE, one_line(str(error))) from None
        except StoreError as error:
            impossible = "not an object name" in str(error)
            reason = Reason.NO_ARCHIVE if impossible else Reason.SERVER_ERROR
            raise RangeError(reason, one_line(str(error))) from None
        except OSError as error:
            raise RangeError(Reason.SERVER_ERROR, one_line(str(error))) from None
        self.requests.bytes += len(found)
        return Came(found)

    async def close(self) -> None:
        """See `RangeReader`."""
        self._threads.shutdown(wait=False, cancel_futures=True)


class HttpRanges:
    """Reads over HTTP from one endpoint."""

    def __init__(self, data: str, config: FetchConfig, at_once: int) -> None:
        self.requests = Requests()
        self._data = data if data.endswith("/") else f"{data}/"
        self._config = config
        self._gate = Gate(at_once)
        self._failures = 0  # in a row
        self._broken_until = 0.0
        self._missing: dict[str, str] = {}
        self._session: aiohttp.ClientSession | None = None

    async def read(self, path: str, start: int, stop: int) -> Came:
        """See `RangeReader`."""
        if path in self._missing:
            raise RangeError(Reason.NO_ARCHIVE, self._missing[path])
        if self._failures >= BREAK_AFTER and time.monotonic() < self._broken_until:
            raise RangeError(Reason.CIRCUIT_OPEN, f"{self._data}: {self._failures} ranges in a row could not be had")
        state = _Answer(self._address(path), start, stop)
        try:
            await self._complete(path, state)
        except RangeError as error:
            error.attempts = state.attempts
            if error.reason.again is Again.LATER:
                self._failures += 1
                self._broken_until = time.monotonic() + LONGEST_WAIT_SECONDS
            raise
        self._failures = 0
        return Came(state.content, state.attempts)

    async def _complete(self, path: str, state: "_Answer") -> None:
        """Asks until all of a range is there, or will not be."""
        failed = busy = 0
        while True:
            held = len(state.content)
            async with self._gate.request():
                self.requests.count += 1
                state.attempts += 1
                outcome = await self._ask(state)
            if isinstance(outcome, _Done):
                self._gate.succeeded()
                return
            if isinstance(outcome, _Gone):
                raise self._gone(path, outcome.status)
            if isinstance(outcome, _Busy):
                busy += 1
                self.requests.refused += 1
                if outcome.status == _FORBIDDEN and busy >= self._config.attempts:
                    raise self._gone(path, outcome.status)  # S3 answers so for what does not exist, if none may list
                if busy >= BUSY_ATTEMPTS * self._config.attempts:
                    raise RangeError(Reason.BUSY, f"{state.url}: status {outcome.status}")
                self._gate.pause(outcome.seconds, f"{path} {state.start} {busy}")
                continue
            failed = 1 if len(state.content) > held else failed + 1  # what makes headway is no failure
            if failed >= self._config.attempts:
                raise RangeError(outcome.reason, f"{state.url}: {outcome.detail}")
            await asyncio.sleep(_wait(failed, f"{path} {state.start} {failed}"))

    async def close(self) -> None:
        """See `RangeReader`."""
        if self._session is not None:
            await self._session.close()

    def _gone(self, path: str, status: int) -> RangeError:
        """A file that is not there is asked for once."""
        self._missing[path] = f"{self._address(path)}: status {status}"
        return RangeError(Reason.NO_ARCHIVE, self._missing[path])

    def _address(self, path: str) -> str:
        if ".." in path.split("/") or path.startswith("/") or not path or len(path) > 1024:
            raise RangeError(Reason.NO_ARCHIVE, f"not a file's name: {one_line(path)}")
        return self._data + quote(path)

    async def _opened(self) -> "aiohttp.ClientSession":
        if self._session is None:
            package, config = required_package("winnow fetch", "aiohttp", "fetch"), self._config
            timeout = package.ClientTimeout(
                total=config.total_seconds, connect=config.connect_seconds, sock_read=config.first_byte_seconds
            )
            agent = config.agent if config.contact is None else f"{config.agent} (+{config.contact})"
            self._session = package.ClientSession(
                connector=package.TCPConnector(limit=0, keepalive_timeout=60),
                timeout=timeout,
                headers={"User-Agent": agent, "Accept-Encoding": "identity"},
                auto_decompress=False,
                read_bufsize=_CHUNK_BYTES,
                trust_env=proxy_of(self._data) is not None,  # costs a thread for each request
                cookie_jar=package.DummyCookieJar(),
            )
        return self._session

    async def _ask(self, state: "_Answer") -> "_Done | _Busy | _Gone | _Failed":
        """Sends one request for what is still missing."""
        package = required_package("winnow fetch", "aiohttp", "fetch")
        session = await self._opened()
        try:
            async with session.get(state.url, headers=state.headers(), allow_redirects=False) as response:
                return await self._take(state, response)
        except (package.ServerTimeoutError, TimeoutError):
            return _Failed(Reason.TIMEOUT, "no answer in time")
        except package.ClientConnectorCertificateError as error:
            raise RangeError(Reason.TLS, one_line(str(error))) from None
        except package.ClientConnectorError as error:
            return _Failed(Reason.CONNECT, one_line(str(error)))
        except package.ClientPayloadError as error:
            return _Failed(Reason.CUT_OFF, one_line(str(error)))
        except (package.ClientError, OSError) as error:
            return _Failed(Reason.CUT_OFF, one_line(str(error)))
        except ValueError as error:  # an address that is none
            raise RangeError(Reason.NO_ARCHIVE, one_line(str(error))) from None

    async def _take(self, state: "_Answer", response: "aiohttp.ClientResponse") -> "_Done | _Busy | _Gone | _Failed":
        status = response.status
        if status in _GONE:
            return _Gone(status)
        if status in _BUSY:
            return _Busy(status, asked_wait(response.headers.get("Retry-After")))
        if status >= 500:  # of this file, perhaps: others are asked for meanwhile
            return _Failed(Reason.SERVER_ERROR, f"status {status}")
        if status == 416:  # the file ends before the range begins
            return _Done()
        if status == 412:  # another file than the one whose beginning is held
            state.forget()
            return _Failed(Reason.CUT_OFF, "the file was replaced while it was read")
        if status != 206:
            words = "it ignores ranges" if status == 200 else "no bytes of a range"
            raise RangeError(Reason.PROTOCOL, f"{state.url}: status {status}: {words}")
        promised = state.promised(response.headers.get("Content-Range", ""))
        if promised is None:
            raise RangeError(Reason.PROTOCOL, f"{state.url}: another range than was asked for")
        state.etag = response.headers.get("ETag")
        before = len(state.content)
        async for chunk in response.content.iter_any():
            state.content += chunk
            self.requests.bytes += len(chunk)
            if len(state.content) - before > promised:
                raise RangeError(Reason.PROTOCOL, f"{state.url}: more bytes than were promised")
        if len(state.content) - before < promised:
            return _Failed(Reason.CUT_OFF, f"{promised} bytes were promised, {len(state.content) - before} came")
        return _Done()


@dataclass(frozen=True, slots=True)
class _Done:
    """All that the file has of the range is there."""


@dataclass(frozen=True, slots=True)
class _Busy:
    status: int
    seconds: float | None  # for which the server asks


@dataclass(frozen=True, slots=True)
class _Gone:
    status: int


@dataclass(frozen=True, slots=True)
class _Failed:
    reason: Reason
    detail: str


@dataclass(slots=True)
class _Answer:
    """A range as far as it came."""

    url: str
    start: int
    stop: int
    content: bytearray = field(default_factory=bytearray)
    etag: str | None = None
    attempts: int = 0

    def headers(self) -> dict[str, str]:
        """Asks for the rest, of the same file."""
        found = {"Range": f"bytes={self.start + len(self.content)}-{self.stop - 1}"}
        if self.content and self.etag is not None and not self.etag.startswith("W/"):
            found["If-Match"] = self.etag
        return found

    def promised(self, content_range: str) -> int | None:
        """How many bytes an answer brings; None if they are others than those that are missing."""
        unit, _, rest = content_range.partition(" ")
        span, _, _ = rest.partition("/")
        first, _, last = span.partition("-")
        if unit != "bytes" or not (first.isdigit() and last.isdigit()):
            return None
        if int(first) != self.start + len(self.content) or int(last) >= self.stop:
            return None
        return int(last) + 1 - int(first)

    def forget(self) -> None:
        """Begins anew."""
        self.content = bytearray()
        self.etag = None


class Gate:
    """How many requests an endpoint gets at once, and when it gets none."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._allowed = float(most)
        self._open = 0
        self._refusals = 0
        self._until = 0.0  # of the loop's clock
        self._waiting: deque[asyncio.Future[None]] = deque()

    @asynccontextmanager
    async def request(self) -> AsyncIterator[None]:
        """Waits for a turn."""
        while (wait := self._until - time.monotonic()) > 0 or self._open >= int(self._allowed):
            if wait > 0:
                await asyncio.sleep(wait)
                continue
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            try:
                await turn
            except asyncio.CancelledError:
                self._wake()  # another one, if this was its turn
                raise
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1
            self._wake()

    def _wake(self) -> None:
        """Gives their turn to as many as may ask now; each looks again whether it may."""
        free = int(self._allowed) - self._open
        while self._waiting and free > 0:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                free -= 1

    def succeeded(self) -> None:
        """Allows a little more at once."""
        self._refusals = 0
        self._allowed = min(float(self._most), self._allowed + 1 / max(1.0, self._allowed))

    def pause(self, asked: float | None, purpose: str) -> None:
        """Sends nothing for a while, and then less at once. Refusals of requests that were under way count once."""
        now = time.monotonic()
        if now >= self._until:
            self._refusals += 1
            self._allowed = max(1.0, self._allowed / 2)
        seconds = _wait(self._refusals, purpose) if asked is None else min(asked, LONGEST_RETRY_AFTER_SECONDS)
        self._until = max(self._until, now + seconds)


def _wait(attempt: int, purpose: str) -> float:
    """Seconds before another attempt; up to a half of it by a hash, so that not all come back at once."""
    full = min(LONGEST_WAIT_SECONDS, FIRST_WAIT_SECONDS * 2.0 ** (attempt - 1))
    return full * (0.5 + seeded_hash(attempt, "retry", purpose.encode()) / (1 << 65))
