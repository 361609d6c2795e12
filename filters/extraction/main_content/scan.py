"""Read a page's source once, into flat arrays: its elements, its blocks, and its visible text.

Text is written as shown: references decoded, white space collapsed, soft hyphens and byte order marks removed, line
breaks where the page breaks lines. A block is a run of text between the borders of two block elements; it belongs to
the innermost open one. An element is a range of the text, and of the blocks.

Tags are read by the HTML standard's tokenizer and paired by its common rules: what ends a paragraph, an item, a cell;
how far end tags reach. Its repair of broken formatting (it opens elements again) changes no text and no block, and is
omitted. Nothing is refused and nothing recurses: below MOST_DEEP, elements become siblings, as in browsers. One pass,
linear except for end tags, each of which examines at most MOST_DEEP elements.
"""

from typing import NamedTuple

import numpy as np

from winnow.filters.extraction.main_content.attributes import attributes
from winnow.filters.extraction.main_content.block_text import end_block, write_space, write_text
from winnow.filters.extraction.main_content.names import FLAGS, NUMBER, TAG_MASK, Kind
from winnow.filters.extraction.main_content.pairing import close_down_to, close_top, end_tag, imply_ends, tag_name
from winnow.filters.extraction.main_content.sheet import (
    ATTRIBUTES,
    ATTRIBUTES_END,
    BEGINS,
    BLOCK_ROWS,
    BREAKS,
    BUTTONED,
    CLASS,
    CLASS_END,
    COUNTS,
    ELEMENT_ROWS,
    END_BLOCK,
    ENDS,
    FIRST_BLOCK,
    FROM,
    HREF,
    HREF_END,
    ID,
    ID_END,
    JSON_LD,
    LINKED,
    LINKS,
    MOST_DEEP,
    N_BLOCKS,
    N_BODY,
    N_BREAKS,
    N_BROKEN,
    N_BUTTON,
    N_DATA,
    N_DEPTH,
    N_ELEMENTS,
    N_FOREIGN,
    N_HIDDEN,
    N_LINK,
    N_LINKS,
    N_OVERFLOW,
    N_OWNER,
    N_PICTURES,
    N_PRE,
    N_TEXT,
    N_TITLED,
    NAME,
    OWNER,
    PARENT,
    PICTURES,
    RUNS,
    TAG,
    UNTIL,
    Bytes,
    Masks,
    Numbers,
    Sheet,
    found_byte,
    is_letter,
    is_space,
    name_hash,
)
from winnow.schemas.kernels import kernel, leaf

__all__ = ["MOST_DEEP", "Page", "scanned"]


class Page(NamedTuple):
    """A page as arrays."""

    source: Bytes
    text: Bytes
    # Of each element, in the order of their start tags:
    tag: Numbers  # its number in `names.TAGS`, 0 if it is not known
    parent: Numbers  # -1 at the top
    mask: Masks  # `names.MARKS` of it and of those around it
    begins: Numbers  # its range of the text
    ends: Numbers
    first_block: Numbers  # its range of the blocks
    end_block: Numbers
    attributes: Numbers  # [2, ] the range of the source that holds its attributes
    classes: Numbers  # [2, ] the value of `class`
    identity: Numbers  # [2, ] the value of `id`
    target: Numbers  # [2, ] the value of `href`
    # Of each block:
    block_element: Numbers  # -1 where no block element is open
    block_begins: Numbers
    block_ends: Numbers
    linked: Numbers  # bytes inside links
    buttoned: Numbers  # bytes inside buttons
    links: Numbers  # that begin in it
    runs: Numbers  # of text between two tags
    breaks: Numbers
    pictures: Numbers  # before its end, on the whole page
    # Of the page:
    title: Numbers  # [2] the content of the first <title>
    data: Numbers  # [2, ] the contents of scripts of JSON-LD


