"""Captures of robots.txt of the crawl itself, beside the records."""

from pathlib import Path

from tests.pipelines.fetch.archives.loopback import NAME, Crawl, Server, pages
from tests.pipelines.fetch.archives.test_archives import ICELANDIC, ask
from winnow.filters.web.rights.host_files import read_host_files
from winnow.pipelines.fetch.archives.stage import fetch_archive, plan_archive
from winnow.pipelines.fetch.log import read_log
from winnow.schemas.recipe.fetch import ArchiveQuery


def test_the_captures_of_the_chosen_hosts_are_fetched_beside_them_and_read_by_url_robots(tmp_path: Path) -> None:
    hosts = {f"www.site{number}.is": f"User-agent: *\nDisallow: /private{number}\n" for number in range(8)}
    crawl = Crawl(
        tmp_path / "crawl", pages(120), robots=hosts | {"www.site1.is": "", "elsewhere.is": "User-agent: *\n"}
    )
    with Server(crawl.folder) as server:
        where = f"{ICELANDIC} and url_host_name in ('www.site0.is', 'www.site1.is', 'www.site2.is')"
        asked = ask(tmp_path / "out", ArchiveQuery(crawl=NAME, where=where, data=server.address))
        plan = plan_archive(asked)
        fetch_archive(plan, asked)
    assert (plan.records, plan.robots) == (15, 3)
    found = read_host_files(str(tmp_path / "out/robots/host_files.jsonl.gz"), frozenset({"winnow"}))
    assert len(found.keys) == 3
    assert found.find("www.site0.is", "robots") is not None
    assert found.find("elsewhere.is", "robots") is None
    assert read_log(asked.objects).num_rows == 15  # nobody asked for the captures
