"""The text of chosen blocks with its parts: headings, lists, tables as rows, code with its lines, quotes, images.

An empty line separates blocks, the end of a line list items and table rows, a tab cells.
"""

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from winnow.filters.extraction.main_content.blocks import PageBlocks
from winnow.filters.extraction.main_content.code import code_language
from winnow.filters.extraction.main_content.measures import WORDS
from winnow.filters.extraction.main_content.named_parts import comment_blocks
from winnow.filters.extraction.main_content.names import HEADING_LEVEL, NUMBER
from winnow.filters.extraction.main_content.scan import Page
from winnow.filters.extraction.main_content.tidy import is_tidy, seen_blocks, shown_text, tidy, without_gone
from winnow.filters.extraction.placed_text import Parts, PlacedText
from winnow.schemas.kernels import kernel
from winnow.schemas.rows.extraction import PartKind

LIST, ITEM, TABLE, ROW, CELL, QUOTE, CODE, HEADING = range(8)
"""What a block can stand in; of each, the nearest element (of lists, the outermost)."""
_STANDS: Final = 8
_OF_TAG = np.full(len(HEADING_LEVEL), -1, np.int64)
for _stand, _names in (
    (LIST, "ul ol dl"), (ITEM, "li dt dd"), (TABLE, "table"), (ROW, "tr"), (CELL, "td th"),
    (QUOTE, "blockquote"), (CODE, "pre"), (HEADING, "h1 h2 h3 h4 h5 h6"),
):  # fmt: skip
    for _name in _names.split():
        _OF_TAG[NUMBER[_name]] = _stand
_IMAGE, _HEADER_CELL = NUMBER["img"], NUMBER["th"]
_WHOLE_TEXT: Final = 0.95
# A table is used for layout if its cells have more blocks on average, if one of several blocks is long and most of the
# table, or if it contains a heading of the page or another table.
_LAYOUT_CELL_BLOCKS: Final = 6
_LAYOUT_CELL_BYTES: Final = 400


@dataclass(frozen=True, slots=True)
class Positions:
    """The position of each block and image among the page's elements."""

    of_block: npt.NDArray[np.int32]  # [, 8] elements; -1
    images: npt.NDArray[np.int32]  # elements, in reading order


@kernel
def _stands(page):  # type: ignore[no-untyped-def]
    """Of each element, the nearest around it or itself of each kind; a layout table and its cells are none."""
    elements = len(page.tag)
    found = np.full((elements + 1, _STANDS), -1, np.int32)
    cells = np.zeros(elements + 1, np.int32)
    table_of = np.full(elements + 1, -1, np.int32)
    lays_out = np.zeros(elements + 1, np.bool_)
    for element in range(elements):
        parent = page.parent[element]
        table_of[element] = table_of[parent] if parent >= 0 else -1
        tag = page.tag[element]
        if _OF_TAG[tag] == TABLE:
            lays_out[table_of[element]] = True  # the last, which is of no table, where it stands in none
            table_of[element] = element
        elif _OF_TAG[tag] == CELL and table_of[element] >= 0:
            cells[table_of[element]] += 1
            table = table_of[element]
            size, whole = page.ends[element] - page.begins[element], page.ends[table] - page.begins[table]
            several = page.end_block[element] - page.first_block[element] > 1
            if several and size > _LAYOUT_CELL_BYTES and 2 * size > whole:
                lays_out[table] = True
        elif 0 < HEADING_LEVEL[tag] < 3:
            lays_out[table_of[element]] = True
    for element in range(elements):
        parent = page.parent[element]
        if parent >= 0:
            for stand in range(_STANDS):
                found[element, stand] = found[parent, stand]
        stand = _OF_TAG[page.tag[element]]
        if stand < 0 or (stand == LIST and found[element, LIST] >= 0):
            continue
        if TABLE <= stand <= CELL:
            table = table_of[element]
            if table < 0:
                continue
            blocks = page.end_block[table] - page.first_block[table]
            if lays_out[table] or blocks > _LAYOUT_CELL_BLOCKS * max(cells[table], 1):
                continue
        found[element, stand] = element
    blocks = np.full((len(page.block_begins), _STANDS), -1, np.int32)
    for block in range(len(blocks)):
        owner = page.block_element[block]
        if owner >= 0:
            for stand in range(_STANDS):
                blocks[block, stand] = found[owner, stand]
    return blocks


