"""The text of chosen blocks, with its parts: headings, lists, tables as rows, code with its lines, quotes, images.

Blocks stand apart by an empty line; items of a list and rows of a table by the end of a line, cells by a tab.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from winnow.filters.extraction.main_content.names import HEADING_LEVEL, NUMBER
from winnow.filters.extraction.main_content.scan import Page
from winnow.filters.extraction.placed_text import Parts, PlacedText
from winnow.schemas.kernels import kernel
from winnow.schemas.rows.extraction import PartKind

_LIST, _ITEM, _TABLE, _ROW, _CELL, _QUOTE, _CODE, _HEADING = range(8)
"""What a block can stand in; of each, the nearest element (of lists, the outermost)."""
_STANDS: Final = 8
_OF_TAG = np.full(len(HEADING_LEVEL), -1, np.int64)
for _stand, _names in (
    (_LIST, "ul ol dl"), (_ITEM, "li dt dd"), (_TABLE, "table"), (_ROW, "tr"), (_CELL, "td th"),
    (_QUOTE, "blockquote"), (_CODE, "pre"), (_HEADING, "h1 h2 h3 h4 h5 h6"),
):  # fmt: skip
    for _name in _names.split():
        _OF_TAG[NUMBER[_name]] = _stand
_IMAGE = NUMBER["img"]
_LAYOUT_CELL_BLOCKS: Final = 6  # a table whose cells hold more on average lays out a page


@dataclass(frozen=True, slots=True)
class Stands:
    """Where each block stands, and where each image does."""

    of_block: npt.NDArray[np.int32]  # [, 8] elements; -1
    images: npt.NDArray[np.int32]  # elements, in reading order


@kernel
def _stands(page):  # type: ignore[no-untyped-def]
    """Of each element, the nearest around it or itself of each kind; a layout table and its cells are none."""
    elements = len(page.tag)
    found = np.full((elements + 1, _STANDS), -1, np.int32)
    cells = np.zeros(elements + 1, np.int32)
    table_of = np.full(elements + 1, -1, np.int32)
    for element in range(elements):
        parent = page.parent[element]
        table_of[element] = table_of[parent] if parent >= 0 else -1
        tag = page.tag[element]
        if _OF_TAG[tag] == _TABLE:
            table_of[element] = element
        elif _OF_TAG[tag] == _CELL and table_of[element] >= 0:
            cells[table_of[element]] += 1
    for element in range(elements):
        parent = page.parent[element]
        if parent >= 0:
            for stand in range(_STANDS):
                found[element, stand] = found[parent, stand]
        stand = _OF_TAG[page.tag[element]]
        if stand < 0 or (stand == _LIST and found[element, _LIST] >= 0):
            continue
        if _TABLE <= stand <= _CELL:
            table = table_of[element]
            if table < 0:
                continue
            blocks = page.end_block[table] - page.first_block[table]
            if blocks > _LAYOUT_CELL_BLOCKS * max(cells[table], 1):
                continue
        found[element, stand] = element
    blocks = np.full((len(page.block_begins), _STANDS), -1, np.int32)
    for block in range(len(blocks)):
        owner = page.block_element[block]
        if owner >= 0:
            for stand in range(_STANDS):
                blocks[block, stand] = found[owner, stand]
    return blocks


def stands_of(page: Page) -> Stands:
    """Where a page's blocks and images stand."""
    return Stands(_stands(page), np.flatnonzero(page.tag == _IMAGE).astype(np.int32))


def _kind(stand: list[int]) -> PartKind:
    if stand[_CODE] >= 0:
        return "code"
    if stand[_TABLE] >= 0:
        return "table"
    if stand[_HEADING] >= 0:
        return "heading"
    if stand[_LIST] >= 0:
        return "list"
    return "quote" if stand[_QUOTE] >= 0 else "text"


_OUTER: Final[dict[PartKind, int]] = {"table": _TABLE, "list": _LIST, "quote": _QUOTE, "code": _CODE}


def _between(before: list[int], after: list[int]) -> bytes:
    """What stands between the texts of two blocks."""
    if before[_CELL] >= 0 and after[_ROW] == before[_ROW] >= 0:
        return b" " if before[_CELL] == after[_CELL] else b"\t"
    if before[_TABLE] >= 0 and before[_TABLE] == after[_TABLE]:
        return b"\n"
    if before[_LIST] >= 0 and before[_LIST] == after[_LIST]:
        return b"\n"
    return b"\n\n"


def written(page: Page, kept: npt.NDArray[np.bool_], numbers: dict[int, int]) -> PlacedText:
    """The text of these blocks. `numbers` are those of images by their elements."""
    stands = stands_of(page)
    source = page.text.tobytes()
    chosen = np.flatnonzero(kept).tolist()
    rows = stands.of_block[chosen].tolist() if chosen else []
    begins, ends = page.block_begins[chosen].tolist(), page.block_ends[chosen].tolist()
    images = _images_at(page, kept, stands.images, numbers)
    parts, text = Parts(), bytearray()
    before: list[int] | None = None
    open_part: tuple[PartKind, int, int] | None = None  # its kind, its outer element, where it begins

    def end_part() -> None:
        if open_part is not None:
            parts.add(open_part[0], open_part[2], len(text))

    for block, stand, begin, end in zip(chosen, rows, begins, ends, strict=True):
        kind = _kind(stand)
        outer = stand[_OUTER[kind]] if kind in _OUTER else -1
        between = b"" if before is None else _between(before, stand)
        inside = images.get(block, ())
        if open_part is None or outer < 0 or (kind, outer) != open_part[:2] or inside:
            end_part()
            text += between
            open_part = (kind, outer, len(text))
        else:
            text += between
        at = begin
        for place, number in inside:
            if place <= begin:
                parts.add("image", len(text), len(text), number)
                continue
            text += source[at:place].rstrip() if place >= end else source[at:place]
            at = place
            if len(text) > open_part[2]:
                parts.add(kind, open_part[2], len(text))
            parts.add("image", len(text), len(text), number)
            if source[at : at + 1].isspace():
                text += source[at : at + 1]
                at += 1
            open_part = (kind, outer, len(text))
        if kind == "code":
            text += b"\n".join(line.rstrip() for line in source[at:end].split(b"\n"))
        else:
            text += source[at:end]
        if at >= end and len(text) == open_part[2]:
            open_part = None
        before = stand
    end_part()
    return PlacedText(bytes(text), parts.complete())


def _images_at(
    page: Page, kept: npt.NDArray[np.bool_], images: npt.NDArray[np.int32], numbers: dict[int, int]
) -> dict[int, list[tuple[int, int]]]:
    """By block, the images that are shown in it, before it, or after it where it is the last: (place, number)."""
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
