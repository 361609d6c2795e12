"""Detectors of what few texts have and what has digits: numpy finds where it may be, Python looks there.

Of a thousand runs of digits a few may belong to an account number, a card, an address or a wallet.
"""

import re
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from winnow.filters.language.kernels.spans import Texts
from winnow.filters.private.personal.candidates import DigitGroups
from winnow.filters.private.personal.detections import Detections

_LETTER = (  # of two bytes, in scripts with spaces: as in `candidates`
    rb"\xc2[\xaa\xb5\xba]|\xc3[^\x97\xb7]|[\xc4-\xcc\xcf-\xd4][\x80-\xbf]|\xcd[^\xbe]|\xce[^\x87]|\xd5[^\x9a-\x9f]"
    rb"|\xd6[^\x89\x8a]"
)
_AFTER_NO_WORD = re.compile(rb"(?<![0-9A-Za-z_])(?<!%b)" % _LETTER)
_BEFORE_NO_WORD = re.compile(rb"(?![0-9A-Za-z_]|%b)" % _LETTER)


def is_glued(text: bytes, at: int) -> bool:
    """Whether a letter, digit or underscore of a word is at this position."""
    return _BEFORE_NO_WORD.match(text, at) is None


def is_led(text: bytes, at: int) -> bool:
    """Whether a letter, digit or underscore of a word directly precedes this position."""
    return _AFTER_NO_WORD.match(text, at) is None


def is_apart(text: bytes, start: int, end: int) -> bool:
    """Whether no letter, digit or underscore of a word is directly before or after."""
    return not is_led(text, start) and not is_glued(text, end)


def bytes_at(texts: Texts, places: npt.NDArray[np.int64]) -> npt.NDArray[np.uint8]:
    """The bytes at these places; those of other places where they are beyond the ends."""
    return texts.buffer.take(places, mode="clip") if len(texts.buffer) else np.zeros(len(places), np.uint8)


def found_at_runs(
    kind: str,
    texts: Texts,
    groups: DigitGroups,
    maybe: npt.NDArray[np.bool_],
    before: npt.NDArray[np.int64] | int,
    find: Callable[[bytes, int], int],
) -> Detections:
    """Spans that begin at runs of digits, or so many bytes before, and do not overlap.

    Args:
        kind: Their name.
        texts: Folded texts.
        groups: Their digits.
        maybe: The runs that are looked at.
        before: How many bytes before each of all runs a span may begin.
        find: Gives the end of the span that begins at a place of a text; -1 where there is none.
    """
    runs = np.flatnonzero(maybe)
    rows = np.searchsorted(groups.document_runs, runs, side="right") - 1
    places = (groups.run_starts - before)[runs] - texts.offsets[rows]
    found, last, behind, text = [], -1, 0, b""
    for row, start in zip(rows.tolist(), places.tolist(), strict=True):
        if row != last:
            low, high = texts.offsets[row : row + 2].tolist()
            text, behind, last = texts.buffer[low:high].tobytes(), 0, row
        if start >= behind and (end := find(text, start)) > 0:
            found.append((row, low + start, low + end))
            behind = end
    spans = np.array(found, np.int64).reshape(-1, 3)
    return Detections(kind, spans[:, 0], spans[:, 1], spans[:, 2], np.ones(len(texts.offsets) - 1, np.bool_))
