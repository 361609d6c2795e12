"""Whose turn it is: which host may be asked for what, and when.

Nothing here waits, asks or reads a clock: `next` is given the time, and a loop asks again when a turn is over or the
time that it was told has come. So the schedule is the same whenever the answers are.

A host has `per_host` places and its registered domain `per_domain`. A request takes one of each and gives them back
`seconds_between` after it ended, so in any such span no more than these begin, as the site counts them. What hosts
are asked comes from two sides: addresses, which lie in the queue's file, in order of domains and hosts, and errands
of the loop (a robots.txt, a redirect, another try), which go first. Hosts take turns. Only so many domains are open
at once; one with more than its quantum of addresses makes room for others and is opened again after them.

Another run may have asked a host a moment before this one began, so each host rests first.
"""

import heapq
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from itertools import chain
from typing import Final, NamedTuple

BREAK_AT: Final = 8  # failures of a host in a row
MAX_OPEN: Final = 8_192  # domains
MAX_ERRANDS: Final = 20_000  # of all hosts; above, no new addresses are begun
QUANTUM: Final = 512  # addresses of a host or a domain, while others wait for a place


class Span(NamedTuple):
    """Addresses of one host: rows of the queue."""

    host: str
    domain: str
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Pace:
    """How politely hosts are asked."""

    seconds_between: float = 1.0
    per_host: int = 1
    per_domain: int = 4
    at_once: int = 256


class _At(Enum):
    NOWHERE = 0  # nothing to do, or a release will say more
    TIMED = 1
    READY = 2
    DOMAIN = 3  # waits for a place of its domain


class _Places:
    """Requests at once, each place of which rests after its request."""

    __slots__ = ("busy", "places", "resting")

    def __init__(self, places: int) -> None:
        self.places = places
        self.busy = 0
        self.resting: list[float] = []  # a heap: when places come back

    def free_from(self, now: float) -> float | None:
        """Since when, or from when on a place is free; None while all are taken."""
        while self.resting and self.resting[0] <= now:
            heapq.heappop(self.resting)
        missing = self.busy + len(self.resting) + 1 - self.places
        if missing <= 0:
            return now
        return sorted(self.resting)[missing - 1] if missing <= len(self.resting) else None


@dataclass(slots=True, eq=False)
class Host:
    """A host's work and its places."""

    name: str
    domain: "Domain"
    places: _Places
    rest: float  # seconds after a request
    spans: deque[tuple[int, int]] = field(default_factory=deque)
    errands: deque[object] = field(default_factory=deque)
    later: list[tuple[float, int, object]] = field(default_factory=list)  # a heap: errands and when they are due
    until: float = float("-inf")  # it asked to be left alone
    failures: int = 0  # in a row
    given: int = 0  # addresses since it was opened
    is_held: bool = False  # its addresses wait until the loop knows its rules
    is_parked: bool = False
    is_closed: bool = False
    why: object = None  # it is closed
    at: _At = _At.NOWHERE
    token: int = 0  # of its only valid entry among the times

    @property
    def waiting(self) -> int:
        """How many errands wait for it."""
        return len(self.errands) + len(self.later)


@dataclass(slots=True, eq=False)
class Domain:
    """A registered domain's hosts and places."""

    name: str
    places: _Places
    spans: Iterator[Span] | None = None  # of hosts that were not opened yet
    parked: deque[Host] = field(default_factory=deque)
    waiting: deque[Host] = field(default_factory=deque)
    hosts: int = 0
    listed: dict[Host, None] = field(default_factory=dict)  # hosts whose addresses are open
    given: int = 0
    is_open: bool = False
    is_parked: bool = False
    is_timed: bool = False


@dataclass(frozen=True, slots=True)
class Turn:
    """A request that may begin now: for a row of the queue, or for an errand."""

    host: Host
    row: int | None = None
    errand: object = None


