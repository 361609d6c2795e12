"""Page metadata: title, canonical URL, declared language, links, images and their captions."""

import re
from dataclasses import dataclass
from functools import lru_cache
from html import unescape
from typing import Annotated, NamedTuple

from resiliparse.parse.html import HTMLTree
from resiliparse.parse.html.node import DocumentNode

from winnow.filters.extraction.budgets import VALUE
from winnow.filters.extraction.candidates import MOST_CANDIDATES, of_pictures, shown_first
from winnow.filters.extraction.markup import (
    IMAGE_MARK,
    Markup,
    mark_everything,
    plain_references,
    scan,
    unmarked,
)
from winnow.filters.web.urls import MAX_URL_CHARACTERS, canonical_url, resolve
from winnow.schemas.recipe.checks import Between


@dataclass(frozen=True, slots=True)
class PageLimits:
    """Limits for one page's metadata; anything beyond them is left out."""

    max_links: Annotated[int, Between(1, 1_000_000)] = 2_000  # distinct URLs
    max_images: Annotated[int, Between(1, 1_000_000)] = 1_000
    max_label_characters: Annotated[int, Between(1, 1_000_000)] = 2_000  # title, alt, caption


class Image(NamedTuple):
    """An <img> as its page declares it; nothing here is verified."""

    src: str
    alt: str | None
    title: str | None
    caption: str | None
    width: int | None
    height: int | None
    candidates: tuple[str, ...] = ()  # other addresses of the same picture


@dataclass(frozen=True, slots=True)
class Facts:
    """A page's metadata. Links are distinct, in order of appearance, with the `rel` of the first."""

    title: str | None
    canonical_url: str | None
    language: str | None
    links: dict[str, str | None]
    images: dict[int, Image]  # by the number of their mark, in order of appearance


@dataclass(frozen=True, slots=True)
class Page:
    """A parsed page whose images and headings are marked (see `winnow.filters.extraction.markup`)."""

    tree: HTMLTree
    source: str  # what the tree was parsed from
    markup: Markup
    image_attributes: list[str]  # by the number of their mark
    trusted: bool  # False: the scan and the tree disagree, so the tree says what is an element


_OPEN_GRAPH_TITLE = 'meta[property="og:title" i][content], meta[name="og:title" i][content]'
_MOST_PARENTS = 32
CANDIDATES_AN_IMAGE = 8  # of a page, on average
_SOURCE = re.compile(r"<[sS][oO][uU][rR][cC][eE][\s/]")
_MENTION_CHARACTERS = 1 << 15  # of the head, searched for rare elements
_ATTRIBUTE = re.compile(
    rf"[\s/]*+(?:([sS][rR][cC](?:[sS][eE][tT])?+|[dD][aA][tT][aA]-[a-zA-Z-]++|[aA][lL][tT]|[tT][iI][tT][lL][eE]"
    rf"|[wW][iI][dD][tT][hH]|[hH][eE][iI][gG][hH][tT])(?=[\s=])|[^\s/>][^\s/>=]*+)(?:\s*+=\s*+({VALUE}))?"
)
_REL = re.compile(rf"(?<![^\s/\"'])[rR][eE][lL]\s*+=\s*+({VALUE})")
_PIXELS = re.compile(r"\s*+([0-9]{1,6})(?:\.[0-9]++)?(?:px)?\s*+")
LANGUAGE = re.compile(r"[A-Za-z]{1,8}(?:[-_][A-Za-z0-9]{1,8})*+")
_PLAIN = re.compile(  # in a value an ampersand is only itself; these escapes are as canonical spelling has them
    "(?:({})|({})|({}))(?:#.*+)?".format(*plain_references("&", "%(?:[89A-F][0-9A-F]|2[0-9A-CF]|3[A-F])")), re.DOTALL
)
_HOST_ALONE = re.compile(r"https?://(?:[a-z0-9]++(?:-[a-z0-9]++)*+\.){1,4}[a-z]++")
_OTHER_SCHEME = re.compile(r"(?!https?:)[a-z][a-z0-9+.-]*+:")
_PARENTS = re.compile(r"(?:\.\./)*+")
_ORIGIN = re.compile(r"https?://[^/]++")
_BODY = re.compile(r"<[bB][oO][dD][yY][\s/>]")


def read_page(html: str) -> Page:
    """Scan and parse a page that is within its budgets."""
    markup = scan(html)
    tree = HTMLTree.parse(markup.source)
    images = markup.images()
    document = tree.document
    if not markup.hides_elements or document is None:
        return Page(tree, markup.source, markup, images, True)
    anchors = sum(1 for _ in markup.anchors())
    elements = document.get_elements_by_tag_name("img")
    if len(elements) != len(images) or not all(IMAGE_MARK.fullmatch(one.getattr("alt") or "") for one in elements):
        # What looked like a comment or a script may not be one, and an image inside kept its own alt text.
        source, images = mark_everything(html)
        return Page(HTMLTree.parse(source), source, markup, images, False)
    return Page(tree, markup.source, markup, images, len(document.get_elements_by_tag_name("a")) == anchors)


