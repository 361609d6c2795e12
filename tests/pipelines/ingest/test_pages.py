"""One page in many syntaxes: each is a page, and extractors read the same of it."""

import pytest

from tests.pipelines.ingest.parts import read
from winnow.filters.extractors import find_extractor
from winnow.pipelines.ingest.files import FilesReader
from winnow.pipelines.ingest.records import Record
from winnow.pipelines.ingest.rows import Row, SourceRows, page_batch, row_of

SOURCE = SourceRows("books", "own", "unknown", ())
TEXT = "\n\n".join(
    f"This is paragraph {number}, which is long enough to be read as one of a text." for number in "123456"
)
PARAGRAPHS = "".join(f"<p>{line}</p>\n" for line in TEXT.split("\n\n"))
HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.1//EN" "x.dtd">\n'
XHTML = HEAD + '<html xmlns="http://www.w3.org/1999/xhtml"><head>%s</head>\n<body>%s' + PARAGRAPHS + "</body></html>"
PLAIN = XHTML % ("<title>A book</title>", "")
PREFIXED = PLAIN.replace("xmlns=", "xmlns:h=").replace("</", "</h:")
for name in ("html", "head", "title", "body", "p"):
    PREFIXED = PREFIXED.replace(f"<{name}", f"<h:{name}")

PAGES = {
    "html": PLAIN.removeprefix(HEAD),
    "xhtml": PLAIN,
    "scripts": XHTML
    % ('<title>A book</title><script src="a.js"/><style/>', '<script type="text/javascript" src="/b.js" />'),
    "frames": XHTML % ("<title>A book</title>", '<iframe src="x"/><div class="a"/><a id="here"/><textarea\n/><br/>'),
    "prefix": PREFIXED,
}


def row(page: str, path: str) -> Row:
    (record,) = read(FilesReader(), page.encode(), path=path)
    assert isinstance(record, Record)
    found = row_of(record, path, "etag", SOURCE)
    assert isinstance(found, Row)
    return found


@pytest.mark.parametrize("extractor", ["main", "resiliparse", "trafilatura"])
@pytest.mark.parametrize("path", ["a.html", "a.xhtml", "a.xml", "a"])
@pytest.mark.parametrize("syntax", PAGES)
def test_a_page_in_any_syntax_has_the_same_text(syntax: str, path: str, extractor: str) -> None:
    found = row(PAGES[syntax], path)
    assert (found.mime, found.text) == ("text/html", None)
    one = find_extractor(extractor)
    (extracted,) = one.kernel(page_batch([found.html], [None]), one.config()).to_pylist()
    assert (extracted["status"], extracted["title"]) == ("ok", "A book")
    assert extracted["text"].replace("\n\n", "\n") == TEXT.replace("\n\n", "\n")


def test_a_page_without_a_title_has_none() -> None:
    main = find_extractor("main")
    batch = page_batch([row(XHTML % ("<title/>", ""), "a.html").html], [None])
    (extracted,) = main.kernel(batch, main.config()).to_pylist()
    assert (extracted["title"], extracted["text"]) == (None, TEXT)


def test_html_syntax_is_left_as_it_is() -> None:
    html = "<!DOCTYPE html><html><body><p>a <b/>b</p><svg><path d='M0'/></svg></body></html>"
    assert row(html, "a.html").html == html


def test_what_a_page_was_declared_to_be_is_kept() -> None:
    assert '"declared_mime":"application/xhtml+xml"' in row(PLAIN, "a.xhtml").metadata


def test_lines_of_plain_text_end_with_line_feeds_wherever_it_was_written() -> None:
    assert row("one\r\n\r\ntwo\rthree\n\nfour \n", "a.txt").text == "one\n\ntwo\nthree\n\nfour \n"


def test_repeated_beginnings_of_tags_are_read_once() -> None:
    for piece in ('<a "', "<a '\"", '<a x="', "<a/", '<a x="b"/', "<a :html xmlns:a", "<a:html "):
        assert row('<?xml version="1.0"?><html>' + piece * 200_000, "a.html").mime == "text/html"
