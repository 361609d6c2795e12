"""Locate images and headings in an extracted text by the marks that the extractor printed; even out its lines.

The marks are removed, with the white space that only they caused: the rest is the text of the same page with empty
alt texts. (Printed text does not show whether a separate line was made by blocks or by line breaks. Around an image
on such a line the larger number of line feeds is kept.)
"""

import re
from bisect import bisect_right
from dataclasses import dataclass, field

from winnow.filters.extraction.markup import HEADING_MARK
from winnow.schemas.rows.extraction import PartKind

CONTEXT_CHARACTERS = 200

_SPACE = " \t\n" + HEADING_MARK
_IMAGE_OR_EMPTY_HEADING = re.compile(rf"\x02([0-9]+)\x03|{HEADING_MARK}(?=\s|\Z)")
_EMPTY_HEADING = re.compile(rf"{HEADING_MARK}(?=\s|\Z)")
_IMAGE = re.compile(rb"\x02([0-9]+)\x03")
_HEADING = HEADING_MARK.encode()


@dataclass(slots=True)
class Parts:
    """The parts of a text in reading order, as columns: UTF-8 byte ranges, which are empty for images."""

    kinds: list[str] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    images: list[int | None] = field(default_factory=list)

    def add(self, kind: PartKind, start: int, end: int, image: int | None = None) -> None:
        """Append a part."""
        self.complete()
        self.kinds.append(kind)
        self.starts.append(start)
        self.ends.append(end)
        self.images.append(image)

    def complete(self) -> "Parts":
        """Fill the column of images to the length of the others."""
        self.images.extend([None] * (len(self.kinds) - len(self.images)))
        return self


@dataclass(frozen=True, slots=True)
class PlacedText:
    """A text in UTF-8 without marks, and its parts."""

    text: bytes
    parts: Parts


def place(printed: str) -> PlacedText:
    """Remove the marks from an extractor's output. Blocks are separated by blank lines."""
    has_images = "\x02" in printed
    if has_images or _EMPTY_HEADING.search(printed):
        printed = _without_room(printed)
    marked = printed.encode()
    parts = Parts()
    kinds, starts, ends = parts.kinds, parts.starts, parts.ends
    at = 0
    for block in marked.split(b"\n\n"):  # about forty a page: the common block, plain text, takes the short way
        kind: PartKind = "text"
        if _HEADING in block:
            if block.lstrip().startswith(_HEADING):
                kind = "heading"
            block = block.replace(_HEADING, b"")
        size = len(block)
        if has_images and b"\x02" in block:
            at = _add_with_images(parts, kind, block, at) + 2
            continue
        if size and block[0] > 32 and block[-1] > 32:
            kinds.append(kind)
            starts.append(at)
            ends.append(at + size)
        else:
            _add(parts, kind, block, at)
        at += size + 2
    text = marked.replace(_HEADING, b"")
    return PlacedText(_IMAGE.sub(b"", text) if has_images else text, parts.complete())


def even_lines(placed: PlacedText) -> PlacedText:
    """The text without white space at the ends of lines, and with at most one blank line between two others.

    Markup that is indented would otherwise leave lines of tabs, which rules on repeated lines count as lines.
    """
    printed = placed.text.decode()
    solid = [line.rstrip() for line in printed.split("\n")]
    if "\n\n\n" not in printed and "\n".join(solid) == printed:
        return placed
    begins, moved, lengths = [], [], []  # of each line: where it was, where it is, what is left of it
    kept: list[bytes] = []
    at = now = 0
    blank = True  # so that none stands at the beginning
    for line, shown in zip(placed.text.split(b"\n"), solid, strict=True):
        left = shown.encode()
        begins.append(at)
        moved.append(now)
        lengths.append(len(left))
        at += len(line) + 1
        if left or not blank:
            kept.append(left)
            now += len(left) + 1
        blank = not left
    text = b"\n".join(kept).rstrip(b"\n")

    def place(position: int) -> int:
        line = bisect_right(begins, position) - 1
        return min(moved[line] + min(position - begins[line], lengths[line]), len(text))

    parts = placed.parts
    return PlacedText(text, Parts(parts.kinds, [*map(place, parts.starts)], [*map(place, parts.ends)], parts.images))


def context(text: bytes, at: int) -> tuple[str | None, str | None]:
    """The text just before and just after a position."""
    room = 4 * CONTEXT_CHARACTERS + 8  # bytes of the longest characters, and blank lines
    before = text[max(0, at - room) : at].decode("utf-8", "ignore").rstrip()[-CONTEXT_CHARACTERS:].lstrip()
    after = text[at : at + room].decode("utf-8", "ignore").lstrip()[:CONTEXT_CHARACTERS].rstrip()
    return before or None, after or None


def _add(parts: Parts, kind: PartKind, block: bytes, at: int) -> None:
    text = block.strip()
    if text:
        start = at if text[0] == block[0] else at + len(block) - len(block.lstrip())
        parts.add(kind, start, start + len(text))


def _add_with_images(parts: Parts, kind: PartKind, block: bytes, at: int) -> int:
    pieces = _IMAGE.split(block)
    for place_of, piece in enumerate(pieces):
        if place_of % 2:
            parts.add("image", at, at, int(piece))
        else:
            _add(parts, kind, piece, at)
            at += len(piece)
    return at


def _without_room(printed: str) -> str:
    """The text with every image's mark directly after the preceding text, without empty headings."""
    pieces = _IMAGE_OR_EMPTY_HEADING.split(printed)
    kept: list[str] = []
    room: list[str] = []  # white space and heading marks since the last text
    marks: list[str] = []  # images since then
    seen_text = False
    for place_of, piece in enumerate(pieces[::2]):
        if place_of and pieces[2 * place_of - 1] is not None:
            marks.append(f"\x02{pieces[2 * place_of - 1]}\x03")
        text = piece.strip(_SPACE)
        if not text:
            room.append(piece)
            continue
        lead = piece[: len(piece) - len(piece.lstrip(_SPACE))]
        room.append(lead)
        line = "".join(room).rpartition("\n")[2]
        kept.extend(marks)
        kept.append(_joined([part.replace(HEADING_MARK, "") for part in room], not seen_text))
        kept.append(HEADING_MARK + text if HEADING_MARK in line else text)
        seen_text = True
        room = [piece[len(lead) + len(text) :]]
        marks = []
    return "".join([*kept, *marks])


def _joined(room: list[str], at_start: bool) -> str:
    # White space around marks, as it would be without them.
    feeds = max(part.count("\n") for part in room)
    if feeds:
        last = next(part for part in reversed(room) if "\n" in part)
        return ("" if at_start else "\n" * feeds) + last[last.rindex("\n") + 1 :]
    if at_start:
        return room[0]
    joined = "".join(room)
    return joined.replace(" ", "") if "\t" in joined else joined[:1]
