"""Pages that cost too much are refused by what is counted in them, and nothing else."""

import re

import pytest
from resiliparse.parse.html import HTMLTree

from tests.filters.extraction.hostile_pages import HOSTILE
from winnow.filters.extraction.budgets import Budgets, is_too_deep, refusal, without_copies


def refused(html: str, budgets: Budgets, *, every_page: bool = True) -> str | None:
    return refusal(html, html.count("<"), budgets, every_page=every_page)


@pytest.mark.parametrize(
    "attributes",
    ["a b c d", "a=1 b=2 c=3 d=4", "a=\">\" b='>' c=x>y d", "a/b/c/d", 'a="1"b="2"c="3"d="4"', "a = 1 b = '2' c d"],
)
def test_attributes_are_counted_as_a_parser_reads_them(attributes: str) -> None:
    html = f"<p>text with = and ' <div {attributes.replace('x>y', 'xy')}>"
    assert refused(html, Budgets(max_attributes=4)) is None
    assert refused(html, Budgets(max_attributes=3)) == "too_many_nodes"


def test_what_looks_like_a_tag_in_a_comment_or_script_has_no_attributes() -> None:
    html = "<!-- <p a b c d> --><script>if (a<b && c) { d e f }</script><p a>"
    assert refused(html, Budgets(max_attributes=1)) is None


def test_small_pages_are_let_through_unread_unless_every_page_is_to_be_read() -> None:
    html = "<div " + " ".join(f"a{i}" for i in range(5_000)) + ">"
    assert refused(html, Budgets(), every_page=False) is None
    assert refused(html, Budgets()) == "too_many_nodes"


def test_options_are_counted_on_large_pages() -> None:
    assert refused("<select>" + "<option>" * 10_001, Budgets()) == "too_many_nodes"


def test_depth_is_the_parsed_trees() -> None:
    tree = HTMLTree.parse("<body>" + "<h1><li>" * 20)  # neither closes the other
    assert is_too_deep(tree, 41, Budgets(max_depth=40), every_page=True)
    assert not is_too_deep(tree, 41, Budgets(max_depth=41), every_page=True)
    assert not is_too_deep(tree, 41, Budgets(max_depth=3))


def test_formatting_that_would_be_copied_into_every_paragraph_loses_its_attributes() -> None:
    html = "<p>" + "".join(f"<font color={i}>" for i in range(2_000)) + "<p>x" * 2_000
    calm = without_copies(html, html.count("<"))
    assert calm == re.sub(r" color=\d+", "", html)
    elements = HTMLTree.parse(calm).document
    assert elements is not None
    assert len(elements.query_selector_all("*")) < 20_000


def test_ordinary_formatting_keeps_its_attributes() -> None:
    html = '<i class="icon">x</i><b>y</b>' * 1_000
    assert without_copies(html, html.count("<")) is html


@pytest.mark.parametrize("kind", HOSTILE)
def test_the_checks_end_on_hostile_pages(kind: str) -> None:
    html = HOSTILE[kind](20_000)
    refused(html, Budgets())
    without_copies(html, html.count("<"))
