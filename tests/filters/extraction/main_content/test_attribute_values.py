"""What tags say in their attributes: equal to what a parser of the HTML standard reads."""

from html import escape

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from resiliparse.parse.html import HTMLTree

from winnow.filters.extraction.main_content.attribute_values import (
    attribute_names,
    attribute_values,
    first_attribute_value,
)
from winnow.filters.extraction.main_content.names import NUMBER
from winnow.filters.extraction.main_content.scan import scanned
from winnow.filters.extraction.main_content.sheet import found_byte

WANTED = ("src", "alt", "data-src", "width")
QUOTES = ('"', "'", "")


def spoken(html: str, names: tuple[str, ...] = WANTED) -> list[dict[str, str]]:
    source = html.encode()
    page = scanned(np.frombuffer(source, np.uint8))
    return attribute_values(page, source, np.flatnonzero(page.tag == NUMBER["img"]), attribute_names(names))


def attribute(name: str, value: str, quote: str, space: str) -> str:
    value = escape(value).replace(" ", "" if not quote else " ")
    return f"{name}{space}={space}{quote}{value or ('' if quote else 'x')}{quote}"


attributes = st.lists(
    st.builds(
        attribute,
        st.sampled_from([*WANTED, "SRC", "class", "data-other", "é"]),
        st.text("ab/?=&;é漢< \"'\t", max_size=12),
        st.sampled_from(QUOTES),
        st.sampled_from(["", " ", "\n"]),
    ),
    max_size=8,
    unique_by=lambda one: one.partition("=")[0].strip().lower(),
)


@given(st.lists(attributes, min_size=1, max_size=4), st.sampled_from(["", "/", " /"]))
def test_values_are_those_that_a_parser_of_the_standard_reads(tags: list[list[str]], close: str) -> None:
    html = "".join(f"<img {' '.join(tag)}{close if not tag or tag[-1][-1] in QUOTES else ''}>" for tag in tags)
    document = HTMLTree.parse(html).document
    assert document is not None
    images = document.query_selector_all("img")
    expected = [{name: image.getattr(name) for name in WANTED if image.hasattr(name)} for image in images]
    assert spoken(html) == expected


def test_of_equal_names_the_first_with_a_value_counts() -> None:
    assert spoken("<img src src='' src=/a.png alt=1 ALT=2>") == [{"src": "", "alt": "1"}]


def test_a_tag_that_never_ends_says_what_it_has() -> None:
    assert spoken("<p>x<img src='/a.png") == [{"src": "/a.png"}]
    assert spoken("<p>x<img src=") == [{"src": ""}]


def test_the_first_value_that_is_not_empty_is_found_in_the_first_element_that_has_one() -> None:
    source = b"<base><base href=''><base href='/a?x=1&amp;y'><base href=/b>"
    page = scanned(np.frombuffer(source, np.uint8))
    assert (
        first_attribute_value(page, source, np.flatnonzero(page.tag == NUMBER["base"]), attribute_names(["href"]))
        == "/a?x=1&y"
    )


@given(st.binary(max_size=200), st.integers(0, 255), st.integers(0, 200), st.integers(0, 200))
def test_a_byte_is_found_where_it_stands_first(source: bytes, byte: int, at: int, end: int) -> None:
    at, end = sorted((min(at, len(source)), min(end, len(source))))
    place = source.find(bytes([byte]), at, end)
    assert found_byte(np.frombuffer(source, np.uint8), np.uint8(byte), at, end) == (end if place < 0 else place)
