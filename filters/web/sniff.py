"""Detect the media type of a response from its bytes (after the WHATWG MIME Sniffing Standard).

Signatures decide; the declared type and the address only choose among kinds of text that bytes cannot distinguish
(style sheets, scripts, tables), and never override a signature.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

import orjson

from winnow.filters.web.file_signatures import binary_type
from winnow.schemas.rows.samples import Modality

PAGE = "text/html"
"""What every page is, however its header or its prologue names it: HTML and XHTML are read by the same parsers."""

SNIFFED_BYTES = 2048
PROLOGUE_BYTES = 1 << 16  # searched for the root behind licences in comments and declarations
SOUP_BYTES = 1024
SOUP_CONTROLS = 0.02  # share of control bytes that a broken HTML page may hold

_TEXT_TYPES = frozenset({PAGE, "text/plain", "text/markdown"})
_HTML_DECLARED = frozenset({PAGE, "application/xhtml+xml"})
_UNTOLD = frozenset({None, "", "application/octet-stream", "text/plain", "application/unknown", "unknown/unknown"})

# Kinds of text that only a declaration distinguishes, with one name for each.
_DECLARED_TEXT = {
    "text/css": "text/css",
    "text/javascript": "text/javascript",
    "application/javascript": "text/javascript",
    "application/x-javascript": "text/javascript",
    "application/ecmascript": "text/javascript",
    "text/ecmascript": "text/javascript",
    "text/csv": "text/csv",
    "text/tab-separated-values": "text/tab-separated-values",
    "text/markdown": "text/markdown",
    "text/x-markdown": "text/markdown",
    "text/calendar": "text/calendar",
    "text/vcard": "text/vcard",
    "text/vtt": "text/vtt",
}
_SUFFIXES = {"css": "text/css", "js": "text/javascript", "mjs": "text/javascript", "csv": "text/csv"} | {
    "tsv": "text/tab-separated-values",
    "md": "text/markdown",
    "markdown": "text/markdown",
    "ics": "text/calendar",
    "vcf": "text/vcard",
    "vtt": "text/vtt",
}

_SPACE = b"\t\n\x0c\r "
_HTML = re.compile(
    rb"<(?:!doctype html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p|meta|link|base|center|"
    rb"span|h[2-6]|ul|ol|dl|form|img|noscript|frameset|main|article|section|header|nav|pre|hr|i|u|strong|em|basefont)"
    rb"[\s>/]",
    re.IGNORECASE,
)
_SOUP = re.compile(rb"<(?:!doctype\s+html|html|head|body|title)[\s>]", re.IGNORECASE)
_ANY_TAG = re.compile(rb"</?[a-z][a-z0-9]{0,15}(?:\s[^<>]{0,500})?/?>", re.IGNORECASE)
_PROLOGUE = re.compile(rb"\s*(?:<\?[^>]*>|<!--.*?-->)", re.DOTALL)
_DOCTYPE = re.compile(rb"\s*<!doctype\s+([a-z:]++)[^>\[]*+(?:\[[^\]]*\]\s*)?>", re.IGNORECASE)
_ROOT = re.compile(rb"\s*<([A-Za-z_][\w.-]*:)?([A-Za-z_][\w.-]*)[\s>/]")
_STRUCK = re.compile(rb"[^\x00-\x1f]\x08")  # a letter of a manual page, to be struck again by the next
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")
# Possessive where runs could otherwise be split in many ways.
_JSON = re.compile(
    rb"\s*+(?:\{\s*+(?:\}\s*+\Z|\"(?:[^\"\\]|\\.)*+\"\s*+(?::|\Z))"
    rb"|\[\s*+(?:\]\s*+\Z|[\[\s]*+\{\s*+\"(?:[^\"\\]|\\.)*+\"\s*+(?::|\Z)|\"(?:[^\"\\]|\\.)*+\"\s*+,"
    rb"|[\[\s]*+-?[0-9][0-9.eE+-]*+\s*+,))",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class DetectedType:
    """The detected type of some bytes."""

    mime: str
    modality: Modality


def is_page(mime: str | None) -> bool:
    """Whether a sample of this type is an HTML page."""
    return mime == PAGE


def sniff(body: bytes, declared: str | None, url: str | None) -> DetectedType:
    """The media type of a body from its first SNIFFED_BYTES, and where these are a prologue from PROLOGUE_BYTES."""
    head = body[:SNIFFED_BYTES]
    start = head.lstrip(_SPACE)
    if _HTML.match(start):  # nearly every response of a crawl
        return _HTML_PAGE
    found = binary_type(head)
    if found is not None:
        return _sniffed(_specific(found, _essence(declared)))
    narrow = _narrowed(head)
    if narrow is not None:
        head = body = narrow
    elif head.startswith(b"\xef\xbb\xbf"):
        head, body = head[3:], body[3 : PROLOGUE_BYTES + 3]
    markup = _markup_type(body[:PROLOGUE_BYTES], _essence(declared)) if head.lstrip(_SPACE).startswith(b"<") else None
    return _sniffed(markup or _text_type(head, _essence(declared), url))


@lru_cache(maxsize=256)
def _sniffed(mime: str) -> DetectedType:
    kind = mime.partition("/")[0]
    if mime in _TEXT_TYPES:
        return DetectedType(mime, "text")
    if kind == "image":
        return DetectedType(mime, "image")
    if kind == "video":
        return DetectedType(mime, "video")
    return DetectedType(mime, "audio" if kind == "audio" else "other")


_HTML_PAGE = _sniffed(PAGE)


def _essence(declared: str | None) -> str | None:
    return declared.partition(";")[0].strip().lower() if declared else None


def _specific(found: str, declared: str | None) -> str:
    """The declared type for container formats: by its bytes, an office document is a ZIP file."""
    if found == "application/zip" and declared is not None and len(declared) < 128:
        family = ("application/vnd.openxmlformats-officedocument.", "application/vnd.oasis.opendocument.")
        if declared.startswith(family) or declared in ("application/epub+zip", "application/java-archive"):
            return declared
    return found


def _text_type(head: bytes, declared: str | None, url: str | None) -> str:
    controls = len(_CONTROL.findall(_STRUCK.sub(b"", head)))
    in_soup = _SOUP.search(head, 0, SOUP_BYTES) is not None
    if controls:
        broken = controls <= SOUP_CONTROLS * len(head) and (in_soup or declared in _HTML_DECLARED)
        return PAGE if broken and (in_soup or _ANY_TAG.search(head)) else "application/octet-stream"
    for sign, mime in _TEXT_SIGNS:
        if head.startswith(sign):
            return mime
    if _is_json(head, declared):
        return "application/json"
    if declared in _HTML_DECLARED:
        return PAGE if _ANY_TAG.search(head) else "text/plain"
    if declared in _DECLARED_TEXT:
        return _DECLARED_TEXT[declared]
    if declared in _UNTOLD and url is not None:
        path = url.partition("#")[0].partition("?")[0]
        _, dot, suffix = path[path.rfind("/") + 1 :].rpartition(".")
        if dot and suffix.lower() in _SUFFIXES:
            return _SUFFIXES[suffix.lower()]
    return PAGE if in_soup and declared != "text/plain" else "text/plain"


_TEXT_SIGNS = (
    (b"#EXTM3U", "application/vnd.apple.mpegurl"),
    (b"WEBVTT", "text/vtt"),
    (b"{\\rtf", "application/rtf"),
    (b"BEGIN:VCALENDAR", "text/calendar"),
    (b"BEGIN:VCARD", "text/vcard"),
    (b"WARC/1.", "application/warc"),
)


def _markup_type(head: bytes, declared: str | None) -> str | None:
    """The type of a document that starts with `<`; None if that is not markup."""
    at = 0
    is_xml = head.lstrip(_SPACE).startswith(b"<?xml")
    while (piece := _PROLOGUE.match(head, at)) is not None:
        at = piece.end()
    doctype = _DOCTYPE.match(head, at)
    named = doctype[1].lower() if doctype else b""
    if doctype is not None:
        at = doctype.end()
        while (piece := _PROLOGUE.match(head, at)) is not None:
            at = piece.end()
    root = _ROOT.match(head, at)
    name = root[2].lower() if root else named
    if b"html" in (name, named):
        return PAGE
    if name in _ROOTS and (is_xml or doctype is not None or b"xmlns" in head or name in _TELLING):
        rss1 = name == b"rdf" and b"purl.org/rss/1.0/" in head
        return "application/rss+xml" if rss1 else _ROOTS[name]
    if _HTML.match(head[at:].lstrip(_SPACE)):
        return PAGE
    if is_xml or (declared is not None and root is not None and _is_xml_type(declared)):
        return "application/xml"
    if head.lstrip(_SPACE).startswith(b"<!--"):  # by the standard, a comment starts an HTML page
        return PAGE
    return None


def _is_xml_type(declared: str) -> bool:
    return declared in ("text/xml", "application/xml") or declared.endswith("+xml")


_TELLING = frozenset({b"svg", b"rss", b"rdf", b"urlset", b"sitemapindex"})
_ROOTS = {
    b"svg": "image/svg+xml",
    b"rss": "application/rss+xml",
    b"feed": "application/atom+xml",
    b"rdf": "application/rdf+xml",
    b"urlset": "application/xml",
    b"sitemapindex": "application/xml",
}


def _is_json(head: bytes, declared: str | None) -> bool:
    if head.lstrip(_SPACE)[:1] not in (b"{", b"["):
        return False
    if declared is not None and (declared.endswith("+json") or declared in ("application/json", "text/json")):
        return True
    if _JSON.match(head):
        return True
    if len(head) >= SNIFFED_BYTES:
        return False
    try:
        orjson.loads(head)
    except orjson.JSONDecodeError:
        return False
    return True


def _narrowed(head: bytes) -> bytes | None:
    """UTF-16 text as UTF-8, for the same tests; None if it is not UTF-16."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        codec = "utf-16-le" if head[0] == 0xFF else "utf-16-be"
        return head[2:].decode(codec, "replace").encode("utf-8", "replace")
    if b"\0" not in head or len(head) < 4:
        return None
    # Without a mark: many NULs, on only one side of the pairs, and nothing else that text does not contain.
    first, second, pairs = head[::2].count(0), head[1::2].count(0), len(head) // 2
    if second * 20 > pairs and first * 20 <= second:
        codec = "utf-16-le"
    elif first * 20 > pairs and second * 20 <= first:
        codec = "utf-16-be"
    else:
        return None
    try:
        text = head[: pairs * 2].decode(codec)
    except UnicodeDecodeError as error:
        if error.start < pairs * 2 - 2:  # a surrogate pair may be cut at the end of the head
            return None
        text = head[: error.start].decode(codec)
    narrow = text.encode()
    return None if _CONTROL.search(narrow) else narrow
