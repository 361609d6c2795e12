"""Who wrote a page, when, and where it belongs: from its <meta> elements, its JSON-LD, its links and its address.

What a page says of itself is taken as it says it, in the order in which it can be trusted, and shortened.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from html import unescape
from typing import Final

import orjson

from winnow.filters.extraction.main_content.blocks import PageBlocks
from winnow.filters.extraction.page import PageLimits, label

_AUTHORS: Final = (
    *(
        "author",
        "article:author",
        "parsely-author",
        "sailthru.author",
        "dc.creator",
        "dcterms.creator",
        "citation_author",
    ),
)
_PUBLISHED: Final = (
    *("article:published_time", "og:published_time", "datepublished", "parsely-pub-date", "sailthru.date"),
    *("citation_publication_date", "dc.date.issued", "dcterms.issued", "dc.date", "dcterms.date", "pubdate", "date"),
)
_MODIFIED: Final = ("article:modified_time", "og:updated_time", "dcterms.modified", "last-modified", "datemodified")
_DATE = re.compile(r"(?<!\d)(\d{4})[-/.]?(\d{2})[-/.]?(\d{2})(?!\d)")
_OF_ADDRESS = re.compile(r"/(\d{4})/(\d{1,2})/(\d{1,2})(?=/|$)")
_CONTROLS = re.compile(rb"[\x00-\x1f]")
_MOST_BYTES: Final = 1 << 18  # of one script
_MOST_NODES: Final = 500
_MOST_NAMES: Final = 8
_FIRST_YEAR: Final = 1990


@dataclass(frozen=True, slots=True)
class About:
    """What a page says of itself, beside its title."""

    author: str | None
    published: str | None  # 2024-05-01
    modified: str | None
    site: str | None


def about(blocks: PageBlocks, source: bytes, url: str | None, limits: PageLimits) -> About:
    """A page's author, dates and site."""
    meta = blocks.meta
    nodes = list(_nodes(blocks, source))
    pages = [node for node in nodes if "datePublished" in node or "headline" in node]
    authors = [meta[name] for name in _AUTHORS if name in meta]
    authors += [name for node in pages for name in _names(node.get("author"))]
    written = next((name for name in map(_author, authors) if name), None)
    published = [meta[name] for name in _PUBLISHED if name in meta] + [node.get("datePublished") for node in pages]
    modified = [meta[name] for name in _MODIFIED if name in meta] + [node.get("dateModified") for node in pages]
    sites = [meta.get("og:site_name"), meta.get("application-name")]
    sites += [name for node in pages for name in _names(node.get("publisher"))]
    return About(
        label(written, limits),
        _first_date(published) or _date_of_address(url),
        _first_date(modified),
        next((found for name in sites if (found := label(name, limits))), None),
    )


def _nodes(blocks: PageBlocks, source: bytes) -> Iterator[dict[str, object]]:
    """The objects of a page's JSON-LD, outermost first."""
    pending: list[object] = []
    for begin, end in blocks.page.data.T.tolist():
        if end - begin <= _MOST_BYTES:
            try:
                pending.append(orjson.loads(_CONTROLS.sub(b" ", source[begin:end])))
            except orjson.JSONDecodeError:
                continue  # pages write what no parser reads
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
    """A name; an address or a handle is none."""
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