def stands_of(page: Page) -> Positions:
    """The positions of a page's blocks and images."""
    return Positions(_stands(page), np.flatnonzero(page.tag == _IMAGE).astype(np.int32))


def with_structure(blocks: PageBlocks, stands: Positions, kept: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """The blocks that are kept, with what their tables and listings are not whole without, however short it is.

    The first row of tables of whose others most is kept, if it is one of headings; the headings of rows of whose cells
    most is kept; lines without a word of listings of which most is kept.
    """
    page, rows = blocks.page, stands.of_block
    found = kept.copy()
    silent = np.flatnonzero((rows[:, CODE] >= 0) & (blocks.measures.stats[:, WORDS] == 0) & ~kept)
    if len(silent):
        found[silent] = _mostly(rows[:, CODE], kept, blocks.measures.stats[:, WORDS] > 0)[rows[silent, CODE]]
    inside = np.flatnonzero(rows[:, ROW] >= 0)
    is_other_cell = page.tag[np.maximum(rows[inside, CELL], 0)] != _HEADER_CELL
    if (is_other_cell | kept[inside]).all():
        return found
    _, first, table = np.unique(rows[inside, TABLE], return_index=True, return_inverse=True)
    is_head = rows[inside, ROW] == rows[inside[first], ROW][table]
    others = np.bincount(table, ~is_head)
    is_whole = (others > 0) & (2 * np.bincount(table, ~is_head & kept[inside]) >= others)
    is_whole &= np.bincount(table, is_head & is_other_cell) == 0
    found[inside[is_head & is_whole[table]]] = True
    row = rows[inside, ROW]
    found[inside[~is_other_cell & _mostly(row, kept[inside], is_other_cell)[row]]] = True
    return found


def _mostly(
    elements: npt.NDArray[np.int32], kept: npt.NDArray[np.bool_], counted: npt.NDArray[np.bool_]
) -> npt.NDArray[np.bool_]:
    """Of each element, whether at least half of its blocks that count are kept, and one of them."""
    counted = counted & (elements >= 0)
    wanted = np.bincount(elements[counted & kept], minlength=int(elements.max()) + 1)
    return np.asarray((wanted > 0) & (2 * wanted >= np.bincount(elements[counted], minlength=len(wanted))))


_ORDER: Final = (CODE, TABLE, HEADING, LIST, QUOTE)
_KINDS: Final[tuple[PartKind, ...]] = ("code", "table", "heading", "list", "quote", "text")
_OUTER: Final = np.array([CODE, TABLE, -1, LIST, QUOTE, -1])  # for parts as large as their outer element


def _kinds(stands: npt.NDArray[np.int32]) -> tuple[list[PartKind], list[int]]:
    """The kind of each block, and the outer element of its part; -1 if it is a part of its own."""
    inside = stands[:, _ORDER] >= 0
    found = np.where(inside.any(1), inside.argmax(1), len(_ORDER))
    outer = np.where(_OUTER[found] >= 0, np.take_along_axis(stands, np.maximum(_OUTER[found], 0)[:, None], 1)[:, 0], -1)
    return [_KINDS[kind] for kind in found.tolist()], outer.tolist()


def _betweens(stands: npt.NDArray[np.int32]) -> list[bytes]:
    """The separator before each block."""
    same = stands[1:] == stands[:-1]
    inside = stands[:-1] >= 0
    in_row = inside[:, CELL] & inside[:, ROW] & same[:, ROW]
    in_line = (inside[:, TABLE] & same[:, TABLE]) | (inside[:, LIST] & same[:, LIST])
    found = np.where(in_row, np.where(same[:, CELL], 0, 1), np.where(in_line, 2, 3))
    found[inside[:, CODE] & same[:, CODE]] = 2
    return [b"", *(_MARKS[which] for which in found.tolist())][: len(stands)]


_MARKS: Final = (b" ", b"\t", b"\n", b"\n\n")


class MainText(NamedTuple):
    """The text of a page's main content, with facts about its parts."""

    placed: PlacedText
    comments: list[tuple[int, int]]  # the ranges of readers' comments, each with the separator before it
    languages: list[str | None]  # of each part that is code
    blocks: list[tuple[int, int] | None]  # of each part, its first and its last block; None for images


def comment_ranges(parts: Parts, marked: list[bool], size: int) -> list[tuple[int, int]]:
    """The ranges of a text that consist of comments, each from the end of the part before it."""
    found: list[tuple[int, int]] = []
    end = 0
    for last, is_comment in zip(parts.ends, marked, strict=True):
        if is_comment:
            begin = end
            if found and found[-1][1] >= begin:
                begin = found.pop()[0]
            found.append((begin, last))
        end = max(end, last)
    if sum(last - begin for begin, last in found) >= _WHOLE_TEXT * size:
        return []  # a page of posts alone, whose markup calls them comments
    return [(begin, last) for begin, last in found if begin < last]


def written(blocks: PageBlocks, kept: npt.NDArray[np.bool_], numbers: dict[int, int]) -> MainText:
    """The text of these blocks. `numbers` maps the elements of images to their numbers."""
    page = blocks.page
    stands, comments = stands_of(page), comment_blocks(page, blocks.layout, blocks.named_parts)
    shown = shown_text(page, blocks.named_parts)
    kept = seen_blocks(page, shown, with_structure(blocks, stands, kept))
    is_clean = is_tidy(shown)
    chosen = np.flatnonzero(kept).tolist()
    rows = stands.of_block[chosen]
    kinds, outers = _kinds(rows)
    begins, ends = page.block_begins[chosen].tolist(), page.block_ends[chosen].tolist()
    images = images_at(page, kept, stands.images, numbers)
    parts, text = Parts(), bytearray()
    marked: list[bool] = []
    languages: list[str | None] = []
    of_parts: list[tuple[int, int] | None] = []
    open_part: _Open | None = None

    def end_part(last: int) -> None:
        if open_part is not None:
            parts.add(open_part.kind, open_part.begin, len(text))
            of_parts.append((open_part.first, last))
            marked.append(open_part.is_comment)
            if open_part.kind == "code":
                languages.append(code_language(page, blocks.source, open_part.outer))

    before = -1
    for block, kind, outer, between, begin, end, is_comment in zip(
        chosen, kinds, outers, _betweens(rows), begins, ends, comments[chosen].tolist(), strict=True
    ):
        inside = images.get(block, ())
        if open_part is None or outer < 0 or (kind, outer, is_comment) != open_part[:3] or inside:
            end_part(before)
            text += between
            open_part = _Open(kind, outer, is_comment, len(text), block)
        else:
            text += between
        before = block
        at = begin
        for place, number in inside:
            if place <= begin:
                parts.add("image", len(text), len(text), number)
                of_parts.append(None)
                marked.append(is_comment)
                continue
            piece = tidy(shown[at:place], opens=at == begin, closes=place >= end)
            text += piece.rstrip() if place >= end else piece
            at = place
            if len(text) > open_part.begin:
                end_part(block)
            parts.add("image", len(text), len(text), number)
            of_parts.append(None)
            marked.append(is_comment)
            if shown[at : at + 1].isspace():
                text += shown[at : at + 1]
                at += 1
            open_part = _Open(kind, outer, is_comment, len(text), block)
        if kind == "code":
            text += b"\n".join(line.rstrip() for line in without_gone(shown[at:end]).split(b"\n"))
        else:
            text += shown[at:end] if is_clean else tidy(shown[at:end], opens=at == begin)
        if len(text) == open_part.begin:  # nothing but what is not written
            open_part = None
            if not inside:
                del text[len(text) - len(between) :]
    end_part(before)
    return MainText(PlacedText(bytes(text), parts), comment_ranges(parts, marked, len(text)), languages, of_parts)


class _Open(NamedTuple):
    """A part that is being written."""

    kind: PartKind
    outer: int  # its outer element
    is_comment: bool
    begin: int
    first: int  # its first block


def images_at(
    page: Page, kept: npt.NDArray[np.bool_], images: npt.NDArray[np.int32], numbers: dict[int, int]
) -> dict[int, list[tuple[int, int]]]:
    """For each block, the images in or before it, and for the last also after it: (place, number)."""
    found: dict[int, list[tuple[int, int]]] = {}
    blocks = len(kept)
    for element in images.tolist():
        number = numbers.get(element)
        if number is None:
            continue
        after, place = int(page.first_block[element]), int(page.begins[element])
        before = after - 1
        if after < blocks and kept[after]:
            found.setdefault(after, []).append((place, number))
        elif before >= 0 and kept[before]:
            found.setdefault(before, []).append((int(page.block_ends[before]), number))
    return found
