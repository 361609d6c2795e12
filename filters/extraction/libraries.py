"""The common part of extractors that call other libraries: budgets, the unchanged text, and the page's metadata.

Metadata are read as for `main`, from one scan of the source. A library does not say where in its text an image belongs,
so images have no position, and the text is one part.
"""

from collections.abc import Callable
from typing import TypeAlias

import pyarrow as pa
from resiliparse.parse.html import HTMLTree

from winnow.filters.extraction.budgets import Budgets, is_too_deep, refusal, without_copies
from winnow.filters.extraction.main_content.blocks import read_page
from winnow.filters.extraction.main_content.facts import page_facts
from winnow.filters.extraction.page import PageLimits
from winnow.filters.extraction.placed_text import Parts, PlacedText
from winnow.filters.extraction.reading import ExtractionRows, readable

Read: TypeAlias = Callable[[str, HTMLTree], str | None]
"""Turns a page, as written and as Resiliparse parsed it, into text; None when the library fails on it."""


def read_pages(
    pages: pa.RecordBatch, budgets: Budgets, limits: PageLimits, read: Read, *, every_page: bool = False
) -> pa.RecordBatch:
    """Turn PAGES into EXTRACTION, row by row in the same order. A row depends only on its page.

    With `every_page` the budgets apply to small pages too, which can only harm a slow extractor.
    """
    rows = ExtractionRows()
    for source, url in readable(pages, rows, budgets.max_bytes, budgets.max_nodes):
        html, tags = source.decode(), source.count(b"<")
        refused = refusal(html, tags, budgets, every_page=every_page)
        if refused is not None:
            rows.refuse(refused)
            continue
        tree = HTMLTree.parse(without_copies(html, tags))
        if is_too_deep(tree, tags, budgets, every_page=every_page):
            rows.refuse("too_deep")
            continue
        found = read(html, tree)
        if found is None:
            rows.refuse("failed")
            continue
        text, parts = found.encode(), Parts()
        if text:
            parts.add("text", 0, len(text))
        rows.add(PlacedText(text, parts), page_facts(read_page(source, url), limits)[0])
    return rows.batch()
