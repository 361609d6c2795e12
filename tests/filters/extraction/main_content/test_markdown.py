"""Main content as Markdown: what a renderer makes of it has the page's structure and its words."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from tests.filters.extraction.main_content.test_writing import assert_covered
from tests.property_sizes import scaled
from winnow.filters.extraction.main_content.blocks import page_blocks
from winnow.filters.extraction.main_content.facts import page_facts
from winnow.filters.extraction.main_content.markdown import MarkdownPage, as_markdown
from winnow.filters.extraction.main_content.writing import MainText
from winnow.filters.extraction.page import PageLimits

URL = "https://example.org/a/b.html"


def write(html: str, *, links: bool = False) -> MainText:
    """All blocks of a page."""
    source = html.encode()
    blocks = page_blocks(source, URL)
    facts, numbers = page_facts(blocks, PageLimits())
    found = as_markdown(MarkdownPage(blocks, facts.images, numbers, links), np.ones(len(blocks), np.bool_))
    parts = found.placed.parts
    assert parts.starts == sorted(parts.starts)
    assert max([0, *parts.ends]) <= len(found.placed.text)
    assert_covered(found)
    return found


def text(html: str, *, links: bool = False) -> str:
    return write(html, links=links).placed.text.decode()


def rendered(html: str) -> str:
    """What a renderer makes of the Markdown of a page, without white space between tags."""
    made = MarkdownIt("commonmark").enable("table").enable("strikethrough").render(text(html))
    return re.sub(r"\s*\n\s*<|>\n", lambda found: found[0].strip(), made).strip()


@pytest.mark.parametrize(
    "html",
    [
        "<h1>T</h1><p>a</p><h3>b</h3>",
        "<p>some <strong>bold</strong>, <em>slanted</em> and <code>a_b*c*</code></p>",
        "<ul><li>a</li><li>b</li></ul><p>c</p>",
        "<ol><li>a</li><li>b</li></ol>",
        "<ul><li>a<ul><li>b</li><li>c</li></ul></li><li>d</li></ul>",
        "<blockquote><p>a</p><p>b</p></blockquote>",
        "<p># a</p><p>1. b</p><p>- c</p><p>+ d</p><p>&gt; e</p>",
        "<table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td>1</td><td>2</td></tr></tbody></table>",
        '<p>a <img src="https://example.org/p.png" alt="P" /> b</p>',
    ],
)
def test_a_renderer_makes_the_same_page_again(html: str) -> None:
    assert rendered(html) == html


def test_code_has_its_lines_and_its_language() -> None:
    code = "def f():\n    return `1`\n\n```\n"
    found = write(f'<div class="highlight-python notranslate"><pre>{code}</pre></div><pre>plain</pre>')
    assert found.placed.text.decode() == f"````python\n{code.rstrip()}\n````\n\n```\nplain\n```"
    assert found.languages == ["python", None]


@pytest.mark.parametrize(
    ("markup", "language"),
    [
        ('<pre><code class="language-js">x</code></pre>', "javascript"),
        ('<pre class="brush: sql; toolbar: false">x</pre>', "sql"),
        ('<div class="highlight highlight-source-shell"><pre>x</pre></div>', "shell"),
        ('<pre class="sourceCode haskell">x</pre>', "haskell"),
        ('<div class="language-c++ highlighter-rouge"><div><pre>x</pre></div></div>', "cpp"),
        ('<pre><code class="hljs rb">x</code></pre>', "ruby"),
        ('<pre class="rust rust-example-rendered">x</pre>', "rust"),
        ('<pre data-lang="Kotlin"><code>x</code></pre>', "kotlin"),
        ('<pre class="note go-away">x</pre><p class="python">y</p>', None),
        ('<figure class="highlight yaml"><table><tr><td class=gutter><pre>1<td><pre>x</pre></table></figure>', "yaml"),
        ('<pre><code class="language-plaintext">x</code></pre>', None),
        ('<pre>x</pre><p><code class="language-js">y</code></p>', None),
    ],
)
def test_languages_of_code_are_read_from_highlighters(markup: str, language: str | None) -> None:
    assert write(markup).languages == [language]


def test_links_have_addresses_where_they_are_wanted() -> None:
    html = '<base href="/docs/"><p>see <a href="x.html?a=1&amp;b=2">this</a> and <a href="#top">top</a></p>'
    assert text(html) == "see this and top"
    assert text(html, links=True) == "see [this](https://example.org/docs/x.html?a=1&b=2) and top"


def test_addresses_with_brackets_and_items_that_look_like_headings() -> None:
    assert text("<p><a href='/a_(b)'>x</a>", links=True) == "[x](<https://example.org/a_(b)>)"
    assert text("<ul><li># a<li>1. b") == "- \\# a\n- 1\\. b"


def test_marks_do_not_stand_in_themselves_or_around_nothing() -> None:
    assert text("<p><b><strong>a</strong></b> <b> </b><i>, </i><code>`</code></p>") == "**a** , `"


def test_cells_with_bars_lines_and_images_stay_cells() -> None:
    html = "<table><tr><td>a|b<td>c<br>d<tr><td><img src=p.png alt=x>e</table>"
    assert text(html).split("\n") == ["| a\\|b | c d |", "|---|---|", "| ![x](https://example.org/a/p.png) e |  |"]


def table(*rows: str) -> list[list[str]]:
    """The cells of a table of these rows, as Markdown has them, without the line below the heading."""
    lines = text(f"<table>{''.join(rows)}</table>").split("\n")
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [cells[0], *cells[2:]]


def test_cells_below_and_beside_those_that_span_others_stay_in_their_columns() -> None:
    """A cell stands in its first column and its first row; the others that it takes are empty."""
    found = table(
        "<tr><th rowspan=2>name<th colspan=2>size<th>colour</tr>",
        "<tr><th>width<th>height<th>shade</tr>",
        "<tr><td rowspan=0>a<td>1<td>2<td>red</tr>",
        "<tr><td>3<td>4<td>blue</tr>",
    )
    assert found == [
        ["name", "size", "", "colour"],
        ["", "width", "height", "shade"],
        ["a", "1", "2", "red"],
        ["", "3", "4", "blue"],
    ]


def test_no_cell_reaches_beyond_its_part_of_the_table() -> None:
    head, body = "<thead><tr><th rowspan=9>a<th>b</thead>", "<tbody><tr><td>1<td>2</tbody>"
    assert table(head, body) == [["a", "b"], ["1", "2"]]


@pytest.mark.parametrize("span", ["colspan=99999999", "rowspan=99999999", "colspan=0", "rowspan=-1", "colspan=٣"])
def test_spans_that_no_table_has_are_bounded(span: str) -> None:
    found = table(f"<tr><td {span}>a<td>b</tr>", "<tr><td>c<td>d</tr>")
    assert sorted(cell for row in found for cell in row if cell) == ["a", "b", "c", "d"]
    assert all(len(row) <= 65 for row in found)


def test_images_are_parts_in_their_places() -> None:
    found = write("<img src=a.png><p>one <img src=b.png alt=B> two</p><p>three</p><img src=c.png>").placed
    shown = [
        (kind, found.text[begin:].split(b"\n")[0].decode() if kind == "image" else found.text[begin:end].decode())
        for kind, begin, end in zip(found.parts.kinds, found.parts.starts, found.parts.ends, strict=True)
    ]
    at = "https://example.org/a/"
    assert shown == [
        ("image", f"![]({at}a.png)"),
        ("text", f"one ![B]({at}b.png) two"),
        ("image", f"![B]({at}b.png) two"),
        ("text", "three"),
        ("image", f"![]({at}c.png)"),
    ]


def test_marks_that_end_in_white_space_behind_all_text_are_left_out() -> None:
    assert text("<p>a</p><pre><b> </b><b> ") == "a"


def test_comments_are_ranges_of_the_text() -> None:
    found = write("<h1>T</h1><p>a</p><div class=post-comments><p>b</p><ul><li>c</ul></div><p>d</p>")
    left = found.placed.text
    for begin, end in reversed(found.comments):
        left = left[:begin] + left[end:]
    assert left == b"# T\n\na\n\nd"


_PIECES = (
    *("<b>", "</b>", "<li>", "<ul>", "</ul>", "<td>", "<table>", "</table>", "<pre>", "</pre>", "<blockquote>"),
    *("<img src=x>", "<dl>", "<dd>", "<code>", "x", " y ", "<p>", "</p>", "<h2>", "<a href=z>", "</a>", "<ol>", "<i>"),
)


@given(st.text(st.sampled_from("ab <>/\n"), max_size=60), st.lists(st.sampled_from(_PIECES), max_size=40))
@settings(max_examples=scaled(150))
def test_any_markup_ends_and_loses_no_letter(first: str, pieces: list[str]) -> None:
    html = f"{first}{''.join(pieces)}"
    shown = "".join(page_blocks(html.encode(), URL).texts())
    made = re.sub(r"\]\(https?://[^)]*\)", "]", text(html, links=True))
    for letter in "abxy":
        assert made.count(letter) == shown.count(letter)
