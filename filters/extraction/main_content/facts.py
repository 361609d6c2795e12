"""What a scanned page says of itself: title, canonical address, language, links, images and their captions."""

import re
from html import unescape
from typing import Final

import numpy as np

from winnow.filters.extraction.candidates import MOST_CANDIDATES, OF_SOURCES
from winnow.filters.extraction.main_content.blocks import ReadPage
from winnow.filters.extraction.main_content.headline import headline
from winnow.filters.extraction.main_content.names import NUMBER
from winnow.filters.extraction.main_content.scan import Page
from winnow.filters.extraction.page import (
    CANDIDATES_AN_IMAGE,
    LANGUAGE,
    Addresses,
    Facts,
    Image,
    PageLimits,
    image_of,
    label,
    link,
)

_A, _BASE, _LINK, _HTML, _IMAGE, _PICTURE, _SOURCE, _FIGURE, _CAPTION = (
    NUMBER[name] for name in ("a", "base", "link", "html", "img", "picture", "source", "figure", "figcaption")
)
_MOST_PARENTS: Final = 32


def _attribute(*names: str) -> re.Pattern[bytes]:
    every = "|".join(names).encode()
    return re.compile(
        rb"(?<![^\s/\"'])(?:" + every + rb")\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s>\"']+))", re.IGNORECASE
    )


_HREF, _REL, _LANG = _attribute("href"), _attribute("rel"), _attribute("lang", "xml:lang")
_REL_NAME = re.compile(rb"rel", re.IGNORECASE)
_SETS = [_attribute(name) for name in OF_SOURCES]


def page_facts(read: ReadPage, limits: PageLimits) -> tuple[Facts, dict[int, int]]:
    """A page's metadata, and the numbers of its images by their elements."""
    page, source, meta = read.page, read.source, read.meta
    addresses = addresses_of(read)
    images, numbers = _images(page, source, addresses, limits)
    if images:
        _add_captions(page, images, numbers, limits)
    titles = [title for title in (label(meta.get("og:title"), limits), label(read.title, limits)) if title]
    declared = _first(page, source, _HTML, _LANG) or meta.get("content-language") or meta.get("og:locale") or ""
    facts = Facts(
        headline(page, titles, meta.get("og:site_name"), read.url),
        _canonical(page, source, addresses),
        declared.strip() if LANGUAGE.fullmatch(declared.strip()) else None,
        _links(page, source, addresses, limits),
        images,
    )
    return facts, numbers


def addresses_of(read: ReadPage) -> Addresses:
    """What a page's references are relative to."""
    base = _first(read.page, read.source, _BASE, _HREF)
    return Addresses((Addresses(read.url).absolute(base.strip()) if base else None) or read.url)


def _found(pattern: re.Pattern[bytes], source: bytes, begin: int, end: int) -> str | None:
    """The value of an attribute in a tag."""
    found = pattern.search(source, begin, end)
    if found is None:
        return None
    value = (found[1] or found[2] or found[3] or b"").decode("utf-8", "replace")
    return unescape(value) if "&" in value else value


def _first(page: Page, source: bytes, tag: int, pattern: re.Pattern[bytes]) -> str | None:
    """An attribute's value of the first element that has it."""
    for element in np.flatnonzero(page.tag == tag)[:_MOST_PARENTS].tolist():
        value = _found(pattern, source, *page.attributes[:, element].tolist())
        if value:
            return value
    return None


def _canonical(page: Page, source: bytes, addresses: Addresses) -> str | None:
    for begin, end in page.attributes[:, page.tag == _LINK].T.tolist():
        if "canonical" in (_found(_REL, source, begin, end) or "").lower().split():
            written = _found(_HREF, source, begin, end)
            return addresses.absolute(written.strip()) if written else None
    return None


def _links(page: Page, source: bytes, addresses: Addresses, limits: PageLimits) -> dict[str, str | None]:
    links: dict[str, str | None] = {}
    seen: set[bytes] = set()
    anchors = np.flatnonzero((page.tag == _A) & (page.target[0] >= 0))
    targets, attributes = page.target[:, anchors].T.tolist(), page.attributes[:, anchors].T.tolist()
    for (first, last), (begin, end) in zip(targets, attributes, strict=True):
        raw = source[first:last]
        if raw in seen:
            continue
        seen.add(raw)
        written = raw.decode("utf-8", "replace")
        url = link(unescape(written) if "&" in written else written, addresses)
        if url is not None and url not in links:
            links[url] = _found(_REL, source, begin, end) if _REL_NAME.search(source, begin, end) else None
            if len(links) >= limits.max_links:
                break
    return links


def _images(
    page: Page, source: bytes, addresses: Addresses, limits: PageLimits
) -> tuple[dict[int, Image], dict[int, int]]:
    images: dict[int, Image] = {}
    numbers: dict[int, int] = {}
    of_pictures = _sources(page, source) if (page.tag == _PICTURE).any() else {}
    room = CANDIDATES_AN_IMAGE * limits.max_images
    for number, element in enumerate(np.flatnonzero(page.tag == _IMAGE)[: limits.max_images].tolist()):
        begin, end = page.attributes[:, element].tolist()
        written = source[begin:end].decode("utf-8", "replace")
        image = image_of(written, of_pictures.get(int(page.parent[element]), []), addresses, limits, room)
        if image is not None:
            images[number] = image
            numbers[element] = number
            room -= len(image.candidates)
    return images, numbers


def _sources(page: Page, source: bytes) -> dict[int, list[str]]:
    """What the <source> elements of each <picture> say."""
    found: dict[int, list[str]] = {}
    for element in np.flatnonzero(page.tag == _SOURCE).tolist():
        parent = int(page.parent[element])
        if parent >= 0 and page.tag[parent] == _PICTURE:
            sets = found.setdefault(parent, [])
            for pattern in _SETS:
                value = _found(pattern, source, *page.attributes[:, element].tolist())
                if value and len(sets) < MOST_CANDIDATES:
                    sets.append(value)
    return found


def _figure(page: Page, element: int) -> int:
    """The nearest figure around an element; -1."""
    for _ in range(_MOST_PARENTS):
        element = int(page.parent[element])
        if element < 0 or page.tag[element] == _FIGURE:
            break
    return element if element >= 0 and page.tag[element] == _FIGURE else -1


def _add_captions(page: Page, images: dict[int, Image], numbers: dict[int, int], limits: PageLimits) -> None:
    captions: dict[int, str] = {}
    room = len(page.text)
    for element in np.flatnonzero(page.tag == _CAPTION)[: limits.max_images].tolist():
        figure = _figure(page, element)
        begin, end = int(page.begins[element]), int(page.ends[element])
        room -= end - begin
        if room < 0:
            break  # captions nested in captions have more text than the whole page
        text = label(page.text[begin:end].tobytes().decode("utf-8", "ignore"), limits)
        if figure >= 0 and text:
            captions.setdefault(figure, text)
    if captions:
        for element, number in numbers.items():
            figure = _figure(page, element)
            if figure in captions:
                images[number] = images[number]._replace(caption=captions[figure])
