"""What a scanned page says of itself: title, canonical address, language, links, images and their captions."""

from typing import Final

import numpy as np
import numpy.typing as npt

from winnow.filters.extraction.candidates import MOST_CANDIDATES, OF_IMAGES, OF_SOURCES
from winnow.filters.extraction.main_content.blocks import ReadPage
from winnow.filters.extraction.main_content.headline import headline
from winnow.filters.extraction.main_content.names import BIT, NUMBER
from winnow.filters.extraction.main_content.said import decoded, first_said, names_of, said
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


_HREF, _LANG, _REL, OF_LINK = (
    names_of(["href"]),
    names_of(["lang", "xml:lang"]),
    names_of(["rel"]),
    names_of(["rel", "href"]),
)
_SETS, _OF_IMAGE = names_of(OF_SOURCES), names_of(OF_IMAGES)


def page_facts(read: ReadPage, limits: PageLimits) -> tuple[Facts, dict[int, int]]:
    """A page's metadata, and the numbers of its images by their elements."""
    page, source, meta = read.page, read.source, read.meta
    addresses = addresses_of(read)
    images, numbers = _images(page, source, addresses, limits)
    if images:
        _add_captions(page, images, numbers, limits)
    titles = [title for title in (label(meta.get("og:title"), limits), label(read.title, limits)) if title]
    declared = (
        first_said(page, source, _some(page, _HTML), _LANG)
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
    """What a page's references are relative to."""
    base = first_said(read.page, read.source, _some(read.page, _BASE), _HREF)
    return Addresses((Addresses(read.url).absolute(base.strip()) if base else None) or read.url)


def _some(page: Page, tag: int) -> npt.NDArray[np.int64]:
    """The first elements with this tag."""
    return np.flatnonzero(page.tag == tag)[:_MOST_PARENTS]


def _canonical(page: Page, source: bytes, addresses: Addresses) -> str | None:
    for link_element in said(page, source, np.flatnonzero(page.tag == _LINK), OF_LINK):
        if "canonical" in link_element.get("rel", "").lower().split():
            written = link_element.get("href")
            return addresses.absolute(written.strip()) if written else None
    return None


def _links(page: Page, source: bytes, addresses: Addresses, limits: PageLimits) -> dict[str, str | None]:
    links: dict[str, str | None] = {}
    seen: set[bytes] = set()
    anchors = np.flatnonzero((page.tag == _A) & (page.target[0] >= 0))
    begins, ends = page.target[:, anchors].tolist()
    relations = said(page, source, anchors, _REL)
    for begin, end, relation in zip(begins, ends, relations, strict=True):
        raw = source[begin:end]
        if raw in seen or raw[:1] == b"#":
            continue
        seen.add(raw)
        url = link(decoded(raw), addresses)
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
        zip(elements.tolist(), parents, may_repeat, said(page, source, elements, _OF_IMAGE), strict=True)
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
    """What the <source> elements of each <picture> say."""
    found: dict[int, list[str]] = {}
    elements = np.flatnonzero((page.tag == _SOURCE) & (page.parent >= 0))
    elements = elements[page.tag[page.parent[elements]] == _PICTURE]
    for parent, values in zip(page.parent[elements].tolist(), said(page, source, elements, _SETS), strict=True):
        sets = found.setdefault(parent, [])
        sets += [values[name] for name in OF_SOURCES if values.get(name)][: MOST_CANDIDATES - len(sets)]
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
