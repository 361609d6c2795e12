"""Pages with their true bodies, scanned and measured as the product does it, and labelled."""

import gzip
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import numpy.typing as npt

from tools.main_content.labels import block_shares, words_of
from winnow.filters.extraction.main_content.blocks import PageBlocks, page_blocks
from winnow.filters.extraction.main_content.features import KINDS

_SECOND_LEVEL = ("co", "com", "org", "gov", "ac", "net", "edu", "or", "ne", "go")


@dataclass(frozen=True, slots=True)
class LabelledPage:
    """One page of the training set."""

    name: str
    domain: str
    kind: int
    blocks: PageBlocks
    shares: npt.NDArray[np.float32]  # of each block's words, how many are in the body
    sizes: npt.NDArray[np.float64]  # words of each block
    words: list[Counter[str]]  # of each block
    reference: Counter[str]
    language: str  # of a page that was made; empty for real ones, which are mostly in English


def registered_domain(url: str) -> str:
    """The part of a host that is registered, near enough to keep a site's pages together."""
    parts = (urlsplit(url).hostname or url or "none").split(".")
    short = len(parts) > 2 and len(parts[-1]) == 2 and parts[-2] in _SECOND_LEVEL
    return ".".join(parts[-3:] if short else parts[-2:])


def labelled(name: str, html: str, truth: dict[str, Any]) -> LabelledPage:
    """A page with its labels."""
    language = truth.get("language", "") if truth.get("made") else ""
    blocks = page_blocks(html.encode(), truth["url"])
    words = [words_of(text, signs=bool(language)) for text in blocks.texts()]
    reference = words_of(truth["articleBody"], signs=bool(language))
    return LabelledPage(
        name,
        registered_domain(truth["url"]),
        KINDS.index(truth.get("page_type", "article")),
        blocks,
        block_shares(words, reference),
        np.array([len(one) for one in words], np.float64),
        [Counter(one) for one in words],
        Counter(reference),
        language,
    )


def load(folder: Path, every: int = 1) -> list[LabelledPage]:
    """All pages of a folder with `html/NAME.html.gz` and `ground-truth.json`."""
    truth = json.loads((folder / "ground-truth.json").read_bytes())
    found = []
    for name in sorted(truth)[::every]:
        source = gzip.decompress((folder / "html" / f"{name}.html.gz").read_bytes())
        found.append(labelled(name, source.decode("utf-8", "replace"), truth[name]))
    return found


def folds_of(pages: list[LabelledPage], count: int, seed: int) -> npt.NDArray[np.int64]:
    """The fold of each page; a domain's pages are in one."""
    domains = sorted({page.domain for page in pages})
    drawn = np.random.RandomState(seed).permutation(len(domains))
    fold = {domain: int(place) % count for domain, place in zip(domains, drawn, strict=True)}
    return np.array([fold[page.domain] for page in pages])
