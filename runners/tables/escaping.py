"""Makes crawled text safe to print: escapes characters that move the cursor, reorder a line or are invisible.

Controls (and with them every ANSI sequence), bidirectional overrides, invisible characters, lone surrogates and
unassigned noncharacters become `\\x1b` or `\\u202e`. Letters, marks and joiners of every script stay.
"""

import re
import unicodedata

from rich.cells import cell_len, set_cell_size

SHOWN_AS_CODE = re.compile(
    "["
    "\x00-\x1f\x7f-\x9f"  # C0 and C1 controls
    "\xad\u061c\u180e\u200b\u200e\u200f"  # soft hyphen, zero-width space, direction marks
    "\u2028-\u202e\u2060-\u206f"  # line separators, bidirectional embeddings, overrides and isolates
    "\ufdd0-\ufdef\ufeff\ufff0-\ufffb\ufffe\uffff"  # byte order mark, interlinear marks, noncharacters
    "\ud800-\udfff"  # surrogates
    "\U000e0000-\U000e0fff"  # tags
    "]"
)
MAX_MARKS = 8
"""Combining marks that one letter may carry; more would paint over the lines above and below."""


def code(character: str) -> str:
    """The character as an escape: `\\x1b`, `\\u202e`, `\\U000e0041`."""
    point = ord(character)
    if point < 0x100:
        return f"\\x{point:02x}"
    return f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"


def visible(text: str, keep: str = "") -> str:
    """The text with every unprintable character escaped, except those in `keep`."""
    shown = SHOWN_AS_CODE.sub(lambda found: found[0] if found[0] in keep else code(found[0]), text)
    return shown if shown.isascii() else _thin_marks(shown)


def _thin_marks(text: str) -> str:
    kept: list[str] = []
    run = 0
    for character in text:  # what is shown is short, so this loop is not hot
        run = run + 1 if unicodedata.category(character) in ("Mn", "Me") else 0
        if run <= MAX_MARKS:
            kept.append(character)
    return "".join(kept)


def cells(text: str) -> int:
    """The width of the text in terminal columns, by one version of Unicode on every machine."""
    return cell_len(text, "latest")


def shortened(text: str, width: int) -> str:
    """The text shortened to at most this many columns, with an ellipsis."""
    if cells(text) <= width:
        return text
    return f"{set_cell_size(text, width - 1, 'latest').rstrip()}…"
