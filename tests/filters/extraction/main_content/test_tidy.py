"""What is seen on a page and says nothing is not written."""

import time

import pytest

from winnow.filters.extraction.main_content.blocks import page_blocks
from winnow.filters.extraction.main_content.tidy import shown_text, tidy, without_gone


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("\u3000\u3000一。\n\u3000\u3000二。\u3000", "一。\n二。"),
        ("東京\u3000大阪", "東京\u3000大阪"),
        ("a\n\u3000\nb", "a\n\nb"),
        ("\u2003x\u2009y\u2003", "x\u2009y"),
        ("the \u200cold\u200c house", "the old house"),
        ("\u200c \u200d\u200c \u200cnews", "news"),
        ("a \u200c b", "a b"),
        ("می\u200cخواهم PDF\u200cها", "می\u200cخواهم PDF\u200cها"),
        ("👩\u200d🔬 क्\u200dष", "👩\u200d🔬 क्\u200dष"),
        ("plain – dash…", "plain – dash…"),
    ],
)
def test_lines_have_no_outer_blanks_and_joiners_join(written: str, text: str) -> None:
    assert tidy(written.encode()).decode() == text


def test_the_edges_of_a_part_are_those_of_lines_only_where_it_opens_or_closes_a_block() -> None:
    part = "\u3000a\n\u3000b\u3000".encode()
    assert tidy(part, opens=False).decode() == "\u3000a\nb"
    assert tidy(part, closes=False).decode() == "a\nb\u3000"


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<h2>Setup <a class=headerlink href='#setup'>¶</a></h2>", "Setup"),
        ("<h2>Setup<a href='#setup'>#</a> now</h2>", "Setup now"),
        ("<h2><a href='#setup'>🔗</a> Setup</h2>", "Setup"),
        ("<p>See <a href='/c'>#</a> and C# and ¶ 4", "See # and C# and ¶ 4"),
        ("<p>Note <a href='#n'>1</a>", "Note 1"),
        ("<p>x <a href=>¶</a>", "x ¶"),
        ("<h2><a class=doc-anchor href='#panics'>§</a>Panics</h2>", "Panics"),
        ("<p>See <a href='#s4'>§</a> 4", "See § 4"),
    ],
)
def test_a_sign_that_leads_to_a_place_on_the_page_goes(html: str, text: str) -> None:
    page = page_blocks(html.encode(), None).page
    assert tidy(shown_text(page)).decode() == text


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<h2>Rivers<span class=mw-editsection>[<a href='/w?edit'>edit</a>]</span></h2>", "Rivers"),
        (f"<div class=editsection>{'x' * 300}</div>", "x" * 300),  # no link but a part of the page
        ("<pre><span class=linenos>1 </span>a\n<span class=linenos>2 </span>b</pre>", "a\nb"),
        ("<pre><span class=lineno>x1</span>a</pre>", "x1a"),
        ("<p class=gutter>1 2</p>", "1 2"),  # of no listing
    ],
)
def test_what_classes_call_an_editor_or_numbers_of_lines_goes(html: str, text: str) -> None:
    blocks = page_blocks(html.encode(), None)
    assert without_gone(shown_text(blocks.page, blocks.named_parts)).decode() == text


def test_many_blanks_take_no_time() -> None:
    begun = time.process_time()
    assert tidy(("a" + "\u3000" * 300_000 + "\u200c" * 300_000 + "b").encode()).endswith(b"b")
    assert time.process_time() - begun < 5
