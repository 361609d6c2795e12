"""The precise extractor: trafilatura's article body and page metadata, about ten times slower than the fast one.

The text is trafilatura's, block by block: each child of the body that it finds is a part, rendered by its own
serializer, with a blank line between two. With images enabled it finds different and worse text, so images are
located by the text that the fast extractor has before and after them.
"""

import logging
import re
from bisect import bisect_right
from dataclasses import dataclass, field
from html import unescape
from itertools import accumulate
from typing import Annotated, Final

import pyarrow as pa
import trafilatura
from lxml import etree
from trafilatura.xml import xmltotxt

from winnow.filters.extraction.budgets import Budgets
from winnow.filters.extraction.extract_fast import Sighting, sightings
from winnow.filters.extraction.page import Page, PageLimits
from winnow.filters.extraction.placed_text import Parts, PlacedText
from winnow.filters.extraction.reading import read_pages
from winnow.filters.extractors import Extractor
from winnow.schemas.recipe.checks import Between
from winnow.schemas.rows.extraction import PartKind

VERSION = 4  # 2: a title of Open Graph goes before <title>; 3: all addresses of an image; 4: even lines

# Its logs are about single pages, which nobody reads; rows carry a status instead.
for _name in ("trafilatura", "htmldate", "courlan", "justext"):
    logging.getLogger(_name).setLevel(logging.CRITICAL + 1)


@dataclass(frozen=True, slots=True)
class PreciseBudgets(Budgets):
    """Caps on one page for an extractor that is slower everywhere and quadratic in places."""

    max_bytes: Annotated[int, Between(1, 1 << 30)] = 2 << 20
    max_nodes: Annotated[int, Between(1, 1_000_000)] = 20_000  # worst known page at the cap: 4 s, all superscripts
    max_depth: Annotated[int, Between(1, 250)] = 250  # libxml2 silently drops what is nested deeper than 256


@dataclass(frozen=True, slots=True)
class PreciseConfig:
    """Settings of the extractor. Scores are F1 on half of the article extraction benchmark (benchmarks.extraction)."""

    favor_precision: bool = True  # 0.970 instead of 0.958
    favor_recall: bool = False  # 0.959
    tables: bool = True  # 0.960 without, at default precision; articles seldom have any, other pages do
    budgets: PreciseBudgets = field(default_factory=PreciseBudgets)
    limits: PageLimits = field(default_factory=PageLimits)


_JOINERS = "\u200b\u200c\u200d\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_WRITTEN_JOINER = (
    r"&(?:zwn?j|[lr]lm|#(?:0*82(?:0[3-7]|3[4-8]|9[4-7])|0*1564|[xX]0*(?:20(?:0[b-fB-F]|2[a-eA-E]|6[6-9])|61[cC])));"
)
_JOINER = re.compile(rf"[{_JOINERS}]|{_WRITTEN_JOINER}")
_JOINER_IN_ASCII = re.compile(_WRITTEN_JOINER)  # begins with one letter, so searching is much faster
# Letters of scripts that nothing on the web is written in; a page that has letters of one gets those of the next.
_RARE_LETTERS = (0x10380, 0x10A60, 0x10900, 0x10840, 0x12000, 0x13000, 0x14400)

_BETWEEN = b"\n\n"
_COMPARED_CHARACTERS = 60  # of the text next to an image
_LEAST_CHARACTERS = 12  # of these, the fewest that locate an image

_FAULTS: Final = (ValueError, TypeError, AttributeError, LookupError, RecursionError, etree.LxmlError)

_KINDS: Final[dict[str, PartKind]] = {
    "head": "heading",
    "list": "list",
    "table": "table",
    "quote": "quote",
    "code": "code",
}


def extract_precise(pages: pa.RecordBatch, config: PreciseConfig) -> pa.RecordBatch:
    """Turn PAGES into EXTRACTION, row by row in the same order. A row depends only on its page and the config."""
    return read_pages(
        pages, config.budgets, config.limits, lambda page, source: _read(page, source, config), every_page=True
    )


def _read(page: Page, source: str, config: PreciseConfig) -> PlacedText | None:
    try:
        blocks = _blocks(source, config)
    except _FAULTS:  # no known page does this; one that did would stop its whole task
        return None
    return _placed(blocks, sightings(page))


