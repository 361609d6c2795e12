"""Live fetching on an engine: each domain is asked by one worker, whatever leads there, and lanes may be run again."""

from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path

import apache_beam as beam
import pytest

from tests.inline_engine import InlineRunner
from tests.pipelines.fetch.farm.farm import Farm, page
from tests.pipelines.fetch.farm.hostile import redirect
from tests.pipelines.fetch.live.crawls import asking, crawl, ends, records, site, visits
from tests.pipelines.fetch.live.site_clock import most_in_any
from winnow.pipelines.fetch.live.planning import LiveAsk, domain_order, plan_addresses
from winnow.pipelines.fetch.live.stage import (
    LANES,
    Lane,
    LanesProgress,
    RunLanes,
    begin_lanes,
    finish_lanes,
    run_lane,
)
from winnow.pipelines.fetch.outcome import Reason

DOMAINS = [f"d{number}.example" for number in range(9)]


async def look_up(port: int, _host: str, _port: int) -> list[tuple[str, int]]:
    return [("127.0.0.1", port)]


def sites(farm: Farm) -> list[str]:
    for number, domain in enumerate(DOMAINS):
        there = DOMAINS[(number + 1) % len(DOMAINS)]
        pages = {f"/{n}": page(f"{domain} {n}") for n in range(number + 1)}
        farm.site(
            domain,
            {
                **site("User-agent: *\nDisallow: /no"),
                **pages,
                "/go": redirect(f"http://{there}/to"),
                "/to": page(f"to {domain}"),
            },
        )
    lines = [f"http://{domain}/{n}" for number, domain in enumerate(DOMAINS) for n in (*range(number + 1), "go", "no")]
    return [*lines, "nonsense"]


def picklable(farm: Farm, asked: LiveAsk) -> LiveAsk:
    return replace(asked, look_up=partial(look_up, farm.port), tls=None, forgotten=len_is_zero)


def len_is_zero(url: str) -> bool:
    return not url


@pytest.mark.parametrize("workers", [1, 3, 100])
def test_lanes_fetch_what_one_process_fetches(tmp_path: Path, workers: int) -> None:
    with Farm() as farm:
        lines = sites(farm)
        (tmp_path / "one").mkdir()
        one = asking(farm, tmp_path / "one", lines)
        crawl(one)
        farm.visits.clear()
        asked = picklable(farm, asking(farm, tmp_path, lines))
        plan = plan_addresses(asked)
        progress = LanesProgress(plan, asked)
        lanes, tally = begin_lanes(plan, asked, workers)
        assert progress().by_reason == {"no_address": 1}
        assert min(workers, 3) <= len(lanes) <= min(workers, len(DOMAINS))
        assert tally.by_reason == {Reason.NO_ADDRESS: 1}
        with beam.Pipeline(runner=InlineRunner()) as pipeline:
            _ = pipeline | RunLanes(lanes, asked)
        shown = progress()
        assert shown.addresses_done == shown.addresses_all == len(lines)
        assert shown.by_reason == Counter(reason for _, reason in ends(asked.objects).values())
        left = {url for url, (_, reason) in ends(asked.objects).items() if reason == "elsewhere"}
        assert len(left) == (0 if workers == 1 else sum(1 for n in range(9) if _lane(n, lanes) != _lane(n + 1, lanes)))
        tally.merge(finish_lanes(asked, lambda _: None))
        assert tally.addresses == len(lines)
        assert (tally.by_reason[Reason.ELSEWHERE], tally.requests) == (0, len(farm.visits))
        assert list(asked.objects.list(LANES)) == []
    assert ends(asked.objects) == ends(one.objects)
    of = [
        {target for kind, target in records(objects) if kind == "response"} for objects in (asked.objects, one.objects)
    ]
    assert of[0] == of[1]


def _lane(number: int, lanes: list[Lane]) -> int:
    order = domain_order(0, DOMAINS[number % len(DOMAINS)])
    return next(lane.number for lane in lanes if lane.first <= order < lane.last)


def test_a_lane_that_is_run_again_asks_only_for_the_rest(tmp_path: Path) -> None:
    with Farm() as farm:
        lines = sites(farm)
        asked = picklable(farm, asking(farm, tmp_path, lines))
        lanes, _ = begin_lanes(plan_addresses(asked), asked, 2)
        for lane in (lanes[0], lanes[1], lanes[0]):
            run_lane(asked, lane)
        pages = [(visit.host, visit.target) for visit in visits(farm) if visit.target not in ("/to", "/go")]
        assert len(pages) == len(set(pages)) == sum(range(1, 10))


def test_no_lane_asks_the_domain_of_another(tmp_path: Path) -> None:
    with Farm() as farm:
        lines = sites(farm)
        asked = picklable(farm, asking(farm, tmp_path, lines))
        lanes, _ = begin_lanes(plan_addresses(asked), asked, 4)
        for lane in lanes:
            farm.visits.clear()
            run_lane(asked, lane)
            seen = {visit.host for visit in farm.visits}
            assert seen == {domain for n, domain in enumerate(DOMAINS) if _lane(n, lanes) == lane.number}


def test_a_crawl_delay_is_kept_from_a_workers_last_request_to_the_commands_first(tmp_path: Path) -> None:
    """One lane is asked after the other here, and then what redirects from one to the other: to each of them once."""
    here, there = DOMAINS[:2]
    with Farm() as farm:
        for domain, other in ((here, there), (there, here)):
            pages = {"x": page(domain), "y": redirect(f"http://{other}/z"), "z": page(f"z {domain}")}
            farm.site(domain, site("User-agent: *\nCrawl-delay: 0.7", **pages))
        lines = [f"http://{domain}/{name}" for domain in (here, there) for name in "xy"]
        asked = picklable(farm, asking(farm, tmp_path, lines))
        lanes, _ = begin_lanes(plan_addresses(asked), asked, 2)
        for lane in lanes:
            run_lane(asked, lane)
        finish_lanes(asked, lambda _: None)
        began = {host: [visit.began for visit in farm.visits if visit.host == host] for host in (here, there)}
    assert [most_in_any(0.7, times) for times in began.values()] == [1, 1]
    assert {reason for _, reason in ends(asked.objects).values()} == {"ok"}
