"""The main content of one page, from its bytes and without a recipe: what `winnow.extract` gives."""

from dataclasses import dataclass
from email.message import Message

import pyarrow as pa

from winnow.filters.extraction.charset import decode_page
from winnow.filters.extraction.extract_main import MainConfig, extract_main
from winnow.filters.extraction.xhtml import as_html
from winnow.filters.web.sniff import sniff
from winnow.schemas.rows.extraction import PAGES


@dataclass(frozen=True, slots=True)
class ExtractedPage:
    """The columns of `extract.main` for one page. Ranges are in bytes of the text in UTF-8."""

    status: str  # `ok`, or why there is no text
    text: str | None
    title: str | None
    canonical_url: str | None
    language: str | None
    links: list[dict[str, str | None]] | None
    images: list[dict[str, object]] | None
    parts: list[dict[str, object]] | None
    confidence: float | None
    kind: str | None
    share: float | None
    author: str | None
    published: str | None
    modified: str | None
    site: str | None
    breadcrumbs: list[str] | None
    licences: list[str] | None
    comments: list[dict[str, int]] | None
    code_languages: list[str | None] | None

    def text_without_comments(self) -> str | None:
        """The text as an export writes it whose `edits` name `extract.main.comments`."""
        if not self.text or not self.comments:
            return self.text
        left = bytearray(self.text.encode())
        for span in reversed(self.comments):
            del left[span["start"] : span["end"]]
        return left.decode()


def extract(
    html: bytes | str,
    url: str | None = None,
    *,
    content_type: str | None = None,
    markdown: bool = False,
    links: bool = False,
) -> ExtractedPage:
    """The main content of a page, with what the page says of itself.

    Args:
        html: The page. Bytes are decoded by what they are; the charsets that page and header name are hints.
        url: Its address, which says something of its kind and makes links absolute.
        content_type: The header of that name.
        markdown: Whether the text is Markdown.
        links: Whether links have their addresses in Markdown.
    """
    header = Message()
    header["content-type"] = content_type or "text/html"
    mime = header.get_content_type()
    body = html if isinstance(html, bytes) else html.encode("utf-8", "replace")
    charset = header.get_content_charset() if isinstance(html, bytes) else "utf-8"
    is_text = not body or sniff(body, mime, url).modality == "text"
    page = as_html(decode_page(body, charset).text, mime) if is_text else None
    batch = pa.RecordBatch.from_pylist([{"html": page, "url": url}], schema=PAGES)
    (row,) = extract_main(batch, MainConfig(markdown=markdown, links=links)).to_pylist()
    return ExtractedPage(**row)
