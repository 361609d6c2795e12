"""Writes made pages as a folder of labelled pages, which `tools.main_content.pages` reads."""

import gzip
import json
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from tools.main_content.making.made import MadePage

LEAST_CHARACTERS = 60
HELD_OUT = (
    *("handbook", "hardening", "office"),  # Publican, LibreOffice
    *("pydata-sphinx", "sphinx-book", "shibuya", "cloud", "agogo", "bizstyle", "sphinx-material"),
    *("mk-material", "mk-windmill"),
    *("hexo-icarus", "hexo-async", "hexo-solitude", "spirit", "shards"),
)
"""A third of the themes and generators, of which a model may be kept from seeing anything."""


def write(pages: Iterable[MadePage], out: Path) -> Counter[tuple[str, str, str]]:
    """Write `html/NAME.html.gz` and `ground-truth.json`; how many pages of each site, kind and language there are."""
    (out / "html").mkdir(parents=True, exist_ok=True)
    truth: dict[str, dict[str, str | bool]] = {}
    counts: Counter[tuple[str, str, str]] = Counter()
    for page in pages:
        if len(page.body) < LEAST_CHARACTERS:
            continue
        counts[page.site, page.kind, page.language] += 1
        number = counts[page.site, page.kind, page.language]
        name = re.sub(r"[^a-z0-9-]", "-", f"made-{page.site}-{page.kind}-{page.language}-{number}".lower())
        (out / "html" / f"{name}.html.gz").write_bytes(gzip.compress(page.html.encode(), 9, mtime=0))
        truth[name] = {
            "url": page.url, "articleBody": page.body, "page_type": page.kind, "language": page.language,
            "site": page.site, "made": True, "held_out": page.site in HELD_OUT,
        }  # fmt: skip
    (out / "ground-truth.json").write_text(json.dumps(truth, ensure_ascii=False, indent=1, sort_keys=True))
    return counts
