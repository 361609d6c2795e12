"""The title of a page: its heading where the head agrees, else what the head says without the name of the site."""

import pytest

from winnow.filters.extraction.main_content.blocks import page_blocks
from winnow.filters.extraction.main_content.facts import page_facts
from winnow.filters.extraction.page import PageLimits


@pytest.mark.parametrize(
    ("html", "title"),
    [
        ("<title>Old Boats - The Paper</title><h1>The Paper</h1><h1>Old boats</h1>", "Old boats"),
        ("<title>Old Boats - The Paper</title><h1>Menu</h1>", "Old Boats"),
        ("<title>Old Boats | paper</title><h1>Menu</h1>", "Old Boats"),
        ("<title>Paper on sale: Old Boats – since 1900</title>", "Paper on sale: Old Boats – since 1900"),
        ("<title>Paper » Old Boats</title>", "Old Boats"),
        ("<title>Paper</title><h1>Paper</h1>", "Paper"),
        ("<meta property=og:site_name content='The Times'><title>Boats - The Times</title>", "Boats"),
        ("<meta property=og:title content='Buy boats'><title>Boats</title><h1>Boats</h1>", "Boats"),
        ("<h1> Old \n boats </h1>", "Old boats"),
        ("<title>船の歴史 | 新聞</title><h1>船の歴史</h1>", "船の歴史"),
        ("<title> </title><p>x", None),
        ("<title>a</title>" + "<h1>" + "a " * 2000 + "</h1>", "a"),
    ],
)
def test_the_title_of_a_page(html: str, title: str | None) -> None:
    blocks = page_blocks(html.encode(), "https://www.paper.example/1")
    assert page_facts(blocks, PageLimits())[0].title == title
