"""Finding links, images and headings in source, by the tokenizer's rules."""

import pytest

from winnow.filters.extraction.markup import mark_everything, scan, unmarked


def test_images_are_numbered_before_their_own_attributes() -> None:
    markup = scan('<p><img alt="a" src=x><IMG/src=y><image src=z></p>')
    assert markup.source == (
        '<p><img alt=\x020\x03  alt="a" src=x><IMG alt=\x021\x03 /src=y><image alt=\x022\x03  src=z></p>'
    )
    assert markup.images() == [' alt="a" src=x>', "/src=y>", " src=z>"]


def test_headings_begin_with_a_mark() -> None:
    assert scan('<h1 class="a">One</h1><H2>Two').source == '<h1 class="a">\x01One</h1><H2>\x01Two'


def test_comments_scripts_and_other_raw_text_hold_no_elements() -> None:
    hidden = (
        '<!-- <a href="/1"> <img> --><script>"<a href=/2>"</script><style><img></style>'
        "<textarea><a href=/3></textarea><title><img></title>"
    )
    markup = scan(hidden + '<a href="/4">')
    assert [anchor[2] for anchor in markup.anchors()] == ["/4"]
    assert markup.images() == []
    assert markup.hides_elements
    assert markup.source == hidden + '<a href="/4">'


def test_a_comment_ends_as_browsers_end_it() -> None:
    assert len(list(scan("<!-- a --!><a href=/1>").anchors())) == 1
    assert len(list(scan("<!-- never ended <a href=/1>").anchors())) == 0


@pytest.mark.parametrize(
    ("tag", "href"),
    [
        ('<a href="/plain">', "/plain"),
        ('<a class="x > y" data-href="/no" href="/yes">', "/yes"),
        ('<a\nhref="/first" href="/second">', "/first"),
        ('<A HREF="/upper">', "/upper"),
    ],
)
def test_the_first_href_outside_of_quotes_counts(tag: str, href: str) -> None:
    assert [anchor[2] for anchor in scan(tag).anchors()] == [href]


def test_other_spellings_of_href_are_given_as_written() -> None:
    anchors = list(scan("<a href='/a'><a href = /b><a href=\"?a=1&amp;b=2\"><a href><a>").anchors())
    assert [anchor[4] for anchor in anchors] == ["'/a'", "/b", '"?a=1&amp;b=2"', None, None]


def test_marks_of_the_page_are_dropped() -> None:
    assert scan("a\x01b\x02\x30\x03c<h1>").source == "ab0c<h1>\x01"


def test_unmarked_gives_the_source_back() -> None:
    html = '<h1 a>x</h1><img src=a><img src="b">'
    assert unmarked(scan(html).source) == html


def test_everything_can_be_marked_whatever_stands_around() -> None:
    source, attributes = mark_everything('<!-- <img src=a> --><img src="b" alt=c>')
    assert source == '<!-- <img alt=\x020\x03  src=a> --><img alt=\x021\x03  src="b" alt=c>'
    assert attributes == [" src=a", ' src="b" alt=c']
