"""Sitemaps as a source of addresses: what they name is asked, within a domain, a depth and a count."""

import gzip
from pathlib import Path

import pytest

from tests.pipelines.fetch.farm.farm import Answer, Farm, page
from tests.pipelines.fetch.live.crawls import asking, crawl, ends, site, visits
from winnow.pipelines.fetch.live.crawl import plan_addresses
from winnow.pipelines.fetch.live.sitemaps import MAX_BYTES, sitemap_entries
from winnow.schemas.recipe.fetch import Sitemaps

A = "http://a.example"
SPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


def urlset(*urls: str) -> str:
    entries = "".join(f"<url><loc>\n {url} </loc><lastmod>2026-01-01</lastmod></url>" for url in urls)
    return f'<?xml version="1.0"?><urlset {SPACE}>{entries}</urlset>'


def index(*urls: str) -> str:
    return (
        f"<sitemapindex {SPACE}>" + "".join(f"<sitemap><loc>{url}</loc></sitemap>" for url in urls) + "</sitemapindex>"
    )


def xml(content: str | bytes) -> Answer:
    return page(content, mime="application/xml")


BOMB = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">' + "".join(
    f'<!ENTITY {name} "{f"&{before};" * 10}">' for before, name in zip("abcdefgh", "bcdefghi", strict=True)
) + f"]><urlset><url><loc>{A}/&i;</loc></url><url><loc>{A}/y</loc></url></urlset>"  # fmt: skip


@pytest.mark.parametrize(
    ("content", "pages", "sitemaps"),
    [
        (urlset(f"{A}/x", f"{A}/y").encode(), [f"{A}/x", f"{A}/y"], []),
        (b"\xef\xbb\xbf\n" + urlset(f"{A}/x").encode(), [f"{A}/x"], []),
        (index(f"{A}/1.xml", f"{A}/2.xml").encode(), [], [f"{A}/1.xml", f"{A}/2.xml"]),
        (f"<urlset><url><loc>{A}/&amp;x</loc></url></urlset>".encode(), [f"{A}/&x"], []),
        (f"<urlset><url><loc>{A}/x</loc></url><url><loc>{A}/cut".encode(), [f"{A}/x"], []),
        (f"{A}/x\r\n\n{A}/y\nnothing\n".encode(), [f"{A}/x", f"{A}/y"], []),
        (b"", [], []),
        (b"<", [], []),
        (b"\x00\xff\xfe", [], []),
        (b'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><urlset><url><loc>&e;</loc></url></urlset>', [], []),
    ],
)
def test_what_a_sitemap_names(content: bytes, pages: list[str], sitemaps: list[str]) -> None:
    found = sitemap_entries(content, 10)
    assert [one for one in found.pages if one in pages or len(one) < 100][: len(pages) + 1] == pages
    assert found.sitemaps == sitemaps


def test_a_sitemap_of_many_entities_costs_little() -> None:
    found = sitemap_entries(BOMB.encode(), 10)
    assert sum(map(len, found.pages)) < 10_000


def test_a_sitemap_is_cut_at_the_count() -> None:
    found = sitemap_entries(urlset(*(f"{A}/{n}" for n in range(1000))).encode(), 7)
    assert len(found.pages) == 7


def test_sites_are_asked_for_what_their_sitemaps_name(tmp_path: Path) -> None:
    with Farm() as farm:
        pages = {f"/{name}": page(name) for name in ("x", "y", "z", "listed")}
        farm.site(
            "a.example",
            {
                **site(f"User-agent: *\nDisallow: /no\nSitemap: {A}/index.xml\nSitemap: http://evil.example/s.xml"),
                **pages,
                "/index.xml": xml(index(f"{A}/1.xml.gz", "/2.txt", f"{A}/index.xml")),
                "/1.xml.gz": xml(
                    gzip.compress(urlset(f"{A}/x", f"{A}/listed", "http://b.example/other", f"{A}/no").encode())
                ),
                "/2.txt": page(f"{A}/y\n{A}/x\n", mime="text/plain"),
            },
        )
        farm.site("evil.example", {"/s.xml": xml(urlset(f"{A}/evil"))})
        farm.site("c.a.example", {"/sitemap.xml": xml(urlset(f"{A}/z")), "/": page("home")})
        asked = asking(farm, tmp_path, [f"{A}/listed", "http://c.a.example/"], sitemaps=Sitemaps())
        before = plan_addresses(asked)
        assert (before.pending, len(before.sites or ())) == (2, 2)
        tally = crawl(asked)
        assert visits(farm, "evil.example", "b.example") == []
        assert ends(asked.objects) == {
            **{f"{A}/{name}": ("fetched", "ok") for name in ("listed", "x", "y", "z")},
            "http://c.a.example/": ("fetched", "ok"),
            f"{A}/no": ("refused", "robots"),
        }
        assert tally.addresses == 6
        count = len(farm.visits)
        after = plan_addresses(asked)
        assert (after.addresses, after.found, after.pending, after.done, len(after.sites or ())) == (2, 4, 0, 6, 0)
        crawl(asked)
        assert len(farm.visits) == count


def test_depth_and_count_are_kept(tmp_path: Path) -> None:
    with Farm() as farm:
        answers: dict[str, Answer] = {f"/{n}": page(str(n)) for n in range(50)}
        answers["/robots.txt"] = page(f"Sitemap: {A}/s0.xml", mime="text/plain")
        for depth in range(5):
            answers[f"/s{depth}.xml"] = xml(index(f"{A}/s{depth + 1}.xml", f"{A}/u{depth}.xml"))
            answers[f"/u{depth}.xml"] = xml(urlset(*(f"{A}/{n}" for n in range(10 * depth, 10 * depth + 10))))
        farm.site("a.example", answers)
        asked = asking(farm, tmp_path, [f"{A}/0"], sitemaps=Sitemaps(depth=2, count=1000))
        crawl(asked)
        assert sorted(int(url.rpartition("/")[2]) for url in ends(asked.objects)) == list(range(20))
        (tmp_path / "few").mkdir()
        few = asking(farm, tmp_path / "few", [f"{A}/0"], sitemaps=Sitemaps(depth=3, count=4))
        crawl(few)
        assert 4 <= len(ends(few.objects)) <= 5


def test_a_sitemap_that_unpacks_without_end_is_cut(tmp_path: Path) -> None:
    with Farm() as farm:
        bomb = gzip.compress(urlset(f"{A}/x").encode() + b" " * (MAX_BYTES + 1000))
        farm.site("a.example", {"/sitemap.xml": xml(bomb), "/x": page("x"), "/": page("home")})
        asked = asking(farm, tmp_path, [f"{A}/"], sitemaps=Sitemaps())
        crawl(asked)
    assert ends(asked.objects) == {f"{A}/": ("fetched", "ok"), f"{A}/x": ("fetched", "ok")}
