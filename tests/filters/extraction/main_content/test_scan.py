"""A page becomes the blocks that a browser shows, whatever its markup."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from resiliparse.parse.html import HTMLTree

from tests.filters.extraction.hostile_pages import HOSTILE
from tests.property_sizes import scaled
from winnow.filters.extraction.main_content.names import MARKS, TAGS
from winnow.filters.extraction.main_content.scan import MOST_DEEP, Page, scanned


def scan(html: str) -> Page:
    page: Page = scanned(np.frombuffer(html.encode(), np.uint8))
    return page


def blocks(html: str) -> list[tuple[str, str]]:
    """Each block's element and its text."""
    page = scan(html)
    text = page.text.tobytes()
    found = zip(page.block_element.tolist(), page.block_begins.tolist(), page.block_ends.tolist(), strict=True)
    return [(name_of(page, element), text[begin:end].decode()) for element, begin, end in found]


def name_of(page: Page, element: int) -> str:
    if element < 0:
        return ""
    return TAGS[page.tag[element] - 1] if page.tag[element] else "?"


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("", []),
        ("plain", [("", "plain")]),
        ("<p>one<p>two", [("p", "one"), ("p", "two")]),
        ("<ul><li>a<li>b<ul><li>c</ul>d</ul>e", [("li", "a"), ("li", "b"), ("li", "c"), ("li", "d"), ("", "e")]),
        ("<p>a <b>bold</b>\n\t word</p>", [("p", "a bold word")]),
        ("<p>a<div>b</div>c", [("p", "a"), ("div", "b"), ("", "c")]),
        ("<div>a<span>b</div>c</span>", [("div", "ab"), ("", "c")]),
        ("<table><tr><td>1<td>2<tr><th>3</table>", [("td", "1"), ("td", "2"), ("th", "3")]),
        ("<table><tr><td>1</table><p>x", [("td", "1"), ("p", "x")]),
        ("<div><table><caption>1</table>x</div>", [("caption", "1"), ("div", "x")]),
        ("<dl><dt>t<dd>d<dt>u</dl>", [("dt", "t"), ("dd", "d"), ("dt", "u")]),
        ("<h1>a<h2>b</h1>c", [("h1", "a"), ("h2", "b"), ("", "c")]),
        ("a<br>b<br/>c</br>d", [("", "a\nb\nc\nd")]),
        ("<pre>  x\n    y\n</pre>", [("pre", "  x\n    y")]),
        ("<pre><b>x</b><br>  <b>y</b><br><br>    z<br></pre>", [("pre", "x\n  y\n\n    z")]),
        ("<!-- <p>no --><p>yes<!-->--x", [("p", "yes--x")]),
        ("<!doctype html><?php x ?><p>a<![CDATA[b]]>c", [("p", "ac")]),
        ("<script>'<p>'</script><style>p{}</style><p>a</p><template><p>b</template>", [("p", "a")]),
        ("<title>T</title><svg><title>S</title><text>v</text></svg>c", [("", "c")]),
        ("<textarea><b></textarea>c", [("textarea", "<b>"), ("", "c")]),
        ("<svg><path/><g><p>out", [("p", "out")]),
        ("<noscript><p>a</noscript>", [("p", "a")]),
        ("<a href=x>l<a href=y>m</a>n", [("", "lmn")]),
        ("<p hidden>a<p style='x:y;display : none'>b", [("p", "a"), ("p", "b")]),
        ("1 < 2 <3 a</ b>c</>d", [("", "1 < 2 <3 acd")]),
        ("&lt;&amp;&copy&nbsp;&#x41;&#65;&#150;&notin;&nosuch;&AMP;&#xD800;", [("", "<&© AA–∉&nosuch;&\ufffd")]),
        ("co\u00adop\u200b\ufeffera\u2060te n\u00a0b fa\u200cth", [("", "cooperate n b fa\u200cth")]),
        ("<custom-tag>a<other>b</custom-tag>c</other>", [("", "abc")]),
        ("<head><title>x</title>text<p>y", [("", "text"), ("p", "y")]),
        ("<head><noscript><img src=x></noscript><title>t</title></head><body><p>y", [("p", "y")]),
    ],
)  # fmt: skip
def test_blocks_are_those_that_a_reader_sees(html: str, expected: list[tuple[str, str]]) -> None:
    assert blocks(html) == expected


