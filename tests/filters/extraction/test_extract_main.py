"""The default extractor: which text of which page, with what else, and that no page is too much for it."""

import hashlib
import itertools
import json
import os
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from resiliparse.parse.html import HTMLTree

from benchmarks.extraction import demo_pages
from tests.filters.extraction.hostile_pages import HOSTILE
from tests.filters.extraction.written_pages import SENTENCES, TABLES, article, pages_of
from tests.property_sizes import scaled
from winnow.filters.extraction.extract_main import EXTRACTOR, VERSION, MainConfig, extract_main
from winnow.filters.extraction.main_content.features import KINDS

URL = "https://example.org/a/b.html"
GOLDEN = Path(__file__).parent / "golden" / "main.json"
MENU = (
    "<nav><ul>"
    + "".join(f"<li><a href=/{name}>{name}</a></li>" for name in ("home", "news", "about", "contact"))
    + "</ul></nav>"
)
FOOTER = "<footer><p>© 2024 Example Ltd. All rights reserved. <a href=/privacy>Privacy policy</a></p></footer>"


def read(html: str | None, config: MainConfig | None = None, url: str | None = URL) -> dict[str, Any]:
    config = config or MainConfig()
    made = extract_main(pages_of([html], [url]), config)
    made.validate(full=True)
    assert made.schema == EXTRACTOR.schema(config)
    row: dict[str, Any] = made.to_pylist()[0]
    return row


@pytest.mark.parametrize("language", sorted(SENTENCES))
def test_an_article_is_found_among_menus_in_every_language(language: str) -> None:
    row = read(article(language))
    body = "".join(SENTENCES[language].split())
    assert row["status"] == "ok"
    assert body in "".join(row["text"].split())
    assert row["kind"] in KINDS


def test_what_is_around_an_article_is_left_out_and_what_it_says_of_itself_is_kept() -> None:
    sentence = "The harbour was quiet in the morning, and the boats lay in two rows along the wall. "
    row = read(
        f"<html lang=sv><title>Two  rows</title><link rel=canonical href='/harbour?b=1&amp;a=2'>{MENU}"
        f"<article><h1>The harbour</h1><p>{sentence * 3}</p><figure><img src=boats.jpg alt=Boats width=640>"
        f"<figcaption>At six</figcaption></figure><p>{sentence * 2}</p></article>{FOOTER}"
    )
    assert sentence.strip() in row["text"]
    assert "contact" not in row["text"]
    assert "Privacy" not in row["text"]
    assert "Boats" not in row["text"]
    assert (row["title"], row["canonical_url"], row["language"]) == (
        "Two rows",
        "https://example.org/harbour?b=1&a=2",
        "sv",
    )
    assert [link["url"].rpartition("/")[2] for link in row["links"]] == ["home", "news", "about", "contact", "privacy"]
    (image,) = row["images"]
    assert (image["src"], image["alt"], image["caption"], image["width"]) == (
        "https://example.org/a/boats.jpg",
        "Boats",
        "At six",
        640,
    )
    assert image["before"].endswith(sentence.strip())
    assert "image" in {part["kind"] for part in row["parts"]}
    assert 0 < row["share"] < 1
    assert 0.5 < row["confidence"] <= 1


@pytest.mark.parametrize(
    ("html", "config", "status"),
    [
        (None, MainConfig(), "not_html"),
        ("<p>" + "é" * 50, MainConfig(max_bytes=102), "too_large"),
        ("<p>x" * 11, MainConfig(max_nodes=10), "too_many_nodes"),
        ("<title>t</title><script>x</script>", MainConfig(), "empty"),
        ("<frameset><frame src=x></frameset>", MainConfig(), "empty"),
        ("", MainConfig(), "empty"),
    ],
)
def test_a_page_without_text_says_why(html: str | None, config: MainConfig, status: str) -> None:
    assert read(html, config)["status"] == status