_MOST_SCRIPTS = 64
_BLOCK, _VOID, _RAW, _CONCEALED = int(Kind.BLOCK), int(Kind.VOID), int(Kind.RAW), int(Kind.HIDDEN)
_IN_HEAD, _IS_FOREIGN, _SHOWN = int(Kind.IN_HEAD), int(Kind.FOREIGN), int(Kind.TEXT)
_A, _BR, _IMG, _PRE_TAG, _BUTTON_TAG, _HEAD, _BODY_TAG, _TITLE, _SCRIPT, _HTML, _FOREIGN_OBJECT = (
    NUMBER[name]
    for name in ("a", "br", "img", "pre", "button", "head", "body", "title", "script", "html", "foreignobject")
)
_LT, _GT, _SLASH, _BANG, _DASH, _QUESTION = 60, 62, 47, 33, 45, 63


@leaf
def _raw_end(source, at, end, key):  # type: ignore[no-untyped-def]
    """Where the end tag with this name begins, or the end of the page."""
    place = found_byte(source, _LT, at, end)
    while place < end:
        if place + 1 < end and source[place + 1] == _SLASH:
            name = place + 2
            after = name
            while after < end and after - name < 9 and (is_letter(source[after])):
                after += 1
            ended = after >= end or is_space(source[after]) or source[after] in (_SLASH, _GT)
            if ended and name_hash(source, name, after) == key:
                return place
        place = found_byte(source, _LT, place + 1, end)
    return end


@leaf
def _raw(sheet, element, key, at, end):  # type: ignore[no-untyped-def]
    """Pass over the content of an element that is no markup; where its end tag ends."""
    counts = sheet.counts
    source, tag = sheet.source, sheet.elements[TAG, element]
    close = _raw_end(source, at, end, key)
    if tag == _TITLE:
        if not counts[N_TITLED] and not counts[N_FOREIGN]:
            counts[N_TITLED] = 1
            sheet.noted[0, 0], sheet.noted[1, 0] = at, close
    elif tag == _SCRIPT:
        if sheet.elements[NAME, element] == JSON_LD and counts[N_DATA] < sheet.noted.shape[1] - 1:
            sheet.noted[0, counts[N_DATA] + 1], sheet.noted[1, counts[N_DATA] + 1] = at, close
            counts[N_DATA] += 1
    elif FLAGS[tag] & _SHOWN and not counts[N_HIDDEN]:
        end_block(sheet)
        owner = counts[N_OWNER]
        counts[N_OWNER] = element
        write_text(sheet, at, close)
        end_block(sheet)
        counts[N_OWNER] = owner
    sheet.elements[ENDS, element] = counts[N_TEXT]
    sheet.elements[END_BLOCK, element] = counts[N_BLOCKS]
    return min(found_byte(source, _GT, close, end) + 1, end)


@leaf
def _leave_head(sheet, tag):  # type: ignore[no-untyped-def]
    """End the head before what cannot stand in it, and foreign content before what is HTML."""
    counts = sheet.counts
    if sheet.opened[_HEAD] and not FLAGS[tag] & _IN_HEAD:
        depth = counts[N_DEPTH] - 1
        while depth >= 0 and sheet.elements[TAG, sheet.stack[0, depth]] != _HEAD:
            depth -= 1
        close_down_to(sheet, max(depth, 0))
    if counts[N_FOREIGN] and FLAGS[tag] & _BLOCK and not sheet.opened[_FOREIGN_OBJECT]:
        while counts[N_FOREIGN]:
            close_top(sheet)


@leaf
def _add_element(sheet, tag, key, at):  # type: ignore[no-untyped-def]
    """A row for a new element, inside the innermost that is open."""
    counts = sheet.counts
    element = counts[N_ELEMENTS]
    counts[N_ELEMENTS] = element + 1
    depth = counts[N_DEPTH]
    sheet.elements[TAG, element] = tag
    sheet.elements[PARENT, element] = sheet.stack[0, depth - 1] if depth else -1
    sheet.masks[element] = TAG_MASK[tag]
    sheet.elements[BEGINS, element] = sheet.elements[ENDS, element] = counts[N_TEXT]
    sheet.elements[FIRST_BLOCK, element] = sheet.elements[END_BLOCK, element] = counts[N_BLOCKS]
    sheet.elements[ATTRIBUTES, element] = sheet.elements[ATTRIBUTES_END, element] = at
    sheet.elements[CLASS, element] = sheet.elements[CLASS_END, element] = -1
    sheet.elements[NAME, element] = np.int32(key & np.uint64(0x3FFFFFFF))
    sheet.elements[ID, element] = sheet.elements[ID_END, element] = -1
    sheet.elements[HREF, element] = sheet.elements[HREF_END, element] = -1
    return element


