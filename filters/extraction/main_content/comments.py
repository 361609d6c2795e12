"""Which blocks of a page are its readers' comments and replies, by what their markup is called."""

from typing import Final

import numpy as np
import numpy.typing as npt

from winnow.filters.extraction.main_content.blocks import PageBlocks
from winnow.filters.extraction.main_content.measures import mixed
from winnow.filters.extraction.main_content.names import FLAGS, NUMBER, Kind, hash_of

_NAMES: Final = (
    *("comment", "comments", "commentlist", "commentsection", "commentthread", "commentaires", "kommentare"),
    *("kommentar", "comentarios", "comentarii", "commenti", "reply", "replies", "respond", "disqus", "webmention"),
)
_WHOLE_PAGE: Final = np.array([NUMBER[name] for name in ("html", "body", "main")], np.int32)
_MOST_OF_THE_TEXT: Final = 0.95
"""What holds more of a page is not a part of it: a class that says whether comments are open."""


def keys_of(*names: str) -> npt.NDArray[np.uint64]:
    """The keys by which names in classes and ids are known."""
    return np.asarray(mixed.py_func(np.array([hash_of(name) for name in names], np.uint64)))


_KEYS: Final = keys_of(*_NAMES)


def called(blocks: PageBlocks, keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
    """The elements with text whose class or id has one of these names."""
    return np.flatnonzero(_is_called(blocks, keys))


def _is_called(blocks: PageBlocks, keys: npt.NDArray[np.uint64]) -> npt.NDArray[np.bool_]:
    counted = np.concatenate([[0], np.cumsum(np.isin(blocks.tokens, keys))])
    return np.asarray(counted[blocks.token_places[1:]] > counted[blocks.token_places[:-1]])


def comment_blocks(blocks: PageBlocks) -> npt.NDArray[np.bool_]:
    """Whether each block is in comments: its element, or one around it, is called so."""
    page, layout = blocks.page, blocks.layout
    named = _is_called(blocks, _KEYS)
    named &= (FLAGS[page.tag] & int(Kind.BLOCK)) != 0  # highlighters call spans of code so
    title = layout.first_h1 if layout.first_h1 >= 0 else layout.like_title
    around_title = (page.first_block <= title) & (title < page.end_block)
    named &= ~np.isin(page.tag, _WHOLE_PAGE) & ~around_title
    named &= page.ends - page.begins <= _MOST_OF_THE_TEXT * len(page.text)
    edges = np.zeros(len(blocks) + 1, np.int64)
    np.add.at(edges, page.first_block[named], 1)
    np.add.at(edges, page.end_block[named], -1)
    return np.asarray(np.cumsum(edges)[:-1] > 0)