def test_a_page_that_only_asks_for_scripts_is_empty() -> None:
    asks = "<div id=root></div><noscript>You need to enable JavaScript to run this app.</noscript>"
    assert read(f"<title>App</title><body>{asks}")["status"] == "empty"
    assert read(f"<title>App</title><body>{asks}<p>{ENGLISH}</p>")["text"].endswith(ENGLISH)
    posts = "".join(f"<p>{number}: {ENGLISH}</p>" for number in range(9))
    assert ENGLISH in read(f"<title>Posts</title><body><noscript>{posts}</noscript>")["text"]


@pytest.mark.parametrize("html", [article("en"), TABLES, *(made(40) for made in HOSTILE.values())])
@pytest.mark.parametrize("markdown", [False, True])
def test_probabilities_of_parts_are_asked_for_and_change_nothing_else(html: str, markdown: bool) -> None:
    found = read(html, MainConfig(markdown=markdown, probabilities=True))
    chances, left_out = found.pop("probabilities"), found.pop("left_out")
    assert found == read(html, MainConfig(markdown=markdown))
    if found["parts"] is not None:
        assert [chance is None for chance in chances] == [part["kind"] == "image" for part in found["parts"]]
        assert all(0 < chance <= 1 for chance in chances if chance is not None)
        assert 0 <= left_out <= len(html.encode())


def test_comments_of_documentation_are_what_a_class_calls_so() -> None:
    code = "<pre><code class=language-python>def bend(river):\n    return river * 2\n</code></pre>"
    said = f"<p>{ENGLISH}</p>{code}<p>{ENGLISH} Again.</p>"
    comment = "I grew up beside this river, and every summer we counted its bends with my brother."
    page = f"<body class=docs><main><h1>Rivers</h1>{said}{{}}</main>"
    found = read(page.format(f"<div class=comments id=comments><p>{comment}</p></div>"), url="https://docs.example/a")
    assert found["kind"] == "documentation"
    text = found["text"].encode()
    assert [text[one["start"] : one["end"]].decode().strip() for one in found["comments"]] == [comment]
    by_id = read(
        page.format(f"<section id=comments><h2>Comments</h2><p>{comment}</p></section>"), url="https://docs.example/a"
    )
    assert (by_id["kind"], by_id["comments"]) == ("documentation", [])


ENGLISH, JAPANESE, HEBREW = SENTENCES["en"], SENTENCES["ja"], SENTENCES["he"]
RUBY = "<ruby>漢字<rp>(</rp><rt>かんじ</rt><rp>)</rp></ruby>の本。"


@pytest.mark.parametrize(
    ("html", "text"),
    [
        (  # AMP, whose pictures are elements of its own
            f"<html amp><body>{MENU}<main><p>{ENGLISH}</p><amp-img src=b.jpg alt=B width=640></amp-img>"
            f"<p>{ENGLISH} Again.</p></main>{FOOTER}",
            f"{ENGLISH}\n\n{ENGLISH} Again.",
        ),
        (  # Japanese in columns, with the reading of its characters above them
            f"<html lang=ja style='writing-mode: vertical-rl'><body>{MENU}<article><p>{RUBY}{JAPANESE}</p>"
            f"<p>{JAPANESE}次。</p></article>",
            f"漢字の本。{JAPANESE}\n\n{JAPANESE}次。",
        ),
        (  # two languages beside one another
            f"<body>{MENU}<article><p lang=en>{ENGLISH}</p><p lang=he dir=rtl>{HEBREW}</p>"
            f"<p lang=en>{ENGLISH} Again.</p><p lang=he dir=rtl>{HEBREW} שוב.</p></article>{FOOTER}",
            f"{ENGLISH}\n\n{HEBREW}\n\n{ENGLISH} Again.\n\n{HEBREW} שוב.",
        ),
        (  # an application that writes its page by a script: what the script keeps is no text
            '<body><div id="root"></div><script id="__NEXT_DATA__" type="application/json">'
            + json.dumps({"props": {"body": ENGLISH}})
            + "</script>"
            + '<script type="application/ld+json">'
            + json.dumps({"@type": "Article", "headline": "h", "articleBody": ENGLISH})
            + "</script>",
            "",
        ),
    ],
)
def test_pages_of_other_shapes(html: str, text: str) -> None:
    row = read(html)
    assert row["text"] == text
    if "amp-img" in html:
        assert [(image["src"], image["alt"]) for image in row["images"]] == [("https://example.org/a/b.jpg", "B")]