def _blocks(html: str, config: PreciseConfig) -> list[tuple[PartKind, str]]:
    """The children of the body that trafilatura finds, each as text. Depends on this page alone."""
    html, stand_ins = _with_stand_ins(html)
    document = trafilatura.bare_extraction(
        html,
        favor_precision=config.favor_precision,
        favor_recall=config.favor_recall,
        include_tables=config.tables,
        include_images=False,  # with images the text is worse: 0.962
        include_comments=False,
        include_formatting=False,
        include_links=False,
        deduplicate=False,  # True would drop what earlier documents said
        with_metadata=False,  # they would ask for today's date
    )
    if document is None or document.body is None:
        return []
    blocks: list[tuple[PartKind, str]] = [("text", document.body.text or "")]
    blocks.extend((_KINDS.get(child.tag, "text"), xmltotxt(child, False)) for child in document.body)
    return [(kind, stripped) for kind, text in blocks if (stripped := text.translate(stand_ins).strip())]


def _with_stand_ins(html: str) -> tuple[str, dict[int, str]]:
    """The page with letters in place of its invisible joiners and direction marks, and the mapping back.

    trafilatura drops every invisible character, without which Persian words, Indic clusters, Khmer line breaks,
    right-to-left punctuation and family emoji fall apart.
    """
    if not (_JOINER_IN_ASCII if html.isascii() else _JOINER).search(html):
        return html, {}
    first = next((block for block in _RARE_LETTERS if not _holds_letters(html, block)), None)
    if first is None:
        return html, {}
    letters = {joiner: chr(first + place) for place, joiner in enumerate(_JOINERS)}

    def stand_in(found: re.Match[str]) -> str:
        return letters.get(unescape(found[0]), found[0])

    return _JOINER.sub(stand_in, html), {ord(letter): joiner for joiner, letter in letters.items()}


def _holds_letters(html: str, first: int) -> bool:
    return any(chr(first + place) in html for place in range(len(_JOINERS)))


def _placed(blocks: list[tuple[PartKind, str]], images: list[Sighting]) -> PlacedText:
    """The blocks as one text, with each image between the two blocks that its surrounding text points to."""
    before_block = _images_by_block([text for _, text in blocks], images)
    parts = Parts()
    text: list[bytes] = []
    at = 0
    for place_of, (kind, block) in enumerate(blocks):
        for number in before_block.get(place_of, ()):
            parts.add("image", at, at, number)
        raw = block.encode()
        if at:
            at += len(_BETWEEN)
        parts.add(kind, at, at + len(raw))
        text.append(raw)
        at += len(raw)
    for number in before_block.get(len(blocks), ()):
        parts.add("image", at, at, number)
    return PlacedText(_BETWEEN.join(text), parts.complete())


def _images_by_block(blocks: list[str], images: list[Sighting]) -> dict[int, list[int]]:
    # Which images stand before which block. Texts are compared word by word with single spaces; the search goes
    # forward only, as images are in reading order, so it is linear and a repeated phrase does not send one back.
    spaced = [" ".join(block.split()) for block in blocks]
    starts = list(accumulate((len(block) + 1 for block in spaced), initial=0))
    whole = " ".join(spaced)
    found: dict[int, list[int]] = {}
    cursor = 0
    for number, before, after in images:
        tail = " ".join((before or "").split())[-_COMPARED_CHARACTERS:]
        head = " ".join((after or "").split())[:_COMPARED_CHARACTERS]
        at = whole.find(tail, cursor) if len(tail) >= _LEAST_CHARACTERS else -1
        if at >= 0:
            cursor = max(cursor, at)
            place_of = bisect_right(starts, at + len(tail) - 1)  # the block after the one that holds it
        else:
            at = whole.find(head, cursor) if len(head) >= _LEAST_CHARACTERS else -1
            if at < 0:
                continue
            cursor = max(cursor, at)
            place_of = bisect_right(starts, at) - 1
        found.setdefault(min(place_of, len(blocks)), []).append(number)
    return found


EXTRACTOR = Extractor("precise", VERSION, PreciseConfig, extract_precise)
