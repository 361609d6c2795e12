"""Reads the attributes of a tag, and notes what they say the element is."""

import numpy as np

from winnow.filters.extraction.main_content.names import (
    BIT,
    FNV_BASIS,
    FNV_PRIME,
    NUMBER,
    PROPERTY_BITS,
    PROPERTY_KEYS,
    ROLE_BITS,
    ROLE_KEYS,
    hash_of,
)
from winnow.filters.extraction.main_content.sheet import (
    ATTRIBUTES_END,
    CLASS,
    CLASS_END,
    HREF,
    HREF_END,
    ID,
    ID_END,
    JSON_LD,
    NAME,
    TAG,
    holds,
    is_space,
    lower,
    name_hash,
)
from winnow.schemas.kernels import kernel, leaf

_BASIS, _PRIME = np.uint64(FNV_BASIS), np.uint64(FNV_PRIME)
_CLASS, _ID, _ROLE, _STYLE, _HIDDEN_NAME, _ARIA, _PROP, _TYPE, _SCRIPT_TYPE, _HREF = (
    np.uint64(hash_of(name))
    for name in ("class", "id", "role", "style", "hidden", "aria-hidden", "itemprop", "itemtype", "type", "href")
)
_CONCEALED_BIT, _ARIA_BIT = BIT["hidden"], BIT["aria_hidden"]
_TYPES = tuple(
    (np.frombuffer(word, np.uint8), BIT[mark])
    for word, mark in (
        (b"article", "t_article"), (b"posting", "t_article"), (b"product", "t_product"), (b"comment", "t_comment"),
        (b"answer", "t_comment"), (b"review", "t_comment"), (b"person", "t_person"), (b"organization", "t_person"),
        (b"crumb", "t_crumb"),
    )
)  # fmt: skip
_TYPE_WORDS = np.concatenate([word for word, _ in _TYPES])
_TYPE_ENDS = np.cumsum([len(word) for word, _ in _TYPES])
_TYPE_BITS = np.array([bit for _, bit in _TYPES], np.int64)
_OTHER_TYPE = BIT["t_other"]
_DISPLAY = np.frombuffer(b"display", np.uint8)
_NONE = np.frombuffer(b"none", np.uint8)
_LD_JSON = np.frombuffer(b"ld+json", np.uint8)
_TRUE = np.frombuffer(b"true", np.uint8)
_SCRIPT = NUMBER["script"]
_GT, _SLASH, _EQUALS = 62, 47, 61


@leaf
def _is_none_displayed(source, at, end):  # type: ignore[no-untyped-def]
    """Whether a style says `display: none`."""
    place = holds(source, at, end, _DISPLAY)
    while place >= 0:
        place += len(_DISPLAY)
        while place < end and is_space(source[place]):
            place += 1
        if place < end and source[place] == 58:
            place += 1
            while place < end and is_space(source[place]):
                place += 1
            if holds(source, place, min(end, place + 4), _NONE) == place:
                return True
        place = holds(source, place, end, _DISPLAY)
    return False


@leaf
def _type_bit(source, at, end):  # type: ignore[no-untyped-def]
    begin = 0
    for which in range(len(_TYPE_ENDS)):
        if holds(source, at, end, _TYPE_WORDS[begin : _TYPE_ENDS[which]]) >= 0:
            return _TYPE_BITS[which]
        begin = _TYPE_ENDS[which]
    return _OTHER_TYPE


@leaf
def _bit_of(keys, bits, key):  # type: ignore[no-untyped-def]
    for place in range(len(keys)):
        if keys[place] == key:
            return bits[place]
    return 0


@leaf
def _value(source, at, end):  # type: ignore[no-untyped-def]
    """The value of an attribute after its name: where it begins and ends, and where the attribute ends."""
    place = at
    while place < end and is_space(source[place]):
        place += 1
    if place >= end or source[place] != _EQUALS:
        return at, at, at
    place += 1
    while place < end and is_space(source[place]):
        place += 1
    if place < end and source[place] in (34, 39):
        quote = source[place]
        begin = place + 1
        place = begin
        while place < end and source[place] != quote:
            place += 1
        return begin, place, min(place + 1, end)
    begin = place
    while place < end and not is_space(source[place]) and source[place] != _GT:
        place += 1
    return begin, place, place


