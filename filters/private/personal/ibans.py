"""International bank account numbers (ISO 13616): a country's length and structure, and the check modulo 97.

Letters are all upper-case or all lower-case; one kind of separator (a blank, hyphen or dot) may be between any two
characters, as in groups of four or in a country's own groups. One in 97 of other numbers with a country's letters,
length and structure would also match, but such numbers are rare.
"""

import re

import numpy as np
import numpy.typing as npt

from winnow.filters.language.kernels.spans import Texts
from winnow.filters.private.personal.candidates import DigitGroups, glued_after, glued_before
from winnow.filters.private.personal.detections import FIRST_ROOM, Detections, roomier
from winnow.schemas.kernels import kernel, leaf

__all__ = ["STRUCTURES", "ibans"]

# The IBAN registry, release 101: what follows the check digits; n digits, a letters, c letters or digits.
_REGISTRY = """
AD8n12c AE19n AL8n16c AT16n AZ4a20c BA16n BE12n BG4a6n8c BH4a14c BI23n BR23n1a1c BY4c4n16c CH5n12c CR18n CY8n16c CZ20n
DE18n DJ23n DK14n DO4c20n EE16n EG25n ES20n FI14n FK2a12n FO14n FR10n11c2n GB4a14n GE2a16n GI4a15c GL14n GR7n16c GT24c
HN4a20n HR17n HU24n IE4a14n IL19n IQ4a15n IS22n IT1a10n12c JO4a4n18c KW4a22c KZ3n13c LB4n20c LC4a24c LI5n12c LT16n
LU3n13c LV4a13c LY21n MC10n11c2n MD20c ME18n MK3n10c2n MN16n MR23n MT4a5n18c MU4a19n3a NI4a20n NL4a10n NO11n OM3n16c
PK4a16c PL24n PS4a21c PT21n QA4a21c RO4a16c RS18n RU14n15c SA2n18c SC4a20n3a SD14n SE20n SI15n SK20n SM1a10n12c SO19n
ST21n SV4a20n TL19n TN20n TR6n16c UA6n19c VA18n VG4a16n XK16n YE4a4n18c
"""


def _expanded(structure: str) -> str:
    return "".join(kind * int(size) for size, kind in re.findall(r"([0-9]+)([nac])", structure))


STRUCTURES: dict[str, str] = {entry[:2]: _expanded(entry[2:]) for entry in _REGISTRY.split()}
"""The type of every character after the country's letters and check digits: `n`, `a` or `c`."""

_WIDTH = 32  # more than the longest structure


def _table() -> npt.NDArray[np.uint8]:
    """A table with a row per pair of letters: the structure, padded with zeros."""
    table = np.zeros((26 * 26, _WIDTH), np.uint8)
    for country, structure in STRUCTURES.items():
        row = 26 * (ord(country[0]) - 65) + ord(country[1]) - 65
        table[row, : len(structure)] = np.frombuffer(structure.encode(), np.uint8)
    return table


_TABLE = _table()

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]


@leaf  # type: ignore[untyped-decorator]
def _iban_end(text: Bytes, start: int, high: int, case: int, table: npt.NDArray[np.uint8]) -> int:
    """The end of the account number that begins here with two letters and two digits; -1 if there is none."""
    structure = table[26 * ((text[start] | 32) - 97) + (text[start + 1] | 32) - 97]
    check = 10 * (text[start + 2] - 48) + text[start + 3] - 48
    if structure[0] == 0 or not 2 <= check <= 98:
        return -1
    at, remainder, sign = start + 4, 0, np.uint8(0)
    for place in range(len(structure)):
        if structure[place] == 0:
            break
        if at < high and (text[at] == 32 or text[at] == 45 or text[at] == 46):
            if sign != 0 and text[at] != sign:
                return -1
            sign = text[at]
            at += 1
        if at >= high:
            return -1
        byte = text[at]
        at += 1
        if 48 <= byte <= 57:
            if structure[place] == 97:
                return -1
            remainder = (10 * remainder + byte - 48) % 97
        elif 65 <= byte ^ case <= 90 and structure[place] != 110:
            remainder = (100 * remainder + (byte ^ case) - 55) % 97
        else:
            return -1
    for place in range(start, start + 2):
        remainder = (100 * remainder + (text[place] ^ case) - 55) % 97
    return at if (100 * remainder + check) % 97 == 1 else -1


@kernel  # type: ignore[untyped-decorator]
def _ibans(text: Bytes, offsets: Ints, runs: Ints, starts: Ints, ends: Ints, table: npt.NDArray[np.uint8]) -> Ints:
    """The text, start and end of every account number."""
    spans, count = np.empty((FIRST_ROOM, 3), np.int64), 0
    for row in range(len(offsets) - 1):
        low, high = offsets[row], offsets[row + 1]
        for run in range(runs[row], runs[row + 1]):
            start = starts[run] - 2
            if start < low or ends[run] - starts[run] < 2:
                continue
            case = text[start] & np.uint8(32)
            if not (65 <= text[start] ^ case <= 90 and 65 <= text[start + 1] ^ case <= 90):
                continue
            if glued_before(text, low, start):
                continue
            end = _iban_end(text, start, high, case, table)
            if end < 0 or glued_after(text, end, high):
                continue
            if count == len(spans):
                spans = roomier(spans)
            spans[count] = (row, start, end)
            count += 1
            low = end
    return spans[:count].copy()


def ibans(texts: Texts, groups: DigitGroups) -> Detections:
    """The bank account numbers of every (folded) text."""
    spans = _ibans(texts.buffer, texts.offsets, groups.document_runs, groups.run_starts, groups.run_ends, _TABLE)
    return Detections("iban", spans[:, 0], spans[:, 1], spans[:, 2], np.ones(len(texts.offsets) - 1, np.bool_))