@leaf
def _open(sheet, element):  # type: ignore[no-untyped-def]
    """Make an element the innermost that is open."""
    counts = sheet.counts
    depth, tag = counts[N_DEPTH], sheet.elements[TAG, element]
    flags = FLAGS[tag]
    sheet.stack[0, depth] = element
    sheet.stack[1, depth] = counts[N_OWNER]
    counts[N_DEPTH] = depth + 1
    sheet.opened[tag] += 1
    if flags & _BLOCK:
        counts[N_OWNER] = element
    if flags & _CONCEALED:
        counts[N_HIDDEN] += 1
        counts[N_FOREIGN] += (flags & _IS_FOREIGN) != 0
    if tag == _A:
        counts[N_LINK] = 1
        counts[N_LINKS] += 1
    elif tag == _BUTTON_TAG:
        counts[N_BUTTON] += 1
    elif tag == _PRE_TAG:
        counts[N_PRE] += 1


@leaf
def _start_tag(sheet, at, end):  # type: ignore[no-untyped-def]
    """Read a start tag whose name begins here, with its content where that is no markup; where it ends."""
    counts = sheet.counts
    source = sheet.source
    place, key, tag = tag_name(source, at, end)
    flags = FLAGS[tag]
    if tag != _HTML:
        _leave_head(sheet, tag)
    if not counts[N_HIDDEN]:
        imply_ends(sheet, tag)
        if flags & _BLOCK:
            end_block(sheet)
    element = _add_element(sheet, tag, key, place)
    after = attributes(sheet, element, place, end)
    empty = after < 0
    after = abs(after)
    parent = sheet.elements[PARENT, element]
    if parent >= 0:
        sheet.masks[element] |= sheet.masks[parent]
    if tag == _HTML:
        return after
    if tag == _BODY_TAG:
        if counts[N_BODY] or counts[N_DEPTH]:
            return after
        counts[N_BODY] = 1
    if flags & (_RAW | _SHOWN) and not (counts[N_FOREIGN] and empty):
        return _raw(sheet, element, key, after, end)
    if flags & _VOID:
        if not counts[N_HIDDEN]:
            if tag == _BR:
                counts[N_BROKEN] += 1
                if counts[N_PRE]:  # each is a line of the listing
                    write_space(sheet, 10)
                else:
                    counts[N_BREAKS] = 1
            elif tag == _IMG:
                counts[N_PICTURES] += 1
        return after
    if empty and (counts[N_FOREIGN] or flags & _IS_FOREIGN):
        return after
    if counts[N_DEPTH] >= MOST_DEEP:
        counts[N_OVERFLOW] += 1
    else:
        _open(sheet, element)
    return after


@leaf
def _comment_end(source, at, end):  # type: ignore[no-untyped-def]
    """Where a comment ends whose content begins here."""
    if at < end and source[at] == _GT:
        return at + 1
    if at + 1 < end and source[at] == _DASH and source[at + 1] == _GT:
        return at + 2
    place = at
    while place < end:
        if source[place] == _GT and place - at >= 2:
            if source[place - 1] == _DASH and source[place - 2] == _DASH:
                return place + 1
            if (
                place - at >= 3
                and source[place - 1] == _BANG
                and source[place - 2] == _DASH
                and source[place - 3] == _DASH
            ):
                return place + 1
        place += 1
    return end


