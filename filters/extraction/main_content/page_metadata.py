"""Who wrote a page, when, where it belongs and under which licence: from its <meta> elements, JSON-LD, links, address.

Statements are used unchecked, the most reliable sources first, and shortened.
"""

import re
from collections.abc import Iterator
from datetime import date
from html import unescape
from typing import Final, NamedTuple

import numpy as np
import orjson

from winnow.filters.extraction.main_content.attribute_values import attribute_values
from winnow.filters.extraction.main_content.blocks import PageBlocks
from winnow.filters.extraction.main_content.facts import OF_LINK, addresses_of
from winnow.filters.extraction.main_content.named_parts import AUTHOR, BREADCRUMBS, comment_blocks
from winnow.filters.extraction.main_content.names import NUMBER
from winnow.filters.extraction.page import PageLimits, label

_AUTHORS: Final = (
    *("author", "article:author", "parsely-author", "sailthru.author", "dc.creator", "dcterms.creator"),
    "citation_author",
)
_PUBLISHED: Final = (
    *("article:published_time", "og:published_time", "datepublished", "parsely-pub-date", "sailthru.date"),
    *("citation_publication_date", "dc.date.issued", "dcterms.issued", "dc.date", "dcterms.date", "pubdate", "date"),
)
_MODIFIED: Final = ("article:modified_time", "og:updated_time", "dcterms.modified", "last-modified", "datemodified")
_DATE = re.compile(r"(?<!\d)(\d{4})[-/.]?(\d{2})[-/.]?(\d{2})(?!\d)")
_OF_ADDRESS = re.compile(r"/(\d{4})/(\d{1,2})/(\d{1,2})(?=/|$)")
_TIME: Final = NUMBER["time"]
_LINKING: Final = (NUMBER["a"], NUMBER["link"])
_DATETIME = re.compile(r"\bdatetime\s*=\s*[\"']?([^\"'\s>]+)", re.IGNORECASE)
_IS_PUBLISHED = re.compile(r"\bpubdate\b|datePublished|\bpublished\b|dateCreated|entry-date", re.IGNORECASE)
_IS_MODIFIED = re.compile(r"dateModified|\b(?:updated|modified)\b", re.IGNORECASE)
_BY = re.compile(r"^(?:written |posted |story )?(?:by|von|par|por|di|da|av|af|door)\b:?\s*|[,|•·]\s*$", re.IGNORECASE)
_BETWEEN_CRUMBS = re.compile(r"\s*[\n/›»>→|·•]\s*|\s::\s")
_MOST_CRUMBS: Final = 12
_FEW_TIMES: Final = 3
_MOST_TIMES: Final = 40
_MOST_BYLINES: Final = 8
_MOST_CHARACTERS: Final = 200
_MOST_WORDS_OF_A_NAME: Final = 5
_CONTROLS = re.compile(rb"[\x00-\x1f]")
_MOST_BYTES: Final = 1 << 18  # of one script
_MOST_NODES: Final = 500
_MOST_NAMES: Final = 8
_MOST_LICENCES: Final = 8
_FIRST_YEAR: Final = 1990


class PageMetadata(NamedTuple):
    """A page's metadata other than its title."""

    author: str | None
    published: str | None  # 2024-05-01
    modified: str | None
    site: str | None
    breadcrumbs: tuple[str, ...] = ()  # where the page stands in its site, from the outside
    licences: tuple[str, ...] = ()  # addresses


def page_metadata(blocks: PageBlocks, limits: PageLimits) -> PageMetadata:
    """A page's author, dates and site."""
    meta = blocks.meta
    nodes = list(_nodes(blocks))
    pages = [node for node in nodes if "datePublished" in node or "headline" in node]
    authors = [meta[name] for name in _AUTHORS if name in meta]
    authors += [name for node in pages for name in _names(node.get("author"))]
    written = next((name for name in map(_author, authors) if name), None) or _byline(blocks)
    published = [meta[name] for name in _PUBLISHED if name in meta] + [node.get("datePublished") for node in pages]
    in_text = dict(_times(blocks))
    published.append(in_text.get("published"))
    modified = [meta[name] for name in _MODIFIED if name in meta] + [node.get("dateModified") for node in pages]
    modified.append(in_text.get("modified"))
    sites = [meta.get("og:site_name"), meta.get("application-name")]
    sites += [name for node in pages for name in _names(node.get("publisher"))]
    return PageMetadata(
        label(written, limits),
        _first_date(published) or _date_of_address(blocks.url) or _first_date([in_text.get("alone")]),
        _first_date(modified),
        next((found for name in sites if (found := label(name, limits))), None),
        tuple(found for name in _crumbs(blocks, nodes)[:_MOST_CRUMBS] if (found := label(name, limits))),
        _licences(blocks, pages),
    )


