"""The text of chosen blocks as Markdown (CommonMark, with tables): headings, lists, quotes, code, emphasis, images.

Characters that Markdown would read as markup are escaped where a line begins with them; inside a line they stand as
they are, since formulas and names need them more often than renderers mistake them.
"""

import re
from bisect import bisect_right
from dataclasses import dataclass
from html import unescape
from typing import Final

import numpy as np
import numpy.typing as npt

from winnow.filters.extraction.main_content.blocks import PageBlocks
from winnow.filters.extraction.main_content.code import code_language
from winnow.filters.extraction.main_content.facts import addresses_of
from winnow.filters.extraction.main_content.named_parts import comment_blocks
from winnow.filters.extraction.main_content.names import HEADING_LEVEL, NUMBER
from winnow.filters.extraction.main_content.scan import Page
from winnow.filters.extraction.main_content.table_columns import cell_columns
from winnow.filters.extraction.main_content.tidy import seen_blocks, shown_text, tidy, without_gone
from winnow.filters.extraction.main_content.writing import (
    CELL,
    CODE,
    HEADING,
    ITEM,
    LIST,
    QUOTE,
    ROW,
    TABLE,
    MainText,
    comment_ranges,
    images_at,
    stands_of,
    with_structure,
)
from winnow.filters.extraction.page import Image, link
from winnow.filters.extraction.placed_text import Parts, PlacedText
from winnow.schemas.rows.extraction import PartKind

_MARKS: Final = {
    **dict.fromkeys((NUMBER["b"], NUMBER["strong"]), "**"),
    **dict.fromkeys((NUMBER["i"], NUMBER["em"]), "*"),
    **dict.fromkeys((NUMBER[name] for name in ("code", "kbd", "samp", "tt")), "`"),
    **dict.fromkeys((NUMBER["del"], NUMBER["strike"]), "~~"),
}
_A, _OL, _UL, _DT, _DD = (NUMBER[name] for name in ("a", "ol", "ul", "dt", "dd"))
_INLINE = np.array([*_MARKS, _A], np.int32)
_BEGINS_MARKUP = re.compile(
    r"^(\d{0,9})(?=(?:(?<=\d)[.)]|(?<!\d)(?:#{1,6}|>|[-+*]|```+|~~~+|\|))(?:\s|$))", re.MULTILINE
)
_FENCE = re.compile("`{3,}")
_MARK = re.compile(rb"\x02(\d+)\x03")  # of an image; the scan leaves no such character in a text
_OUTSIDE: Final = (-1, CODE)  # where an image before a block is a paragraph, and no part of it
_LETTER = re.compile(r"\w")
_MOST_DEEP: Final = 16  # lists in lists
_MOST_BLOCKS: Final = 8  # that one mark is around: one around more was never closed


@dataclass(frozen=True, slots=True)
class MarkdownPage:
    """A page whose blocks are written, and what stands in it."""

    blocks: PageBlocks
    images: dict[int, Image]
    numbers: dict[int, int]  # of images, by their elements
    links: bool  # whether the addresses of links are wanted


def as_markdown(source: MarkdownPage, kept: npt.NDArray[np.bool_]) -> MainText:
    """The text of these blocks as Markdown, with its parts."""
    page = source.blocks.page
    stands = stands_of(page)
    shown = shown_text(page, source.blocks.named_parts)
    kept = seen_blocks(page, shown, with_structure(source.blocks, stands, kept))
    writer = _Writer(source, kept, shown)
    images = images_at(page, kept, stands.images, source.numbers)
    for block in np.flatnonzero(kept).tolist():
        writer.add(block, stands.of_block[block].tolist(), images.get(block, []))
    return writer.ended()