@dataclass(frozen=True, slots=True)
class Dropped:
    """Addresses of a closed host, which are asked for nothing."""

    host: str
    start: int
    stop: int
    why: object = None


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing may begin before this time, or before a turn is over."""

    until: float | None


class Schedule:
    """All turns of a fetch; for one thread."""

    def __init__(
        self,
        pace: Pace,
        domains: Iterable[Iterator[Span]],
        max_open: int = MAX_OPEN,
        *,
        began: float = float("-inf"),
        rests: Mapping[str, float] | None = None,
    ) -> None:
        """Start with everything unopened.

        Args:
            pace: How politely hosts are asked.
            domains: For each domain the spans of its hosts; read as they are opened.
            max_open: Domains whose addresses are open at once.
            began: When the run began; until then others may have asked the same hosts.
            rests: The seconds after a request for which hosts are known to ask, where these are more than usual.
        """
        self._pace, self._began, self._rests = pace, began, rests or {}
        self._unopened = iter(domains)
        self._max_open = max_open
        self._soon = min(max_open, 2 * pace.at_once)  # opened though others are ready, so that these share
        self._hosts: dict[str, Host] = {}
        self._domains: dict[str, Domain] = {}
        self._times: list[tuple[float, int, int, Host | Domain]] = []  # a heap: what may be ready then
        self._fading: list[tuple[float, int, int, Host]] = []  # a heap: hosts to be forgotten then
        self._ready: deque[Host] = deque()
        self._parked: deque[Domain] = deque()
        self._dropped: deque[Dropped] = deque()
        self._order = 0
        self._open = 0
        self._active = 0
        self._errands = 0
        self._more = True  # there may be unopened domains
        self._choked = False  # hosts with addresses were passed over, as there were too many errands
        self._stopped = False
        self._why: object = None  # it was stopped
        self._rest: Iterator[Dropped] | None = None  # after `stop`

    @property
    def active(self) -> int:
        """Turns that are not over."""
        return self._active

    @property
    def hosts(self) -> int:
        """Hosts that are asked, or wait."""
        return len(self._hosts)

    @property
    def errands(self) -> int:
        """Errands that wait."""
        return self._errands

    @property
    def is_done(self) -> bool:
        """Whether no address, errand or turn is left."""
        some = self._active or self._errands or self._open or self._parked or self._more or self._dropped
        return not some and self._rest is None

    def next(self, now: float) -> Turn | Dropped | Wait:
        """What begins now."""
        self._wake(now)
        if self._open < self._soon:
            self._open_another(now)
        while True:
            if self._dropped:
                return self._dropped.popleft()
            if self._rest is not None:
                rest = next(self._rest, None)
                if rest is not None:
                    return rest
                self._rest = None
            if self._active >= self._pace.at_once:
                return Wait(None)
            if self._ready:
                turn = self._turn_of(self._ready.popleft(), now)
                if turn is not None:
                    return turn
            elif not self._open_another(now):
                return Wait(self._next_time())

    def errand(
        self, host: str, domain: str, errand: object, now: float, not_before: float = 0.0, rest: float = 0.0
    ) -> bool:
        """Ask for a turn of a host with such a rest; False if the host is closed, or all are."""
        found = self._host(host, domain)
        if found.is_closed or self._stopped:
            return False
        self._slow(found, rest)  # it may be new: what is known of a host without work is forgotten
        self._errands += 1
        if not_before > now:
            self._order += 1
            heapq.heappush(found.later, (not_before, self._order, errand))
        else:
            found.errands.append(errand)
        self._place(found, now)
        return True

    def release(self, turn: Turn, now: float, *, used: bool = True) -> None:
        """A turn is over; its places rest if a request was made."""
        host = turn.host
        self._active -= 1
        for places, rest in ((host.places, host.rest), (host.domain.places, self._pace.seconds_between)):
            places.busy -= 1
            if used and rest > 0:
                heapq.heappush(places.resting, now + rest)
        self._place(host, now)
        self._wake_domain(host.domain, now)
        self._move_on(host, now)

    def another(self, turn: Turn) -> int | None:
        """The next address of the turn's host, if the one that was given needed no request; None if there is none."""
        return self._take_row(turn.host) if self._gives_rows(turn.host) else None

    def put_back(self, host: Host, row: int) -> None:
        """Take back an address that was given, to be given first."""
        host.spans.appendleft((row, row + 1))
        host.given -= 1

    def hold(self, host: Host) -> None:
        """Give no addresses of a host until `let_go`."""
        host.is_held = True

    def let_go(self, host: str, now: float, rest: float = 0.0) -> None:
        """Give a host's addresses, with a rest of at least so many seconds after each request."""
        found = self._hosts.get(host)
        if found is None:
            return
        found.is_held = False
        self._slow(found, rest)
        self._place(found, now)

    def slow(self, host: str, domain: str, now: float, rest: float) -> None:
        """After a request to a host: it asks for a rest of at least so many seconds after each, this one included."""
        if rest > self._pace.seconds_between:
            found = self._host(host, domain)
            self._slow(found, rest)
            found.until = max(found.until, now + rest)
            if found.at in (_At.NOWHERE, _At.TIMED):
                self._place(found, now)

    def _slow(self, host: Host, rest: float) -> None:
        """Of several origins of a host, the one that asks for the longest rest counts."""
        if rest > host.rest:
            host.rest, host.places.places = rest, 1

    def pause(self, host: str, until: float, now: float) -> None:
        """Ask a host for nothing until then."""
        found = self._hosts.get(host)
        if found is not None:
            found.until = max(found.until, until)
            if found.at is _At.TIMED:
                self._place(found, now)

    def failed(self, host: str) -> bool:
        """Count a failure; True if there were too many in a row."""
        found = self._hosts.get(host)
        if found is None:
            return False
        found.failures += 1
        return found.failures >= BREAK_AT

    def worked(self, host: str) -> None:
        """Forget a host's failures."""
        found = self._hosts.get(host)
        if found is not None:
            found.failures = 0

    def why_closed(self, host: str) -> object:
        """Why a host is closed; None if it is not."""
        found = self._hosts.get(host)
        return self._why if found is None or not found.is_closed else found.why

    def close(self, host: str, now: float, why: object) -> list[object]:
        """Ask a host for nothing more; its addresses are dropped. Returns the errands that waited."""
        found = self._hosts.get(host)
        if found is None or found.is_closed:
            return []
        found.is_closed, found.is_held, found.why = True, False, why
        waiting = [*found.errands, *(errand for _, _, errand in sorted(found.later, key=lambda one: one[:2]))]
        self._errands -= len(waiting)
        found.errands.clear()
        found.later.clear()
        self._drop(found)
        self._move_on(found, now)
        return waiting

    def stop(self, now: float, why: object) -> list[object]:
        """Give no address any more: all are dropped. Returns the errands that waited."""
        self._stopped, self._why = True, why
        waiting = [errand for host in list(self._hosts.values()) for errand in self.close(host.name, now, why)]
        self._rest = self._unopened_spans()
        self._more = False
        return waiting

    def _unopened_spans(self) -> Iterator[Dropped]:
        domains = [domain for domain in self._domains.values() if domain.spans is not None]
        for spans in chain((domain.spans or iter(()) for domain in domains), self._unopened):
            for span in spans:
                yield Dropped(span.host, span.start, span.stop, self._why)
        for domain in domains:
            domain.spans = None
            self._close_if_done(domain)
        self._parked.clear()

    def _wake(self, now: float) -> None:
        while self._times and self._times[0][0] <= now:
            _, _, token, one = heapq.heappop(self._times)
            if isinstance(one, Domain):
                one.is_timed = False
                self._wake_domain(one, now)
            elif one.at is _At.TIMED and one.token == token:
                one.at = _At.NOWHERE
                self._place(one, now)
        while self._fading and self._fading[0][0] <= now:
            _, _, token, host = heapq.heappop(self._fading)
            if host.at is _At.NOWHERE and host.token == token:
                self._forget(host)
        if self._choked and self._errands < MAX_ERRANDS // 2:
            self._choked = False
            for host in self._hosts.values():
                self._place(host, now)

    def _wake_domain(self, domain: Domain, now: float) -> None:
        """Let hosts that wait for a place of their domain try again."""
        if not domain.waiting:
            return
        since = domain.places.free_from(now)
        if since is None:
            return
        if since > now:
            if not domain.is_timed:
                domain.is_timed = True
                self._push(since, domain, 0)
            return
        free = domain.places.places - domain.places.busy - len(domain.places.resting)
        for _ in range(min(free, len(domain.waiting))):
            host = domain.waiting.popleft()
            host.at = _At.READY
            self._ready.append(host)

    def _push(self, time: float, one: Host | Domain, token: int) -> None:
        self._order += 1
        heapq.heappush(self._times, (time, self._order, token, one))

    def _next_time(self) -> float | None:
        while self._times:
            time, _, token, one = self._times[0]
            if isinstance(one, Domain) or (one.token == token and one.at is _At.TIMED):
                return time
            heapq.heappop(self._times)
        return None

    def _gives_rows(self, host: Host) -> bool:
        return bool(host.spans) and not (host.is_held or host.is_parked or host.domain.is_parked)

    def _due(self, host: Host, now: float) -> float | None:
        """When a host has something to be asked for, places aside; None for nothing."""
        if host.errands:
            return now
        if self._gives_rows(host) and host.waiting < 4 * host.places.places:
            if self._errands < MAX_ERRANDS:
                return now
            self._choked = True
        return host.later[0][0] if host.later else None

    def _place(self, host: Host, now: float) -> None:
        """Put a host where its next turn will be found."""
        if host.at in (_At.READY, _At.DOMAIN):
            return
        due, free = self._due(host, now), host.places.free_from(now)
        host.token += 1
        host.at = _At.NOWHERE
        if due is None:
            if not host.places.busy:  # forgotten when it may be asked at any time
                self._order += 1
                rested = max(now, host.until, *host.places.resting)
                heapq.heappush(self._fading, (rested, self._order, host.token, host))
            return
        if free is None:  # a release comes
            return
        time = max(due, free, host.until)
        if time <= now:
            host.at = _At.READY
            self._ready.append(host)
        else:
            host.at = _At.TIMED
            self._push(time, host, host.token)

    def _turn_of(self, host: Host, now: float) -> Turn | None:
        """The turn of a host that is ready, unless it is not after all."""
        host.at = _At.NOWHERE
        due, free = self._due(host, now), host.places.free_from(now)
        if due is None or free is None or max(due, free, host.until) > now:
            self._place(host, now)
            return None
        of_domain = host.domain.places.free_from(now)
        if of_domain is None or of_domain > now:
            host.at = _At.DOMAIN
            host.domain.waiting.append(host)
            self._wake_domain(host.domain, now)
            return None
        while host.later and host.later[0][0] <= now:
            host.errands.append(heapq.heappop(host.later)[2])
        if host.errands:
            self._errands -= 1
            turn = Turn(host, errand=host.errands.popleft())
        else:
            turn = Turn(host, row=self._take_row(host))
        self._active += 1
        host.places.busy += 1
        host.domain.places.busy += 1
        self._place(host, now)
        return turn

    def _take_row(self, host: Host) -> int:
        start, stop = host.spans.popleft()
        if start + 1 < stop:
            host.spans.appendleft((start + 1, stop))
        host.given += 1
        host.domain.given += 1
        return start

    def _host(self, name: str, domain: str) -> Host:
        found = self._hosts.get(name)
        if found is None:
            of = self._domains.get(domain)
            if of is None:
                of = self._domains[domain] = Domain(domain, _Places(self._pace.per_domain))
            found = Host(name, of, _Places(self._pace.per_host), self._pace.seconds_between)
            of.hosts += 1
            self._hosts[name] = found
            self._slow(found, self._rests.get(name, 0.0))
            found.until = self._began + found.rest
        return found

    def _forget(self, host: Host) -> None:
        """Drop what is known of a host without work, all of whose places have rested."""
        if host.waiting or host.spans or host.is_held or host.places.busy:
            return
        domain = host.domain
        self._hosts.pop(host.name, None)
        domain.hosts -= 1
        if not (domain.hosts or domain.is_open or domain.is_parked or domain.places.busy):
            self._domains.pop(domain.name, None)

    def _open_another(self, now: float) -> bool:
        """Open a domain's addresses; False if none may be opened."""
        if self._open >= self._max_open or self._errands >= MAX_ERRANDS:
            return False
        spans = next(self._unopened, None) if self._more else None
        if spans is None:
            self._more = False
            if not self._parked:
                return False
            domain = self._parked.popleft()
            domain.is_parked = False
        else:
            first = next(spans)
            domain = self._domains.get(first.domain) or Domain(first.domain, _Places(self._pace.per_domain))
            self._domains[first.domain] = domain
            domain.spans = chain((first,), spans)
        domain.is_open, domain.given = True, 0
        self._open += 1
        for host in domain.listed:
            self._place(host, now)
        self._open_hosts(domain, now)
        self._close_if_done(domain)
        return True

    def _open_hosts(self, domain: Domain, now: float) -> None:
        """Open as many hosts of a domain as can be asked at once."""
        while len(domain.listed) < self._pace.per_domain and not self._stopped:
            span = next(domain.spans, None) if domain.spans is not None else None
            if span is not None:
                host = self._host(span.host, span.domain)
                host.spans.append((span.start, span.stop))
                if host.is_closed:
                    self._drop(host)
                    continue
            else:
                domain.spans = None
                if not domain.parked:
                    return
                host = domain.parked.popleft()
                host.is_parked = False
                if not host.spans:
                    continue
            host.given = 0
            domain.listed[host] = None
            self._place(host, now)

    def _move_on(self, host: Host, now: float) -> None:
        """After a change: open the next host of its domain, or the next domain's addresses instead of its."""
        domain = host.domain
        if host in domain.listed and not host.is_held:
            if not host.spans:
                del domain.listed[host]
            elif host.given >= QUANTUM and (domain.spans is not None or domain.parked):
                del domain.listed[host]
                host.is_parked = True
                domain.parked.append(host)
        if not domain.is_open:
            return
        self._open_hosts(domain, now)
        full = self._open >= self._soon
        if domain.given >= QUANTUM and full and (self._more or self._parked) and domain.listed:
            domain.is_open, domain.is_parked = False, True
            self._open -= 1
            self._parked.append(domain)
        self._close_if_done(domain)

    def _close_if_done(self, domain: Domain) -> None:
        if domain.is_open and not domain.listed and domain.spans is None and not domain.parked:
            domain.is_open = False
            self._open -= 1

    def _drop(self, host: Host) -> None:
        self._dropped.extend(Dropped(host.name, start, stop, host.why) for start, stop in host.spans)
        host.spans.clear()