def page_facts(page: Page, url: str | None, limits: PageLimits) -> Facts:
    """The metadata of a page fetched from `url`."""
    document = page.tree.document
    title = label(page.tree.title, limits)
    if document is None:
        return Facts(title, None, None, {}, {})
    source = page.source
    body = _BODY.search(source)
    head_end = body.start() if body else len(source)
    if _mentioned("og:title", source, head_end):  # without the name of the site, and there where a script sets <title>
        title = label(_attribute_of(document, _OPEN_GRAPH_TITLE, "content"), limits) or title
    base = url
    if source.find("<base", 0, head_end) >= 0 or source.find("<BASE", 0, head_end) >= 0:
        written = _attribute_of(document, "base[href]", "href")
        base = (Addresses(url).absolute(written.strip()) if written else None) or url
    addresses = Addresses(base)
    canonical = None
    if source.find("canonical", 0, head_end) >= 0:
        written = _attribute_of(document, 'link[rel~="canonical" i][href]', "href")
        canonical = addresses.absolute(written.strip()) if written else None
    links = _links(page.markup, addresses, limits) if page.trusted else _links_of_tree(document, addresses, limits)
    images = _images(page, addresses, limits) if page.image_attributes else {}
    if images and page.markup.has_captions:
        _add_captions(document, images, limits, len(source))
    return Facts(title, canonical, _language(document, source, head_end), links, images)


class Addresses:
    """Resolves a page's references to absolute canonical URLs; common forms are not parsed."""

    __slots__ = ("base", "folders", "root")

    def __init__(self, base: str | None) -> None:
        self.base = base
        self.root, self.folders = _folders(base[: base.rfind("/", 0, _path_end(base)) + 1]) if base else ("", ())

    def absolute(self, reference: str) -> str | None:
        """The URL that a reference points to, or None if it is not an http or https URL."""
        up = 0
        if reference.startswith("../"):
            parents = _PARENTS.match(reference)
            up = parents.end() // 3 if parents else 0
            if len(reference) == 3 * up and self.folders:
                return self.folders[min(up, len(self.folders) - 1)]
        found = _PLAIN.fullmatch(reference, 3 * up)
        if found and "/." not in reference[3 * up :]:
            if found[3] is not None:
                if self.folders:
                    return self.folders[min(up, len(self.folders) - 1)] + found[3]
            elif not up:
                if found[1]:
                    return found[1]
                if self.root:
                    return self.root + found[2]
        if _OTHER_SCHEME.match(reference):
            return None
        if reference.startswith("//") and self.root:
            found = _PLAIN.fullmatch(self.root.partition("/")[0] + reference)
            if found and found[1] and "/." not in found[1]:
                return found[1]
        elif _HOST_ALONE.fullmatch(reference):
            return f"{reference}/"
        return resolve(self.base, reference) if len(reference) <= MAX_URL_CHARACTERS else None


def _path_end(url: str) -> int:
    ends = [at for at in (url.find("?"), url.find("#")) if at >= 0]
    return min(ends) if ends else len(url)


@lru_cache(maxsize=4_096)
def _folders(base: str) -> tuple[str, tuple[str, ...]]:
    # The origin of a page in the folder `base`, and that folder, its parent, and so on up to the origin's root.
    folder = canonical_url(base)
    origin = _ORIGIN.match(folder) if folder else None
    if folder is None or origin is None or folder[-1] != "/" or folder.count("/") > _MOST_PARENTS:
        return "", ()
    folders = [folder]
    while len(folder) > origin.end() + 1:
        folder = folder[: folder.rindex("/", 0, -1) + 1]
        folders.append(folder)
    return origin[0], tuple(folders)


def _links(markup: Markup, addresses: Addresses, limits: PageLimits) -> dict[str, str | None]:
    links: dict[str, str | None] = {}
    root, folder = addresses.root, addresses.folders[0] if addresses.folders else ""
    parsed: dict[str, str | None] = {}
    for before, url, path, relative, written, after in markup.anchors():
        if path and root:
            url = root + path
        elif relative and folder:
            url = folder + relative
        elif not url:
            written = written or path or relative
            if not written:
                continue
            if written not in parsed:
                parsed[written] = link(attribute_value(written), addresses)
            url = parsed[written]
        if url and "/." in url:
            url = resolve(addresses.base, url)
        if url and url not in links:
            rel = _REL.search(f"{before} {after}") if "rel" in after or "rel" in before else None
            links[url] = attribute_value(rel[1]) if rel else None
            if len(links) >= limits.max_links:
                break
    return links


def _links_of_tree(document: DocumentNode, addresses: Addresses, limits: PageLimits) -> dict[str, str | None]:
    links: dict[str, str | None] = {}
    for anchor in document.get_elements_by_tag_name("a").values()[: 4 * limits.max_links]:
        href = anchor.getattr("href")
        url = link(unmarked(href), addresses) if href else None
        if url is not None and url not in links:
            links[url] = anchor.getattr("rel")
            if len(links) >= limits.max_links:
                break
    return links


