"""Names that the scan of a page knows (elements, attributes, their values, character references), as tables of hashes.

Names are hashed by FNV-1a over their lower-cased bytes. The tables are constants of the machine code.
"""

from enum import IntFlag
from html.entities import html5
from typing import Final

import numpy as np
import numpy.typing as npt

FNV_BASIS: Final = 0xCBF29CE484222325
FNV_PRIME: Final = 0x100000001B3


def hash_of(name: str | bytes) -> int:
    """FNV-1a of a name in lower case."""
    found = FNV_BASIS
    for byte in name.encode() if isinstance(name, str) else name:
        found = ((found ^ byte) * FNV_PRIME) & 0xFFFFFFFFFFFFFFFF
    return found


class Kind(IntFlag):
    """How an element is read."""

    BLOCK = 1  # begins and ends a block of text
    VOID = 2  # has no content
    RAW = 4  # its content is no markup and is not shown
    HIDDEN = 8  # its content is markup and is not shown
    ENDS_PARAGRAPH = 16
    BOUND = 32  # an end tag inside does not reach outside
    IN_HEAD = 64
    FOREIGN = 128  # has its own vocabulary, in which a tag may be empty
    TEXT = 256  # its content is no markup and is shown


_NAMES: Final[dict[Kind, str]] = {
    Kind.BLOCK: "noscript address article aside blockquote body center dd details dialog dir div dl dt fieldset"
    " figcaption figure footer form frameset h1 h2 h3 h4 h5 h6 header hgroup html legend li main menu nav ol option"
    " optgroup p pre search section select summary table caption tbody td tfoot th thead tr ul textarea hr",
    Kind.VOID: "area base basefont bgsound br col embed frame hr img input keygen link meta param source track wbr",
    Kind.RAW: "script style iframe xmp noembed noframes title",
    Kind.HIDDEN: "template object video audio canvas map head svg math rt rp",
    Kind.ENDS_PARAGRAPH: "address article aside blockquote center details dialog dir div dl fieldset figcaption figure"
    " footer form h1 h2 h3 h4 h5 h6 header hgroup hr main menu nav ol p pre search section summary table ul li dd dt",
    Kind.BOUND: "table td th caption template object applet marquee svg math foreignobject",
    Kind.IN_HEAD: "title meta link script style base template basefont bgsound noscript",
    Kind.FOREIGN: "svg math",
    Kind.TEXT: "textarea",
}

_OTHERS: Final = (
    "a b i u s em strong small big code kbd samp var cite q abbr sub sup del ins mark span font label button time tt"
    " picture ruby bdi bdo dfn data output progress meter annotation foreignobject strike nobr acronym html"
)

TAGS: Final = tuple(dict.fromkeys(" ".join([*_NAMES.values(), _OTHERS]).split()))
"""Every element that is known by name; the number of an element is its place here and one, 0 is any other."""

NUMBER: Final = {name: place for place, name in enumerate(TAGS, start=1)}

FLAGS: Final = np.zeros(len(TAGS) + 1, np.int64)
for _kind, _listed in _NAMES.items():
    for _name in _listed.split():
        FLAGS[NUMBER[_name]] |= int(_kind)

HEADING_LEVEL: Final = np.zeros(len(TAGS) + 1, np.int64)
for _level in range(1, 7):
    HEADING_LEVEL[NUMBER[f"h{_level}"]] = _level

MARKS: Final = (
    *("nav", "header", "footer", "aside", "main", "article", "form", "section", "table", "ul", "figure", "button"),
    *("dialog", "details", "noscript", "select", "pre", "blockquote", "dl", "heading"),
    *("r_nav", "r_banner", "r_footer", "r_aside", "r_main", "r_dialog", "r_search", "r_menu", "r_tab"),
    *("hidden", "aria_hidden", "body", "description", "name", "offer", "review"),
    *("t_article", "t_product", "t_comment", "t_person", "t_crumb", "t_other"),
)
"""What an element and those inside it may be marked as, by tag, role, `itemprop` and `itemtype`: bits of a mask."""

