"""International bank account numbers (ISO 13616): a country's length and structure, and the check modulo 97.

Letters are all upper-case or all lower-case; one kind of separator (a blank, hyphen or dot) may be between any two
characters, as in groups of four or in a country's own groups. One in 97 of other numbers with a country's letters,
length and structure would also match, but such numbers are rare.
"""

import re

from winnow.filters.language.kernels.spans import Texts
from winnow.filters.private.personal.candidates import DigitGroups
from winnow.filters.private.personal.detections import Detections
from winnow.filters.private.personal.matches import bytes_at, found_at_runs, is_apart

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

_DIGITS, _LETTERS = frozenset(b"0123456789"), frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_CLASSES = {"n": _DIGITS, "a": _LETTERS, "c": _DIGITS | _LETTERS}
_SIGNS = b" -."


def _iban_end(text: bytes, start: int) -> int:
    """The end of the account number that begins here with two letters and two digits; -1 if there is none."""
    written = text[start : start + 80]  # more than the longest has with its separators
    if written[:2].islower():
        written = written.swapcase()
    structure = STRUCTURES.get(written[:2].decode(), "")
    if not structure or not 2 <= int(written[2:4]) <= 98:
        return -1
    at, kept, signs = 4, bytearray(), set()
    for kind in structure:
        if at < len(written) and written[at] in _SIGNS:
            signs.add(written[at])
            at += 1
        if at >= len(written) or written[at] not in _CLASSES[kind]:
            return -1
        kept.append(written[at])
        at += 1
    number = int("".join(str(int(character, 36)) for character in (kept + written[:4]).decode()))
    return start + at if len(signs) < 2 and number % 97 == 1 and is_apart(text, start, start + at) else -1


def ibans(texts: Texts, groups: DigitGroups) -> Detections:
    """The bank account numbers of every (folded) text."""
    starts = groups.run_starts
    first, second = (bytes_at(texts, starts - before) for before in (2, 1))
    maybe = (groups.run_ends - starts >= 2) & (first & 32 == second & 32)
    for letter in (first | 32, second | 32):
        maybe &= (letter >= ord("a")) & (letter <= ord("z"))
    return found_at_runs("iban", texts, groups, maybe, 2, _iban_end)
