"""What is not written of a text that a page shows: signs that lead to a place on it, blanks at the edges of lines.

The scan leaves out what is never seen. This is seen, but says nothing: the ¶ behind a heading, the ideographic space
that begins a paragraph in Chinese and Japanese, a joiner between Latin letters.
"""

import re
from typing import Final

import numpy as np

from winnow.filters.extraction.main_content.names import BIT, NUMBER
from winnow.filters.extraction.main_content.scan import Page

_A: Final = NUMBER["a"]
_SIGNS: Final = ("¶".encode(), b"#", "🔗".encode(), "§".encode())
_OF_HEADINGS: Final = "§".encode()  # elsewhere it is of a law
_MOST_BYTES: Final = 1 + max(map(len, _SIGNS))  # with a space
_GONE: Final = b"\x7f"  # which the scan leaves out
_FRAGMENT: Final = ord("#")
_BLANKS: Final = " \t\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
_SUSPECTS = re.compile(rb"\x7f|\xe1\x9a\x80|\xe2\x80[\x80-\x8d\xaf]|\xe2\x81\x9f|\xe3\x80\x80")
_JOINS_NOTHING = re.compile(r"\x7f|(?<![^\x00-\x7f])[\u200c\u200d]+(?![^\x00-\x7f])")
_SPACES = re.compile(r" {2,}")


def shown_text(page: Page) -> bytes:
    """The text of a page, in which signs that are a link to a place on the page are marked to go."""
    text = bytearray(page.text.tobytes())
    small = (page.tag == _A) & (page.target[0] >= 0) & (page.ends > page.begins)
    for element in np.flatnonzero(small & (page.ends <= page.begins + _MOST_BYTES)).tolist():
        begin, end, target = int(page.begins[element]), int(page.ends[element]), int(page.target[0, element])
        sign = text[begin:end].strip()
        if sign == _OF_HEADINGS and not page.mask[element] & BIT["heading"]:
            continue
        if page.source[target] == _FRAGMENT and sign in _SIGNS:
            text[begin:end] = _GONE * (end - begin)
    return bytes(text)


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