class _Writer:
    """Writes block after block; a list, a table, a quote or a listing is one part."""

    def __init__(self, source: MarkdownPage, kept: npt.NDArray[np.bool_], shown: bytes) -> None:
        self._source, self._page = source, source.blocks.page
        self._addresses = addresses_of(source.blocks)
        self._comments = comment_blocks(self._page, source.blocks.layout, source.blocks.named_parts)
        self._languages: list[str | None] = []
        self._text = bytearray()
        # Parts: what, from where to where, if it is a comment, and the first and last block.
        self._found: list[tuple[PartKind, int, int, bool, tuple[int, int]]] = []
        self._inline = _by_block(self._page, kept)
        self._shown = shown
        self._outer = (-1, -1, False)  # what is being written: its sort, its element, whether it is a comment
        self._within = (-1, -1)  # its first and last block
        self._lines: list[str] = []
        self._rows: list[tuple[int, dict[int, str]]] = []  # of a table: its row, and the text of its cells
        self._columns: tuple[int, dict[int, int]] = (-1, {})  # a table, and the columns of its cells
        self._item = -1
        self._counts: dict[int, int] = {}  # of the items so far of numbered lists

    def add(self, block: int, stand: list[int], images: list[tuple[int, int]]) -> None:
        """Write a block with the images in it."""
        page = self._page
        begin, end = int(page.block_begins[block]), int(page.block_ends[block])
        sort = next((one for one in (CODE, TABLE, LIST, QUOTE) if stand[one] >= 0), -1)
        outer = (sort, stand[sort] if sort >= 0 else block, bool(self._comments[block]))
        if outer != self._outer:
            self._end_part()
            self._outer = outer
        marks = [(place, number) for place, number in images if place < end]
        if sort in _OUTSIDE:
            for _, number in [one for one in marks if one[0] <= begin]:
                self._add_image(number)
            marks = [one for one in marks if one[0] > begin]
            self._outer = outer
        self._within = (self._within[0] if self._within[0] >= 0 else block, block)
        inside = [(max(place, begin), self._spaced(place, begin, number)) for place, number in marks]
        if sort == CODE:
            self._lines += without_gone(self._shown[begin:end]).decode("utf-8", "replace").split("\n")
        else:
            text = self._written(block, begin, end, inside)
            if sort == TABLE:
                self._add_cell(stand, text)
            elif sort == LIST:
                self._add_item(stand, text)
            elif stand[HEADING] >= 0:
                level = int(HEADING_LEVEL[page.tag[stand[HEADING]]])
                self._lines.append("#" * max(level, 1) + " " + text.replace("\n", " "))
            else:
                text = _BEGINS_MARKUP.sub(r"\1\\", text)
                self._lines += (["", text] if self._lines else [text]) if sort == QUOTE else [text]
        if sort < 0:
            self._end_part("heading" if stand[HEADING] >= 0 else "text")
        for _, number in [one for one in images if one[0] >= end]:
            self._add_image(number)

    def ended(self) -> MainText:
        """The whole text."""
        self._end_part()
        return self._with_images()

    def _with_images(self) -> MainText:
        """The text with its images in place of their marks, and each as a part of its own."""
        text, shifts, at = bytearray(), [(0, 0)], 0
        kinds: list[tuple[int, int, PartKind, int, int | None, bool, tuple[int, int] | None]] = []
        for found in _MARK.finditer(self._text):
            number = int(found[1])
            image = self._source.images[number]
            alt = " ".join((image.alt or image.caption or "").split()).replace("[", "(").replace("]", ")")
            text += self._text[at : found.start()]
            kinds.append((len(text), 1, "image", len(text), number, False, None))
            text += f"![{alt}]({_target(image.src)})".encode()
            at = found.end()
            shifts.append((at, len(text) - at))
        text += self._text[at:]
        ends = [end for end, _ in shifts]
        for kind, begin, end, is_comment, within in self._found:
            begin, end = (place + shifts[bisect_right(ends, place) - 1][1] for place in (begin, end))
            kinds.append((begin, 0, kind, end, None, is_comment, within))
        parts = Parts()
        marked: list[bool] = []
        blocks: list[tuple[int, int] | None] = []
        for begin, _, kind, end, image_number, is_comment, of_part in sorted(kinds, key=lambda one: one[:2]):
            parts.add(kind, begin, end, image_number)
            marked.append(is_comment or (image_number is not None and bool(marked) and marked[-1]))
            blocks.append(of_part)
        comments = comment_ranges(parts, marked, len(text))
        return MainText(PlacedText(bytes(text), parts), comments, self._languages, blocks)

    def _spaced(self, place: int, begin: int, number: int) -> str:
        mark = f"\x02{number}\x03"
        if place <= begin:
            return f"{mark} "
        return mark if self._shown[place - 1] <= 32 else f" {mark}"

    def _add_image(self, number: int) -> None:
        """An image that is a paragraph of its own."""
        self._end_part()
        self._begin()
        self._text += f"\x02{number}\x03".encode()

    def _written(self, block: int, begin: int, end: int, images: list[tuple[int, str]]) -> str:
        """A block's text with its emphasis, its links and its images."""
        events = [(place, 1, -place, shown) for place, shown in images]
        events += self._inline_events(block, begin, end)
        pieces, at = [], begin
        for place, _, _, mark in sorted(events):
            pieces += [self._shown[at:place], mark.encode()]
            at = place
        return tidy(b"".join([*pieces, self._shown[at:end]])).decode("utf-8", "replace").strip()

    def _inline_events(self, block: int, begin: int, end: int) -> list[tuple[int, int, int, str]]:
        """Where marks open and close: (place, 0 for an end, what orders those of one place, the mark)."""
        page, found, covered = self._page, [], dict.fromkeys(_MARKS.values(), -1)
        for element in self._inline.get(block, ()):
            first, last = max(int(page.begins[element]), begin), min(int(page.ends[element]), end)
            while first < last and self._shown[first] <= 32:
                first += 1
            while first < last and self._shown[last - 1] <= 32:
                last -= 1
            mark = _MARKS.get(int(page.tag[element]))
            said = self._shown[first:last].decode("utf-8", "replace")
            if not _LETTER.search(said) or (mark == "`" and "`" in said):
                continue
            if mark is None:
                if address := self._address(element):
                    found += [(first, 2, -last, "["), (last, 0, -first, f"]({_target(address)})")]
            elif covered[mark] <= first and covered["`"] <= first:  # none inside itself, and nothing inside code
                covered[mark] = last
                found += [(first, 2, -last, mark), (last, 0, -first, mark)]
        return found

    def _address(self, element: int) -> str | None:
        begin, end = self._page.target[:, element].tolist()
        if not self._source.links or begin < 0:
            return None
        written = unescape(self._source.blocks.source[begin:end].decode("utf-8", "replace"))
        return link(written, self._addresses)

    def _add_cell(self, stand: list[int], text: str) -> None:
        row, cell = stand[ROW], stand[CELL]
        if not self._rows or self._rows[-1][0] != row:
            self._rows.append((row, {}))
        if self._columns[0] != stand[TABLE]:
            self._columns = stand[TABLE], cell_columns(self._page, self._source.blocks.source, stand[TABLE])
        cells, column = self._rows[-1][1], self._columns[1].get(cell, 0)
        text = text.replace("\n", " ").replace("|", "\\|")
        cells[column] = f"{cells[column]} {text}" if column in cells else text

    def _add_item(self, stand: list[int], text: str) -> None:
        page, item = self._page, stand[ITEM]
        depth = self._depth(item, stand[LIST]) if item >= 0 else 0
        indent = "    " * depth
        text = _BEGINS_MARKUP.sub(r"\1\\", text).replace("\n", f"\n{indent}  ")
        if item < 0 or item == self._item:
            self._lines.append(f"{indent}  {text}" if item >= 0 else text)
            return
        self._item = item
        parent = int(page.parent[item])
        if page.tag[item] == _DT:
            self._lines.append(f"{indent}{text}")
        elif page.tag[item] == _DD:
            self._lines.append(f"{indent}: {text}")
        elif parent >= 0 and page.tag[parent] == _OL:
            self._counts[parent] = self._counts.get(parent, 0) + 1
            self._lines.append(f"{indent}{self._counts[parent]}. {text}")
        else:
            self._lines.append(f"{indent}- {text}")

    def _depth(self, item: int, outermost: int) -> int:
        """How many lists are between an item and the outermost one."""
        page = self._page
        depth, element = 0, int(page.parent[item])
        while element > outermost and depth < _MOST_DEEP:
            depth += int(page.tag[element] in (_OL, _UL))
            element = int(page.parent[element])
        return depth

    def _begin(self) -> None:
        if self._text:
            self._text += b"\n\n"

    def _end_part(self, kind: PartKind | None = None) -> None:
        sort, element, is_comment = self._outer
        if self._rows:
            lines, kind = _table(self._rows), "table"
        elif sort == CODE and self._lines:
            self._languages.append(code_language(self._page, self._source.blocks.source, element))
            language = self._languages[-1] or ""
            longest = max(map(len, _FENCE.findall("\n".join(self._lines))), default=2)
            fence = "`" * (longest + 1)
            lines, kind = [fence + language, *(line.rstrip() for line in self._lines), fence], "code"
        elif sort == QUOTE and self._lines:
            lines, kind = [f"> {line}".rstrip() for whole in self._lines for line in whole.split("\n")], "quote"
        else:
            lines, kind = self._lines, "list" if sort == LIST else kind or "text"
        if lines:
            self._begin()
            start = len(self._text)
            self._text += "\n".join(lines).encode()
            self._found.append((kind, start, len(self._text), is_comment, self._within))
        self._lines, self._rows, self._item = [], [], -1
        self._outer, self._within = (-1, -1, False), (-1, -1)


def _by_block(page: Page, kept: npt.NDArray[np.bool_]) -> dict[int, list[int]]:
    """The elements that mark parts of each kept block, outer ones first."""
    found: dict[int, list[int]] = {}
    spanned = page.end_block - page.first_block
    marked = np.flatnonzero(np.isin(page.tag, _INLINE) & (page.ends > page.begins) & (spanned <= _MOST_BLOCKS))
    for element in marked.tolist():
        for block in range(int(page.first_block[element]), int(page.end_block[element])):
            if kept[block]:
                found.setdefault(block, []).append(element)
    return found


def _target(address: str) -> str:
    return f"<{address}>" if "(" in address or ")" in address else address


def _table(rows: list[tuple[int, dict[int, str]]]) -> list[str]:
    """The rows of a table; its first is its heading, as Markdown has no table without one."""
    width = 1 + max(max(cells) for _, cells in rows)
    lines = ["| " + " | ".join(cells.get(column, "") for column in range(width)) + " |" for _, cells in rows]
    return [lines[0], "|" + "---|" * width, *lines[1:]]
