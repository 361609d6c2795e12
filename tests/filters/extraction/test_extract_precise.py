"""The precise extractor: the same columns as the fast one's, trafilatura's text, and no memory of other pages."""

import logging
import random

import pytest
import trafilatura

from tests.filters.extraction.hostile_pages import HOSTILE
from tests.filters.extraction.reading import Read, digest, pages_of, read_row
from tests.filters.extraction.written_pages import SENTENCES, TABLES, article
from winnow.filters.extraction.extract_precise import EXTRACTOR, VERSION, PreciseBudgets, PreciseConfig, extract_precise

URL = "https://example.org/a/b.html"


def read(html: str | None, config: PreciseConfig | None = None, url: str | None = URL) -> Read:
    return read_row(extract_precise(pages_of([html], [url]), config or PreciseConfig()))


@pytest.mark.parametrize(
    ("html", "config", "status"),
    [
        (None, PreciseConfig(), "not_html"),
        ("<p>" + "é" * 50, PreciseConfig(budgets=PreciseBudgets(max_bytes=102)), "too_large"),
        ("<p>x" * 11, PreciseConfig(budgets=PreciseBudgets(max_nodes=10)), "too_many_nodes"),
        ("<p " + " ".join(f"a{i}" for i in range(5_000)), PreciseConfig(), "too_many_nodes"),
        ("<div>" * 300 + "x", PreciseConfig(), "too_deep"),
    ],
)
def test_a_page_that_is_not_extracted_says_why_and_nothing_else(
    html: str | None, config: PreciseConfig, status: str
) -> None:
    row = extract_precise(pages_of([html], [URL]), config).to_pylist()[0]
    assert row.pop("status") == status
    assert set(row.values()) == {None}


@pytest.mark.parametrize("html", ["", "x", "<", "<html>", "<title>T</title><nav><a href=/x>x</a></nav>", "\x00\ufffd"])
def test_a_page_without_main_content_is_empty(html: str) -> None:
    found = read(html)
    assert (found.status, found.text, found.parts) == ("empty", "", [])


def test_parts_have_kinds_and_tile_the_text() -> None:
    found = read(TABLES)
    assert [kind for kind, _ in found.parts] == [
        "heading",
        "text",
        "table",
        "heading",
        "list",
        "quote",
        "code",
        "text",
    ]
    assert "\n\n".join(text for _, text in found.parts) == found.text
    assert found.canonical_url == "https://r.example/levels"


@pytest.mark.parametrize("language", SENTENCES)
def test_every_script_comes_out_as_it_is(language: str) -> None:
    sentence = SENTENCES[language]
    found = read(article(language))
    paragraphs = [("text", f"{sentence} {number}") for number in (1, 2, 3)]
    image = ("image", "https://example.org/i.jpg")
    assert [part for part in found.parts if part[0] != "heading"] == [paragraphs[0], image, *paragraphs[1:]]
    assert found.images[0]["caption"] == "CAPTION"
    assert (found.images[0]["after"] or "") == f"{sentence} 2\n\n{sentence} 3"[:200].rstrip()


def test_invisible_joiners_survive_however_they_are_written() -> None:
    text = "می\u200cروم " * 12
    for written in (text, text.replace("\u200c", "&zwnj;"), text.replace("\u200c", "&#8204;")):
        assert read(f"<html><body><article><p>{written}</p><p>{written}</p></article>").parts[0][1] == text.strip()


def test_a_page_that_uses_the_letters_that_stand_in_for_joiners_keeps_them() -> None:
    text = "\U00010380\u200d\U00010382 " * 20
    assert read(f"<html><body><article><p>{text}</p><p>{text}</p></article>").parts[0][1] == text.strip()


def test_text_is_trafilaturas() -> None:
    document = trafilatura.bare_extraction(TABLES, favor_precision=True, include_comments=False)
    assert document is not None
    assert (read(TABLES).text or "").split() == document.text.split()


def test_a_row_depends_on_its_page_alone() -> None:
    pages: list[str | None] = [article(language) for language in [*SENTENCES, *SENTENCES]]
    pages += [None, TABLES, TABLES, "", *[HOSTILE[kind](100) for kind in HOSTILE]]
    urls: list[str | None] = [URL if place % 2 else None for place in range(len(pages))]
    together = extract_precise(pages_of(pages, urls), PreciseConfig()).to_pylist()
    order = list(range(len(pages)))
    random.Random(7).shuffle(order)
    shuffled = extract_precise(pages_of([pages[i] for i in order], [urls[i] for i in order]), PreciseConfig())
    assert [together[i] for i in order] == shuffled.to_pylist()
    alone = [extract_precise(pages_of([pages[i]], [urls[i]]), PreciseConfig()).to_pylist()[0] for i in order]
    assert shuffled.to_pylist() == alone


@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("repetitions", [1_000, 100_000])
def test_hostile_pages_end_in_a_row(kind: str, repetitions: int) -> None:
    found = read("<main>" + HOSTILE[kind](repetitions))
    assert found.status in {"ok", "empty", "too_large", "too_deep", "too_many_nodes"}


def test_nothing_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        read("<html><body><a>x</a>")
        read("")
    assert caplog.records == []


def test_the_extractor_is_registered_under_its_version() -> None:
    assert (EXTRACTOR.name, EXTRACTOR.version, EXTRACTOR.config) == ("precise", VERSION, PreciseConfig)


def test_output_of_version_4() -> None:
    """A change here is a change of the extractor (or of trafilatura): raise VERSION."""
    assert VERSION == 4
    assert read(TABLES).text == (
        "River levels\n\n"
        "The levels below were read at noon on each of the three days at the old bridge, in metres above the mark.\n\n"
        "| Day | Metres |\n|---|---|\n| Monday | 2.1 |\n| Tuesday | 3.4 |\n\n"
        "What to do\n\n"
        "- Keep away from the banks of the river.\n- Do not drive through water of unknown depth.\n\n"
        "It has never been this high, said the keeper of the lock, who has worked here for forty years.\n\n"
        'level = read("old bridge")\nprint(level)\n\n'
        "The next reading is due at noon tomorrow, and will be printed here as soon as it has been checked twice."
    )
    assert digest(read(article("fa"))) == "163c5429547a6eb1"
    assert digest(read(article("zh"))) == "aa907cf193b807b8"
