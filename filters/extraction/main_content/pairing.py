"""Pairs start tags with end tags: what the start of an element ends, and how far an end tag reaches."""

import numpy as np

from winnow.filters.extraction.main_content.block_text import end_block
from winnow.filters.extraction.main_content.names import FLAGS, HEADING_LEVEL, NUMBER, TAG_KEYS, TAG_NUMBERS, Kind
from winnow.filters.extraction.main_content.sheet import (
    END_BLOCK,
    ENDS,
    N_BLOCKS,
    N_BREAKS,
    N_BUTTON,
    N_DEPTH,
    N_FOREIGN,
    N_HIDDEN,
    N_LINK,
    N_OVERFLOW,
    N_OWNER,
    N_PRE,
    N_START,
    N_TEXT,
    NAME,
    TAG,
    is_space,
    name_hash,
)
from winnow.filters.language.kernels.open_tables import look_up
from winnow.schemas.kernels import leaf

_BLOCK, _CONCEALED, _ENDS_P = int(Kind.BLOCK), int(Kind.HIDDEN), int(Kind.ENDS_PARAGRAPH)
_BOUND, _IS_FOREIGN = int(Kind.BOUND), int(Kind.FOREIGN)
_A, _P, _BR, _LI, _PRE_TAG, _BUTTON_TAG, _BODY_TAG, _HTML = (
    NUMBER[name] for name in ("a", "p", "br", "li", "pre", "button", "body", "html")
)
_DD, _DT, _TR, _TD, _TH, _TBODY, _THEAD, _TFOOT = (
    NUMBER[name] for name in ("dd", "dt", "tr", "td", "th", "tbody", "thead", "tfoot")
)
_TABLE, _OPTION, _UL, _OL, _DL, _SELECT, _OPTGROUP = (
    NUMBER[name] for name in ("table", "option", "ul", "ol", "dl", "select", "optgroup")
)
_GT, _SLASH = 62, 47


@leaf
def close_top(sheet):  # type: ignore[no-untyped-def]
    """Close the innermost open element."""
    counts = sheet.counts
    depth = counts[N_DEPTH] - 1
    element = sheet.stack[0, depth]
    tag = sheet.elements[TAG, element]
    flags = FLAGS[tag]
    if flags & _BLOCK:
        if not counts[N_HIDDEN]:
            end_block(sheet)
        counts[N_OWNER] = sheet.stack[1, depth]
    if flags & _CONCEALED:
        counts[N_HIDDEN] -= 1
        counts[N_FOREIGN] -= (flags & _IS_FOREIGN) != 0
    if tag == _A:
        counts[N_LINK] = 0
    elif tag == _BUTTON_TAG:
        counts[N_BUTTON] -= 1
    elif tag == _PRE_TAG:
        counts[N_PRE] -= 1
    sheet.opened[tag] -= 1
    sheet.elements[ENDS, element] = counts[N_TEXT]
    sheet.elements[END_BLOCK, element] = counts[N_BLOCKS] + (counts[N_TEXT] > counts[N_START])
    counts[N_DEPTH] = depth


@leaf
def close_down_to(sheet, depth):  # type: ignore[no-untyped-def]
    """Close elements until so many are open."""
    while sheet.counts[N_DEPTH] > depth:
        close_top(sheet)


@leaf
def _close_nearest(sheet, one, other, stop, second_stop):  # type: ignore[no-untyped-def]
    """Close the nearest open element of two tags, unless a bound or one of two others lies between."""
    if not (sheet.opened[one] or sheet.opened[other]):
        return
    depth = sheet.counts[N_DEPTH] - 1
    while depth >= 0:
        tag = sheet.elements[TAG, sheet.stack[0, depth]]
        if tag in (one, other):
            close_down_to(sheet, depth)
            return
        if tag in (stop, second_stop) or (FLAGS[tag] & _BOUND and not (tag in (_TD, _TH) and stop == _TABLE)):
            return
        depth -= 1


