"""Who wrote a page, when, and where it belongs."""

import pytest

from winnow.filters.extraction.main_content.about import About, about
from winnow.filters.extraction.main_content.blocks import page_blocks
from winnow.filters.extraction.page import PageLimits

NEWS = "https://news.example/2021/3/4/title"


def said(html: str, url: str | None = None) -> About:
    source = html.encode()
    return about(page_blocks(source, url), source, url, PageLimits())


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
        ("<p>x", None, About(None, None, None, None)),
        ("<p>x", NEWS, About(None, "2021-03-04", None, None)),
        (MARKED, NEWS, About("Ann Lee", "2024-05-01", None, "The & Paper")),
        (ld(GRAPH), None, About("A&B", "2023-01-02", None, "P")),
        (ADDRESS + ld('{"headline": 1, "author": "D\nE"}'), None, About("D E", None, None, None)),
        (BROKEN, None, About(None, None, None, None)),
    ],
)
def test_what_a_page_says_of_itself(html: str, url: str | None, expected: About) -> None:
    assert said(html, url) == expected
