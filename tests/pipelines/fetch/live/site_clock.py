"""A schedule played on a clock of its own: what it lets begin, and when."""

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from winnow.pipelines.fetch.live.schedule import Dropped, Pace, Schedule, Span, Turn, Wait


def spans(sites: Sequence[tuple[str, Sequence[tuple[str, int]]]]) -> Iterator[Iterator[Span]]:
    """Domains with hosts and how many addresses each has, as the queue gives them."""
    start = 0
    for domain, hosts in sites:
        found = []
        for host, count in hosts:
            found.append(Span(host, domain, start, start + count))
            start += count
        yield iter(found)


@dataclass(frozen=True, slots=True)
class Begun:
    """A request that began."""

    host: str
    domain: str
    row: int | None
    errand: object
    began: float
    ended: float


@dataclass(slots=True)
class Played:
    """What happened."""

    begun: list[Begun] = field(default_factory=list)
    dropped: list[int] = field(default_factory=list)
    most_at_once: int = 0
    most_hosts: int = 0


def play(
    schedule: Schedule,
    seconds: Callable[[Turn], float],
    *,
    at_end: Callable[[Schedule, Turn, float], None] = lambda schedule, turn, now: None,
    most: int = 100_000,
) -> Played:
    """Let every turn last so long, until nothing is left."""
    now, played = 0.0, Played()
    ends: list[tuple[float, int, Turn]] = []
    while not schedule.is_done:
        assert len(played.begun) + len(played.dropped) <= most, "the schedule does not end"
        one = schedule.next(now)
        if isinstance(one, Turn):
            ended = now + seconds(one)
            heapq.heappush(ends, (ended, len(played.begun), one))
            played.begun.append(Begun(one.host.name, one.host.domain.name, one.row, one.errand, now, ended))
            played.most_at_once = max(played.most_at_once, schedule.active)
            played.most_hosts = max(played.most_hosts, schedule.hosts)
        elif isinstance(one, Dropped):
            played.dropped.extend(range(one.start, one.stop))
        elif isinstance(one, Wait) and not schedule.is_done:
            until = min([time for time in (one.until, ends[0][0] if ends else None) if time is not None])
            assert until > now or ends, "time stands still"
            now = max(now, until)
            while ends and ends[0][0] <= now:
                _, _, turn = heapq.heappop(ends)
                schedule.release(turn, now)
                at_end(schedule, turn, now)
    return played


def most_in_any(span: float, times: Sequence[float]) -> int:
    """The most of these that lie in any half-open span so long."""
    ordered = sorted(times)
    return max((sum(start <= time < start + span - 1e-9 for time in ordered) for start in ordered), default=0)


def most_together(spans: Sequence[tuple[float, float]]) -> int:
    """The most of these that last at one moment."""
    changes = sorted(
        [(begin, 1) for begin, end in spans if end > begin] + [(end, -1) for begin, end in spans if end > begin]
    )
    together = most = 0
    for _, change in changes:
        together += change
        most = max(most, together)
    return most


__all__ = ["Begun", "Pace", "Played", "most_in_any", "most_together", "play", "spans"]