@leaf
def imply_ends(sheet, tag):  # type: ignore[no-untyped-def]
    """Close what the start of an element ends without a tag of its own."""
    counts = sheet.counts
    if FLAGS[tag] & _ENDS_P and sheet.opened[_P]:
        _close_nearest(sheet, _P, _P, _BUTTON_TAG, _BUTTON_TAG)
    depth = counts[N_DEPTH]
    if HEADING_LEVEL[tag] and depth and HEADING_LEVEL[sheet.elements[TAG, sheet.stack[0, depth - 1]]]:
        close_top(sheet)
    elif tag == _LI:
        _close_nearest(sheet, _LI, _LI, _UL, _OL)
    elif tag in (_DD, _DT):
        _close_nearest(sheet, _DD, _DT, _DL, _DL)
    elif tag in (_OPTION, _OPTGROUP):
        _close_nearest(sheet, _OPTION, _OPTION, _SELECT, _SELECT)
    elif tag in (_TD, _TH):
        _close_nearest(sheet, _TD, _TH, _TABLE, _TR)
    elif tag == _TR:
        _close_nearest(sheet, _TR, _TR, _TABLE, _TABLE)
    elif tag in (_TBODY, _THEAD, _TFOOT):
        _close_nearest(sheet, _TBODY, _THEAD, _TABLE, _TABLE)
        _close_nearest(sheet, _TFOOT, _TFOOT, _TABLE, _TABLE)
    elif tag == _BUTTON_TAG:
        _close_nearest(sheet, _BUTTON_TAG, _BUTTON_TAG, _BUTTON_TAG, _BUTTON_TAG)
    elif tag == _A and sheet.opened[_A]:
        _close_formatting(sheet, _A, np.int32(0))


@leaf
def _close_formatting(sheet, tag, name):  # type: ignore[no-untyped-def]
    """Close the nearest such element, unless a block lies between; a link ends in any case."""
    if tag == _A:
        sheet.counts[N_LINK] = 0
    depth = sheet.counts[N_DEPTH] - 1
    while depth >= 0:
        element = sheet.stack[0, depth]
        found = sheet.elements[TAG, element]
        if found == tag and (tag or sheet.elements[NAME, element] == name):
            close_down_to(sheet, depth)
            return
        if FLAGS[found] & (_BLOCK | _BOUND):
            return
        depth -= 1


@leaf
def _close_block(sheet, tag):  # type: ignore[no-untyped-def]
    """Close the nearest such element with all that is open in it, unless its end tag does not reach that far."""
    heading = HEADING_LEVEL[tag] > 0
    in_table = tag in (_TABLE, _TD, _TH, _TR, _TBODY, _THEAD, _TFOOT)
    depth = sheet.counts[N_DEPTH] - 1
    while depth >= 0:
        found = sheet.elements[TAG, sheet.stack[0, depth]]
        if found == tag or (heading and HEADING_LEVEL[found]):
            close_down_to(sheet, depth)
            return
        if found == _TABLE if in_table else FLAGS[found] & _BOUND or (tag == _LI and found in (_UL, _OL)):
            return
        depth -= 1


@leaf
def tag_name(source, at, end):  # type: ignore[no-untyped-def]
    """The name of a tag that begins here: where it ends, its hash, and the element's number."""
    place = at
    while place < end and not is_space(source[place]) and source[place] not in (_SLASH, _GT):
        place += 1
    key = name_hash(source, at, place)
    return place, key, max(look_up(TAG_KEYS, TAG_NUMBERS, key), 0)


@leaf
def end_tag(sheet, at, end):  # type: ignore[no-untyped-def]
    """Read an end tag whose name begins here; where it ends."""
    counts = sheet.counts
    source = sheet.source
    place, key, tag = tag_name(source, at, end)
    while place < end and source[place] != _GT:
        place += 1
    place = min(place + 1, end)
    if tag == _BR and not counts[N_HIDDEN]:
        counts[N_BREAKS] = 1
        return place
    if tag in (_BODY_TAG, _HTML):
        return place
    if counts[N_OVERFLOW]:
        counts[N_OVERFLOW] -= 1
    elif not sheet.opened[tag] and not HEADING_LEVEL[tag]:
        return place
    elif FLAGS[tag] & (_BLOCK | _BOUND | _CONCEALED):
        _close_block(sheet, tag)
    else:
        _close_formatting(sheet, tag, np.int32(key & np.uint64(0x3FFFFFFF)))
    return place