def _licences(blocks: PageBlocks, pages: list[dict[str, object]]) -> tuple[str, ...]:
    """The addresses of the licences that links with `rel=license` name, then those of JSON-LD on the page."""
    if b"icense" not in blocks.source:
        return ()
    linked = attribute_values(blocks.page, blocks.source, np.flatnonzero(np.isin(blocks.page.tag, _LINKING)), OF_LINK)
    written = [one.get("href") for one in linked if "license" in one.get("rel", "").lower().split()]
    for node in pages:  # others say it of their images
        named = node.get("license")
        one = (named.get("@id") or named.get("url")) if isinstance(named, dict) else named
        written += [one] if isinstance(one, str) else []
    addresses = addresses_of(blocks)
    found = (addresses.absolute(one.strip()) for one in written if one and one.strip())
    return tuple(dict.fromkeys(one for one in found if one))[:_MOST_LICENCES]


def _times(blocks: PageBlocks) -> Iterator[tuple[str, str]]:
    """The dates of <time> elements with a known meaning; if there are few, also of one without."""
    page = blocks.page
    elements = np.flatnonzero(page.tag == _TIME)[:_MOST_TIMES].tolist()
    for element in reversed(elements):
        begin, end = page.attributes[:, element].tolist()
        attributes = blocks.source[begin : min(end, begin + _MOST_CHARACTERS)].decode("utf-8", "replace")
        written = _DATETIME.search(attributes)
        if written:
            if _IS_MODIFIED.search(attributes):
                yield "modified", written[1]
            elif _IS_PUBLISHED.search(attributes):
                yield "published", written[1]
            elif len(elements) <= _FEW_TIMES:
                yield "alone", written[1]


def _crumbs(blocks: PageBlocks, nodes: list[dict[str, object]]) -> list[str]:
    """The names of breadcrumbs, from JSON-LD or from an element that is named so."""
    for node in nodes:
        items = node.get("itemListElement")
        if node.get("@type") == "BreadcrumbList" and isinstance(items, list):
            named = [one.get("name") or one.get("item") for one in items[:_MOST_CRUMBS] if isinstance(one, dict)]
            return [name for one in named for name in _names(one) if "://" not in name]
    page = blocks.page
    for element in np.flatnonzero(blocks.named_parts & BREADCRUMBS)[:1].tolist():
        begin, end = int(page.begins[element]), int(page.ends[element])
        first, last = int(page.first_block[element]), int(page.end_block[element])
        if end - begin <= _MOST_CRUMBS * _MOST_CHARACTERS and last - first <= 3 * _MOST_CRUMBS:
            written = [
                page.text[max(begin, page.block_begins[block]) : min(end, page.block_ends[block])].tobytes()
                for block in range(first, last)
            ]
            shown = "/".join(text.decode("utf-8", "ignore") for text in written)
            return [name.strip() for name in _BETWEEN_CRUMBS.split(shown) if name.strip()]
    return []


def _byline(blocks: PageBlocks) -> str | None:
    """The first short text outside comments in an element that is named after the author."""
    elements = np.flatnonzero(blocks.named_parts & AUTHOR)[:_MOST_BYLINES].tolist()
    if not elements:
        return None
    page, comments = blocks.page, comment_blocks(blocks.page, blocks.layout, blocks.named_parts)
    for element in elements:
        begin, end, first = int(page.begins[element]), int(page.ends[element]), int(page.first_block[element])
        if 0 < end - begin <= _MOST_CHARACTERS and first < len(blocks) and not comments[first]:
            text = " ".join(page.text[begin:end].tobytes().decode("utf-8", "ignore").split())
            words = _BY.sub("", text).split()
            if 2 <= len(words) <= _MOST_WORDS_OF_A_NAME and not any(map(str.isdigit, text)):
                return " ".join(words)
    return None


def _nodes(blocks: PageBlocks) -> Iterator[dict[str, object]]:
    """The objects of a page's JSON-LD, outermost first."""
    pending: list[object] = []
    for begin, end in blocks.page.data.T.tolist():
        if end - begin <= _MOST_BYTES:
            try:
                pending.append(orjson.loads(_CONTROLS.sub(b" ", blocks.source[begin:end])))
            except orjson.JSONDecodeError:
                continue  # invalid JSON
    for _ in range(_MOST_NODES):
        if not pending:
            return
        node = pending.pop(0)
        if isinstance(node, dict):
            yield node
            pending += [value for value in node.values() if isinstance(value, (dict, list))]
        elif isinstance(node, list):
            pending += node[:_MOST_NODES]


def _names(value: object) -> list[str]:
    """The names of one or several people or organisations."""
    several = value[:_MOST_NAMES] if isinstance(value, list) else [value]
    named = [one.get("name") if isinstance(one, dict) else one for one in several]
    return [unescape(one) for one in named if isinstance(one, str)]


def _author(name: str) -> str | None:
    """A name; None for an address or a handle."""
    name = name.strip().removeprefix("By ").removeprefix("by ")
    return None if not name or "://" in name or name.startswith("@") or len(name) > 200 else name


def _first_date(values: list[object]) -> str | None:
    for value in values:
        if isinstance(value, str) and (found := _DATE.search(value)) and (day := _date(*found.groups())):
            return day
    return None


def _date_of_address(url: str | None) -> str | None:
    found = _OF_ADDRESS.search(url) if url else None
    return _date(*found.groups()) if found else None


def _date(year: str, month: str, day: str) -> str | None:
    try:
        found = date(int(year), int(month), int(day))
    except ValueError:
        return None
    return found.isoformat() if found.year >= _FIRST_YEAR else None
