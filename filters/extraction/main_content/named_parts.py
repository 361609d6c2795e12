"""Parts of a page that its markup names: comments, authors, breadcrumbs, links to an editor, numbers of lines."""

import re
from typing import Final

import numpy as np
import numpy.typing as npt

from winnow.filters.extraction.main_content.features import Layout
from winnow.filters.extraction.main_content.measures import mixed
from winnow.filters.extraction.main_content.names import FLAGS, NUMBER, Kind, hash_of
from winnow.filters.extraction.main_content.scan import Page

COMMENT, AUTHOR, BREADCRUMBS, EDITOR, LINE_NUMBERS = 1, 2, 4, 8, 16
_NAMES: Final = {
    COMMENT: "comment comments commentlist commentsection commentthread commentaires kommentare kommentar comentarios"
    " comentarii commenti reply replies respond disqus webmention",
    AUTHOR: "author byline auteur autor autore",
    BREADCRUMBS: "breadcrumb breadcrumbs crumbs breadcrumblist",
    EDITOR: "editsection",  # a wiki's, beside its headings
    LINE_NUMBERS: "gutter linenos lineno linenodiv linenumber linenumbers lnt",  # of a listing
}
_ALL: Final = [(name, bit) for bit, names in _NAMES.items() for name in names.split()]
_HASHES: Final = mixed.py_func(np.array([hash_of(name) for name, _ in _ALL], np.uint64))
_KEYS: Final = np.sort(_HASHES)
_BITS: Final = np.array([bit for _, bit in _ALL], np.uint8)[np.argsort(_HASHES)]
_COMMENTS = re.compile(rf"(?<![a-z])(?:{_NAMES[COMMENT].replace(' ', '|')})(?![a-z])".encode(), re.IGNORECASE)
_WHOLE_PAGE: Final = np.array([NUMBER[name] for name in ("html", "body", "main")], np.int32)
_MOST_OF_THE_TEXT: Final = 0.95
"""What holds more of a page is not a part of it: a class that says whether comments are open."""


def named_parts(places: npt.NDArray[np.int32], tokens: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint8]:
    """The parts that each element with text is, as bits, by the names in its class and id."""
    found = np.zeros(len(places) - 1, np.uint8)
    which = np.searchsorted(_KEYS, tokens)
    at = np.flatnonzero(_KEYS.take(which, mode="clip") == tokens)
    np.bitwise_or.at(found, np.searchsorted(places, at, side="right") - 1, _BITS[which[at]])
    return found


def by_class(page: Page, source: bytes, names: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """These names without comments that are called so by an id alone, as headings on comments are in documentation."""
    found = names.copy()
    for element in np.flatnonzero(names & COMMENT).tolist():
        begin, end = page.classes[:, element].tolist()
        if begin < 0 or not _COMMENTS.search(source, begin, end):
            found[element] &= ~np.uint8(COMMENT)
    return found


def comment_blocks(page: Page, layout: Layout, names: npt.NDArray[np.uint8]) -> npt.NDArray[np.bool_]:
    """Whether each block is in comments: it or an element around it has such a name."""
    edges = np.zeros(len(page.block_begins) + 1, np.int64)
    named = np.flatnonzero(names & COMMENT)
    if len(named):
        title = layout.first_h1 if layout.first_h1 >= 0 else layout.like_title
        tags, begins, ends = page.tag[named], page.first_block[named], page.end_block[named]
        is_part = (FLAGS[tags] & int(Kind.BLOCK)) != 0  # highlighters use such names for spans of code
        is_part &= ~np.isin(tags, _WHOLE_PAGE) & ~((begins <= title) & (title < ends))
        is_part &= page.ends[named] - page.begins[named] <= _MOST_OF_THE_TEXT * len(page.text)
        np.add.at(edges, begins[is_part], 1)
        np.add.at(edges, ends[is_part], -1)
    return np.asarray(np.cumsum(edges)[:-1] > 0)
