"""What is not written of a text that a page shows: signs that lead to a place on it, blanks at the edges of lines.

The scan leaves out what is never seen. This is seen, but says nothing: the ¶ behind a heading, a wiki's [edit] there,
the numbers beside the lines of a listing, the ideographic space that begins a paragraph in Chinese and Japanese, a
joiner between Latin letters.
"""

import re
from typing import Final

import numpy as np
import numpy.typing as npt

from winnow.filters.extraction.main_content.named_parts import EDITOR, LINE_NUMBERS
from winnow.filters.extraction.main_content.names import BIT, NUMBER
from winnow.filters.extraction.main_content.scan import Page

_A: Final = NUMBER["a"]
_SIGNS: Final = ("¶".encode(), b"#", "🔗".encode(), "§".encode())
_OF_HEADINGS: Final = "§".encode()  # elsewhere it is of a law
_MOST_BYTES: Final = 1 + max(map(len, _SIGNS))  # with a space
_GONE: Final = b"\x7f"  # which the scan leaves out
_MOST_OF_AN_EDITOR: Final = 200  # bytes
_ARE_NUMBERS = re.compile(rb"[\s\d]*")
_FRAGMENT: Final = ord("#")
_BLANKS: Final = " \t\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
_SUSPECTS = re.compile(rb"\x7f|\xe1\x9a\x80|\xe2\x80[\x80-\x8d\xaf]|\xe2\x81\x9f|\xe3\x80\x80")
_JOINS_NOTHING = re.compile(r"\x7f|(?<![^\x00-\x7f])[\u200c\u200d]+(?![^\x00-\x7f])")
_SPACES = re.compile(r" {2,}")


def shown_text(page: Page, names: npt.NDArray[np.uint8] | None = None) -> bytes:
    """The text of a page, in which signs that are a link to a place on the page are marked to go.

    With the names of its elements (`named_parts`), so are what these call an editor or numbers of lines.
    """
    text = bytearray(page.text.tobytes())
    if names is not None:
        for element in np.flatnonzero(names & (EDITOR | LINE_NUMBERS)).tolist():
            begin, last = int(page.begins[element]), int(page.end_block[element]) - 1
            end = min(int(page.ends[element]), int(page.block_ends[last]))  # without white space that was cut off
            if names[element] & EDITOR:
                is_none = end - begin <= _MOST_OF_AN_EDITOR
            else:
                is_none = _is_code(page, element) and _ARE_NUMBERS.fullmatch(text, begin, end) is not None
            if is_none:
                text[begin:end] = _GONE * (end - begin)
    small = (page.tag == _A) & (page.target[0] >= 0) & (page.ends > page.begins)
    for element in np.flatnonzero(small & (page.ends <= page.begins + _MOST_BYTES)).tolist():
        begin, end, target = int(page.begins[element]), int(page.ends[element]), int(page.target[0, element])
        sign = text[begin:end].strip()
        if sign == _OF_HEADINGS and not page.mask[element] & BIT["heading"]:
            continue
        if page.source[target] == _FRAGMENT and sign in _SIGNS:
            text[begin:end] = _GONE * (end - begin)
    return bytes(text)


def seen_blocks(page: Page, shown: bytes, kept: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """These blocks without those of which nothing is left in a page's `shown_text`."""
    found = kept.copy()
    for block in np.flatnonzero(kept & (np.frombuffer(shown, np.uint8)[page.block_begins] == _GONE[0])).tolist():
        found[block] = bool(without_gone(shown[page.block_begins[block] : page.block_ends[block]]).strip())
    return found


def without_gone(text: bytes) -> bytes:
    """A part of such a text without what is marked to go; a listing is not tidied further."""
    return text.replace(_GONE, b"")


def _is_code(page: Page, element: int) -> bool:
    """Whether an element is in a listing or has one."""
    owner = int(page.block_element[page.first_block[element]])
    return bool((page.mask[element] | (page.mask[owner] if owner >= 0 else 0)) & BIT["pre"])


def is_tidy(text: bytes) -> bool:
    """Whether there is none of this in a text."""
    return _SUSPECTS.search(text) is None


def tidy(text: bytes, *, opens: bool = True, closes: bool = True) -> bytes:
    """A part of such a text without these. Its outer edges are those of lines where it opens and closes a block."""
    if is_tidy(text):
        return text
    left = _SPACES.sub(" ", _JOINS_NOTHING.sub("", text.decode("utf-8", "replace")))
    lines = left.split("\n")
    last = len(lines) - 1
    for place, line in enumerate(lines):
        line = line.lstrip(_BLANKS) if place or opens else line
        lines[place] = line.rstrip(_BLANKS) if place < last or closes else line
    return "\n".join(lines).encode()
