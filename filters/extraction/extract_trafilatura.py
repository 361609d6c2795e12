"""trafilatura's text, for recipes that follow FineWeb and RefinedWeb; about ten times slower than `main`.

Called with the options of datatrove's `Trafilatura`, except `deduplicate`, which drops what earlier pages contained:
a row would depend on them.
"""

import logging
from dataclasses import dataclass, field
from typing import Annotated, Final

import pyarrow as pa
import trafilatura
from lxml import etree
from resiliparse.parse.html import HTMLTree

from winnow.filters.extraction.budgets import Budgets
from winnow.filters.extraction.libraries import read_pages
from winnow.filters.extraction.page import PageLimits
from winnow.filters.extractors import Extractor
from winnow.schemas.recipe.checks import Between

VERSION = 1

# Its logs concern single pages and nobody reads them; rows have a status instead.
for _name in ("trafilatura", "htmldate", "courlan", "justext"):
    logging.getLogger(_name).setLevel(logging.CRITICAL + 1)

_FAULTS: Final = (ValueError, TypeError, AttributeError, LookupError, RecursionError, etree.LxmlError)


@dataclass(frozen=True, slots=True)
class TrafilaturaBudgets(Budgets):
    """Limits for one page of an extractor that is slower everywhere and quadratic in places."""

    max_bytes: Annotated[int, Between(1, 1 << 30)] = 2 << 20
    max_nodes: Annotated[int, Between(1, 1_000_000)] = 20_000  # worst known page at the cap: 4 s, all superscripts
    max_depth: Annotated[int, Between(1, 250)] = 250  # libxml2 silently drops what is nested deeper than 256


@dataclass(frozen=True, slots=True)
class TrafilaturaConfig:
    """Settings of the extractor: options of `trafilatura.extract`."""

    favor_precision: bool = True  # datatrove: favour_precision=True
    favor_recall: bool = False
    comments: bool = False
    tables: bool = True
    budgets: TrafilaturaBudgets = field(default_factory=TrafilaturaBudgets)
    limits: PageLimits = field(default_factory=PageLimits)


def extract_trafilatura(pages: pa.RecordBatch, config: TrafilaturaConfig) -> pa.RecordBatch:
    """Turn PAGES into EXTRACTION, row by row in the same order. A row depends only on its page and the config."""

    def read(html: str, _: HTMLTree) -> str | None:
        try:
            return (
                trafilatura.extract(
                    html,
                    favor_precision=config.favor_precision,
                    favor_recall=config.favor_recall,
                    include_comments=config.comments,
                    include_tables=config.tables,
                    deduplicate=False,
                )
                or ""
            )
        except _FAULTS:  # no known page does this
            return None

    return read_pages(pages, config.budgets, config.limits, read, every_page=True)


EXTRACTOR = Extractor("trafilatura", VERSION, TrafilaturaConfig, extract_trafilatura)
