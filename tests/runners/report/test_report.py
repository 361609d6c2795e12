"""The report: one safe, deterministic file that shows every number it was given."""

import re
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from tests.runners.example_store import EXAMPLES, HOSTILE, SUMMARY
from winnow.runners.facts.examples import Examples
from winnow.runners.facts.page import render_report
from winnow.runners.report.block import Block
from winnow.runners.report.markup import plain
from winnow.schemas.summary import StoreSummary
from winnow.schemas.typed_json import read_json

ALLOWED_TAGS = re.compile(
    "html|head|meta|title|style|body|header|nav|main|section|article|h[1-3]|p|a|ul|li|dl|dt|dd|div|span|strong|em|code|"
    "bdi|wbr|pre|table|caption|thead|tbody|tfoot|tr|th|td|details|summary|svg|rect|line|text|ol|figure|figcaption"
)
ALLOWED_ATTRIBUTES = re.compile(
    "lang|charset|http-equiv|content|name|class|id|href|dir|scope|role|aria-label|aria-labelledby|"
    "viewbox|[xy][12]?|width|height|preserveaspectratio|aria-hidden|title|data-of"
)


class Page(HTMLParser):
    """The page as a browser would see it: its elements, and the text of each of them."""

    def __init__(self, page: str):
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "wbr"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open:
            self.texts.append((self.open[-1], data))

    def attributes(self, tag: str) -> Iterator[dict[str, str | None]]:
        return (attributes for name, attributes in self.elements if name == tag)

    @property
    def text(self) -> str:
        return "".join(text for tag, text in self.texts if tag != "style")


@pytest.fixture(scope="module")
def rendered() -> str:
    return render_report(SUMMARY, EXAMPLES)


@pytest.fixture(scope="module")
def page(rendered: str) -> Page:
    return Page(rendered)


def test_every_element_is_closed_and_of_a_known_kind(page: Page) -> None:
    assert page.open == []
    assert all(ALLOWED_TAGS.fullmatch(tag) for tag, _ in page.elements)


def test_no_attribute_can_load_or_run_anything(page: Page) -> None:
    assert all(ALLOWED_ATTRIBUTES.fullmatch(name) for _, attributes in page.elements for name in attributes)
    assert all(re.fullmatch(r"#[a-z-]+", link["href"] or "") for link in page.attributes("a"))


def test_the_policy_stands_before_everything_it_governs(page: Page) -> None:
    assert [tag for tag, _ in page.elements[:4]] == ["html", "head", "meta", "meta"]
    assert page.elements[2][1] == {"charset": "utf-8"}
    assert page.elements[3][1] == {
        "http-equiv": "Content-Security-Policy",
        "content": "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'",
    }


def test_the_style_loads_nothing(rendered: str) -> None:
    style = rendered.partition("<style>")[2].partition("</style>")[0]
    assert "url(" not in style
    assert "@import" not in style
    assert "prefers-color-scheme: dark" in style
    assert "@media print" in style


def test_crawled_markup_is_shown_as_text(rendered: str, page: Page) -> None:
    assert "<script" not in rendered
    assert "<script>alert(1)</script>\\x1b[31m\\u202egpj\"'&" in page.text


def test_nothing_invisible_is_left_on_the_page(rendered: str) -> None:
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", rendered)


def test_the_same_summary_is_the_same_file(rendered: str) -> None:
    read = read_json(StoreSummary, SUMMARY.to_json())
    assert render_report(read, EXAMPLES) == rendered


def test_every_plot_says_what_it_shows(page: Page) -> None:
    plots = [attributes for attributes in page.attributes("svg") if attributes.get("class") != "meter"]
    labels = [attributes["aria-label"] or "" for attributes in plots]
    assert [label.partition(". ")[0] for label in labels] == [
        "What became of records",
        "Reasons for quarantine",
        "Clusters by size (near)",
        "text.language.score",
        "Mean score of mimic",
        "mimic at checkpoint 1",
        "Keep probability by mimic",
        "Language families",
        "Language groups",
        "Language declared by the page (extract.main)",
        "Modality of samples",
        "Media type of samples",
        "Most frequent domains",
        "Length of texts",
        "Status of extractions",
    ]
    assert all(attributes["role"] == "img" for attributes in plots)
    assert labels[0].startswith("What became of records. crawl: samples 81.0 %, dropped 19.0 %, quarantined < 0.1 %;")


def test_the_page_has_a_title_and_its_contents_lead_to_its_sections(page: Page) -> None:
    assert ("title", "./demo: winnow report, generation 4") in page.texts
    anchors = ["#" + (attributes["id"] or "") for attributes in page.attributes("section")]
    assert [attributes["href"] for attributes in page.attributes("a")] == anchors


def test_exact_numbers_are_on_the_page(page: Page) -> None:
    for number in ("1,234,567", "1,000,000", "234,500", "67", "123,456", "9 · 90.0 %", "900.5"):
        assert number in page.text


def test_languages_are_shown_with_their_relatives(page: Page) -> None:
    for words in ("German", "Germanic", "Slavic", "Indo-European", "4", "2 documents are in other languages."):
        assert words in page.text


def test_duplicates_are_counted_and_the_largest_clusters_shown_with_examples(page: Page) -> None:
    for words in (
        "texts that share most of their shingles",
        "1 of the rows were forgotten later; run winnow dedupe to remove them.",
        "near: largest clusters",
        "00ff" * 8,
        "85.4 %",
        ".751",
        "deu_Latn\xa030, a\xa03, b\xa02 (and\xa01 more)",
        "not shown",
    ):
        assert words in page.text
    drawing = page.text.partition("Clusters by size (near)")[2]
    assert "10-99: clusters: 1" in drawing


def test_a_threshold_is_drawn_with_both_its_sides(rendered: str, page: Page) -> None:
    assert "eligible.language: 2 of 9 (22.2 %) are < 0.45; 1 was not measured" in page.text
    assert "just above" in page.text
    drawing = rendered.partition('aria-label="text.language.score')[2].partition("</svg>")[0]
    assert drawing.count('class="median"') == 1
    assert sum(int(count) for count in re.findall(r"<title>[^<]*: (\d+)</title>", drawing)) == 9


def test_an_excerpt_is_cut_at_three_hundred_characters(page: Page) -> None:
    assert "x" * 300 not in page.text
    assert "second line xxx" in page.text
    assert " …" in page.text


def test_counts_that_do_not_reconcile_are_said() -> None:
    lossy = replace(SUMMARY, sources=(replace(SUMMARY.sources[0], samples=5),))
    assert "The counts do not reconcile: crawl. Run winnow audit." in Page(render_report(lossy)).text


def test_an_empty_store_has_an_overview_alone() -> None:
    empty = Page(render_report(StoreSummary("./demo", 0, None)))
    assert [attributes["id"] for attributes in empty.attributes("section")] == ["overview"]


def test_a_section_is_added_by_naming_it() -> None:
    def mixture(summary: StoreSummary, _: Examples) -> Block:
        return Block("mixture", "Mixture", plain(f"{HOSTILE} of {summary.store}"))

    added = Page(render_report(SUMMARY, parts=(mixture,)))
    assert [attributes["id"] for attributes in added.attributes("section")] == ["mixture"]
    assert "of ./demo" in added.text
