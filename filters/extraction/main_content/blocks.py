"""A page's blocks with all inputs of the model: the scan, its measures, and the signs of the page's kind."""

import re
from dataclasses import dataclass
from functools import lru_cache
from html import unescape
from urllib.parse import urlsplit

import numpy as np
import numpy.typing as npt

from winnow.filters.extraction.main_content.attribute_values import attribute_names, attribute_values
from winnow.filters.extraction.main_content.features import Layout, laid_out
from winnow.filters.extraction.main_content.formulas import has_formulas, with_formulas
from winnow.filters.extraction.main_content.measures import Measures, element_tokens, measured, word_set
from winnow.filters.extraction.main_content.named_parts import named_parts
from winnow.filters.extraction.main_content.names import NUMBER, TAGS, hash_of
from winnow.filters.extraction.main_content.scan import Page, scanned

_META = NUMBER["meta"]
_OF_META = attribute_names(["property", "name", "itemprop", "http-equiv", "content"])
_LOWER_WORDS = re.compile(r"[a-z]{3,}")
_WORDS = re.compile(r"\w+")
_LD_TYPE = re.compile(rb'"@type"\s*:\s*"(\w+)"')
_MOST_DATA = 1 << 18
_MOST_TITLE = 1 << 12
_MOST_META = 200
_TAG_SIGNS = np.array([hash_of(f"<{name}") for name in TAGS], np.uint64)
_OF_BODY = np.uint64(0x5BD1E995)


@dataclass(frozen=True, slots=True)
class ReadPage:
    """A scanned page and the metadata of its head."""

    source: bytes  # in UTF-8, with its formulas as text
    url: str | None
    page: Page
    meta: dict[str, str]
    title: str


@dataclass(frozen=True, slots=True)
class PageBlocks(ReadPage):
    """A page with the inputs of the model."""

    measures: Measures
    layout: Layout
    signs: npt.NDArray[np.uint64]  # hints at the page's kind
    named_parts: npt.NDArray[np.uint8]  # the parts that each element is named as, as bits

    def __len__(self) -> int:
        """The number of blocks."""
        return len(self.page.block_begins)

    def texts(self) -> list[str]:
        """The text of each block."""
        text = self.page.text.tobytes()
        return [
            text[begin:end].decode("utf-8", "replace")
            for begin, end in zip(self.page.block_begins.tolist(), self.page.block_ends.tolist(), strict=True)
        ]


def read_page(source: bytes, url: str | None) -> ReadPage:
    """Scan a page in UTF-8."""
    page = scanned(np.frombuffer(source, np.uint8))
    if has_formulas(page, source):
        source = with_formulas(source)
        page = scanned(np.frombuffer(source, np.uint8))
    title = unescape(source[page.title[0] : page.title[1]][:_MOST_TITLE].decode("utf-8", "replace")).strip()
    return ReadPage(source, url, page, _meta(page, source), title)


def page_blocks(source: bytes, url: str | None) -> PageBlocks:
    """Scan and measure a page in UTF-8."""
    read = read_page(source, url)
    source = read.source
    page, meta, title = read.page, read.meta, read.title
    titles, title_words = word_set(_bytes(f"{title} {meta.get('og:title', '')}"))
    description, _ = word_set(_bytes(meta.get("description") or meta.get("og:description") or ""))
    places, tokens = element_tokens(page)
    measures = measured(page, places, tokens, titles, title_words, description)
    layout = laid_out(page, measures.stats, places, tokens, (url or "").count("/"), len(url or ""))
    signs = _signs(page, source, url, title, meta, tokens, places)
    return PageBlocks(source, url, page, meta, title, measures, layout, signs, named_parts(places, tokens))


def _bytes(text: str) -> npt.NDArray[np.uint8]:
    return np.frombuffer(text.encode("utf-8", "replace"), np.uint8)


def _meta(page: Page, source: bytes) -> dict[str, str]:
    """The contents of the page's <meta> elements by name or property; of equal names the first counts."""
    found: dict[str, str] = {}
    for one in attribute_values(page, source, np.flatnonzero(page.tag == _META)[:_MOST_META], _OF_META):
        name = one.get("property") or one.get("name") or one.get("itemprop") or one.get("http-equiv")
        if name and one.get("content"):
            found.setdefault(name.lower(), one["content"])
    return found


def _signs(
    page: Page,
    source: bytes,
    url: str | None,
    title: str,
    meta: dict[str, str],
    tokens: npt.NDArray[np.uint64],
    places: npt.NDArray[np.int32],
) -> npt.NDArray[np.uint64]:
    """Keys of what tells a page's kind."""
    found = {f"og={meta.get('og:type', '').lower()}", f"generator={meta.get('generator', '').lower()[:9]}"}
    for begin, end in page.data.T.tolist():
        found.update(f"ld={name.decode()}" for name in _LD_TYPE.findall(source, begin, min(end, begin + _MOST_DATA)))
    split = urlsplit(url) if url else None
    path, host = (split.path, split.hostname or "") if split else ("", "")
    found.update(f"path={word}" for word in _LOWER_WORDS.findall(path.lower()))
    found.update(f"host={word}" for word in _LOWER_WORDS.findall(host))
    if not path.strip("/"):
        found.add("path=/")
    found.update(f"title={word}" for word in _WORDS.findall(title.lower()))
    body = np.flatnonzero((page.parent < 0) & (page.end_block > page.first_block))[:2].tolist()
    own = [tokens[places[element] : places[element + 1]] ^ _OF_BODY for element in body]
    tags = _TAG_SIGNS[np.bincount(page.tag, minlength=len(_TAG_SIGNS) + 1)[1:] > 0]
    return np.unique(np.concatenate([np.array([_sign(sign) for sign in found], np.uint64), tags, *own]))


_sign = lru_cache(maxsize=1 << 14)(hash_of)
