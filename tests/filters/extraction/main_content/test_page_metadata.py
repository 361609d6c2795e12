"""Who wrote a page, when, and where it belongs."""

import pytest

from winnow.filters.extraction.main_content.blocks import page_blocks
from winnow.filters.extraction.main_content.page_metadata import PageMetadata, page_metadata
from winnow.filters.extraction.page import PageLimits

NEWS = "https://news.example/2021/3/4/title"


def said(html: str, url: str | None = None) -> PageMetadata:
    return page_metadata(page_blocks(html.encode(), url), PageLimits())


def ld(script: str) -> str:
    return f"<script type='application/ld+json'>{script}</script>"


MARKED = """<meta name=author content='By Ann  Lee'><meta property=og:site_name content='The &amp; Paper'>
<meta property='article:published_time' content='2024-05-01T10:00Z'>"""
GRAPH = """{"@graph": [{"@type": "WebSite", "name": "no"},
{"@type": "Article", "headline": "h", "datePublished": "20230102",
"dateModified": "2023-02-30", "author": [{"name": "A&amp;B"}, "C"], "publisher": {"name": "P"}}]}"""
ADDRESS = "<meta name=author content=https://x.example/me>"
BROKEN = ld("{not json") + ld("[" * 5000) + ld('{"headline": "", "author": {"name": 7}}')


@pytest.mark.parametrize(
    ("html", "url", "expected"),
    [
        ("<p>x", None, PageMetadata(None, None, None, None)),
        ("<p>x", NEWS, PageMetadata(None, "2021-03-04", None, None)),
        (MARKED, NEWS, PageMetadata("Ann Lee", "2024-05-01", None, "The & Paper")),
        (ld(GRAPH), None, PageMetadata("A&B", "2023-01-02", None, "P")),
        (ADDRESS + ld('{"headline": 1, "author": "D\nE"}'), None, PageMetadata("D E", None, None, None)),
        (BROKEN, None, PageMetadata(None, None, None, None)),
        ("<time datetime=2024-02-03>3 Feb", None, PageMetadata(None, "2024-02-03", None, None)),
        ("<time datetime=2024-02-03>a</time>" * 4, None, PageMetadata(None, None, None, None)),
        (
            "<time class=updated datetime='2024-02-05T01:00'>a</time>"
            + "<time datetime=2024-02-04 itemprop=datePublished>b</time><time datetime=2024-02-03 pubdate>c</time>",
            None,
            PageMetadata(None, "2024-02-04", "2024-02-05", None),
        ),
        ("<meta itemprop=datePublished content=2024-02-03>", None, PageMetadata(None, "2024-02-03", None, None)),
        ("<p class=post-author>By Ann Lee</p>", None, PageMetadata("Ann Lee", None, None, None)),
        ("<p class=author>12 posts of all</p><p class=author>Ann</p>", None, PageMetadata(None, None, None, None)),
        (
            "<h1>x</h1><div id=comments><p class=author>Ann Lee</p></div><p>x",
            None,
            PageMetadata(None, None, None, None),
        ),
        (
            "<ul class=breadcrumbs><li><a>Home</a> ›<li><a>Tools</a><li>Saws</ul>",
            None,
            PageMetadata(None, None, None, None, ("Home", "Tools", "Saws")),
        ),
        (
            "<p class=breadcrumb><a>Home</a> / <a>Tools</a>",
            None,
            PageMetadata(None, None, None, None, ("Home", "Tools")),
        ),
        (
            ld('{"@type": "BreadcrumbList", "itemListElement": [{"name": "A"}, {"item": {"name": "B"}}, 3]}'),
            None,
            PageMetadata(None, None, None, None, ("A", "B")),
        ),
    ],
)
def test_what_a_page_says_of_itself(html: str, url: str | None, expected: PageMetadata) -> None:
    assert said(html, url) == expected


BY, ZERO = "https://creativecommons.org/licenses/by/4.0/", "https://creativecommons.org/publicdomain/zero/1.0/"


@pytest.mark.parametrize(
    ("html", "licences"),
    [
        (f"<a rel='nofollow license' href={BY}>CC BY</a>", (BY,)),
        (f"<link rel=License href='{BY}'><a rel=license href={BY}>a</a> <a rel=license href={ZERO}>b</a>", (BY, ZERO)),
        ("<a rel=license href=/terms>terms</a>", ("https://news.example/terms",)),
        (ld(f'{{"headline": "T", "license": "{BY}"}}') + ld('{"headline": "T", "license": [1]}'), (BY,)),
        (ld(f'{{"headline": "T", "license": {{"@id": "{BY}"}}, "image": {{"license": "{ZERO}"}}}}'), (BY,)),
        (f"<a href={BY}>license</a><a rel=license>x</a><a rel=license href='mailto:a@b.example'>y</a>", ()),
        ("<a rel=license href=/1>x</a>" * 2 + "<a rel=license href=/2>x</a>" * 9, ("https://news.example/1", "https://news.example/2")),
    ],
)  # fmt: skip
def test_the_licences_that_a_page_names(html: str, licences: tuple[str, ...]) -> None:
    assert said(html, NEWS).licences == licences
