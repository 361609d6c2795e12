"""The metadata of a scanned page: title, canonical address, language, links, images and their captions."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

import numpy as np
import numpy.typing as npt

from winnow.filters.extraction.candidates import MOST_CANDIDATES, OF_IMAGES, OF_SOURCES
from winnow.filters.extraction.main_content.attribute_values import (
    attribute_names,
    attribute_values,
    decoded_value,
    first_attribute_value,
)
from winnow.filters.extraction.main_content.blocks import ReadPage
from winnow.filters.extraction.main_content.names import BIT, NUMBER
from winnow.filters.extraction.main_content.scan import Page
from winnow.filters.extraction.main_content.tidy import shown_text, tidy
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


_HREF, _LANG, _REL, OF_LINK = (
    attribute_names(["href"]),
    attribute_names(["lang", "xml:lang"]),
    attribute_names(["rel"]),
    attribute_names(["rel", "href"]),
)
_SETS, _OF_IMAGE = attribute_names(OF_SOURCES), attribute_names(OF_IMAGES)
_H1: Final = NUMBER["h1"]
_MOST_HEADINGS: Final = 8
_MOST_BYTES: Final = 1_200
_LEAST_SHARED: Final = 0.5  # of a heading's words, that the page's title has
_WORD = re.compile(r"\w+")
_BETWEEN = re.compile(r"\s+(?:[|\-–—·•»«~/]+|::)\s+|\s*[|»·•]\s*|:\s+(?=\S+$)")
_EDGES: Final = " |-–—·•»«:~/"


def page_facts(read: ReadPage, limits: PageLimits) -> tuple[Facts, dict[int, int]]:
    """A page's metadata, and the numbers of its images by their elements."""
    page, source, meta = read.page, read.source, read.meta
    addresses = addresses_of(read)
    images, numbers = _images(page, source, addresses, limits)
    if images:
        _add_captions(page, images, numbers, limits)
    titles = [title for title in (label(meta.get("og:title"), limits), label(read.title, limits)) if title]
    declared = (
        first_attribute_value(page, source, _some(page, _HTML), _LANG)
        or meta.get("content-language")
        or meta.get("og:locale")
        or ""
    )
    facts = Facts(
        headline(page, titles, meta.get("og:site_name"), read.url),
        _canonical(page, source, addresses),
        declared.strip() if LANGUAGE.fullmatch(declared.strip()) else None,
        _links(page, source, addresses, limits),
        images,
    )
    return facts, numbers


def addresses_of(read: ReadPage) -> Addresses:
    """The resolver of a page's relative references."""
    base = first_attribute_value(read.page, read.source, _some(read.page, _BASE), _HREF)
    return Addresses((Addresses(read.url).absolute(base.strip()) if base else None) or read.url)


def _some(page: Page, tag: int) -> npt.NDArray[np.int64]:
    """The first elements with this tag."""
    return np.flatnonzero(page.tag == tag)[:_MOST_PARENTS]


def _canonical(page: Page, source: bytes, addresses: Addresses) -> str | None:
    for link_element in attribute_values(page, source, np.flatnonzero(page.tag == _LINK), OF_LINK):
        if "canonical" in link_element.get("rel", "").lower().split():
            written = link_element.get("href")
            return addresses.absolute(written.strip()) if written else None
    return None


def _links(page: Page, source: bytes, addresses: Addresses, limits: PageLimits) -> dict[str, str | None]:
    links: dict[str, str | None] = {}
    seen: set[bytes] = set()
    anchors = np.flatnonzero((page.tag == _A) & (page.target[0] >= 0))
    begins, ends = page.target[:, anchors].tolist()
    relations = attribute_values(page, source, anchors, _REL)
    for begin, end, relation in zip(begins, ends, relations, strict=True):
        raw = source[begin:end]
        if raw in seen or raw[:1] == b"#":
            continue
        seen.add(raw)
        url = link(decoded_value(raw), addresses)
        if url is not None and url not in links:
            links[url] = relation.get("rel")
            if len(links) >= limits.max_links:
                break
    return links


