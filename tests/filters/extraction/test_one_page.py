"""One page from Python: from its bytes to its text, and what it says of itself."""

import dataclasses
from pathlib import Path

import pytest

import winnow
from tests.filters.extraction.written_pages import SENTENCES, article
from winnow.filters.extraction.extract_main import EXTRACTOR, MainConfig
from winnow.filters.extraction.one_page import ExtractedPage

URL = "https://example.org/a/b.html"
RUSSIAN = "Река, которая течёт по равнине, недолго остаётся прямой, и вода размывает внешний берег каждого изгиба."


def test_its_attributes_are_the_columns_of_the_layer() -> None:
    assert [one.name for one in dataclasses.fields(ExtractedPage)] == EXTRACTOR.schema(MainConfig()).names


def test_a_page_is_its_text_its_metadata_and_how_sure_the_model_is() -> None:
    page = winnow.extract(
        f"<html lang=en><title>Rivers</title><meta name=author content='Ann Lee'><body><nav><a href=/>Home</a></nav>"
        f"<article><h1>Rivers</h1><p>{SENTENCES['en']}</p><p><b>Again:</b> {SENTENCES['en']}</p></article>",
        URL,
    )
    assert page.text == f"{SENTENCES['en']}\n\nAgain: {SENTENCES['en']}"
    assert (page.status, page.title, page.author, page.language) == ("ok", "Rivers", "Ann Lee", "en")
    assert page.links == [{"url": "https://example.org/", "rel": None}]
    assert page.confidence is not None
    assert 0.5 < page.confidence <= 1


@pytest.mark.parametrize("charset", ["utf-8", "windows-1251", "koi8-r", "utf-16"])
def test_bytes_are_decoded_whatever_the_page_says(charset: str) -> None:
    page = f"<html><body><article><p>{RUSSIAN}</p><p>{RUSSIAN}</p></article>"
    header = f"text/html; charset={charset}"
    assert winnow.extract(page.encode(charset), content_type=header).text == winnow.extract(page).text
    assert RUSSIAN in (winnow.extract(page).text or "")


def test_the_header_says_which_syntax_a_page_has() -> None:
    body = f"<html><head><title/></head><body><p>{SENTENCES['en']}</p></body></html>"
    assert winnow.extract(body).status == "empty"  # the title has no end, as browsers see it
    assert winnow.extract(body, content_type="application/xhtml+xml; charset=utf-8").text == SENTENCES["en"]


def test_markdown_is_an_argument() -> None:
    page = f"<article><h2>T</h2><p>{SENTENCES['en']} See <a href=x>more</a>.</p><p>{SENTENCES['en']}</p></article>"
    assert "](" not in (winnow.extract(page, URL, markdown=True).text or "")
    assert "[more](https://example.org/a/x)" in (winnow.extract(page, URL, markdown=True, links=True).text or "")


@pytest.mark.parametrize("body", [b"%PDF-1.4\n\x00\xff", b"\x89PNG\r\n\x1a\n\x00"])
def test_what_is_no_page_says_so(body: bytes) -> None:
    assert (winnow.extract(body).status, winnow.extract(body).text) == ("not_html", None)


@pytest.mark.parametrize("body", [b"", "", b"<", "\ud800", "\0" * 9])
def test_what_is_hardly_a_page_has_hardly_a_text(body: bytes | str) -> None:
    assert len(winnow.extract(body).text or "") <= 9


def test_comments_can_be_cut_out() -> None:
    comment = "I grew up beside this river, and every summer we counted its bends with my brother."
    page = winnow.extract(
        article("en").replace("</article>", f"</article><div class=comments><p>{comment}</p></div>"), URL
    )
    cut = page.text_without_comments()
    assert cut is not None
    assert comment not in cut
    assert (cut == page.text) == (not page.comments)
    assert winnow.extract(b"").text_without_comments() == ""


def test_the_example_of_the_documentation_runs() -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "explanation" / "extraction.md").read_text("utf-8")
    example = page.split("```python\n")[1].split("```")[0]
    exec(compile(example, "extraction.md", "exec"), {"html": article("en").encode()})  # noqa: S102  the page's own example
