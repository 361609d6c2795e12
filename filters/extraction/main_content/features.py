"""The features of each block: its own counts, its position, and its context.

`laid_out` computes once what the page's rows need (cumulative sums, groups of blocks with equal markup, headings), and
`filled` writes the rows of some blocks; their columns are `COLUMNS`. Scores of names and words come from the linear
models and are written by the same functions once they are known.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from winnow.filters.extraction.main_content.measures import (
    CHARACTERS,
    DIGITS,
    IN_TITLE,
    MONEY,
    OF_TITLE,
    SENTENCES,
    STATS,
    WORDS,
    mixed,
)
from winnow.filters.extraction.main_content.names import HEADING_LEVEL, MARKS, NUMBER
from winnow.filters.language.kernels.open_tables import slot_of
from winnow.schemas.kernels import kernel, leaf

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
Table = npt.NDArray[np.float32]

LEVELS = 6  # distinct elements around a block, from its own outwards
GROUPS = 3  # kinds of signature
LANDMARKS = ("article", "main", "section", "ul", "table")
SCORES = ("name", "word")
OFFSETS = (-3, -2, -1, 1, 2, 3)
NEIGHBOURS = (-2, -1, 1, 2)
WINDOWS = (5, 12)
KINDS = ("article", "forum", "listing", "collection", "product", "service", "documentation")
PAGE_NUMBERS = (
    *("blocks", "words", "long", "long_share", "linked", "items", "paragraphs", "money", "headings", "pre", "pictures"),
    *("forms", "buttons", "depth", "slashes", "address", "long_blocks", "longest", "times", "comments", "digits"),
)

_LOGARITHMIC = ("characters", "words", "commas", "sentences")


def _columns() -> list[str]:
    own = [*STATS, "word_length", "linked", "buttoned", "links", "runs", "breaks", "pictures"]
    place = ["place", "word_place", "index", "index_from_end", "words_before", "tag", "depth"]
    around = [
        f"around_{level}_{name}"
        for level in range(LEVELS)
        for name in ("words", "linked", "blocks", "of_long", "long_share", "place", "tag", "sentences", "children")
    ]
    landmarks = [f"{name}_{what}" for name in LANDMARKS for what in ("share", "linked", "count")]
    groups = [
        f"group_{group}_{name}"
        for group in range(GROUPS)
        for name in ("size", "words", "linked", "mean", "share", "of_long")
    ]
    headings = [
        *("long_before", "long_after", "long_place", "heading_2_words", "heading_2_number", "heading_level"),
        *("heading_words", "heading_blocks", "heading_next", "h1_blocks", "h1_count", "h1_last", "title_blocks"),
        *("title_match", "h1_around"),
    ]
    scores = [
        f"{score}_{name}"
        for score in SCORES
        for name in (
            "own", *(f"{offset:+d}" for offset in OFFSETS), *(f"around_{level}" for level in range(1, LEVELS)),
            *(f"group_{group}" for group in range(GROUPS)), "heading", "page",
            *(f"window_{width}" for width in WINDOWS), "section", "plain",
        )
    ]  # fmt: skip
    near = [f"{name}{offset:+d}" for name in ("words", "linked", "tag") for offset in NEIGHBOURS]
    return [
        *own, *place, *(f"is_{mark}" for mark in MARKS), *around, *landmarks, *groups, *headings, *near,
        *(f"page_{name}" for name in PAGE_NUMBERS), *(f"kind_{kind}" for kind in KINDS), *scores,
    ]  # fmt: skip


COLUMNS = tuple(_columns())
_LOGS = np.array([name in _LOGARITHMIC for name in STATS])
_MARKS = len(MARKS)
_ITEM, _PARAGRAPH, _FORM, _BUTTON, _TIME = (NUMBER[name] for name in ("li", "p", "form", "button", "time"))
_LANDMARK_OF = np.full(len(HEADING_LEVEL), -1, np.int64)
for _place, _name in enumerate(LANDMARKS):
    _LANDMARK_OF[NUMBER[_name]] = _place
_LANDMARK_OF[NUMBER["ol"]] = LANDMARKS.index("ul")
_HEADING_BIT = np.int64(1 << MARKS.index("heading"))
_PRE_BIT = np.int64(1 << MARKS.index("pre"))
_COMMENT_BIT = np.int64(1 << MARKS.index("t_comment"))
_OFFSETS, _NEIGHBOURS, _WINDOWS = np.array(OFFSETS), np.array(NEIGHBOURS), np.array(WINDOWS)
_LONG_WORDS, _LONG_LINKED = 12, 0.35
_FAR = np.float32(-99)
_OWN_SEED, _PATH_PRIME = np.uint64(0x9E3779B97F4A7C15), np.uint64(0x100000001B3)
_WORD_SUM, _CHARACTER_SUM, _LINK_SUM, _LONG_SUM, _SENTENCE_SUM = range(5)


class Layout(NamedTuple):
    """What the rows of a page are computed from."""

    sums: Floats  # [, 5] over the blocks before: words, bytes, bytes of links, words of long text, sentences
    long_blocks: Floats  # the same of long blocks alone
    owner: Ints  # each block's element, 0 for none
    outer: Ints  # of each element, the nearest around it with more blocks; -1
    children: Ints  # of each element, those with blocks
    depth: Ints
    landmark: Ints  # [, 5] of each element, the nearest such around it or itself; -1
    landmarks: Ints  # how many the page has
    group: Ints  # [, 3] of each block
    group_sums: Floats  # [, slot, 5] blocks, words, bytes, bytes of links, words of long text
    heading: Ints  # of each block, the last heading up to it; -1
    heading_2: Ints  # the last of the first two levels
    heading_2_number: Ints
    next_heading: Ints
    first_h1: int
    last_h1: int
    h1_count: int
    like_title: int
    page_numbers: Table


@leaf
def _elements_into(page, outer, children, depth, landmark, landmarks):  # type: ignore[no-untyped-def]
    for element in range(len(page.tag)):
        parent = page.parent[element]
        blocks = page.end_block[element] - page.first_block[element]
        which = _LANDMARK_OF[page.tag[element]]
        if parent >= 0:
            depth[element] = depth[parent] + 1
            wider = page.end_block[parent] - page.first_block[parent] > blocks
            outer[element] = parent if wider else outer[parent]
            children[parent] += blocks > 0
            for place in range(len(LANDMARKS)):
                landmark[element, place] = landmark[parent, place]
        if which >= 0:
            landmark[element, which] = element
            landmarks[which] += blocks > 0


@leaf
def _signatures_into(page, places, tokens, signatures):  # type: ignore[no-untyped-def]
    """Of each element: its path of tags with classes, its path of tags, and what it and its parent are called."""
    for element in range(len(page.tag)):
        parent = page.parent[element]
        tag = np.uint64(page.tag[element]) + np.uint64(1)
        names = np.uint64(0)
        for place in range(places[element], places[element + 1]):
            names += tokens[place]
        first = tokens[places[element]] if places[element + 1] > places[element] else np.uint64(0)
        around = signatures[parent, 0] if parent >= 0 else _OWN_SEED
        path = signatures[parent, 1] if parent >= 0 else _OWN_SEED
        signatures[element, 0] = mixed((around * _PATH_PRIME) ^ (first + tag))
        signatures[element, 1] = mixed((path * _PATH_PRIME) ^ tag)
        own = mixed(names + tag * _OWN_SEED)
        signatures[element, 3] = own
        signatures[element, 2] = mixed(own * _PATH_PRIME + (signatures[parent, 3] if parent >= 0 else _OWN_SEED))


@leaf
def _headings_into(page, stats, owner, heading, heading_2, number_2, next_heading, found):  # type: ignore[no-untyped-def]
    """Headings; `found`: the first, the last and the number of <h1>, the block most like the title, all headings."""
    last = last_2 = found[0] = found[1] = -1
    seen_2 = 0
    best = np.float32(0)
    for block in range(len(stats)):
        element = owner[block]
        inside = page.block_element[block] >= 0 and page.mask[element] & _HEADING_BIT
        level = HEADING_LEVEL[page.tag[element]] if inside else 0
        if inside:
            last = block
            found[4] += 1
        if 0 < level <= 2:
            last_2 = block
            seen_2 += 1
        if level == 1:
            found[0] = block if found[0] < 0 else found[0]
            found[1] = block
            found[2] += 1
        heading[block], heading_2[block], number_2[block] = last, last_2, seen_2
        match = stats[block, IN_TITLE] / (stats[block, WORDS] + 1) * stats[block, OF_TITLE]
        if match > best:
            best, found[3] = match, block
    following = len(stats)
    for block in range(len(stats) - 1, -1, -1):
        if heading[block] == block:
            following = block
        next_heading[block] = following


@leaf
def _numbers_of_page(page, stats, sums, long_blocks, owner, depth, headings, slashes, address, numbers):  # type: ignore[no-untyped-def]
    blocks = len(stats)
    words, size, long_words = max(1.0, sums[blocks, 0]), max(1.0, sums[blocks, 1]), max(1.0, sums[blocks, 3])
    items = paragraphs = money = pre = comments = deep = digits = longest = 0.0
    for block in range(blocks):
        tag = page.tag[owner[block]]
        items += tag == _ITEM
        paragraphs += tag == _PARAGRAPH
        money += stats[block, MONEY]
        mask = page.mask[owner[block]]
        pre = max(pre, 1.0 * ((mask & _PRE_BIT) != 0))
        comments += (mask & _COMMENT_BIT) != 0
        deep += depth[owner[block]]
        digits += stats[block, DIGITS] / (stats[block, WORDS] + 1)
        longest = max(longest, stats[block, WORDS])
    forms = buttons = times = 0
    for element in range(len(page.tag)):
        tag = page.tag[element]
        forms += tag == _FORM
        buttons += tag == _BUTTON
        times += tag == _TIME
    some = max(1, blocks)
    found = (
        np.log1p(blocks), np.log1p(words), np.log1p(long_words), long_words / words, sums[blocks, 2] / size,
        items / some, paragraphs / some, np.log1p(money), np.log1p(headings), pre,
        np.log1p(page.pictures[blocks - 1] if blocks else 0), np.log1p(forms), np.log1p(buttons), deep / some,
        slashes * 1.0, address * 1.0, np.log1p(long_blocks[blocks]), np.log1p(longest), np.log1p(times),
        np.log1p(comments), digits / some,
    )  # fmt: skip
    for place in range(len(found)):
        numbers[place] = found[place]


@kernel
def laid_out(page, stats, places, tokens, slashes, address):  # type: ignore[no-untyped-def]
    """The layout of a page; `slashes` and `address` are of its URL: how many, and how long."""
    blocks, elements = len(stats), max(1, len(page.tag))
    sums, long_blocks = np.zeros((blocks + 1, 5)), np.zeros(blocks + 1)
    for block in range(blocks):
        words = np.float64(stats[block, WORDS])
        size = np.float64(page.block_ends[block] - page.block_begins[block])
        is_long = words >= _LONG_WORDS and page.linked[block] < _LONG_LINKED * size
        sums[block + 1, _WORD_SUM] = sums[block, _WORD_SUM] + words
        sums[block + 1, _CHARACTER_SUM] = sums[block, _CHARACTER_SUM] + size
        sums[block + 1, _LINK_SUM] = sums[block, _LINK_SUM] + page.linked[block]
        sums[block + 1, _LONG_SUM] = sums[block, _LONG_SUM] + (words if is_long else 0.0)
        sums[block + 1, _SENTENCE_SUM] = sums[block, _SENTENCE_SUM] + stats[block, SENTENCES]
        long_blocks[block + 1] = long_blocks[block] + is_long
    outer, children, depth = np.full(elements, -1, np.int32), np.zeros(elements, np.int32), np.zeros(elements, np.int32)
    landmark, landmarks = np.full((elements, len(LANDMARKS)), -1, np.int32), np.zeros(len(LANDMARKS), np.int32)
    _elements_into(page, outer, children, depth, landmark, landmarks)
    signatures = np.zeros((elements, 4), np.uint64)
    _signatures_into(page, places, tokens, signatures)
    owner = np.maximum(page.block_element, 0).astype(np.int32)
    room = 8
    while room < 2 * blocks:
        room *= 2
    table, group = np.zeros((GROUPS, room), np.uint64), np.zeros((blocks, GROUPS), np.int32)
    group_sums = np.zeros((GROUPS, room, 5))
    for kind in range(GROUPS):
        for block in range(blocks):
            key = signatures[owner[block], kind] if page.block_element[block] >= 0 else _OWN_SEED
            slot = slot_of(table[kind], key)
            table[kind, slot] = key
            group[block, kind] = slot
            group_sums[kind, slot, 0] += 1
            for which in range(4):
                group_sums[kind, slot, which + 1] += sums[block + 1, which] - sums[block, which]
    heading, heading_2, number_2, following = (
        np.empty(blocks, np.int32), np.empty(blocks, np.int32), np.empty(blocks, np.int32), np.empty(blocks, np.int32)
    )  # fmt: skip
    found = np.zeros(5, np.int64)
    _headings_into(page, stats, owner, heading, heading_2, number_2, following, found)
    numbers = np.zeros(len(PAGE_NUMBERS), np.float32)
    _numbers_of_page(page, stats, sums, long_blocks, owner, depth, found[4], slashes, address, numbers)
    return Layout(
        sums, long_blocks, owner, outer, children, depth, landmark, landmarks, group, group_sums, heading, heading_2,
        number_2, following, found[0], found[1], found[2], found[3], numbers,
    )  # fmt: skip


@leaf
def _own(page, stats, layout, block, row, at):  # type: ignore[no-untyped-def]
    words = stats[block, WORDS]
    for which in range(len(STATS)):
        value = stats[block, which]
        row[at + which] = np.log1p(value) if _LOGS[which] else value
    for which in (IN_TITLE, IN_TITLE + 1, DIGITS):
        row[at + which] = stats[block, which] / (words + 1)
    at += len(STATS)
    size = max(1, page.block_ends[block] - page.block_begins[block])
    row[at] = stats[block, CHARACTERS] / (words + 1)
    row[at + 1] = page.linked[block] / size
    row[at + 2] = page.buttoned[block] / size
    row[at + 3] = np.log1p(page.links[block])
    row[at + 4] = np.log1p(page.runs[block])
    row[at + 5] = np.log1p(page.breaks[block])
    row[at + 6] = page.pictures[block] - (page.pictures[block - 1] if block else 0)
    at += 7
    blocks = len(stats)
    row[at] = block / blocks
    row[at + 1] = layout.sums[block, 0] / max(1.0, layout.sums[blocks, 0])
    row[at + 2] = np.log1p(block)
    row[at + 3] = np.log1p(blocks - block)
    row[at + 4] = np.log1p(layout.sums[block, 0])
    element = layout.owner[block]
    row[at + 5] = page.tag[element]
    row[at + 6] = layout.depth[element]
    at += 7
    mask = page.mask[element] if page.block_element[block] >= 0 else 0
    for bit in range(_MARKS):
        row[at + bit] = mask >> bit & 1
    return at + _MARKS


@leaf
def _range(page, element, block):  # type: ignore[no-untyped-def]
    """The blocks of an element around a block."""
    return min(page.first_block[element], block), max(page.end_block[element], block + 1)


@leaf
def _around(page, layout, block, row, at):  # type: ignore[no-untyped-def]
    sums = layout.sums
    all_long = max(1.0, sums[-1, _LONG_SUM])
    element = layout.owner[block]
    for _ in range(LEVELS):
        first, end = _range(page, element, block)
        end = min(end, len(sums) - 1)
        words = sums[end, 0] - sums[first, 0]
        long_words = sums[end, _LONG_SUM] - sums[first, _LONG_SUM]
        row[at] = np.log1p(words)
        row[at + 1] = (sums[end, _LINK_SUM] - sums[first, _LINK_SUM]) / max(1.0, sums[end, 1] - sums[first, 1])
        row[at + 2] = np.log1p(end - first)
        row[at + 3] = long_words / all_long
        row[at + 4] = long_words / max(1.0, words)
        row[at + 5] = (block - first) / max(1, end - first)
        row[at + 6] = page.tag[element]
        row[at + 7] = (sums[end, _SENTENCE_SUM] - sums[first, _SENTENCE_SUM]) / max(1.0, words)
        row[at + 8] = np.log1p(layout.children[element])
        at += 9
        if layout.outer[element] >= 0:
            element = layout.outer[element]
    return at


@leaf
def _landmarks(page, layout, block, row, at):  # type: ignore[no-untyped-def]
    sums = layout.sums
    for which in range(len(LANDMARKS)):
        element = layout.landmark[layout.owner[block], which] if page.block_element[block] >= 0 else -1
        if element >= 0:
            first, end = _range(page, element, block)
            end = min(end, len(sums) - 1)
            row[at] = (sums[end, 0] - sums[first, 0]) / max(1.0, sums[-1, 0])
            row[at + 1] = (sums[end, _LINK_SUM] - sums[first, _LINK_SUM]) / max(1.0, sums[end, 1] - sums[first, 1])
        else:
            row[at] = row[at + 1] = -1
        row[at + 2] = np.log1p(layout.landmarks[which])
        at += 3
    return at


@leaf
def _groups(layout, block, row, at):  # type: ignore[no-untyped-def]
    words, long_words = max(1.0, layout.sums[-1, 0]), max(1.0, layout.sums[-1, _LONG_SUM])
    for kind in range(GROUPS):
        group = layout.group_sums[kind, layout.group[block, kind]]
        row[at] = np.log1p(group[0])
        row[at + 1] = np.log1p(group[1])
        row[at + 2] = group[3] / max(1.0, group[2])
        row[at + 3] = np.log1p(group[1] / max(1.0, group[0]))
        row[at + 4] = group[1] / words
        row[at + 5] = group[4] / long_words
        at += 6
    return at


@leaf
def _headings(page, stats, layout, block, row, at):  # type: ignore[no-untyped-def]
    sums = layout.sums
    long_words = sums[-1, _LONG_SUM]
    heading, second = layout.heading[block], layout.heading_2[block]
    row[at] = np.log1p(sums[block, _LONG_SUM])
    row[at + 1] = np.log1p(long_words - sums[block + 1, _LONG_SUM])
    row[at + 2] = sums[block, _LONG_SUM] / max(1.0, long_words)
    row[at + 3] = np.log1p(sums[block, 0] - (sums[second, 0] if second >= 0 else 0.0))
    row[at + 4] = np.log1p(layout.heading_2_number[block])
    row[at + 5] = HEADING_LEVEL[page.tag[layout.owner[heading]]] if heading >= 0 else 0
    row[at + 6] = np.log1p(sums[block, 0] - (sums[heading, 0] if heading >= 0 else 0.0))
    row[at + 7] = np.log1p(block - heading)
    row[at + 8] = np.log1p(layout.next_heading[block] - block)
    after_first, after_last, after_like = block - layout.first_h1, block - layout.last_h1, block - layout.like_title
    row[at + 9] = np.copysign(np.log1p(abs(after_first)), after_first) if layout.first_h1 >= 0 else _FAR
    row[at + 10] = layout.h1_count
    row[at + 11] = np.copysign(np.log1p(abs(after_last)), after_last) if layout.first_h1 >= 0 else _FAR
    like = layout.like_title
    row[at + 12] = np.copysign(np.log1p(abs(after_like)), after_like)
    row[at + 13] = stats[like, IN_TITLE] / (stats[like, WORDS] + 1) * stats[like, OF_TITLE]
    title = layout.first_h1 if layout.first_h1 >= 0 else like
    element = layout.owner[block]
    row[at + 14] = 9
    for level in range(LEVELS):
        first, end = _range(page, element, block)
        if first <= title < end:
            row[at + 14] = level
            break
        if layout.outer[element] >= 0:
            element = layout.outer[element]
    return at + 15


@leaf
def _mean(sums, which, first, end):  # type: ignore[no-untyped-def]
    return (sums[end, which] - sums[first, which]) / max(1e-3, sums[end, which + 1] - sums[first, which + 1])


@leaf
def _score(page, layout, scores, sums, group_sums, section, which, block, row, at):  # type: ignore[no-untyped-def]
    """One score in its surroundings. `sums` has, for each score, weighted scores and weights over the blocks before."""
    blocks = len(scores)
    place = 2 * which
    own = scores[block, which]
    weight = sums[block + 1, place + 1] - sums[block, place + 1]
    row[at] = own
    at += 1
    for offset in _OFFSETS:
        other = block + offset
        row[at] = scores[other, which] if 0 <= other < blocks else -1
        at += 1
    element = layout.owner[block]
    for _ in range(1, LEVELS):
        if layout.outer[element] >= 0:
            element = layout.outer[element]
        first, end = _range(page, element, block)
        end = min(end, blocks)
        rest = sums[end, place + 1] - sums[first, place + 1] - weight
        row[at] = (sums[end, place] - sums[first, place] - own * weight) / max(1e-3, rest + 1e-3)
        at += 1
    for kind in range(GROUPS):
        group = group_sums[kind, layout.group[block, kind]]
        row[at] = (group[place] - own * weight) / (group[place + 1] - weight + 1e-3)
        at += 1
    heading = layout.heading[block]
    row[at] = scores[heading, which] if heading >= 0 else -9
    row[at + 1] = _mean(sums, place, 0, blocks)
    at += 2
    for width in _WINDOWS:
        row[at] = _mean(sums, place, max(0, block - width), min(blocks, block + width + 1))
        at += 1
    slot = heading + 1
    row[at] = (section[slot, place] - own * weight) / (section[slot, place + 1] - weight + 1e-3)
    row[at + 1] = scores[block, which + len(SCORES)]
    return at + 2


@kernel
def filled(page, stats, layout, scores, kinds, first, end):  # type: ignore[no-untyped-def]
    """The rows of the blocks from `first` to `end`.

    `scores` has, of each block, the score of names and that of words, and both as they are without the page's kind.
    """
    blocks = len(stats)
    sums, section = np.zeros((blocks + 1, 4)), np.zeros((blocks + 1, 4))
    group_sums = np.zeros((GROUPS, layout.group_sums.shape[1], 4))
    for block in range(blocks):
        weight = np.sqrt(np.float64(stats[block, WORDS]) + 1)
        for which in range(2):
            weighted = weight * scores[block, which]
            for place, value in ((2 * which, weighted), (2 * which + 1, weight)):
                sums[block + 1, place] = sums[block, place] + value
                section[layout.heading[block] + 1, place] += value
                for kind in range(GROUPS):
                    group_sums[kind, layout.group[block, kind], place] += value
    rows = np.zeros((end - first, len(COLUMNS)), np.float32)
    for block in range(first, end):
        row = rows[block - first]
        at = _own(page, stats, layout, block, row, 0)
        at = _around(page, layout, block, row, at)
        at = _landmarks(page, layout, block, row, at)
        at = _groups(layout, block, row, at)
        at = _headings(page, stats, layout, block, row, at)
        for which in range(len(_NEIGHBOURS)):
            other = block + _NEIGHBOURS[which]
            inside = 0 <= other < blocks
            row[at + which] = np.log1p(stats[other, WORDS]) if inside else -1
            size = max(1, page.block_ends[other] - page.block_begins[other]) if inside else 1
            row[at + len(_NEIGHBOURS) + which] = page.linked[other] / size if inside else -1
            row[at + 2 * len(_NEIGHBOURS) + which] = page.tag[layout.owner[other]] if inside else -1
        at += 3 * len(_NEIGHBOURS)
        for place in range(len(layout.page_numbers)):
            row[at + place] = layout.page_numbers[place]
        at += len(layout.page_numbers)
        for place in range(len(kinds)):
            row[at + place] = kinds[place]
        at += len(kinds)
        for which in range(2):
            at = _score(page, layout, scores, sums, group_sums, section, which, block, row, at)
    return rows
