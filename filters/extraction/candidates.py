"""The addresses of one picture in a page: `srcset`, the <source> elements of a <picture>, lazy loaders."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from winnow.filters.web.urls import MAX_URL_CHARACTERS

# Attributes of lazy loaders come first: if one is present, `src` is a placeholder.
_SHOWN: Final = ("data-src", "data-original", "data-lazy-src", "src", "data-srcset", "srcset")
_OTHERS: Final = (  # never what a reader sees first
    *("data-lazy-srcset", "data-original-set", "data-lazy", "data-original-src", "data-src-retina"),
    *("data-orig-file", "data-medium-file", "data-large-file", "data-full-src", "data-hi-res-src", "data-zoom-image"),
)
OF_AN_IMAGE: Final = ("alt", "title", "width", "height")
OF_IMAGES: Final = (*_SHOWN, *_OTHERS, *OF_AN_IMAGE)
OF_SOURCES: Final = ("srcset", "data-srcset", "data-lazy-srcset")
MOST_CANDIDATES: Final = 32  # of one image; shops and news sites have up to thirty
_MOST_WRITTEN: Final = 8 * MAX_URL_CHARACTERS  # of one `srcset`
_MOST_CHARACTERS: Final = 2_048  # of one address in it
# "URL descriptors", separated by commas; a URL may contain commas, and one that ends in them has no descriptors.
_CANDIDATE = re.compile(r"[\s,]*+(\S++)((?:(?<!,)[^,]*+)?+)")
_SIZE = re.compile(r"(?:\A|\s)([0-9.]{1,8})[wx](?=\s|\Z)")


def shown_first(attributes: Mapping[str, str], of_sources: list[str]) -> Iterator[str]:
    """Addresses as written, including empty ones: first those that each attribute shows first, then all others."""
    sets = []
    for name in _SHOWN:
        if name in attributes:
            if name.endswith("set"):
                sets.append(found := candidates(attributes[name]))
                yield _largest(found)
            else:
                yield attributes[name].strip()
    for written in of_sources:
        sets.append(found := candidates(written))
        yield _largest(found)
    for found in sets:
        yield from (url for url, _ in found)
    for name in _OTHERS:
        if name in attributes:
            if name.endswith("set"):
                yield from (url for url, _ in candidates(attributes[name]))
            else:
                yield attributes[name].strip()


def candidates(srcset: str) -> list[tuple[str, float]]:
    """The addresses of a `srcset` and their sizes, which are comparable only with each other."""
    if len(srcset) > _MOST_WRITTEN:
        srcset = srcset[: srcset.rfind(",", 0, _MOST_WRITTEN) + 1]
    found = []
    for url, descriptors in _CANDIDATE.findall(srcset):
        size = _SIZE.search(descriptors)
        try:
            weight = float(size[1]) if size else 1.0
        except ValueError:  # 1.2.3x
            continue
        if len(url) <= _MOST_CHARACTERS:
            found.append((url.rstrip(","), weight))
        if len(found) == MOST_CANDIDATES:
            break
    return found


def _largest(found: list[tuple[str, float]]) -> str:
    # The first of the largest.
    return max(found, key=lambda one: one[1], default=("", 0.0))[0]
