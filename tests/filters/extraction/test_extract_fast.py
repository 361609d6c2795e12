"""The fast extractor: statuses, text without what is no text, images in place, and the same for the same page."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.filters.extraction.hostile_pages import HOSTILE
from tests.filters.extraction.reading import Read, digest, pages_of, read_row
from tests.filters.extraction.written_pages import SENTENCES, TABLES, article
from winnow.filters.extraction.budgets import Budgets
from winnow.filters.extraction.extract_fast import EXTRACTOR, VERSION, FastConfig, extract_fast

URL = "https://example.org/a/b.html"


def read(html: str | None, config: FastConfig | None = None, url: str | None = URL) -> Read:
    return read_row(extract_fast(pages_of([html], [url]), config or FastConfig()))


@pytest.mark.parametrize(
    ("html", "config", "status"),
    [
        (None, FastConfig(), "not_html"),
        ("<p>" + "é" * 50, FastConfig(budgets=Budgets(max_bytes=102)), "too_large"),
        ("<p>x" * 11, FastConfig(budgets=Budgets(max_nodes=10)), "too_many_nodes"),
        ("<div>" * 5_000 + "x", FastConfig(), "too_deep"),
    ],
)
def test_a_page_that_is_not_extracted_says_why_and_nothing_else(
    html: str | None, config: FastConfig, status: str
) -> None:
    row = extract_fast(pages_of([html], [URL]), config).to_pylist()[0]
    assert row.pop("status") == status
    assert set(row.values()) == {None}


def test_a_page_without_main_content_is_empty_and_keeps_its_facts() -> None:
    found = read('<title>T</title><nav><a href="/x">x</a></nav>')
    assert (found.status, found.text, found.title, found.links, found.parts) == (
        "empty",
        "",
        "T",
        [("https://example.org/x", None)],
        [],
    )


def test_no_rows_give_no_rows() -> None:
    assert extract_fast(pages_of([], []), FastConfig()).num_rows == 0


def test_the_text_has_no_bullets_targets_alternative_texts_fields_captions_or_comments() -> None:
    found = read(
        '<div><div><main><ul><li>one</li><li>two</li></ul><p>a <a href="/l">link</a> <img src=/i.png alt=ALT>'
        '<input value="FIELD"><button>BUTTON</button><noscript>NOSCRIPT</noscript></p>'
        "<figure><table><tr><td>cell</td></tr></table><figcaption>CAPTION</figcaption></figure>"
        '<map><area alt="AREA"></map><object>OBJECT</object><video>VIDEO</video><svg><text>SVG</text></svg>'
        "</main></div></div>"
        '<div class="comments"><p>COMMENT</p></div>'
    )
    assert found.text == "  one\n  two\n\na link\n\ncell"


def test_images_stand_between_the_texts_they_stood_between() -> None:
    found = read(
        "<main><h2>Title</h2><p>before <img src=/in.png> after</p><figure><img src=/fig.png alt=A>"
        "<figcaption>C</figcaption></figure><p>last</p></main><footer><img src=/logo.png></footer>"
    )
    assert found.text == "Title\n\nbefore after\n\nlast"
    assert found.parts == [
        ("heading", "Title"),
        ("text", "before"),
        ("image", "https://example.org/in.png"),
        ("text", "after"),
        ("image", "https://example.org/fig.png"),
        ("text", "last"),
    ]
    assert [(image["src"], image["caption"], image["before"], image["after"]) for image in found.images] == [
        ("https://example.org/in.png", None, "Title\n\nbefore", "after\n\nlast"),
        ("https://example.org/fig.png", "C", "Title\n\nbefore after", "last"),
        ("https://example.org/logo.png", None, None, None),
    ]


@pytest.mark.parametrize("language", SENTENCES)
def test_every_script_comes_out_as_it_is(language: str) -> None:
    sentence = SENTENCES[language]
    found = read(article(language))
    assert found.text == f"T {language}\n\n{sentence} 1\n\n{sentence} 2\n\n{sentence} 3"
    assert [kind for kind, _ in found.parts] == ["heading", "text", "image", "text", "text"]
    assert found.parts[3][1] == f"{sentence} 2"
    assert found.images[0]["before"] == f"T {language}\n\n{sentence} 1"
    assert found.language == language


BLOCKS = (
    *("<p>one two</p>", "<p>x @ y</p>", "<p>@</p>", "<div>@</div>", "@", "<h2>head</h2>", "<h3>@ h</h3>", "text "),
    *("<ul><li>item</li><li>@</li></ul>", "<table><tr><td>c<td>@</table>", "<p>a@b</p>", "<a href=/>@ link</a>", "<b>"),
)


@given(st.lists(st.sampled_from(BLOCKS), max_size=8).map("".join))
def test_the_text_is_that_of_the_page_without_its_images(template: str) -> None:
    page = f"<body><main>{template}</main>"
    with_images = read(page.replace("@", "<img src=/i.png alt='some words'>")).text
    without = read(page.replace("@", "<img alt=''>")).text
    empty = read(page.replace("@", "<span></span>")).text
    assert with_images == without
    assert (with_images or "").split() == (empty or "").split()


def test_marks_that_a_page_holds_itself_are_no_marks() -> None:
    found = read("<main><p>a\x020\x03b \x01c</p><img src=/i.png></main>")
    assert found.text == "a0b c"


def test_a_row_depends_on_its_page_alone() -> None:
    pages: list[str | None] = [article(language) for language in SENTENCES]
    pages += [None, TABLES, "<div>" * 6_000, "", *[HOSTILE[kind](300) for kind in HOSTILE]]
    urls: list[str | None] = [URL if place % 2 else None for place in range(len(pages))]
    together = extract_fast(pages_of(pages, urls), FastConfig()).to_pylist()
    order = list(range(len(pages)))
    random.Random(5).shuffle(order)
    shuffled = extract_fast(pages_of([pages[i] for i in order], [urls[i] for i in order]), FastConfig()).to_pylist()
    alone = [extract_fast(pages_of([pages[i]], [urls[i]]), FastConfig()).to_pylist()[0] for i in order]
    assert [together[i] for i in order] == shuffled == alone


@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("repetitions", [3_000, 100_000])
def test_hostile_pages_end_in_a_row(kind: str, repetitions: int) -> None:
    found = read("<main>" + HOSTILE[kind](repetitions))
    assert found.status in {"ok", "empty", "too_large", "too_deep", "too_many_nodes"}


def test_nesting_is_refused_before_it_is_walked() -> None:
    generous = FastConfig(budgets=Budgets(max_nodes=200_000))
    assert read("<div>" * 100_000 + "x", generous).status == "too_deep"


def test_the_extractor_is_registered_under_its_version() -> None:
    assert (EXTRACTOR.name, EXTRACTOR.version, EXTRACTOR.config) == ("fast", VERSION, FastConfig)


def test_output_of_version_4() -> None:
    """A change here is a change of the extractor: raise VERSION."""
    assert VERSION == 4
    assert read(TABLES) == Read(
        status="ok",
        text="River levels\n\n"
        "The levels below were read at noon on each of the three days at the old bridge, in metres above the mark.\n\n"
        "Day\t\tMetres\nMonday\t\t2.1\nTuesday\t\t3.4\n\n"
        "What to do\n\n"
        "  Keep away from the banks of the river.\n  Do not drive through water of unknown depth.\n\n"
        "It has never been this high, said the keeper of the lock, who has worked here for forty years.\n\n"
        'level = read("old bridge")\nprint(level)\n\n'
        "The next reading is due at noon tomorrow, and will be printed here as soon as it has been checked twice.",
        title="Levels",
        canonical_url="https://r.example/levels",
        language=None,
        links=[],
        images=[],
        parts=[
            ("heading", "River levels"),
            (
                "text",
                "The levels below were read at noon on each of the three days at the old bridge, "
                "in metres above the mark.",
            ),
            ("text", "Day\t\tMetres\nMonday\t\t2.1\nTuesday\t\t3.4"),
            ("heading", "What to do"),
            ("text", "Keep away from the banks of the river.\n  Do not drive through water of unknown depth."),
            ("text", "It has never been this high, said the keeper of the lock, who has worked here for forty years."),
            ("text", 'level = read("old bridge")\nprint(level)'),
            (
                "text",
                "The next reading is due at noon tomorrow, "
                "and will be printed here as soon as it has been checked twice.",
            ),
        ],
    )
    assert digest(read(article("fa"))) == "163c5429547a6eb1"
    assert digest(read(article("zh"))) == "aa907cf193b807b8"
