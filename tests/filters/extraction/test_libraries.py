"""Extractors that are other people's libraries: their text as it is, within budgets, with the facts that `main` has."""

import hashlib
import logging
from collections.abc import Callable
from typing import Any

import pytest
import trafilatura
from resiliparse.extract.html2text import extract_plain_text

from tests.filters.extraction.hostile_pages import HOSTILE
from tests.filters.extraction.written_pages import SENTENCES, TABLES, article, pages_of
from winnow.filters.extraction.budgets import Budgets
from winnow.filters.extraction.extract_main import MainConfig, extract_main
from winnow.filters.extraction.extract_resiliparse import EXTRACTOR as RESILIPARSE
from winnow.filters.extraction.extract_resiliparse import ResiliparseConfig
from winnow.filters.extraction.extract_trafilatura import EXTRACTOR as TRAFILATURA
from winnow.filters.extraction.extract_trafilatura import TrafilaturaBudgets, TrafilaturaConfig

URL = "https://example.org/a/b.html"
Config = ResiliparseConfig | TrafilaturaConfig
PAGES = [
    *(article(language) for language in SENTENCES),
    *(TABLES, "", "x", "<title>T</title><nav><a href=/x>x</a></nav>", "<p>می&zwnj;روم \u200d</p>"),
    "<main><ul><li>one</ul><p>a <a href=/l>link</a> <img src=/i.png alt=ALT></main><div class=comments>COMMENT</div>",
]


def read(html: str | None, config: Config) -> dict[str, Any]:
    extractor = RESILIPARSE if isinstance(config, ResiliparseConfig) else TRAFILATURA
    made = extractor.kernel(pages_of([html], [URL]), config)
    made.validate(full=True)
    row: dict[str, Any] = made.to_pylist()[0]
    return row


def by_trafilatura(html: str) -> str:
    return trafilatura.extract(html, favor_precision=True, include_comments=False) or ""


def by_trafilatura_with_all(html: str) -> str:
    return trafilatura.extract(html, favor_recall=True, include_comments=True, include_tables=False) or ""


def by_resiliparse(html: str) -> str:
    return str(extract_plain_text(html, preserve_formatting=True, main_content=True, alt_texts=False))


def by_resiliparse_with_all(html: str) -> str:
    return str(extract_plain_text(html, preserve_formatting=True, links=True, comments=False, list_bullets=False))


@pytest.mark.parametrize("html", PAGES)
@pytest.mark.parametrize(
    ("config", "library"),
    [
        (TrafilaturaConfig(), by_trafilatura),
        (
            TrafilaturaConfig(favor_precision=False, favor_recall=True, comments=True, tables=False),
            by_trafilatura_with_all,
        ),
        (ResiliparseConfig(), by_resiliparse),
        (
            ResiliparseConfig(main_content=False, list_bullets=False, alt_texts=True, links=True, comments=False),
            by_resiliparse_with_all,
        ),
    ],
)
def test_the_text_is_the_librarys(html: str, config: Config, library: Callable[[str], str]) -> None:
    row, text = read(html, config), library(html)
    assert (row["text"], row["status"]) == (text, "ok" if text else "empty")


@pytest.mark.parametrize("config", [ResiliparseConfig(), TrafilaturaConfig()])
def test_the_facts_are_those_of_main_and_no_image_has_a_place(config: Config) -> None:
    for html in PAGES:
        row = read(html, config)
        main = extract_main(pages_of([html], [URL]), MainConfig()).to_pylist()[0]
        for name in ("title", "canonical_url", "language", "links"):
            assert row[name] == main[name]
        assert row["images"] == [image | {"before": None, "after": None} for image in main["images"]]


@pytest.mark.parametrize(
    ("html", "config", "status"),
    [
        (None, TrafilaturaConfig(), "not_html"),
        ("<p>" + "é" * 50, TrafilaturaConfig(budgets=TrafilaturaBudgets(max_bytes=102)), "too_large"),
        ("<p>x" * 11, TrafilaturaConfig(budgets=TrafilaturaBudgets(max_nodes=10)), "too_many_nodes"),
        ("<p " + " ".join(f"a{i}" for i in range(5_000)), TrafilaturaConfig(), "too_many_nodes"),
        ("<div>" * 300 + "x", TrafilaturaConfig(), "too_deep"),
        ("<div>" * 5_000 + "x", ResiliparseConfig(), "too_deep"),
        ("<div>" * 100_000 + "x", ResiliparseConfig(budgets=Budgets(max_nodes=200_000)), "too_deep"),
    ],
)
def test_a_page_that_is_not_extracted_says_why_and_nothing_else(html: str | None, config: Config, status: str) -> None:
    row = read(html, config)
    assert row.pop("status") == status
    assert set(row.values()) == {None}


@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("repetitions", [1_000, 100_000])
@pytest.mark.parametrize("config", [ResiliparseConfig(), TrafilaturaConfig()])
def test_hostile_pages_end_in_a_row(kind: str, repetitions: int, config: Config) -> None:
    status = read("<main>" + HOSTILE[kind](repetitions), config)["status"]
    assert status in {"ok", "empty", "too_large", "too_deep", "too_many_nodes"}


def test_a_page_on_which_the_library_fails_has_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> str:
        raise RecursionError

    monkeypatch.setattr(trafilatura, "extract", fail)
    row = read(TABLES, TrafilaturaConfig())
    assert row.pop("status") == "failed"
    assert set(row.values()) == {None}


def test_nothing_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        read("<html><body><a>x</a>", TrafilaturaConfig())
        read("", TrafilaturaConfig())
    assert caplog.records == []


@pytest.mark.parametrize(
    ("config", "expected"), [(TrafilaturaConfig(), "0d8218559697ca51"), (ResiliparseConfig(), "be5a6bb50ae778c5")]
)
def test_output_of_version_1(config: Config, expected: str) -> None:
    """A change here is a change of the library or of its call: raise VERSION."""
    assert RESILIPARSE.version == TRAFILATURA.version == 1
    texts = "\f".join(read(html, config)["text"] for html in PAGES)
    assert hashlib.blake2b(texts.encode(), digest_size=8).hexdigest() == expected