def link(reference: str, addresses: Addresses) -> str | None:
    """The URL of a link; a reference to a place on the same page is none."""
    reference = reference.strip()
    return None if not reference or reference[0] == "#" else addresses.absolute(reference)


def _images(page: Page, addresses: Addresses, limits: PageLimits) -> dict[int, Image]:
    numbers: list[int] = list(range(min(len(page.image_attributes), limits.max_images)))
    if not page.trusted and page.tree.document is not None:
        elements = page.tree.document.get_elements_by_tag_name("img").values()[: limits.max_images]
        marks = [IMAGE_MARK.fullmatch(element.getattr("alt") or "") for element in elements]
        numbers = [int(mark[1]) for mark in marks if mark is not None]
    sources: dict[int, list[str]] = {}
    if page.tree.document is not None and _SOURCE.search(page.source):
        sources = of_pictures(page.tree.document, limits.max_images)
    images: dict[int, Image] = {}
    room = CANDIDATES_AN_IMAGE * limits.max_images
    for number in numbers:
        image = image_of(page.image_attributes[number], sources.get(number, []), addresses, limits, room)
        if image is not None:
            images[number] = image
            room -= len(image.candidates)
    return images


def image_of(written: str, sources: list[str], addresses: Addresses, limits: PageLimits, room: int) -> Image | None:
    """The image that these attributes declare, the first of equal ones; None without an address."""
    attributes = {name.lower(): value for name, value in reversed(_ATTRIBUTE.findall(written)) if name and value}
    get = attributes.get
    found: dict[str, None] = {}
    for address in shown_first({name: attribute_value(value) for name, value in attributes.items()}, sources):
        if address and address[:5].lower() != "data:":
            url = addresses.absolute(address) if addresses.base else address[:MAX_URL_CHARACTERS]
            if url:
                found.setdefault(url)
                if len(found) > min(room, MOST_CANDIDATES):
                    break
    if not found:
        return None
    src, *others = found
    alt, title, width, height = get("alt"), get("title"), get("width"), get("height")
    return Image(
        src,
        label(attribute_value(alt), limits) if alt else None,
        label(attribute_value(title), limits) if title else None,
        None,
        _pixels(attribute_value(width)) if width else None,
        _pixels(attribute_value(height)) if height else None,
        tuple(others),
    )


def _add_captions(document: DocumentNode, images: dict[int, Image], limits: PageLimits, room: int) -> None:
    looked_at = 0
    for caption in document.get_elements_by_tag_name("figcaption").values()[: limits.max_images]:
        figure = caption.closest("figure")
        content = (caption.text_content if figure is not None else None) or ""
        room -= len(content)
        if room < 0:
            return  # captions nested in captions have more text than the whole page
        text = label(content, limits)
        if figure is None or text is None:
            continue
        elements = figure.get_elements_by_tag_name("img")
        looked_at += len(elements)
        if looked_at > 4 * limits.max_images:
            return  # figures nested in figures
        for element in elements.values():
            mark = IMAGE_MARK.fullmatch(element.getattr("alt") or "")
            image = images.get(int(mark[1])) if mark is not None else None
            if mark is not None and image is not None and image.caption is None:
                images[int(mark[1])] = image._replace(caption=text)


def _language(document: DocumentNode, source: str, head_end: int) -> str | None:
    root = document.document_element
    declared = (root.getattr("lang") or root.getattr("xml:lang")) if root is not None else None
    if not declared and _mentioned("content-language", source, head_end):
        declared = _attribute_of(document, 'meta[http-equiv="content-language" i]', "content")
    if not declared and _mentioned("og:locale", source, head_end):
        declared = _attribute_of(document, 'meta[property="og:locale"]', "content")
    declared = declared.strip() if declared else ""
    return declared if LANGUAGE.fullmatch(declared) else None


def _mentioned(word: str, source: str, end: int) -> bool:
    return word in source[: min(end, _MENTION_CHARACTERS)].lower()


def _attribute_of(document: DocumentNode, selector: str, name: str) -> str | None:
    element = document.query_selector(selector)
    value = element.getattr(name) if element is not None else None
    return unmarked(value) if value else None


def attribute_value(written: str) -> str:
    """An attribute's value, decoded."""
    value = written[1:-1] if written[0] in "\"'" else written
    if "&" in value:
        value = value.replace("&amp;", "&") if value.count("&") == value.count("&amp;") else unescape(value)
    return value


def label(text: str | None, limits: PageLimits) -> str | None:
    """A short text on one line; None for one of white space."""
    return " ".join(unmarked(text).split())[: limits.max_label_characters] or None if text else None


def _pixels(value: str) -> int | None:
    found = _PIXELS.fullmatch(value)
    return int(found[1]) if found else None
