"""All extractors: what they find, that nothing but the page decides it, and that no page is too much for them."""

import random
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.messages import assert_refused
from tests.property_sizes import scaled
from winnow.filters.extractors import extractor_names, find_extractor
from winnow.schemas.errors import RecipeError
from winnow.schemas.rows.extraction import PAGES

EACH = pytest.mark.parametrize("name", ["main", "resiliparse", "trafilatura"])

SENTENCE = "The harbour was quiet in the morning, and the boats lay in two rows along the wall. "
ARTICLE = f"""<!doctype html><html lang="sv"><head><title>Two  rows</title>
<link rel="canonical" href="/harbour?b=1&amp;a=2"></head><body>
<nav><a href="/">Home</a> <a href="about.html" rel="nofollow">About us</a></nav>
<article><h1>The harbour</h1><p>{SENTENCE * 3}</p>
<figure><img src="boats.jpg" alt="Boats" width="640" height="480"><figcaption>At six</figcaption></figure>
<p>{SENTENCE * 2}Åland and Öland are islands.</p><ul><li>{SENTENCE}</li><li>{SENTENCE}</li></ul>
</article><footer>Cookies and terms</footer></body></html>"""


def extract(name: str, pages: Sequence[str | None], url: str | None = "https://a.example/x/y") -> list[dict[str, Any]]:
    extractor = find_extractor(name)
    batch = pa.RecordBatch.from_arrays(
        [pa.array(pages, pa.large_string()), pa.array([url] * len(pages), pa.string())], schema=PAGES
    )
    made = extractor.kernel(batch, extractor.config())
    assert made.schema == extractor.schema(extractor.config())
    made.validate(full=True)
    rows: list[dict[str, Any]] = made.to_pylist()
    return rows


@EACH
def test_an_article_gives_its_text_and_what_the_page_says_of_itself(name: str) -> None:
    (row,) = extract(name, [ARTICLE])
    assert row["status"] == "ok"
    assert "Åland and Öland are islands." in str(row["text"])
    assert "Cookies and terms" not in str(row["text"])
    assert "Boats" not in str(row["text"])  # an alternative text is not text
    assert row["title"] == "Two rows"
    assert row["language"] == "sv"
    assert row["canonical_url"] == "https://a.example/harbour?b=1&a=2"
    assert row["links"] == [
        {"url": "https://a.example/", "rel": None},
        {"url": "https://a.example/x/about.html", "rel": "nofollow"},
    ]
    (image,) = row["images"]
    expected = {
        "src": "https://a.example/x/boats.jpg",
        "alt": "Boats",
        "caption": "At six",
        "width": 640,
        "height": 480,
    }
    assert {key: image[key] for key in expected} == expected
    if name != "main":  # a library does not say where in its text an image stands
        assert (image["before"], image["after"]) == (None, None)
        assert row["parts"] == [{"kind": "text", "start": 0, "end": len(row["text"].encode()), "image": None}]


def test_parts_are_ranges_of_the_text_in_reading_order_with_the_image_in_its_place() -> None:
    (row,) = extract("main", [ARTICLE])
    (image,) = row["images"]
    assert str(image["before"]).endswith(SENTENCE.strip())
    assert "Åland" in str(image["after"]) or SENTENCE.strip() in str(image["after"])
    raw = str(row["text"]).encode()
    parts = row["parts"]
    ends = [(part["start"], part["end"]) for part in parts]
    assert ends == sorted(ends)
    pieces = [raw[part["start"] : part["end"]].decode() for part in parts]
    where = next(index for index, part in enumerate(parts) if part["kind"] == "image")
    assert parts[where]["image"] == 0
    assert any("harbour was quiet" in piece for piece in pieces[:where])
    assert any("Åland" in piece for piece in pieces[where:])
    covered = "".join(pieces)
    assert "".join(str(row["text"]).split()) == "".join(covered.split())


@EACH
def test_what_is_no_page_is_null_and_says_why(name: str) -> None:
    rows = extract(name, [None, "", "   ", "no markup at all", "<html></html>"])
    extractor = find_extractor(name)
    assert rows[0] == dict.fromkeys(extractor.schema(extractor.config()).names) | {"status": "not_html"}
    assert all(row["status"] in {"ok", "empty"} and row["text"] is not None for row in rows[1:])