@leaf
def _note(sheet, element, key, begin, end):  # type: ignore[no-untyped-def]
    """Note an attribute that says what an element is."""
    source = sheet.source
    if key == _CLASS:
        if sheet.elements[CLASS, element] < 0:
            sheet.elements[CLASS, element], sheet.elements[CLASS_END, element] = begin, end
    elif key == _ID:
        if sheet.elements[ID, element] < 0:
            sheet.elements[ID, element], sheet.elements[ID_END, element] = begin, end
    elif key == _HREF:
        if sheet.elements[HREF, element] < 0:
            sheet.elements[HREF, element], sheet.elements[HREF_END, element] = begin, end
    elif key == _STYLE:
        if _is_none_displayed(source, begin, end):
            sheet.masks[element] |= _CONCEALED_BIT
    elif key == _HIDDEN_NAME:
        sheet.masks[element] |= _CONCEALED_BIT
    elif key == _ROLE:
        sheet.masks[element] |= _bit_of(ROLE_KEYS, ROLE_BITS, name_hash(source, begin, end))
    elif key == _ARIA:
        if holds(source, begin, end, _TRUE) == begin:
            sheet.masks[element] |= _ARIA_BIT
    elif key == _PROP:
        sheet.masks[element] |= _bit_of(PROPERTY_KEYS, PROPERTY_BITS, name_hash(source, begin, end))
    elif key == _TYPE:
        sheet.masks[element] |= _type_bit(source, begin, end)
    elif key == _SCRIPT_TYPE and sheet.elements[TAG, element] == _SCRIPT and holds(source, begin, end, _LD_JSON) >= 0:
        sheet.elements[NAME, element] = JSON_LD


@leaf
def _next(source, at, end):  # type: ignore[no-untyped-def]
    """The next attribute of a tag: what its name hashes to, where its value begins and ends, and where it ends."""
    key, begin, place = _BASIS, at, at
    while place < end and (place == begin or source[place] != _EQUALS):
        byte = source[place]
        if is_space(byte) or byte in (_SLASH, _GT):
            break
        key = (key ^ np.uint64(lower(byte))) * _PRIME
        place += 1
    begin, value_end, after = _value(source, place, end)
    return key, begin, value_end, after, after > place


@leaf
def attributes(sheet, element, at, end):  # type: ignore[no-untyped-def]
    """Read the attributes of a tag; where it ends, negated if it says that it is empty."""
    source = sheet.source
    place, empty = at, False
    while place < end:
        byte = source[place]
        if byte == _GT:
            break
        if is_space(byte) or byte == _SLASH:
            empty = byte == _SLASH or (empty and is_space(byte))
            place += 1
            continue
        empty = False
        key, begin, value_end, place, _ = _next(source, place, end)
        _note(sheet, element, key, begin, value_end)
    sheet.elements[ATTRIBUTES_END, element] = place
    after = min(place + 1, end)
    return -after if empty else after


@kernel
def named_values(source, tags, keys):  # type: ignore[no-untyped-def]
    """The values of attributes with these names (at most 64), of tags [2, ] whose attributes stand there: rows of tag,
    name, begin and end. Of equal names the first with a value counts."""
    found = np.empty((tags.shape[1] * len(keys), 4), np.int32)
    count = 0
    for tag in range(tags.shape[1]):
        place, end = tags[0, tag], tags[1, tag]
        seen = np.uint64(0)
        while place < end:
            if is_space(source[place]) or source[place] == _SLASH:
                place += 1
                continue
            key, begin, value_end, place, has_value = _next(source, place, end)
            if has_value:
                for name in range(len(keys)):
                    bit = np.uint64(1) << np.uint64(name)
                    if keys[name] == key and not seen & bit:
                        seen |= bit
                        found[count, 0], found[count, 1], found[count, 2], found[count, 3] = tag, name, begin, value_end
                        count += 1
    return found[:count]
