"""The default extractor: the main content of pages of every kind, by a small learned model.

One scan turns a page into blocks in reading order. Linear models score the names in their markup and their words, trees
and a network judge each block in its context, and the blocks with the best expected F1 are kept. Repeated text (for
narrow and wide screens) is kept once.
"""

from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Annotated, Final

import numpy as np
import pyarrow as pa

from winnow.filters.extraction.main_content.blocks import PageBlocks, page_blocks
from winnow.filters.extraction.main_content.facts import page_facts
from winnow.filters.extraction.main_content.markdown import MarkdownPage, as_markdown
from winnow.filters.extraction.main_content.model import Judgement, Model, judged, read
from winnow.filters.extraction.main_content.named_parts import by_class
from winnow.filters.extraction.main_content.page_metadata import page_metadata
from winnow.filters.extraction.main_content.writing import MainText, written
from winnow.filters.extraction.page import PageLimits
from winnow.filters.extraction.reading import ExtractionRows, readable
from winnow.filters.extractors import Extractor
from winnow.filters.spans import SPANS
from winnow.schemas.recipe.checks import LATER, Between

VERSION = 5  # 5: cells of Markdown stand in their columns
_UNIT: Final = 1 << 16  # of a byte of main content
WEIGHTS: Final = Path(__file__).parent / "main_content" / "weights" / "model.npz"
OWN: Final = (
    pa.field("confidence", pa.float32()),  # the F1 of words on held-out pages with the same expected F1
    pa.field("kind", pa.string()),  # article, forum, listing, collection, product, service, documentation
    pa.field("share", pa.float32()),  # the kept share of the page's words
    pa.field("author", pa.string()),  # as the page states it
    pa.field("published", pa.string()),  # 2024-05-01
    pa.field("modified", pa.string()),
    pa.field("site", pa.string()),
    pa.field("breadcrumbs", pa.list_(pa.string())),  # where the page stands in its site, from the outside
    pa.field("licences", pa.list_(pa.string())),  # the addresses of those that it is under, as it says
    pa.field("comments", SPANS),  # of the text, what readers wrote
    pa.field("code_languages", pa.list_(pa.string())),  # of each part that is code
)

PROBABILITIES: Final = (
    pa.field("probabilities", pa.list_(pa.float32())),  # of each part, that it is main content; null for images
    pa.field("left_out", pa.int64()),  # bytes of main content that are expected in blocks that were not kept
)


@dataclass(frozen=True, slots=True)
class MainConfig:
    """Settings of the extractor."""

    markdown: bool = False  # write headings, lists, tables, code, emphasis and images as Markdown
    links: bool = False  # in Markdown: the addresses of links
    min_confidence: Annotated[float, Between(0, 1)] = 0.0  # a less certain page is `unsure` and has no text
    max_bytes: Annotated[int, Between(1, 1 << 30)] = 16 << 20
    # Tags in the source, start and end; each may take some hundred bytes. A real page of 10 MB has half as many.
    max_nodes: Annotated[int, Between(1, 10_000_000)] = 400_000
    limits: PageLimits = field(default_factory=PageLimits)
    probabilities: bool = field(default=False, metadata=LATER)  # how sure the choice is, for `page.repeated_parts`


def asked(config: MainConfig) -> tuple[pa.Field, ...]:
    """The columns that only this configuration asks for."""
    return PROBABILITIES if config.probabilities else ()


@cache
def model() -> Model:
    """The packaged model."""
    return read(WEIGHTS)


def extract_main(pages: pa.RecordBatch, config: MainConfig) -> pa.RecordBatch:
    """Turn PAGES into EXTRACTION, row by row in the same order. A row depends only on its page and the config."""
    rows = ExtractionRows((*OWN, *asked(config)))
    learned = model()
    for source, url in readable(pages, rows, config.max_bytes, config.max_nodes):
        blocks = page_blocks(source, url)
        facts, numbers = page_facts(blocks, config.limits)
        found = judged(blocks, learned)
        own = page_metadata(blocks, config.limits)._asdict()
        own |= {"confidence": found.confidence, "kind": found.kind, "share": found.share}
        if found.confidence < config.min_confidence:
            rows.refuse("unsure", own)
            continue
        if found.kind == "documentation":
            blocks = replace(blocks, named_parts=by_class(blocks.page, blocks.source, blocks.named_parts))
        if config.markdown:
            text = as_markdown(MarkdownPage(blocks, facts.images, numbers, config.links), found.kept)
        else:
            text = written(blocks, found.kept, numbers)
        own |= {"comments": text.comments, "code_languages": text.languages}
        if config.probabilities:
            own |= _sureness(blocks, found, text)
        rows.add(text.placed, facts, own)
    return rows.batch()


def _sureness(blocks: PageBlocks, found: Judgement, text: MainText) -> dict[str, object]:
    """The mean probability of each part's blocks, by their bytes, and what is expected elsewhere."""
    sizes = (blocks.page.block_ends - blocks.page.block_begins).astype(np.int64)
    expected = np.round(found.probabilities.astype(np.float64) * sizes * _UNIT).astype(np.int64)
    sums = [np.append(0, np.cumsum(np.where(found.kept, amounts, 0))) for amounts in (expected, sizes * _UNIT)]
    chances = []
    for within in text.blocks:
        wanted, whole = (one[within[1] + 1] - one[within[0]] for one in sums) if within else (0, 0)
        chances.append(float(wanted / whole) if whole else None)
    return {"probabilities": chances, "left_out": int(expected[~found.kept].sum()) // _UNIT}


EXTRACTOR = Extractor("main", VERSION, MainConfig, extract_main, OWN, asked)
