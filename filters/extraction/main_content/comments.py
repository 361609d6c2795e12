"""Which blocks of a page are its readers' comments and replies, by what their markup is called."""

from typing import Final

import numpy as np
import numpy.typing as npt

from winnow.filters.extraction.main_content.blocks import PageBlocks
from winnow.filters.extraction.main_content.measures import element_tokens, mixed
from winnow.filters.extraction.main_content.names import BIT, NUMBER, hash_of

_NAMES: Final = (
    *("comment", "comments", "commentlist", "commentsection", "commentthread", "commentaires", "kommentare"),
    *("kommentar", "comentarios", "comentarii", "commenti", "reply", "replies", "respond", "disqus", "webmention"),
)
_KEYS: Final = mixed.py_func(np.array([hash_of(name) for name in _NAMES], np.uint64))
_WHOLE_PAGE: Final = np.array([NUMBER[name] for name in ("html", "body", "main")], np.int32)
_MOST_OF_THE_TEXT: Final = 0.95
"""What holds more of a page is not a part of it: a class that says whether comments are open."""


def comment_blocks(blocks: PageBlocks) -> npt.NDArray[np.bool_]:
    """Whether each block is in comments: its element, or one around it, is called so."""
    page, layout = blocks.page, blocks.layout
    places, tokens = element_tokens(page)
    counted = np.concatenate([[0], np.cumsum(np.isin(tokens, _KEYS))])
    named = counted[places[1:]] > counted[places[:-1]]
    parent_mask = np.where(page.parent >= 0, page.mask[page.parent], 0)
    named |= (page.mask & ~parent_mask & BIT["t_comment"]) != 0
    title = layout.first_h1 if layout.first_h1 >= 0 else layout.like_title
    around_title = (page.first_block <= title) & (title < page.end_block)
    named &= ~np.isin(page.tag, _WHOLE_PAGE) & ~around_title
    named &= page.ends - page.begins <= _MOST_OF_THE_TEXT * len(page.text)
    edges = np.zeros(len(blocks) + 1, np.int64)
    np.add.at(edges, page.first_block[named], 1)
    np.add.at(edges, page.end_block[named], -1)
    return np.asarray(np.cumsum(edges)[:-1] > 0)
