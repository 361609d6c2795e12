"""Which elements of a page speak of its use."""

import time
from html import escape
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from resiliparse.parse.html import HTMLTree

from tests.property_sizes import scaled
from winnow.filters.extraction.meta_elements import opt_out_elements

NOAI = '<meta name="robots" content="noai">'


def found(html: str) -> list[tuple[str, str]]:
    return [(name, content) for name, content, _ in opt_out_elements(html)]


@pytest.mark.parametrize(
    "tag",
    [
        NOAI,
        "<META NAME=ROBOTS CONTENT=noai>",
        "<mEtA\ncontent='noai'\n name = 'Robots' />",
        '<meta/name="robots"/content="noai"/>',
        '<meta data-x="a > b" name="robots" content="noai">',
        '<meta name="robots" content="noai" content="all" name="description">',
        '<meta name="&#114;obots" content="no&#97;i">',
        '<meta http-equiv="robots" content="noai">',
        '<meta name=" robots " content=noai>',
    ],
)
def test_a_tag_however_it_is_written(tag: str) -> None:
    assert found(f"<!doctype html><html><head>{tag}</head><body>") == [("robots", "noai")]
    assert found(f"<p>no head</p>{tag}") == [("robots", "noai")]


@pytest.mark.parametrize(
    "html",
    [
        f"<!-- {NOAI} -->",
        f"<!-- {NOAI}",
        f"<script>var x = '{NOAI}';</script>",
        f"<STYLE>{NOAI}</STYLE>",
        f"<title>{NOAI}</title>",
        f"<textarea>{NOAI}</textarea>",
        f"<p title='{NOAI}'>",
        f"<? {NOAI[:-1]} ?>",
        NOAI[:-1],
        "<metal name=robots content=noai>",
        "<meta name=robots>",
        "<meta content=noai>",
        '<meta name="description" content="how to write noai">',
        '<meta name="viewport" content="no-scale">',
        "&lt;meta name=robots content=noai&gt;",
    ],
)
def test_what_is_none(html: str) -> None:
    assert found(html) == []


@pytest.mark.parametrize(
    "before", ["<!-->", "<!--->", "<!-- a --!>", "<!-- <meta name=' -->", "<p>it's", "<a b='<'>", "<"]
)
def test_what_stands_before_it_hides_nothing(before: str) -> None:
    assert found(before + NOAI) == [("robots", "noai")]


def test_standards_crawlers_and_whoever_is_told_no() -> None:
    html = """
        <meta name="tdm-reservation" content="1"><meta name="tdm-policy" content="/p">
        <meta name="googlebot" content="index"><meta name="google-extended" content="x">
        <meta name="my-reader" content="noai, follow"><meta http-equiv="X-Robots-Tag" content="noindex">
        <meta http-equiv="Content-Type" content="text/html"><meta name="content-usage" content="train-ai=n">
    """
    assert found(html) == [
        ("tdm-reservation", "1"),
        ("tdm-policy", "/p"),
        ("googlebot", "index"),
        ("google-extended", "x"),
        ("my-reader", "noai, follow"),
        ("x-robots-tag", "noindex"),
        ("content-usage", "train-ai=n"),
    ]


def test_a_long_content_is_cut_and_says_so() -> None:
    [(name, content, cut)] = opt_out_elements(f'<meta name="robots" content="{"noai," * 1000}">')
    assert (name, content, cut) == ("robots", ("noai," * 1000)[:1024], True)
    assert found(f'<meta name="robots" content="&#{"9" * 100_000};">') == [("robots", "\ufffd")]


PIECES = [
    "<!--",
    "-->",
    "--!>",
    "<!-->",
    "<script>",
    "</script>",
    "<title>",
    "</title>",
    "<style ",
    "'",
    '"',
    "<p x=",
    ">",
]
PIECES += ["<meta ", "name='robots'", " content=", "=", "/", "x", "<", "</p", "<!", "<?", '<div title="', NOAI, NOAI]


@given(st.lists(st.sampled_from(PIECES), max_size=14))
@settings(max_examples=scaled(1000), deadline=None)
def test_it_sees_what_a_parser_of_the_standard_sees(pieces: list[str]) -> None:
    # What follows closes any quote: a page that ends inside one has no tag there, and ours still hears what it says.
    html = f"<!doctype html><html><head></head><body>{''.join(pieces)}x '>\">"
    document = HTMLTree.parse(html).document
    assert document is not None
    elements = document.query_selector_all('meta[name="robots"][content]')
    assert [content for name, content in found(html) if name == "robots"] == [
        element.getattr("content") for element in elements
    ]


@given(st.text(st.sampled_from("<>meta robots='\"/!-n oc&;#"), max_size=80))
@settings(max_examples=scaled(300), deadline=None)
def test_any_text_is_read_and_what_is_put_behind_closed_markup_is_found(text: str) -> None:
    list(opt_out_elements(text))
    assert found(f'<p title="{escape(text)}">{escape(text)}</p>{NOAI}') == [("robots", "noai")]


@pytest.mark.parametrize(
    "html",
    [
        "<meta " * 170_000,
        "<meta name=robots content=noai" * 35_000,
        '<meta name="' * 85_000,
        "<meta a=<" * 110_000,
        "<!--" * 250_000 + NOAI,
        "<meta name=robots content=noai " + "a " * 500_000 + ">",
        f"<meta name={'bot' * 300_000}! content=x>",
        "<meta name=robots content=" + "&" * 1_000_000 + ">",
        NOAI + "<script>" * 120_000,
    ],
)
def test_hostile_markup_takes_linear_time(html: str) -> None:
    start = time.process_time()
    list(islice(opt_out_elements(html), 33))
    assert time.process_time() - start < 20  # a quadratic walk takes minutes
