"""From a list to WARC and a log, on sites of loopback: consent, politeness, what fails, and what a later run does."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from tests.pipelines.fetch.farm.farm import Answer, Farm, Visit, page
from tests.pipelines.fetch.farm.hostile import redirect, sends
from tests.pipelines.fetch.live.crawls import asking, by_host, crawl, ends, records, site, visits
from tests.pipelines.fetch.live.site_clock import most_in_any
from winnow.filters.web.rights.host_files import read_host_files
from winnow.pipelines.fetch.live.crawl import plan_addresses
from winnow.pipelines.fetch.live.schedule import BREAK_AT
from winnow.pipelines.fetch.log import counts, read_log
from winnow.pipelines.fetch.outcome import Decision, Reason
from winnow.pipelines.fetch.progress import Progress

A, B = "http://a.example", "http://b.example"


def text(body: str, **headers: str) -> Answer:
    return page(body, mime="text/plain", headers={name.replace("_", "-"): value for name, value in headers.items()})


def test_a_list_becomes_records_and_rows(tmp_path: Path) -> None:
    with Farm() as farm:
        farm.site("a.example", site("User-agent: *\nDisallow: /no", x=page("x"), y=page("y"), go=redirect(f"{B}/z")))
        farm.site("b.example", site(z=page("z")))
        lines = [f"{A}/x", f"{A}/y", f"{A}/no", f"{A}/go", f"{A}/gone", "https://a.example:1/", f"{A}/x#again", "?"]
        asked = asking(farm, tmp_path, lines)
        told: list[Progress] = []
        tally = crawl(asked, told)
    assert ends(asked.objects) == {
        f"{A}/x": ("fetched", "ok"),
        f"{A}/y": ("fetched", "ok"),
        f"{A}/no": ("refused", "robots"),
        f"{A}/go": ("fetched", "ok"),
        f"{A}/gone": ("failed", "not_found"),
        "https://a.example:1/": ("refused", "port"),
        f"{A}/x#again": ("skipped", "repeated"),
        "?": ("failed", "no_address"),
    }
    of_responses = {target for kind, target in records(asked.objects) if kind == "response"}
    assert of_responses == {f"{A}/x", f"{A}/y", f"{B}/z"}
    assert tally.addresses == len(lines)
    assert (tally.by_decision[Decision.FETCHED], tally.requests, tally.warc_files) == (3, len(farm.visits), 1)
    assert told[-1].addresses_done == told[-1].addresses_all == len(lines)
    (row,) = (row for row in read_log(asked.objects).to_pylist() if row["url"] == f"{A}/go")
    assert (row["final_url"], row["domain"], row["attempts"], row["status"]) == (f"{B}/z", "a.example", 1, 200)
    assert counts(asked.objects, ("reason",)).to_pylist()[0] == {"reason": "ok", "addresses": 3, "bytes": 3}


REFUSING: dict[str, tuple[dict[str, Answer], str]] = {
    "robots for us": (site("User-agent: winnow\nDisallow: /"), "robots"),
    "robots for training": (site("User-agent: GPTBot\nDisallow: /p\nUser-agent: *\nAllow: /"), "robots"),
    "a preference in robots": (site("User-agent: *\nContent-Usage: train-ai=n\nAllow: /"), "robots"),
    "robots fails": (site(page("", 500)), "robots_unreachable"),
    "robots is busy": (site(page("", 429)), "robots_unreachable"),
    "robots is cut off": (site(sends(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nUser")), "robots_unreachable"),
    "robots leads in a circle": (site(redirect("/robots.txt")), "robots_unreachable"),
    "robots is endless": (site(text("# \n" * (2 << 20))), "robots_unreachable"),
    "tdmrep": ({"/.well-known/tdmrep.json": text('[{"location": "/p*", "tdm-reservation": 1}]')}, "tdm_reserved"),
    "a malformed tdmrep": ({"/.well-known/tdmrep.json": text("[{]")}, "tdm_reserved"),
    "ai.txt": ({"/ai.txt": text("User-Agent: *\nDisallow: /p")}, "tdm_reserved"),
    "tdmrep fails": ({"/.well-known/tdmrep.json": page("", 503)}, "robots_unreachable"),
    "a header": (site(page=page("x", headers={"X-Robots-Tag": "noai"})), "opt_out"),
    "a header for us": (site(page=page("x", headers={"X-Robots-Tag": "winnow: noai"})), "opt_out"),
    "a malformed header": (site(page=page("x", headers={"TDM-Reservation": "yes"})), "opt_out"),
    "an element": (site(page=page("<html><head><meta name=robots content=noai></head>x")), "opt_out"),
    "an element in what is no page": (
        site(page=page("\n<meta name=robots content=noai>", mime="image/png")),
        "opt_out",
    ),
}


@pytest.mark.parametrize("case", REFUSING)
def test_a_site_that_does_not_consent(tmp_path: Path, case: str) -> None:
    answers, reason = REFUSING[case]
    with Farm() as farm:
        farm.site("a.example", {"/page": page("x"), **answers})
        asked = asking(farm, tmp_path, [f"{A}/page"])
        crawl(asked)
        assert ends(asked.objects) == {f"{A}/page": ("refused", reason)}
        assert [kind for kind, target in records(asked.objects) if target == f"{A}/page"] == []
        assert len(visits(farm)) == (1 if reason == "opt_out" else 0)
        detail = read_log(asked.objects, ("detail",)).to_pylist()[0]["detail"]
        assert detail


CONSENTING: dict[str, dict[str, Answer]] = {
    "no files": {},
    "files are forbidden": {"/robots.txt": page("", 403), "/ai.txt": page("", 401)},
    "pages in their place": {
        name: page("<html>Welcome") for name in ("/robots.txt", "/.well-known/tdmrep.json", "/ai.txt")
    },
    "others are refused": site("User-agent: *\nDisallow: /\nUser-agent: winnow\nAllow: /"),
    "robots elsewhere": {"/robots.txt": redirect("/other.txt"), "/other.txt": text("User-agent: *\nDisallow: /x")},
    "what does not count": site(page=page("x", headers={"X-Robots-Tag": "noindex, otherbot: noai"})),
}


@pytest.mark.parametrize("case", CONSENTING)
def test_a_site_that_consents(tmp_path: Path, case: str) -> None:
    with Farm() as farm:
        farm.site("a.example", {"/page": page("x"), **CONSENTING[case]})
        asked = asking(farm, tmp_path, [f"{A}/page"])
        crawl(asked)
    assert ends(asked.objects) == {f"{A}/page": ("fetched", "ok")}


def test_files_of_hosts_are_asked_once_and_kept_for_later(tmp_path: Path) -> None:
    with Farm() as farm:
        farm.site("a.example", site("User-agent: ccbot\nDisallow: /x", x=page("x"), y=page("y"), z=page("z")))
        asked = asking(farm, tmp_path, [f"{A}/{name}" for name in "yz"], {"training_agents": ()})
        crawl(asked)
        assert [visit.target for visit in farm.visits][:3] == ["/robots.txt", "/.well-known/tdmrep.json", "/ai.txt"]
        assert len(farm.visits) == 5
    (tmp_path / "files").write_bytes(asked.objects.read("robots/host_files.jsonl.gz"))
    kept = read_host_files(str(tmp_path / "files"), frozenset(["ccbot"]))
    assert kept.find("a.example", "robots") is not None
    assert records(asked.objects, "robots/")["response", f"{A}/robots.txt"] == 1


def test_a_redirect_needs_the_consent_of_where_it_leads(tmp_path: Path) -> None:
    with Farm() as farm:
        farm.site(
            "a.example",
            site(x=redirect(f"{B}/no"), y=redirect("http://127.0.0.1/"), z=redirect("https://u:p@b.example/")),
        )
        farm.site("b.example", site("User-agent: *\nDisallow: /no"))
        asked = asking(farm, tmp_path, [f"{A}/{name}" for name in "xyz"], forgotten=lambda url: url == f"{B}/f")
        crawl(asked)
        assert visits(farm, "b.example") == []
    assert ends(asked.objects) == {
        f"{A}/x": ("refused", "robots"),
        f"{A}/y": ("refused", "private_address"),
        f"{A}/z": ("refused", "credentials"),
    }


def test_a_redirect_never_leads_to_what_was_forgotten(tmp_path: Path) -> None:
    with Farm() as farm:
        farm.site("a.example", site(x=redirect("/f"), f=page("f")))
        asked = asking(farm, tmp_path, [f"{A}/x"], forgotten=lambda url: url == f"{A}/f")
        crawl(asked)
        assert [visit.target for visit in visits(farm)] == ["/x"]
    assert ends(asked.objects) == {f"{A}/x": ("refused", "forgotten")}


@pytest.mark.parametrize(("per_host", "per_domain"), [(1, 2), (2, 3)])
def test_sites_see_no_more_than_the_pace_allows(tmp_path: Path, per_host: int, per_domain: int) -> None:
    between = 0.15
    with Farm() as farm:
        for host in ("a.example", "w.c.example", "x.c.example", "y.c.example"):
            farm.site(host, {**site(), **{f"/{n}": page(f"{host}{n}") for n in range(4)}, "/go": redirect(f"{A}/0")})
        lines = [f"http://{host}/{n}" for host in by_name(farm) for n in (*range(4), "go")]
        asked = asking(
            farm, tmp_path, lines, {"seconds_between": between, "per_host": per_host, "per_domain": per_domain}
        )
        crawl(asked)
        seen = by_host(farm)
        assert {reason for _, reason in ends(asked.objects).values()} <= {"ok", "same_bytes"}
        for of_host in seen.values():
            assert most_in_any(between, [visit.began for visit in of_host]) <= per_host
        of_domain = [visit.began for host, of_host in seen.items() if host.endswith("c.example") for visit in of_host]
        assert most_in_any(between, of_domain) <= per_domain


def by_name(farm: Farm) -> list[str]:
    return ["a.example", "w.c.example", "x.c.example", "y.c.example"]


def test_a_crawl_delay_is_kept(tmp_path: Path) -> None:
    with Farm() as farm:
        farm.site("a.example", site("User-agent: *\nCrawl-delay: 0.3", x=page("x"), y=page("y"), z=page("z")))
        asked = asking(farm, tmp_path, [f"{A}/{name}" for name in "xyz"], {"per_host": 4})
        crawl(asked)
        assert most_in_any(0.3, [visit.began for visit in visits(farm)]) == 1
    assert {reason for _, reason in ends(asked.objects).values()} == {"ok"}


@pytest.mark.parametrize("between", [0.0, 0.1])
def test_a_crawl_delay_is_kept_by_the_other_files_and_by_redirects(tmp_path: Path, between: float) -> None:
    """Hosts that have no work for a while are forgotten; what they ask for is not."""
    with Farm() as farm:
        farm.site("b.example", site("User-agent: *\nCrawl-delay: 0.5", **{n: page(n) for n in "xyz"}))
        for n, seconds in (("x", 0.0), ("y", 3.0), ("z", 3.1)):
            farm.site(f"{n}.example", site(None, a=later(seconds, f"http://b.example/{n}")))
        asked = asking(
            farm,
            tmp_path,
            [f"http://{n}.example/a" for n in "xyz"],
            {"seconds_between": between, "first_byte_seconds": 5.0},
        )
        crawl(asked)
        began = [visit.began for visit in farm.visits if visit.host == "b.example"]
        assert len(began) == 6
        assert most_in_any(0.5, began) == 1
    assert {reason for _, reason in ends(asked.objects).values()} == {"ok"}


def test_a_run_keeps_the_pace_from_the_last_request_of_the_one_before_it(tmp_path: Path) -> None:
    with Farm() as farm:
        farm.site("a.example", site("User-agent: *\nCrawl-delay: 0.8", x=page("x"), y=page("y")))
        farm.site("b.example", site(x=page("x"), y=page("y")))
        for _ in range(2):
            asked = asking(
                farm, tmp_path, [f"{A}/x", f"{B}/y"], {"seconds_between": 0.4}, refetch=frozenset([Reason.OK])
            )
            crawl(asked)
        seen = by_host(farm)
        for host, rest in (("a.example", 0.8), ("b.example", 0.4)):
            assert most_in_any(rest, [visit.began for visit in seen[host]]) == 1
            assert len(seen[host]) == 5  # three files, and the page twice


def later(seconds: float, to: str) -> Answer:
    """Redirects, after some time."""

    async def answer(visit: Visit, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(seconds)
        await page("", 302, headers={"Location": to})(visit, writer)

    return answer


@pytest.mark.parametrize("seconds", [3600, 10**26])
def test_a_crawl_delay_of_an_hour_leaves_the_site_for_another_day(tmp_path: Path, seconds: int) -> None:
    with Farm() as farm:
        farm.site("a.example", site(f"User-agent: *\nCrawl-delay: {seconds}", x=page("x")))
        asked = asking(farm, tmp_path, [f"{A}/x"])
        crawl(asked)
        assert plan_addresses(asked).pending == 1
    assert ends(asked.objects) == {f"{A}/x": ("failed", "busy")}


def test_retry_after_is_kept_by_the_whole_host(tmp_path: Path) -> None:
    asked_for = iter([page("", 503, headers={"Retry-After": "1"})])

    async def first_busy(visit: Visit, writer: asyncio.StreamWriter) -> None:
        await next(asked_for, page("x"))(visit, writer)

    with Farm() as farm:
        farm.site("a.example", {"/robots.txt": page("", 404), "/x": first_busy, "/y": first_busy, "/z": first_busy})
        asked = asking(farm, tmp_path, [f"{A}/{name}" for name in "xyz"])
        crawl(asked)
        times = [visit.began for visit in visits(farm)]
        assert times[1] - times[0] >= 1.0
    assert {decision for decision, _ in ends(asked.objects).values()} <= {"fetched", "revisited"}


def test_a_long_retry_after_ends_the_host_for_this_run(tmp_path: Path) -> None:
    with Farm() as farm:
        busy = page("", 503, headers={"Retry-After": "7200"})
        farm.site("a.example", {f"/{n}": busy for n in range(20)})
        asked = asking(farm, tmp_path, [f"{A}/{n}" for n in range(20)])
        crawl(asked)
        assert len(visits(farm)) == 1
        assert plan_addresses(asked).pending == 20
    assert {reason for _, reason in ends(asked.objects).values()} == {"busy"}


@pytest.mark.parametrize("count", [50, 1_500])
def test_a_host_that_fails_again_and_again_is_left_alone(tmp_path: Path, count: int) -> None:
    with Farm() as farm:
        farm.site("a.example", {f"/{n}": page("", 500) for n in range(count)})
        farm.site("b.example", {"/x": page("x")})
        asked = asking(farm, tmp_path, [f"{B}/x", *(f"{A}/{n}" for n in range(count))], {"attempts": 1})
        tally = crawl(asked)
        assert len(visits(farm, "a.example")) == BREAK_AT
    assert tally.by_reason[Reason.OK] == 1
    assert tally.by_reason[Reason.SERVER_ERROR] + tally.by_reason[Reason.CIRCUIT_OPEN] == count
    assert len(ends(asked.objects)) == count + 1
    details = {
        row["detail"]
        for row in read_log(asked.objects, ("reason", "detail")).to_pylist()
        if row["reason"] == "circuit_open"
    }
    assert len(details) == 1
    assert "a.example" in details.pop()


def test_a_budget_ends_the_run_and_the_next_goes_on(tmp_path: Path) -> None:
    with Farm() as farm:
        farm.site("a.example", {f"/{n}": page(f"{n:01000}") for n in range(30)})
        asked = asking(farm, tmp_path, [f"{A}/{n}" for n in range(30)], {"budget_bytes": 10_000})
        tally = crawl(asked)
        assert 10 <= tally.by_reason[Reason.OK] <= 12
        assert tally.addresses == 30
        assert tally.by_reason[Reason.BUDGET] == 30 - tally.by_reason[Reason.OK]
        rest = replace(asked, config=farm.config())
        crawl(rest)
        assert len(visits(farm)) == 30
    assert {reason for _, reason in ends(asked.objects).values()} == {"ok"}


def test_a_second_run_asks_only_what_may_end_differently(tmp_path: Path) -> None:
    with Farm() as farm:
        answers: dict[str, Answer] = {"/ok": page("x"), "/gone": page("", 404), "/busy": page("", 503)}
        farm.site("a.example", answers)
        asked = asking(farm, tmp_path, [f"{A}/{name}" for name in ("ok", "gone", "busy")], {"attempts": 1})
        crawl(asked)
        farm.visits.clear()
        answers["/busy"] = page("y")
        crawl(asked)
        assert [visit.target for visit in farm.visits] == ["/busy"]  # the site's files are known for a day
        farm.visits.clear()
        answers["/gone"] = page("z")
        crawl(replace(asked, refetch=frozenset([Reason.NOT_FOUND])))
        assert [visit.target for visit in visits(farm)] == ["/gone"]
    assert {reason for _, reason in ends(asked.objects).values()} == {"ok"}


def conditional(etag: str, body: str) -> Answer:
    async def answer(visit: Visit, writer: asyncio.StreamWriter) -> None:
        same = visit.headers.get("if-none-match") == etag
        await page("" if same else body, 304 if same else 200, headers={"ETag": etag})(visit, writer)

    return answer


def test_a_recrawl_asks_whether_anything_changed(tmp_path: Path) -> None:
    with Farm() as farm:
        answers: dict[str, Answer] = {"/x": conditional('"1"', "one"), "/y": conditional('"1"', "why")}
        farm.site("a.example", answers)
        asked = asking(farm, tmp_path, [f"{A}/x", f"{A}/y"])
        crawl(asked)
        answers["/y"] = conditional('"2"', "changed")
        again = replace(asked, refetch=frozenset([Reason.OK]))
        tally = crawl(again)
    assert tally.by_reason == {Reason.UNCHANGED: 1, Reason.OK: 1}
    assert records(asked.objects)["revisit", f"{A}/x"] == 1
    assert ends(asked.objects) == {f"{A}/x": ("revisited", "unchanged"), f"{A}/y": ("fetched", "ok")}
    assert plan_addresses(asked).pending == 0


@pytest.mark.parametrize(("same", "kinds"), [("revisit", ["ok", "same_bytes"]), ("keep", ["ok", "ok"])])
def test_the_same_bytes_at_another_address(tmp_path: Path, same: str, kinds: list[str]) -> None:
    with Farm() as farm:
        farm.site("a.example", site(x=page("the same"), y=page("the same")))
        asked = asking(farm, tmp_path, [f"{A}/x", f"{A}/y"], {"same_bytes": same})
        crawl(asked)
    assert sorted(reason for _, reason in ends(asked.objects).values()) == kinds


def test_hosts_without_an_address_and_private_ones(tmp_path: Path) -> None:
    with Farm() as farm:
        farm.site("inside.example", site(x=page("secret")))
        farm.name("inside.example", ["10.0.0.1"])
        asked = asking(farm, tmp_path, ["http://nowhere.example/1", "http://inside.example/x"], {"allow_hosts": ()})
        crawl(asked)
        assert farm.visits == []
    assert ends(asked.objects) == {
        "http://nowhere.example/1": ("failed", "no_host"),
        "http://inside.example/x": ("refused", "private_address"),
    }


def test_what_goes_wrong_inside_ends_the_run_and_keeps_what_was_fetched(tmp_path: Path) -> None:
    def forgotten(url: str) -> bool:
        if url.endswith("/boom"):
            raise RuntimeError("boom")
        return False

    with Farm() as farm:
        farm.site("a.example", site(x=page("x"), y=redirect("/boom")))
        asked = asking(farm, tmp_path, [f"{A}/x", f"{A}/y"], {"seconds_between": 0.1}, forgotten=forgotten)
        with pytest.raises(RuntimeError, match="boom"):
            crawl(asked)
    assert set(ends(asked.objects)) <= {f"{A}/x"}
