"""The fast extractor: Resiliparse's main content with images in reading order, and page metadata.

The text is what a reader sees: no alt texts, link targets, bullets or form fields, no comments below an article and
no by-lines, dates or tags around it. A caption belongs to its image, not to the text.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import pyarrow as pa
from resiliparse.extract.html2text import extract_plain_text

from winnow.filters.extraction.budgets import Budgets
from winnow.filters.extraction.page import Page, PageLimits
from winnow.filters.extraction.placed_text import context, place
from winnow.filters.extraction.reading import read_pages
from winnow.filters.extractors import Extractor

VERSION = 4  # 2: a title of Open Graph goes before <title>; 3: all addresses of an image; 4: even lines


@dataclass(frozen=True, slots=True)
class FastConfig:
    """Settings of the extractor. Scores are F1 on half of the article extraction benchmark (benchmarks.extraction)."""

    main_content: bool = True  # False: all visible text
    comments: bool = False  # readers' comments; without them 0.930 instead of 0.920
    post_meta: bool = False  # by-lines, dates, tags; without them and comments 0.938
    headline: bool = True  # <h1>; 0.948 without, as the benchmark's articles have none, but a text should have its own
    budgets: Budgets = field(default_factory=Budgets)
    limits: PageLimits = field(default_factory=PageLimits)


# Alt texts must be printed to locate images; these would be printed too.
_SKIPPED = ("figcaption", "object", "video", "audio", "svg", "area", "canvas")


def extract_fast(pages: pa.RecordBatch, config: FastConfig) -> pa.RecordBatch:
    """Turn PAGES into EXTRACTION, row by row in the same order. A row depends only on its page and the config."""
    return read_pages(pages, config.budgets, config.limits, lambda page, _source: place(_printed(page, config)))


def _printed(page: Page, config: FastConfig) -> str:
    printed: str = extract_plain_text(
        page.tree,
        preserve_formatting=True,
        main_content=config.main_content,
        list_bullets=False,
        alt_texts=True,
        links=False,
        form_fields=False,
        noscript=False,
        comments=config.comments,
        post_meta=config.post_meta,
        skip_elements=_SKIPPED if config.headline else (*_SKIPPED, "h1"),
    )
    return printed


class Sighting(NamedTuple):
    """An image of the main content: the number of its mark and the text around it."""

    number: int
    before: str | None
    after: str | None


def sightings(page: Page) -> list[Sighting]:
    """The images that this extractor locates, for extractors that cannot."""
    if not page.image_attributes:
        return []
    placed = place(_printed(page, FastConfig()))
    return [
        Sighting(number, *context(placed.text, start))
        for number, start in zip(placed.parts.images, placed.parts.starts, strict=True)
        if number is not None
    ]


EXTRACTOR = Extractor("fast", VERSION, FastConfig, extract_fast)
