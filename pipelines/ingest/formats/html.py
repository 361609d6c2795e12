"""HTML pages: each file is a record."""

from dataclasses import replace

from winnow.filters.web.sniff import is_page
from winnow.pipelines.ingest.formats import text

FORMAT = replace(
    text.FORMAT,
    name="html",
    called="HTML",
    content="page",
    endings=r"\.(htm|html|xhtml)",
    holds=lambda content: content.modality == "text" and is_page(content.mime),
    is_of_web=True,
)
