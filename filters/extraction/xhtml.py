"""Rewrite a page in XML syntax (XHTML) as HTML, the only syntax that the parsers read.

An HTML parser takes `<script src="a.js"/>` for a script that swallows the page, `<title/>` for an open title and
`<div/>` for an element around all that follows; and a prefixed `<h:p>` is not a paragraph.
"""

import re

_XML = re.compile(r"\s*<\?xml\s")
_VOID = "area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr"
_EMPTY = re.compile(  # no value contains a `<`, so each tag is read once
    rf"<(?!(?:{_VOID})[\s/])([A-Za-z_][\w.-]*+)((?:[^<>\"'/]++|/(?!>)|\"[^\"<]*+\"|'[^'<]*+')*+)/>", re.IGNORECASE
)
_PREFIX = re.compile(r"<([A-Za-z_][\w.-]{0,30}):html\s[^<>]*?xmlns:\1\s*=\s*[\"']http://www\.w3\.org/1999/xhtml[\"']")
_ROOT_CHARACTERS = 1 << 16


def as_html(page: str, declared: str | None) -> str:
    """The page in HTML syntax; unchanged unless its declared type or its prologue says that it is XML."""
    if declared != "application/xhtml+xml" and not _XML.match(page):
        return page
    prefixed = _PREFIX.search(page, 0, _ROOT_CHARACTERS)
    if prefixed is not None:
        page = re.sub(rf"<(/?){re.escape(prefixed[1])}:", r"<\1", page)
    return _EMPTY.sub(r"<\1\2></\1>", page)
