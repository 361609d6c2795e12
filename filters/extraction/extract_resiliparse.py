"""Resiliparse's text, for recipes that follow DCLM; with `main_content: false` all visible text, as in WET files.

DCLM's own extraction code is not published. The defaults are those of datatrove's `Resiliparse`: the main content
without alternative texts and link targets.
"""

from dataclasses import dataclass, field

import pyarrow as pa
from resiliparse.extract.html2text import extract_plain_text
from resiliparse.parse.html import HTMLTree

from winnow.filters.extraction.budgets import Budgets
from winnow.filters.extraction.libraries import read_pages
from winnow.filters.extraction.page import PageLimits
from winnow.filters.extractors import Extractor

VERSION = 1


@dataclass(frozen=True, slots=True)
class ResiliparseConfig:
    """Settings of the extractor: options of `extract_plain_text`."""

    main_content: bool = True  # False: all visible text
    list_bullets: bool = True
    alt_texts: bool = False
    links: bool = False
    comments: bool = True
    budgets: Budgets = field(default_factory=Budgets)
    limits: PageLimits = field(default_factory=PageLimits)


def extract_resiliparse(pages: pa.RecordBatch, config: ResiliparseConfig) -> pa.RecordBatch:
    """Turn PAGES into EXTRACTION, row by row in the same order. A row depends only on its page and the config."""

    def read(_: str, tree: HTMLTree) -> str:
        text: str = extract_plain_text(
            tree,
            preserve_formatting=True,
            main_content=config.main_content,
            list_bullets=config.list_bullets,
            alt_texts=config.alt_texts,
            links=config.links,
            comments=config.comments,
        )
        return text

    return read_pages(pages, config.budgets, config.limits, read)


EXTRACTOR = Extractor("resiliparse", VERSION, ResiliparseConfig, extract_resiliparse)
