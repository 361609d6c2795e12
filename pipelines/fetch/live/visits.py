"""The loop of live fetching: whose turn it is, and whether the site consents.

One thread and one event loop ask. A site's files are asked before its first address; each redirect is a request of
its own, in the turn of the host that it leads to, with that site's consent. A host that fails again and again is left
alone for the rest of the run. What is done with an address whose turn it is, a `Work` says.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol

import pyarrow as pa

from winnow.pipelines.fetch.live.client import Client
from winnow.pipelines.fetch.live.consent import (
    MAX_FILE_BYTES,
    MAX_REST,
    Asker,
    KeptRules,
    Refusal,
    SiteRules,
    ask_site,
    origin_of,
    remembered_sites,
)
from winnow.pipelines.fetch.live.exchange import Failed, Followed, Response, outcome_of_status
from winnow.pipelines.fetch.live.places import Place, place_of
from winnow.pipelines.fetch.live.planning import LiveAsk
from winnow.pipelines.fetch.live.queue import Queue, QueuedAddress
from winnow.pipelines.fetch.live.schedule import Dropped, Pace, Schedule, Turn, Wait
from winnow.pipelines.fetch.live.segments import Segments
from winnow.pipelines.fetch.outcome import Reason
from winnow.pipelines.fetch.progress import Tally
from winnow.schemas.identity import digest

TOLD_SECONDS: Final = 0.5
SHORTEST_BACKOFF: Final = 0.05  # seconds, where hosts need not be left alone at all

_PASSING: Final = frozenset(
    (
        Reason.NAME_SERVER,
        Reason.CONNECT,
        Reason.TIMEOUT,
        Reason.TOO_SLOW,
        Reason.CUT_OFF,
        Reason.BUSY,
        Reason.SERVER_ERROR,
    )
)
"""Failures of a host that may pass within a run."""
_STEPS: Final = 256  # addresses that are decided without a request, before others have a turn


@dataclass(slots=True)
class Errand:
    """The next request of an address: its turn, if it has one, or when it may have one."""

    turn: Turn | None = None
    not_before: float = 0.0


class Work(Protocol):
    """What is done with the addresses of a queue."""

    async def visit(self, address: QueuedAddress, place: Place, errand: Errand) -> None:
        """Its turn has come, and its site consents. The errand's gate uses the turn; else it is given back."""

    def refused(self, address: QueuedAddress, place: Place, refusal: Refusal) -> None:
        """Its site does not consent."""

    def dropped(self, rows: pa.RecordBatch, refusal: Refusal) -> None:
        """Rows of the queue that are asked for nothing, as their host is left alone."""


Owns = Callable[[str], bool]
"""Whether a registered domain is asked here."""


def everything(_domain: str) -> bool:
    """All domains are asked by one process."""
    return True


def reason_of(last: Response | Failed) -> Reason:
    """What came of a request, whatever is in the response."""
    return last.reason if isinstance(last, Failed) else outcome_of_status(last.status)[1]