def test_a_page_that_the_model_is_unsure_of_has_no_text_where_that_is_asked_for() -> None:
    page = article("en")
    sure = read(page)["confidence"]
    assert read(page, MainConfig(min_confidence=max(0.0, sure - 0.01)))["status"] == "ok"
    row = read(page, MainConfig(min_confidence=min(1.0, sure + 0.01)))
    assert (row["status"], row["text"], row["parts"]) == ("unsure", None, None)
    assert row["confidence"] == sure
    assert row["kind"] in KINDS


def test_markdown_is_a_setting() -> None:
    body = f"<p><b>Floods</b> {ENGLISH} See <a href=x.html>more</a>.</p><p>{ENGLISH}</p>"
    page = f"<body>{MENU}<article>{body}</article>"
    assert "**Floods** The river" in read(page, MainConfig(markdown=True))["text"]
    assert "[more](https://example.org/a/x.html)" in read(page, MainConfig(markdown=True, links=True))["text"]
    assert "Floods The river" in read(page)["text"]


def test_a_row_depends_on_its_page_alone() -> None:
    pages = [article(language) for language in sorted(SENTENCES)]
    alone = [read(page) for page in pages]
    order = list(range(len(pages)))
    random.Random(3).shuffle(order)
    made = extract_main(pages_of([pages[place] for place in order], [URL] * len(pages)), MainConfig()).to_pylist()
    assert made == [alone[place] for place in order]


@pytest.mark.parametrize("kind", sorted(HOSTILE))
def test_a_page_that_is_dear_to_parse_is_extracted(kind: str) -> None:
    assert read(HOSTILE[kind](scaled(3_000)), MainConfig(markdown=True, links=True))["status"] in ("ok", "empty")
    row = read(HOSTILE[kind](scaled(3_000)))
    assert row["status"] in ("ok", "empty")
    lines = (row["text"] or "").split("\n")
    assert all(line == line.rstrip() for line in lines)
    assert not any(before == after == "" for before, after in itertools.pairwise(lines)) or kind == "line feeds"


PIECES = [
    *("<p>A sentence of several words, to be read.</p>", "<div class=content>", "</div>", "<li>item", "<ul>", "</ul>"),
    *("<table><tr><td>c", "</table>", "<img src=x>", "<h2>head</h2>", "<pre> code\n  line</pre>", "<br>", "text "),
    *("<a href=y>link</a>", "<blockquote>", "&shy;"),
]


@settings(deadline=None, max_examples=scaled(40))
@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join))
def test_the_text_and_its_parts_agree(html: str) -> None:
    row = read(html)
    raw = (row["text"] or "").encode()
    covered = b"".join(raw[part["start"] : part["end"]] for part in row["parts"])
    assert "".join(covered.decode().split()) == "".join(raw.decode().split())
    assert "\u00ad" not in raw.decode()


@settings(deadline=None, max_examples=scaled(40))
@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join))
def test_the_text_is_a_subsequence_of_what_the_page_shows(html: str) -> None:
    body = HTMLTree.parse(html).body
    shown = iter("".join((body.text or "").replace("\u00ad", "").split()) if body else "")
    assert all(letter in shown for letter in "".join((read(html)["text"] or "").split()))


def test_what_this_version_makes_of_known_pages_never_changes() -> None:
    pages = demo_pages(12)
    made = extract_main(pages_of([page.html for page in pages], [page.url for page in pages]), MainConfig()).to_pylist()
    found = {
        page.url: [row["kind"], hashlib.blake2b((row["text"] or "").encode(), digest_size=8).hexdigest()]
        for page, row in zip(pages, made, strict=True)
    }
    assert len(found) >= 30
    if os.environ.get("UPDATE_GOLDEN") == "1":
        GOLDEN.write_text(json.dumps({"version": VERSION, "pages": found}, indent=1) + "\n")
    assert json.loads(GOLDEN.read_text()) == {"version": VERSION, "pages": found}