def test_elements_know_their_marks_links_and_ranges() -> None:
    page = scan(
        '<nav role=search><p itemprop="articleBody">a <a href=x>link</a></p></nav><p class="a b" id=c>d<img src=e>'
    )
    tags = [TAGS[tag - 1] for tag in page.tag]
    assert tags == ["nav", "p", "a", "p", "img"]
    marks = [{mark for bit, mark in enumerate(MARKS) if mask >> bit & 1} for mask in page.mask.tolist()]
    assert marks == [{"nav", "r_search"}, {"nav", "r_search", "body"}, {"nav", "r_search", "body"}, set(), set()]
    assert (page.linked.tolist(), page.links.tolist(), page.pictures.tolist()) == ([4, 0], [1, 0], [0, 1])
    source = page.source.tobytes()
    assert [source[a:b] for a, b in (page.classes[:, 3], page.identity[:, 3])] == [b"a b", b"c"]
    assert [page.text[a:b].tobytes() for a, b in zip(page.begins, page.ends, strict=True)] == [
        b"a link", b"a link", b" link", b"d", b"",
    ]  # fmt: skip
    assert page.parent.tolist() == [-1, 0, 1, -1, 3]


def test_text_that_looks_like_the_end_of_a_tag_is_a_block_of_its_own() -> None:
    assert blocks("<p>a></p>" * 50) == [("p", "a>")] * 50
    assert blocks("<textarea>></textarea>" * 50) == [("textarea", ">")] * 50


def test_deep_elements_lie_side_by_side() -> None:
    page = scan("<div>" * 100_000 + "deep" + "</div>" * 100_000 + "<p>after")
    assert [page.text[a:b].tobytes() for a, b in zip(page.block_begins, page.block_ends, strict=True)] == [
        b"deep",
        b"after",
    ]
    assert page.parent.max() < MOST_DEEP
    assert page.parent[page.block_element[1]] == -1


ENDED = ["div", "span", "b", "ul", "table", "h2", "a", "section", "dl", "blockquote", "em"]
UNENDED = ["p", "li", "td", "tr", "dd", "br"]
TEXTS = st.lists(st.sampled_from(["one ", "two ", " three", "&amp; "]), max_size=3).map("".join)


def around(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Elements around texts and elements, with an end tag where one is usual."""
    made = st.lists(inner, max_size=3).map("".join)
    ended = st.builds("<{0}>{1}</{0}>".format, st.sampled_from(ENDED), made)
    return ended | st.builds("<{0}>{1}".format, st.sampled_from(UNENDED), made)


@settings(deadline=None, max_examples=scaled(60))
@given(st.recursive(TEXTS, around, max_leaves=20))
def test_no_letter_of_a_page_is_lost_or_shown_twice(html: str) -> None:
    body = HTMLTree.parse(f"<body>{html}").body
    shown = "".join(text for _, text in blocks(html))
    assert sorted("".join(shown.split())) == sorted("".join(((body.text if body else None) or "").split()))


MARKUP = (
    "< > </ <!-- --> <p <a\thref=' \" ' = /> & &# &#x ; <b> </b> <table> <td> </table> <svg> </svg> <title> <script>"
)
PIECES = [*MARKUP.split(" "), "</script>", "<textarea>", "\x00", " "]


@settings(deadline=None, max_examples=scaled(100))
@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=30).map("".join))
def test_broken_pages_end_in_blocks_that_lie_one_behind_the_other(html: str) -> None:
    page = scan(html.encode("utf-8", "replace").decode())
    text = page.text.tobytes().decode()  # no character is cut
    assert "\x00" not in text
    edges = [0, *np.stack([page.block_begins, page.block_ends], 1).ravel().tolist(), len(page.text)]
    assert edges == sorted(edges)
    assert all(begin < end for begin, end in zip(page.block_begins, page.block_ends, strict=True))
    assert (page.begins <= page.ends).all()
    assert (page.parent < np.arange(len(page.parent))).all()


@pytest.mark.parametrize("kind", sorted(HOSTILE))
def test_a_page_that_is_dear_to_parse_takes_bounded_memory(kind: str) -> None:
    html = HOSTILE[kind](scaled(20_000))
    page = scan(html)
    held = sum(array.nbytes for array in page) - page.source.nbytes
    assert held <= 40 * len(html.encode()) + 10_000
