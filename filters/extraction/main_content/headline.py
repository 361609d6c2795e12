"""The title of a page: its first heading where the page's title says the same, else that title without the site's name.

Titles in the head are written for search engines, with the site's name before or behind; headings are written for
readers, but some pages have none, and some give it to their logo.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

import numpy as np

from winnow.filters.extraction.main_content.names import NUMBER
from winnow.filters.extraction.main_content.scan import Page
from winnow.filters.extraction.main_content.tidy import shown_text, tidy

_H1: Final = NUMBER["h1"]
_MOST_HEADINGS: Final = 8
_MOST_BYTES: Final = 1_200
_LEAST_SHARED: Final = 0.5  # of a heading's words, that the page's title has
_WORD = re.compile(r"\w+")
_BETWEEN = re.compile(r"\s+(?:[|\-–—·•»«~/]+|::)\s+|\s*[|»·•]\s*|:\s+(?=\S+$)")
_EDGES: Final = " |-–—·•»«:~/"


def headline(page: Page, titles: list[str], site: str | None, url: str | None) -> str | None:
    """The title of a page whose head has these, the most trusted first."""
    said = [words for title in titles if (words := _words(title))]
    if not said:
        return next(_headings(page), None)
    known = set().union(*said)
    names = _names(site, url)
    best, best_value = None, 0.0
    for heading in _headings(page):
        words = _words(heading)
        shared = sum(count for word, count in words.items() if word in known)
        if shared >= _LEAST_SHARED * max(words.total(), 1) and _folded(heading) not in names:
            value = max(2 * (words & own).total() / (words.total() + own.total()) for own in said)
            if value > best_value:
                best, best_value = heading, value
    return best or _without_site(next(title for title in titles if _words(title)), names)


def _headings(page: Page) -> Iterator[str]:
    shown = shown_text(page)
    for element in np.flatnonzero(page.tag == _H1)[:_MOST_HEADINGS].tolist():
        begin, end = int(page.begins[element]), int(page.ends[element])
        if end - begin <= _MOST_BYTES:
            text = " ".join(tidy(shown[begin:end]).decode("utf-8", "ignore").split())
            if text:
                yield text


def _words(text: str) -> Counter[str]:
    return Counter(_WORD.findall(text.lower()))


def _folded(text: str) -> str:
    return "".join(_WORD.findall(text.lower())).removeprefix("the")


def _names(site: str | None, url: str | None) -> set[str]:
    """What the site may be called."""
    host = ((urlsplit(url).hostname or "") if url else "").removeprefix("www.")
    labels = host.split(".")
    return {_folded(name) for name in (site or "", host, host.rpartition(".")[0], labels[max(len(labels) - 2, 0)])} - {
        ""
    }


def _without_site(title: str, names: set[str]) -> str:
    parts = [part for part in _BETWEEN.split(title) if part.strip()]
    if len(parts) > 1:
        if _folded(parts[-1]) in names:
            return title[: title.rfind(parts[-1])].rstrip(_EDGES)
        if _folded(parts[0]) in names:
            return title[title.find(parts[0]) + len(parts[0]) :].lstrip(_EDGES)
    return title
