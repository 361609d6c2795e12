"""Chosen blocks become a text with its structure: rows, items, code, quotes, headings, and images in their places."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest

from winnow.filters.extraction.main_content.blocks import page_blocks
from winnow.filters.extraction.main_content.names import NUMBER
from winnow.filters.extraction.main_content.writing import MainText, written


def write(html: str, left_out: Sequence[str] = ()) -> tuple[str, list[tuple[str, str]]]:
    """The text of all blocks but some, and its parts; an image's is its number."""
    page = page_blocks(html.encode(), None)
    kept = np.array([text not in left_out for text in page.texts()], np.bool_)
    images = np.flatnonzero(page.page.tag == NUMBER["img"]).tolist()
    found = written(page, kept, {element: number for number, element in enumerate(images)})
    placed, parts = found.placed, found.placed.parts
    assert_covered(found)
    shown = [
        (kind, str(image) if kind == "image" else placed.text[begin:end].decode())
        for kind, begin, end, image in zip(parts.kinds, parts.starts, parts.ends, parts.images, strict=True)
    ]
    assert all(text for _, text in shown)
    assert parts.starts == sorted(parts.starts)
    return placed.text.decode(), shown


def assert_covered(found: MainText) -> None:
    """Every part but an image has its blocks, which follow those of the part before or go on in its last."""
    assert [one is None for one in found.blocks] == [kind == "image" for kind in found.placed.parts.kinds]
    ranges = [one for one in found.blocks if one is not None]
    assert all(0 <= first <= last for first, last in ranges)
    assert all(before[1] <= after[0] for before, after in pairwise(ranges))


@pytest.mark.parametrize(
    ("html", "text", "kinds"),
    [
        ("<h2>T</h2><p>a<p>b", "T\n\na\n\nb", ["heading", "text", "text"]),
        ("<p>x</p><ul><li>a<li>b<ol><li>c</ol></ul><p>y", "x\n\na\nb\nc\n\ny", ["text", "list", "text"]),
        ("<dl><dt>t<dd>d</dl>", "t\nd", ["list"]),
        ("<table><tr><th>a<th>b<tr><td>1<td>2</table>", "a\tb\n1\t2", ["table"]),
        ("<table><tr><td>a<td>b</table>c", "a\tb\n\nc", ["table", "text"]),  # end tags of cells may be left out
        ("<table><tr><td><p>a<p>b<td>c</table>", "a b\tc", ["table"]),
        ("<table><tr><td>" + "<p>x" * 9 + "</table>", "\n\n".join("x" * 9), ["text"] * 9),  # lays out a page
        (f"<table><tr><td>m<td><p>{'x' * 300}<p>{'y' * 200}</table>", f"m\n\n{'x' * 300}\n\n{'y' * 200}", ["text"] * 3),
        ("<table><tr><td><h1>a</h1>b<td>c</table>", "a\n\nb\n\nc", ["heading", "text", "text"]),
        ("<table><tr><td>a<table><tr><td>b<td>c</table></table>", "a\n\nb\tc", ["text", "table"]),
        ("<pre>a \n  b\n\nc</pre>", "a\n  b\n\nc", ["code"]),
        ("<pre>a {<div>  b</div><div>}</div></pre>c", "a {\n  b\n}\n\nc", ["code", "text"]),
        ("<table><tr><td class=gutter><pre>1\n2</pre><td><pre>a\nb</pre></table>c", "a\nb\n\nc", ["code", "text"]),
        ("<table><tr><td><pre>1</pre><td><pre>a</pre></table>", "1\ta", ["code", "code"]),
        ("<blockquote><p>a<p>b</blockquote>c", "a\n\nb\n\nc", ["quote", "text"]),
        ("<ul><li><h3>t</h3>x</ul>", "t\nx", ["heading", "list"]),
        ("", "", []),
    ],
)
def test_structure_is_kept(html: str, text: str, kinds: list[str]) -> None:
    found, parts = write(html)
    assert (found, [kind for kind, _ in parts]) == (text, kinds)


def test_cells_that_are_left_out_leave_no_tab() -> None:
    assert write("<table><tr><td>a<td>b<td>c<tr><td>d</table>", ["b"])[0] == "a\tc\nd"


def test_a_table_that_is_kept_has_its_heading() -> None:
    table = "<table><tr><th>a<th>b<tr><td>1<td>2<tr><td>3<td>4</table>"
    assert write(table, ["a", "b"])[0] == "a\tb\n1\t2\n3\t4"
    assert write(table, ["a", "b", "1", "2", "3"])[0] == "4"
    assert write(table.replace("th>", "td>"), ["a", "b"])[0] == "1\t2\n3\t4"
    assert write(table + "<table><tr><th>c</table>", ["b", "c"])[0] == "a\tb\n1\t2\n3\t4"
    assert write(table + "<p>x", ["a", "b", "1", "2", "3", "4"])[0] == "x"


def test_what_says_nothing_leaves_no_line() -> None:
    text, parts = write("<p>a</p><p>\u3000</p><h2>b <a href='#b'>¶</a></h2><p>\u3000c<br>\u3000d</p><p>\u200c</p>")
    assert text == "a\n\nb\n\nc\nd"
    assert [kind for kind, _ in parts] == ["text", "heading", "text"]
    assert write("<p>\u3000one <img> two\u3000</p>")[0] == "one two"


def test_images_stand_where_they_stood() -> None:
    text, parts = write("<p>before <img> after</p><figure><img></figure><p>last</p><img><footer>f</footer><img>", ["f"])
    assert text == "before after\n\nlast"
    assert parts == [
        ("text", "before"),
        ("image", "0"),
        ("text", "after"),
        ("image", "1"),
        ("text", "last"),
        ("image", "2"),
    ]


def test_an_image_in_the_white_space_that_ends_a_listing_cuts_no_character() -> None:
    _, parts = write("<pre>a\n   <img>   \n</pre><p>章次</p>")
    assert parts == [("code", "a"), ("image", "0"), ("text", "章次")]
    _, parts = write("<pre>   <img>   \n</pre><p>章次</p>")
    assert parts == [("image", "0"), ("text", "章次")]


def test_an_image_away_from_all_text_has_no_place() -> None:
    _, parts = write("<nav>a</nav><img><nav>b</nav><p>text", ["a", "b"])
    assert parts == [("text", "text")]


def test_an_image_between_items_parts_the_list() -> None:
    text, parts = write("<ul><li>a<li><img>b</ul>")
    assert text == "a\nb"
    assert parts == [("list", "a"), ("image", "0"), ("list", "b")]


def test_rows_that_are_kept_have_their_headings() -> None:
    table = "<table><tr><th>a<td>1<td>2<tr><th>b<td>3<td>4</table>"
    assert write(table, ["a", "b"])[0] == "a\t1\t2\nb\t3\t4"
    assert write(table, ["a", "b", "3", "4"])[0] == "a\t1\t2"


def test_lines_without_a_word_are_kept_with_their_listing() -> None:
    listing = "<pre><div>a {</div><div>b</div><div>}</div></pre><p>}</p>"
    assert write(listing, ["}"])[0] == "a {\nb\n}"
    assert write(listing, ["a {", "b", "}"])[0] == ""