class Visits:
    """One run over a queue."""

    def __init__(
        self, queue: Queue, asked: LiveAsk, client: Client, segments: Segments, tally: Tally, owns: Owns = everything
    ) -> None:
        """Start with everything to be done; sites of domains that it does not own are asked for nothing."""
        self._owns = owns
        config = asked.config
        self.client, self.asker = client, Asker.of(config)
        self.rules = KeptRules(now)
        rests: dict[str, float] = {}
        for place, rules in remembered_sites(segments.remembered_lines(), self.asker, now()):
            self.rules.add(origin_of(place), rules)
            if rules.rest > config.seconds_between:
                rests[place.host] = max(rules.rest, rests.get(place.host, 0.0))
        self._queue, self._asked, self._config = queue, asked, config
        self._segments, self._tally = segments, tally
        pace = Pace(config.seconds_between, config.per_host, config.per_domain, config.at_once)
        self._schedule = Schedule(pace, queue.spans(), began=now(), rests=rests)
        self._asking: dict[str, asyncio.Task[SiteRules]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._woken = asyncio.Event()
        self._ended = False

    async def run(self, work: Work, tell: Callable[[int], None]) -> None:
        """Ask until every address is decided; `tell` gets the number of open hosts about twice a second."""
        steps, told = 0, 0.0
        try:
            while not (self._schedule.is_done and not self._tasks):
                self._segments.check()
                self._segments.finish_old()
                if time.monotonic() - told >= TOLD_SECONDS:
                    told = time.monotonic()
                    tell(self._schedule.hosts)
                one = Wait(None) if self._segments.is_behind else self._schedule.next(now())
                if isinstance(one, Wait):
                    await self._something(one.until)
                    continue
                steps += 1
                if isinstance(one, Dropped):
                    await self._drop(work, one)
                elif one.row is not None:
                    self._begin(work, one, one.row)
                else:
                    self._hand_over(one)
                if steps % _STEPS == 0:
                    await asyncio.sleep(0)
        finally:
            for task in (*self._tasks, *self._asking.values()):
                task.cancel()
            await asyncio.gather(*self._tasks, *self._asking.values(), return_exceptions=True)
        self._segments.check()

    def gate(self, errand: Errand) -> Callable[[Place], AbstractAsyncContextManager[Failed | None]]:
        """Lets the requests of an address through, one at a time, in the turns of their hosts, with consent."""

        @asynccontextmanager
        async def gate(place: Place) -> AsyncIterator[Failed | None]:
            if errand.turn is None:
                refusal = await self.refusal(place)
                if refusal is not None:
                    yield Failed(refusal.reason, refusal.detail)
                    return
            async with self._slot(place, errand) as refused:
                yield refused

        return gate

    def give_back(self, errand: Errand) -> None:
        """Give back a turn that is not used."""
        if errand.turn is not None:
            self._schedule.release(errand.turn, now(), used=False)
            errand.turn = None
            self._woken.set()

    def wait(self, key: str, followed: Followed, attempts: int) -> float | None:
        """How long until another try; None if there is none. What a host's failures mean for it is done."""
        last, host = followed.last, followed.place.host
        reason = reason_of(last)
        if reason not in _PASSING or self._schedule.why_closed(host) is not None:
            if isinstance(last, Response):
                self._schedule.worked(host)
            return None
        asked_for = None if isinstance(last, Failed) else last.retry_after()
        if asked_for is not None and asked_for > MAX_REST:
            longest = f"Retry-After: {asked_for:g} is longer than {MAX_REST:g} seconds"
            self._close(host, Refusal(Reason.BUSY, longest))
            return None
        if self._schedule.failed(host):
            detail = last.detail if isinstance(last, Failed) else f"status {last.status}"
            self._close(host, Refusal(Reason.CIRCUIT_OPEN, f"{host} failed too often, at last by {reason}: {detail}"))
            return None
        seconds = max(self._backoff(key, attempts), asked_for or 0.0)
        self._schedule.pause(host, now() + seconds, now())
        return seconds if attempts < self._config.attempts and not self._ended else None

    def end(self, why: Refusal) -> None:
        """Ask for no other address."""
        if not self._ended:
            self._ended = True
            for waiting in self._schedule.stop(now(), why):
                _refuse(waiting, why)
            self._woken.set()

    async def _something(self, until: float | None) -> None:
        """Wait for the end of a request, a new errand, or this time."""
        self._woken.clear()
        longest = TOLD_SECONDS if until is None else max(0.0, min(until - now(), TOLD_SECONDS))
        try:
            async with asyncio.timeout(longest):
                await self._woken.wait()
        except TimeoutError:
            return

    def _hand_over(self, turn: Turn) -> None:
        """Give a turn to who waits for it."""
        waiting = turn.errand
        assert isinstance(waiting, asyncio.Future)
        if waiting.done():
            self._schedule.release(turn, now(), used=False)
        else:
            waiting.set_result(turn)

    def _begin(self, work: Work, turn: Turn, first: int) -> None:
        """Visit an address; those that its site refuses are decided at once, without a request."""
        row: int | None = first
        for _ in range(_STEPS):
            if row is None:
                break
            address = self._queue[row]
            place = place_of(address.canonical, self._config.ports)
            assert not isinstance(place, Failed), "the queue has addresses that may be asked"
            rules = self.rules.find(origin_of(place))
            if rules is None:
                self._schedule.hold(turn.host)
                self._schedule.put_back(turn.host, row)
                row = None
                self._learn(place)
                break
            refusal = rules.refusal(place.target)
            if refusal is None:
                if rules.rest > turn.host.rest:
                    self._schedule.let_go(place.host, now(), rules.rest)
                self._start(work.visit(address, place, Errand(turn)))
                return
            work.refused(address, place, refusal)
            row = self._schedule.another(turn)
        if row is not None:
            self._schedule.put_back(turn.host, row)
        self._schedule.release(turn, now(), used=False)

    def _start(self, visit: Coroutine[object, object, None]) -> None:
        task = asyncio.get_running_loop().create_task(visit)
        self._tasks.add(task)
        task.add_done_callback(self._over)

    def _over(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        self._woken.set()
        if not task.cancelled() and (error := task.exception()) is not None:
            self._segments.fail(error)

    async def _drop(self, work: Work, dropped: Dropped) -> None:
        """Decide the addresses of a host that is asked for nothing more."""
        assert isinstance(dropped.why, Refusal)
        for rows in self._queue.rows(dropped.start, dropped.stop):
            work.dropped(rows, dropped.why)
            await asyncio.sleep(0)
            while self._segments.is_behind:
                await asyncio.sleep(0.01)

    async def _turn(self, place: Place, not_before: float) -> Turn | Refusal:
        """A turn of a place's host, or why it is closed."""
        waiting: asyncio.Future[Turn | Refusal] = asyncio.get_running_loop().create_future()
        rules = self.rules.find(origin_of(place))
        rest = 0.0 if rules is None else rules.rest
        if not self._schedule.errand(place.host, place.domain, waiting, now(), not_before, rest):
            why = self._schedule.why_closed(place.host)
            assert isinstance(why, Refusal)
            return why
        self._woken.set()
        return await waiting

    @asynccontextmanager
    async def _slot(self, place: Place, errand: Errand) -> AsyncIterator[Failed | None]:
        """The turn of one request."""
        if not self._owns(place.domain):
            self.give_back(errand)
            yield Failed(Reason.ELSEWHERE, place.url)
            return
        turn: Turn | Refusal | None = errand.turn
        errand.turn = None
        if turn is None:
            turn = await self._turn(place, errand.not_before)
            errand.not_before = 0.0
        if isinstance(turn, Refusal):
            yield Failed(turn.reason, turn.detail)
            return
        self._tally.requests += 1
        try:
            yield None
        finally:
            self._schedule.release(turn, now())
            self._woken.set()

    async def refusal(self, place: Place) -> Refusal | None:
        """Why a place must not be asked; asks its site, if that is not known."""
        if self._asked.forgotten(place.url):
            return Refusal(Reason.FORGOTTEN, place.url)
        if not self._owns(place.domain):
            return Refusal(Reason.ELSEWHERE, place.url)
        rules = self.rules.find(origin_of(place))
        if rules is None:
            rules = await asyncio.shield(self._learn(place))
        return rules.refusal(place.target)

    def _learn(self, place: Place) -> "asyncio.Task[SiteRules]":
        """Ask a site for its files, once however many wait."""
        origin = origin_of(place)
        asking = self._asking.get(origin)
        if asking is None:
            asking = asyncio.get_running_loop().create_task(
                ask_site(
                    place, self.asker, self._ask_file, self._segments.keep_host_file, now, partial(self._slow, place)
                )
            )
            self._asking[origin] = asking
            asking.add_done_callback(partial(self._learnt, place))
        return asking

    def _learnt(self, place: Place, task: "asyncio.Task[SiteRules]") -> None:
        del self._asking[origin_of(place)]
        self._woken.set()
        if task.cancelled():
            return
        error = task.exception()
        if error is not None:
            self._segments.fail(error)
            return
        rules = task.result()
        self.rules.add(origin_of(place), rules)
        self._schedule.let_go(place.host, now(), rules.rest)

    def _slow(self, place: Place, rest: float) -> None:
        self._schedule.slow(place.host, place.domain, now(), rest)

    async def _ask_file(self, file: Place) -> Followed:
        """Ask for a file of a site, again if that may help; its failures are not its host's."""
        attempt, errand = 0, Errand()
        while True:
            attempt += 1
            slot = partial(self._slot, errand=errand)
            followed = await self.client.follow(file, slot, max_bytes=MAX_FILE_BYTES)
            last, host = followed.last, followed.place.host
            asked_for = None if isinstance(last, Failed) else last.retry_after()
            is_over = attempt >= self._config.attempts or (asked_for or 0.0) > MAX_REST
            if is_over or reason_of(last) not in _PASSING or self._schedule.why_closed(host) is not None:
                return followed
            errand.not_before = now() + max(self._backoff(file.url, attempt), asked_for or 0.0)
            if asked_for:
                self._schedule.pause(host, now() + asked_for, now())
            if isinstance(last, Response):
                last.close()

    def _backoff(self, key: str, attempt: int) -> float:
        """Seconds to wait before another try: twice as long each time, spread by a hash."""
        spread = 0.5 + digest(self._asked.seed, "backoff", key, attempt, size=1)[0] / 256
        return max(self._config.seconds_between, SHORTEST_BACKOFF) * 2.0**attempt * spread

    def _close(self, host: str, why: Refusal) -> None:
        for waiting in self._schedule.close(host, now(), why):
            _refuse(waiting, why)
        self._woken.set()


def now() -> float:
    """The loop's clock, in seconds."""
    return time.monotonic()


def _refuse(waiting: object, why: Refusal) -> None:
    """Tell who waits for a turn that there is none."""
    assert isinstance(waiting, asyncio.Future)
    if not waiting.done():
        waiting.set_result(why)