BIT: Final = {name: 1 << place for place, name in enumerate(MARKS)}

_BY_TAG = (
    {name: name for name in MARKS if name in NUMBER} | {"ol": "ul"} | {f"h{level}": "heading" for level in range(1, 7)}
)
TAG_MASK: Final = np.zeros(len(TAGS) + 1, np.int64)
for _name, _mark in _BY_TAG.items():
    TAG_MASK[NUMBER[_name]] = BIT[_mark]

_ROLES = {
    "navigation": "r_nav", "banner": "r_banner", "contentinfo": "r_footer", "complementary": "r_aside",
    "main": "r_main", "article": "article", "dialog": "r_dialog", "alertdialog": "r_dialog", "search": "r_search",
    "menu": "r_menu", "menubar": "r_menu", "menuitem": "r_menu", "tablist": "r_tab", "tab": "r_tab", "button": "button",
}  # fmt: skip
_PROPERTIES = {
    "articlebody": "body", "text": "body", "description": "description", "name": "name", "headline": "name",
    "price": "offer", "offers": "offer", "review": "review", "reviewbody": "review",
}  # fmt: skip


def _masks(marks: dict[str, str]) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]]:
    pairs = sorted((hash_of(name), BIT[mark]) for name, mark in marks.items())
    return np.array([key for key, _ in pairs], np.uint64), np.array([bit for _, bit in pairs], np.int64)


ROLE_KEYS, ROLE_BITS = _masks(_ROLES)
PROPERTY_KEYS, PROPERTY_BITS = _masks(_PROPERTIES)


def open_table(keys: list[int], least: int = 8) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int32]]:
    """An open hash table of keys: the key in each slot, 0 where there is none, and its place in the list."""
    size = max(least, 1 << (2 * len(keys)).bit_length())
    table, places = np.zeros(size, np.uint64), np.zeros(size, np.int32)
    for place, key in enumerate(keys):
        slot = (key ^ (key >> 29)) & (size - 1)
        while table[slot]:
            slot = (slot + 1) & (size - 1)
        table[slot], places[slot] = key, place
    return table, places


_ALIASES: Final = {"amp-img": "img", "image": "img"}
TAG_KEYS, _places = open_table([hash_of(name) for name in (*TAGS, *_ALIASES)])
TAG_NUMBERS: Final = np.array([*NUMBER.values(), *map(NUMBER.__getitem__, _ALIASES.values())], np.int32)[_places]

_ENDED = sorted(name for name in html5 if name.endswith(";"))
ENTITY_KEYS, ENTITY_PLACES = open_table([hash_of(name[:-1]) for name in _ENDED])
_PLAIN = sorted(name for name in html5 if not name.endswith(";"))  # those of old, which need no semicolon
PLAIN_KEYS, PLAIN_PLACES = open_table([hash_of(name) for name in _PLAIN])
LONGEST_ENTITY: Final = max(map(len, _ENDED))


def _code_points(names: list[str]) -> npt.NDArray[np.int32]:
    """The one or two code points that each name stands for, 0 for no second."""
    return np.array(
        [[ord(value[0]), ord(value[1]) if len(value) > 1 else 0] for value in map(html5.__getitem__, names)], np.int32
    )


ENTITY_POINTS: Final = _code_points(_ENDED)
PLAIN_POINTS: Final = _code_points(_PLAIN)
_WINDOWS = (
    *(
        0x20AC,
        0x81,
        0x201A,
        0x192,
        0x201E,
        0x2026,
        0x2020,
        0x2021,
        0x2C6,
        0x2030,
        0x160,
        0x2039,
        0x152,
        0x8D,
        0x17D,
        0x8F,
    ),
    *(
        0x90,
        0x2018,
        0x2019,
        0x201C,
        0x201D,
        0x2022,
        0x2013,
        0x2014,
        0x2DC,
        0x2122,
        0x161,
        0x203A,
        0x153,
        0x9D,
        0x17E,
        0x178,
    ),
)
WINDOWS_POINTS: Final = np.array(_WINDOWS, np.int32)  # what references to the controls 128–159 are read as
