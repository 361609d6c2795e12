"""Hosts and domains are never asked more often than the pace allows, none starves, and each address is given once."""

import random
from collections import Counter, defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pipelines.fetch.live.site_clock import Begun, most_in_any, most_together, play, spans
from tests.property_sizes import scaled
from winnow.pipelines.fetch.live.schedule import BREAK_AT, QUANTUM, Pace, Schedule, Turn

SITES = st.lists(st.lists(st.integers(1, 12), min_size=1, max_size=6), min_size=1, max_size=6)
PACES = st.builds(
    Pace,
    seconds_between=st.sampled_from([0.0, 0.5, 1.0, 3.0]),
    per_host=st.integers(1, 3),
    per_domain=st.integers(1, 5),
    at_once=st.integers(1, 8),
)


def named(sites: list[list[int]]) -> list[tuple[str, list[tuple[str, int]]]]:
    return [
        (f"d{place}.example", [(f"h{number}.d{place}.example", count) for number, count in enumerate(hosts)])
        for place, hosts in enumerate(sites)
    ]


def by(begun: list[Begun], what: str) -> dict[str, list[Begun]]:
    found = defaultdict(list)
    for one in begun:
        found[getattr(one, what)].append(one)
    return found


@settings(max_examples=scaled(600), deadline=None)
@given(SITES, PACES, st.integers(1, 4), st.integers(0, 1 << 30), st.booleans())
def test_no_host_or_domain_is_asked_more_than_the_pace_allows(
    sites: list[list[int]], pace: Pace, max_open: int, seed: int, errands: bool
) -> None:
    chance = random.Random(seed)
    total = sum(map(sum, sites))
    left = [total] if errands else [0]

    def at_end(schedule: Schedule, turn: Turn, now: float) -> None:
        if left[0] and chance.random() < 0.5:  # a redirect to any host, another try, a pause
            left[0] -= 1
            place = chance.randrange(len(sites))
            number = chance.randrange(len(sites[place]) + 1)
            later = now + chance.choice([0.0, 0.0, 2.5])
            schedule.errand(f"h{number}.d{place}.example", f"d{place}.example", left[0], now, later)
        if errands and chance.random() < 0.1:
            schedule.pause(turn.host.name, now + 5.0, now)

    schedule = Schedule(pace, spans(named(sites)), max_open)
    played = play(schedule, lambda _: chance.choice([0.0, 0.1, 1.0, 4.0]), at_end=at_end)
    assert sorted(one.row for one in played.begun if one.row is not None) == list(range(total))
    assert played.dropped == []
    assert played.most_at_once <= pace.at_once
    asked = [one.errand for one in played.begun if one.row is None]
    assert sorted(asked, key=str) == sorted(range(left[0], total if errands else 0), key=str)
    for what, most in (("host", pace.per_host), ("domain", pace.per_domain)):
        for of_one in by(played.begun, what).values():
            assert most_together([(one.began, one.ended) for one in of_one]) <= most
            if pace.seconds_between:
                assert most_in_any(pace.seconds_between, [one.began for one in of_one]) <= most


@settings(max_examples=scaled(100), deadline=None)
@given(SITES, PACES, st.integers(1, 4))
def test_the_same_answers_give_the_same_order(sites: list[list[int]], pace: Pace, max_open: int) -> None:
    def once() -> list[Begun]:
        return play(Schedule(pace, spans(named(sites)), max_open), lambda turn: (turn.row or 0) % 3 / 2).begun

    assert once() == once()


def test_a_huge_host_delays_nobody() -> None:
    small = [("small.example", [("a.small.example", 20)]), ("other.example", [("other.example", 20)])]
    pace = Pace(seconds_between=1.0, at_once=2)
    alone = play(Schedule(pace, spans(small)), lambda _: 0.1).begun
    huge = [("huge.example", [("huge.example", 5_000)]), *small]
    beside = play(Schedule(pace, spans(huge)), lambda _: 0.1).begun
    last = {host: max(one.ended for one in of_one) for host, of_one in by(beside, "host").items()}
    assert max(last["a.small.example"], last["other.example"]) <= max(one.ended for one in alone) + 5


def test_hosts_take_turns() -> None:
    sites = [(f"{name}.example", [(f"{name}.example", 30)]) for name in "abcde"]
    begun = play(Schedule(Pace(seconds_between=0.0, at_once=3), spans(sites)), lambda _: 0.1).begun
    for place in range(10, 100, 10):
        assert max(Counter(one.host for one in begun[place : place + 10]).values()) <= 6
    assert min(max(one.ended for one in of_one) for of_one in by(begun, "host").values()) > 4  # of 5 seconds


