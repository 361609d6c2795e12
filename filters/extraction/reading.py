"""The frame of every extractor: budgets before it reads a page, metadata after."""

from collections.abc import Callable
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from winnow.filters.extraction.budgets import Budgets, is_too_deep, refusal, without_copies
from winnow.filters.extraction.page import Page, PageLimits, page_facts, read_page
from winnow.filters.extraction.placed_text import PlacedText
from winnow.filters.extraction.rows import ExtractionRows

Read: TypeAlias = Callable[[Page, str], PlacedText | None]
"""Turns a page and its source into text; None when the extractor fails on it."""


def read_pages(
    pages: pa.RecordBatch, budgets: Budgets, limits: PageLimits, read: Read, *, every_page: bool = False
) -> pa.RecordBatch:
    """Turn PAGES into EXTRACTION, row by row in the same order. A row depends only on its page.

    With `every_page` the budgets apply to small pages too, which can only harm a slow extractor.
    """
    rows = ExtractionRows()
    html = pages.column("html")
    # One page at a time: the work is in C, and the Python per page costs less than parsing it.
    for source, url, size in zip(
        html.to_pylist(), pages.column("url").to_pylist(), pc.binary_length(html).to_pylist(), strict=True
    ):
        if source is None:
            rows.refuse("not_html")
            continue
        if size > budgets.max_bytes:
            rows.refuse("too_large")
            continue
        tags = source.count("<")
        refused = refusal(source, tags, budgets, every_page=every_page)
        if refused is not None:
            rows.refuse(refused)
            continue
        page = read_page(without_copies(source, tags))
        if is_too_deep(page.tree, tags, budgets, every_page=every_page):
            rows.refuse("too_deep")
            continue
        placed = read(page, source)
        if placed is None:
            rows.refuse("failed")
        else:
            rows.add(placed, page_facts(page, url, limits))
    return rows.batch()
