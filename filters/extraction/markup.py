"""Scan a page's source in one pass: find links, images and headings, and insert marks that survive extraction.

Walking a hundred links through a DOM's objects costs more than extracting the text, and each pass over the source
costs as much as the rest of this file, so one pattern finds everything at once. It knows quotes, comments and raw
text by the rules of the HTML standard's tokenizer; each of its loops is possessive, so it is linear on any input.

Marks: every image gets an `alt` that numbers it, first in its tag, where it wins over the page's own; every heading
starts with a character of its own. An extractor that prints alternative texts then says where in its text the images
stand. The three characters used are controls that no page shows; a page's own are dropped.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from winnow.filters.extraction.budgets import ATTRIBUTE, COMMENT, RAW_TEXT, VALUE

HEADING_MARK: Final = "\x01"
IMAGE_MARK: Final = re.compile("\x02([0-9]+)\x03")
_IMAGE_START, _IMAGE_END = "\x02", "\x03"
_DROPPED = dict.fromkeys(map(ord, HEADING_MARK + _IMAGE_START + _IMAGE_END))
_WRITTEN_MARK = re.compile(f" alt={_IMAGE_START}([0-9]+){_IMAGE_END} ?")


def plain_references(more: str = "", escapes: str = "") -> tuple[str, str, str]:
    """Patterns of URLs, paths and relative paths that are canonical except for what precedes them.

    They hold no ports, entities or, unless given, escapes. One with "/." in it is not canonical, which a pattern
    would be slow to say.
    """
    characters = rf"A-Za-z0-9/._~!$'()*+,;=@{more}-"
    query = rf"(?:\?[!$%{more}(-;=?-~]*+)?+"

    def of(allowed: str) -> str:
        return (rf"(?:[{allowed}]++|{escapes})*+" if escapes else rf"[{allowed}]*+") + query

    host = r"https?://(?:[a-z0-9]++(?:-[a-z0-9]++)*+\.){1,4}[a-z]++"
    return (
        rf"{host}/{of(':' + characters)}",
        rf"/(?!/){of(':' + characters)}",
        rf"[A-Za-z0-9_]{of(characters)}",
    )


_HREF = "[hH][rR][eE][fF]"
_BEFORE_HREF = rf"(?:[\s/]*+(?!{_HREF}[\s=/>])[^\s/>][^\s/>=]*+(?:=\s*+{VALUE}|\s++=\s*+{VALUE}|))*+"
_REFERENCE = '"(?:({})|({})|({}))(?:#[^"]*+)?"'.format(*plain_references()) + f"|({VALUE})"
_REST = rf"(?:{ATTRIBUTE})*+[\s/]*+(?:>|\Z)"
_IMAGE = "[iI][mM](?:[gG]|[aA][gG][eE])"
_SCAN = re.compile(
    r"(<(?=[aAiIhH!sStTxXnNfF])"  # most tags end here
    rf"(?:[aA](?=[\s/>])({_BEFORE_HREF})(?:[\s/]*+{_HREF}\s*+=\s*+(?:{_REFERENCE}))?({_REST})"
    rf"|{_IMAGE}(?=[\s/>])({_REST})"
    rf"|([hH][1-6])(?:\s[^<>]*+)?>"
    rf"|[fF][iI][gG][cC]|{COMMENT}|{RAW_TEXT}))"
)
_CAPTIONS = ("<figc", "<FIGC", "<Figc", "<FigC")
_GROUPS = _SCAN.groups + 1  # and the text before each match
_IMAGES = re.compile(rf"(<{_IMAGE})(?=[\s/>])")
_ELEMENT_INSIDE = re.compile(rf"<(?:[aA]|{_IMAGE})[\s/>]")

Anchor: TypeAlias = tuple[str, str | None, str | None, str | None, str | None, str]
"""Attributes before href; href as a plain URL, a plain path, a plain relative path, or as written; the rest to `>`."""


@dataclass(frozen=True, slots=True)
class Markup:
    """The elements of a page's source, and the source with marks."""

    source: str
    _pieces: list[str | None]
    has_captions: bool
    hides_elements: bool  # a comment or raw text holds what would be a link or image if it were neither

    def anchors(self) -> Iterator[Anchor]:
        """Every <a>, with or without href, in the order of the source."""
        columns = [self._pieces[place::_GROUPS] for place in range(2, 8)]
        return (anchor for anchor in zip(*columns, strict=True) if anchor[-1])

    def images(self) -> list[str]:
        """The original attributes of every <img>; an image's index is the number of its mark."""
        return [image for image in self._pieces[8::_GROUPS] if image]


def scan(html: str) -> Markup:
    """Find the elements of a page and mark its images and headings."""
    if HEADING_MARK in html or _IMAGE_START in html or _IMAGE_END in html:
        html = html.translate(_DROPPED)
    pieces: list[str | None] = _SCAN.split(html)
    elements: list[str] = pieces[1::_GROUPS]  # type: ignore[assignment]
    images = 0
    hides = captions = False
    for place, (element, rest, image, heading) in enumerate(
        zip(elements, pieces[7::_GROUPS], pieces[8::_GROUPS], pieces[9::_GROUPS], strict=True)
    ):
        if rest:
            continue
        if heading:
            elements[place] = element + HEADING_MARK
        elif image:
            name = len(element) - len(image)
            elements[place] = f"{element[:name]}{_written(images)}{image}"
            images += 1
        elif element in _CAPTIONS:
            captions = True
        elif not hides and _ELEMENT_INSIDE.search(element, 1):
            hides = True
    marked = [""] * (2 * len(elements) + 1)
    marked[::2] = pieces[::_GROUPS]  # type: ignore[assignment]
    marked[1::2] = elements
    return Markup("".join(marked), pieces, captions, hides)


def mark_everything(html: str) -> tuple[str, list[str]]:
    """The source with every `<img` marked, wherever it is, and what follows each: for pages that mislead the scan."""
    pieces = _IMAGES.split(html.translate(_DROPPED))
    for place in range(1, len(pieces), 2):
        pieces[place] += _written(place // 2)
    attributes = re.compile(rf"(?:{ATTRIBUTE})*+")
    return "".join(pieces), [attributes.match(piece)[0] for piece in pieces[2::2]]  # type: ignore[index]


def unmarked(text: str) -> str:
    """Remove the marks from a piece of source or text."""
    if _IMAGE_START in text:
        text = IMAGE_MARK.sub("", _WRITTEN_MARK.sub("", text))
    return text.replace(HEADING_MARK, "") if HEADING_MARK in text else text


def _written(number: int) -> str:
    return f" alt={_IMAGE_START}{number}{_IMAGE_END} "