def test_more_domains_than_are_open_at_once_are_served_by_turns() -> None:
    sites = [(f"d{place}.example", [(f"d{place}.example", 3 * QUANTUM)]) for place in range(4)]
    sites.append(("last.example", [("last.example", 5)]))
    played = play(Schedule(Pace(seconds_between=0.0, at_once=4), spans(sites), max_open=2), lambda _: 0.01)
    assert len(played.begun) == 12 * QUANTUM + 5
    of_last = next(place for place, one in enumerate(played.begun) if one.host == "last.example")
    assert of_last < 5 * QUANTUM  # after the others' first quanta, not after their ends


def test_a_domain_of_many_hosts_takes_one_place() -> None:
    sites = [
        ("many.example", [(f"h{number}.many.example", 1) for number in range(500)]),
        ("b.example", [("b.example", 5)]),
    ]
    played = play(Schedule(Pace(seconds_between=1.0, per_domain=4, at_once=64), spans(sites)), lambda _: 0.1)
    assert len(played.begun) == 505
    assert max(one.ended for one in played.begun if one.host == "b.example") < 10
    assert played.most_hosts < 30  # hosts without work are forgotten


def test_a_rest_that_a_site_asks_for_is_kept() -> None:
    schedule = Schedule(Pace(seconds_between=1.0, per_host=3), spans([("a.example", [("a.example", 5)])]))
    first = schedule.next(0.0)
    assert isinstance(first, Turn)
    assert first.row == 0
    schedule.hold(first.host)
    schedule.put_back(first.host, 0)
    schedule.release(first, 0.0, used=False)
    assert not schedule.is_done
    schedule.let_go("a.example", 0.0, rest=10.0)
    begun = play(schedule, lambda _: 0.5).begun
    assert [one.row for one in begun] == [0, 1, 2, 3, 4]
    assert [one.began for one in begun] == [0.0, 10.5, 21.0, 31.5, 42.0]


def test_a_closed_host_is_asked_for_nothing_and_its_addresses_are_dropped() -> None:
    sites = [("a.example", [("x.a.example", 50), ("y.a.example", 3)])]

    def at_end(schedule: Schedule, turn: Turn, now: float) -> None:
        if turn.host.name == "x.a.example" and schedule.failed("x.a.example"):
            schedule.close("x.a.example", now, "dead")

    schedule = Schedule(Pace(seconds_between=0.0), spans(sites))
    played = play(schedule, lambda _: 0.1, at_end=at_end)
    rows = [one.row for one in played.begun]
    assert sorted([row for row in rows if row is not None] + played.dropped) == list(range(53))
    assert len([row for row in rows if row is not None and row < 50]) == BREAK_AT


def test_stopping_drops_what_was_not_given() -> None:
    sites = named([[40, 3], [5], [7], [2, 2, 2]])
    count = [0]

    def at_end(schedule: Schedule, turn: Turn, now: float) -> None:
        count[0] += 1
        if count[0] == 10:
            assert schedule.stop(now, "enough") == []

    played = play(
        Schedule(Pace(seconds_between=0.0, at_once=3), spans(sites), max_open=2), lambda _: 0.1, at_end=at_end
    )
    given = [one.row for one in played.begun if one.row is not None]
    assert 10 <= len(given) <= 12
    assert sorted(given + played.dropped) == list(range(61))


@pytest.mark.parametrize("at_once", [1, 4])
def test_an_empty_queue_is_done(at_once: int) -> None:
    schedule = Schedule(Pace(at_once=at_once), iter(()))
    assert play(schedule, lambda _: 0.0).begun == []


def test_too_many_errands_hold_back_new_addresses_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("winnow.pipelines.fetch.live.schedule.MAX_ERRANDS", 10)
    sites = [(f"{name}.example", [(f"{name}.example", 40)]) for name in "abcdef"]
    left = [60]
    most = [0]

    def at_end(schedule: Schedule, turn: Turn, now: float) -> None:
        for _ in range(min(3, left[0])):  # everything leads to one host
            left[0] -= 1
            schedule.errand("sink.example", "sink.example", left[0], now)
        most[0] = max(most[0], schedule.errands)

    schedule = Schedule(Pace(seconds_between=0.5, at_once=4), spans(sites))
    played = play(schedule, lambda _: 0.1, at_end=at_end)
    assert sorted(one.row for one in played.begun if one.row is not None) == list(range(240))
    assert sorted(str(one.errand) for one in played.begun if one.row is None) == sorted(map(str, range(60)))
    assert most[0] <= 10 + 3 * 4 * 3


def test_hosts_rest_before_the_first_request_as_others_may_have_asked_them() -> None:
    sites = [("a.example", [("a.example", 2)]), ("b.example", [("b.example", 1)])]
    schedule = Schedule(Pace(seconds_between=1.0), spans(sites), began=0.0, rests={"a.example": 7.0})
    played = play(schedule, lambda _: 0.5)
    assert [(one.host, one.began) for one in played.begun] == [
        ("b.example", 1.0),
        ("a.example", 7.0),
        ("a.example", 14.5),
    ]