PAGES_IN_MANY_SCRIPTS = [
    f"<html><body><article><p>{text * 8}</p></article></body></html>"
    for text in (
        "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。",
        "มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ ",
        "يولد جميع الناس أحرارا متساوين في الكرامة والحقوق. ",
        "כל בני אדם נולדו בני חורין ושווים בערכם ובזכויותיהם. ",
        "सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता प्राप्त है। ",
        "Все люди рождаются свободными и равными в своем достоинстве и правах. ",
    )
]


@EACH
def test_pages_in_any_script_keep_their_text(name: str) -> None:
    for page, row in zip(PAGES_IN_MANY_SCRIPTS, extract(name, PAGES_IN_MANY_SCRIPTS), strict=True):
        sentence = page.split("<p>")[1].split("</p>")[0].strip()
        assert sentence[:40] in str(row["text"])


@EACH
def test_neither_order_nor_batch_nor_earlier_pages_change_a_row(name: str) -> None:
    """The same paragraph on many pages must not disappear from the later ones."""
    pages: list[str | None] = [
        ARTICLE,
        *PAGES_IN_MANY_SCRIPTS,
        None,
        ARTICLE.replace("harbour", "island"),
        "<p>",
        ARTICLE,
    ]
    alone = [extract(name, [page])[0] for page in pages]
    order = list(range(len(pages)))
    for seed in range(3):
        random.Random(seed).shuffle(order)
        shuffled = extract(name, [pages[index] for index in order])
        assert [shuffled[order.index(index)] for index in range(len(pages))] == alone


HOSTILE = {
    "nested": "<div>" * 100_000 + "text",
    "nested tables": "<table><tr><td>" * 20_000,
    "unclosed formatting": "<b><i><font color=red>" * 20_000 + "text",
    "open angles": "<" * 100_000,
    "one long attribute": f"<p title='{'x' * 1_000_000}'>text</p>",
    "many attributes": "<p " + " ".join(f"a{number}=1" for number in range(50_000)) + ">text",
    "unterminated comment": "<!--" + "-" * 200_000,
    "unterminated script": "<script>" + "if (a < b) " * 20_000,
    "entities": "&lt;" * 200_000 + "&#x110000;&#0;&bogus;",
    "controls": "<p>\x01\x02\x03 a \x0212\x03 b \x7f\x80\ufffe</p>",
    "bidi": "<p>\u202eabc\u2066def\u2069</p>",
    "newlines": "<p>" + "\n" * 200_000 + "a",
    "links": "<a href='" + "../" * 30_000 + "x'>a</a>",
    "images": "<img src=a.png>" * 30_000,
    "urls": "<a href='http://[::1'>a</a><a href='http://\x00/'>b</a><a href='javascript:x'>c</a><img src='data:,x'>",
}


@EACH
@pytest.mark.parametrize("case", list(HOSTILE))
def test_a_hostile_page_is_read_or_refused_with_a_status(name: str, case: str) -> None:
    (row,) = extract(name, [HOSTILE[case]])
    assert row["status"] in {"ok", "empty", "too_large", "too_deep", "too_many_nodes", "failed"}
    if name == "main":
        assert not {"\x01", "\x02", "\x03"} & set(row["text"] or "")


@EACH
@settings(max_examples=scaled(40), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.sampled_from(
            [
                "<p>",
                "</p>",
                "<div class=main>",
                "<img src=a alt='b c'>",
                "<h2>",
                "</h2>",
                "<table><td>",
                "<!--",
                "-->",
                "<script>",
                "\n\n",
            ]
        )
        | st.text(max_size=20),
        max_size=30,
    )
)
def test_any_soup_gives_a_valid_row(name: str, soup: list[str]) -> None:
    page = "".join(soup).encode("utf-8", "replace").decode()
    (row,) = extract(name, [page])
    if row["text"] is not None:
        raw = str(row["text"]).encode()
        for part in row["parts"]:
            assert 0 <= part["start"] <= part["end"] <= len(raw)
            raw[part["start"] : part["end"]].decode()


def test_the_registry_knows_ours_and_names_the_nearest() -> None:
    assert {"main", "resiliparse", "trafilatura"} <= set(extractor_names())
    with assert_refused(RecipeError, "'mian'", "'main'"):
        find_extractor("mian")


@pytest.mark.parametrize(("name", "library"), [("fast", "resiliparse"), ("precise", "trafilatura")])
def test_an_extractor_that_was_removed_says_what_to_write_now(name: str, library: str) -> None:
    with assert_refused(RecipeError, f"'{name}'", "'main'", f"'{library}'"):
        find_extractor(name)