@leaf
def _markup(sheet, at, end):  # type: ignore[no-untyped-def]
    """Read what begins with the `<` here; where it ends, or -1 if that is only a character."""
    source = sheet.source
    if at + 1 >= end:
        return -1
    after = source[at + 1]
    if is_letter(after):
        return _start_tag(sheet, at + 1, end)
    if after == _SLASH:
        if at + 2 < end and is_letter(source[at + 2]):
            return end_tag(sheet, at + 2, end)
        if at + 2 >= end:
            return -1
    elif after == _BANG:
        if at + 3 < end and source[at + 2] == _DASH and source[at + 3] == _DASH:
            return _comment_end(source, at + 4, end)
    elif after != _QUESTION:
        return -1
    return min(found_byte(source, _GT, at + 2, end) + 1, end)


@leaf
def _text(sheet, at, end):  # type: ignore[no-untyped-def]
    """A run of text of the source, which ends a head if it is no white space."""
    counts = sheet.counts
    if counts[N_HIDDEN]:
        if not sheet.opened[_HEAD] or counts[N_HIDDEN] > 1:
            return
        place = at
        while place < end and is_space(sheet.source[place]):
            place += 1
        if place == end:
            return
        _leave_head(sheet, 0)
        if counts[N_HIDDEN]:
            return
    write_text(sheet, at, end)


@leaf
def _read(sheet):  # type: ignore[no-untyped-def]
    source = sheet.source
    at, end = 0, len(source)
    while at < end:
        next_tag = found_byte(source, _LT, at, end)
        if next_tag > at:
            _text(sheet, at, next_tag)
        at = next_tag
        if at < end:
            after = _markup(sheet, at, end)
            if after < 0:
                _text(sheet, at, at + 1)
                after = at + 1
            at = after
    close_down_to(sheet, 0)
    end_block(sheet)


@kernel
def _scan(source):  # type: ignore[no-untyped-def]
    """The sheet of a page."""
    end = len(source)
    tags = 1
    for byte in source:
        tags += byte == _LT
    sheet = Sheet(
        source,
        np.empty(end + end // 4 + 16, np.uint8),
        np.empty((ELEMENT_ROWS, tags), np.int32),
        np.empty(tags, np.int64),
        np.empty((BLOCK_ROWS, tags + 1), np.int32),  # each ends before a tag, or with the page
        np.zeros((2, 1 + min(tags, _MOST_SCRIPTS)), np.int32),
        np.empty((2, MOST_DEEP + 1), np.int32),
        np.zeros(len(FLAGS), np.int32),
        np.zeros(COUNTS, np.int64),
    )
    sheet.counts[N_OWNER] = -1
    _read(sheet)
    if not sheet.counts[N_ELEMENTS]:  # a page of text alone: its blocks are asked for an element
        _add_element(sheet, 0, np.uint64(0), 0)
    return sheet


def scanned(source: Bytes) -> Page:
    """The page of a UTF-8 source."""
    sheet = _scan(source)
    counts = sheet.counts
    elements, blocks = sheet.elements[:, : counts[N_ELEMENTS]], sheet.blocks[:, : counts[N_BLOCKS]]
    ends = elements[END_BLOCK]  # what ended in a blank block, which does not exist, ends with the last block
    np.minimum(ends, counts[N_BLOCKS], out=ends)
    columns = [source, sheet.text[: counts[N_TEXT]], *(elements[row] for row in (TAG, PARENT))]
    columns += [sheet.masks[: counts[N_ELEMENTS]], *(elements[row] for row in (BEGINS, ENDS, FIRST_BLOCK, END_BLOCK))]
    columns += [_whole(elements[row : row + 2]) for row in (ATTRIBUTES, CLASS, ID, HREF)]
    columns += [blocks[row] for row in (OWNER, FROM, UNTIL, LINKED, BUTTONED, LINKS, RUNS, BREAKS, PICTURES)]
    return Page._make([*columns, _whole(sheet.noted[:, 0]), _whole(sheet.noted[:, 1 : 1 + counts[N_DATA]])])


def _whole(part: Numbers) -> Numbers:
    """A contiguous copy: another memory layout would compile the kernels that take pages again."""
    return np.ascontiguousarray(part)