def _images(
    page: Page, source: bytes, addresses: Addresses, limits: PageLimits
) -> tuple[dict[int, Image], dict[int, int]]:
    """Images by number; what a <noscript> repeats for readers without scripts is the image beside it."""
    images: dict[int, Image] = {}
    numbers: dict[int, int] = {}
    before, was_repeat = frozenset[str](), False
    of_pictures = _sources(page, source) if (page.tag == _PICTURE).any() else {}
    room = CANDIDATES_AN_IMAGE * limits.max_images
    elements = np.flatnonzero(page.tag == _IMAGE)[: limits.max_images]
    parents, may_repeat = page.parent[elements].tolist(), (page.mask[elements] & BIT["noscript"] != 0).tolist()
    for number, (element, parent, is_repeat, attributes) in enumerate(
        zip(elements.tolist(), parents, may_repeat, attribute_values(page, source, elements, _OF_IMAGE), strict=True)
    ):
        image = image_of(attributes, of_pictures.get(parent, []), addresses, limits, room)
        if image is not None:
            shown = frozenset((image.src, *image.candidates))
            if is_repeat != was_repeat and shown & before:
                continue
            before, was_repeat = shown, is_repeat
            images[number] = image
            numbers[element] = number
            room -= len(image.candidates)
    return images, numbers


def _sources(page: Page, source: bytes) -> dict[int, list[str]]:
    """The addresses in the <source> elements of each <picture>."""
    found: dict[int, list[str]] = {}
    elements = np.flatnonzero((page.tag == _SOURCE) & (page.parent >= 0))
    elements = elements[page.tag[page.parent[elements]] == _PICTURE]
    for parent, values in zip(
        page.parent[elements].tolist(), attribute_values(page, source, elements, _SETS), strict=True
    ):
        sets = found.setdefault(parent, [])
        sets += [values[name] for name in OF_SOURCES if values.get(name)][: MOST_CANDIDATES - len(sets)]
    return found


def _figure(page: Page, element: int) -> int:
    """The nearest figure around an element, or -1."""
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


def headline(page: Page, titles: list[str], site: str | None, url: str | None) -> str | None:
    """The title of a page whose head has these, the most trusted first."""
    said = [words for title in titles if (words := _words(title))]
    if not said:
        return next(_headings(page), None)
    known = set().union(*said)
    names = _names(site, url)
    best, best_value = None, 0.0
    for heading in _headings(page):
        words = _words(heading)
        shared = sum(count for word, count in words.items() if word in known)
        if shared >= _LEAST_SHARED * max(words.total(), 1) and _folded(heading) not in names:
            value = max(2 * (words & own).total() / (words.total() + own.total()) for own in said)
            if value > best_value:
                best, best_value = heading, value
    return best or _without_site(next(title for title in titles if _words(title)), names)


def _headings(page: Page) -> Iterator[str]:
    shown = shown_text(page)
    for element in np.flatnonzero(page.tag == _H1)[:_MOST_HEADINGS].tolist():
        begin, end = int(page.begins[element]), int(page.ends[element])
        if end - begin <= _MOST_BYTES:
            text = " ".join(tidy(shown[begin:end]).decode("utf-8", "ignore").split())
            if text:
                yield text


def _words(text: str) -> Counter[str]:
    return Counter(_WORD.findall(text.lower()))


def _folded(text: str) -> str:
    return "".join(_WORD.findall(text.lower())).removeprefix("the")


def _names(site: str | None, url: str | None) -> set[str]:
    """What the site may be called."""
    host = ((urlsplit(url).hostname or "") if url else "").removeprefix("www.")
    labels = host.split(".")
    return {_folded(name) for name in (site or "", host, host.rpartition(".")[0], labels[max(len(labels) - 2, 0)])} - {
        ""
    }


def _without_site(title: str, names: set[str]) -> str:
    parts = [part for part in _BETWEEN.split(title) if part.strip()]
    if len(parts) > 1:
        if _folded(parts[-1]) in names:
            return title[: title.rfind(parts[-1])].rstrip(_EDGES)
        if _folded(parts[0]) in names:
            return title[title.find(parts[0]) + len(parts[0]) :].lstrip(_EDGES)
    return title
