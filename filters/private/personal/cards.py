"""Payment card numbers: right length, issuer's range, card-like grouping and a valid check digit.

A number is written without separators or in the groups that are printed on cards (4-4-4-4, 4-6-5, 4-6-4, 4-4-4-4-3),
with one blank, hyphen or dot between all of them. A tenth of all numbers have the right check digit (Luhn), so the
context must help: a number is not a card if a letter or underscore touches it; after `+`, `#`, `/`, `-`, `_` or a
decimal point, which introduce other numbers, or before a decimal point and digits; and in a row of more groups of the
same kind (a table). Ranges whose numbers would mostly be something else are left out: Visa with 13 digits (barcodes)
and with 19 in one piece, China UnionPay and Maestro with 17 and 18.
"""

import re
from typing import Final

from winnow.filters.language.kernels.spans import Texts
from winnow.filters.private.personal.candidates import DigitGroups
from winnow.filters.private.personal.detections import Detections
from winnow.filters.private.personal.matches import found_at_runs, is_apart, is_glued

_LEAST, _MOST = 14, 19  # digits

_RANGES: Final[tuple[tuple[str, str, tuple[int, ...]], ...]] = (
    ("4", "4", (16, 19)),  # Visa
    ("51", "55", (16,)),  # Mastercard
    ("2221", "2720", (16,)),
    ("34", "34", (15,)),  # American Express
    ("37", "37", (15,)),
    ("300", "305", (14, 16)),  # Diners Club
    ("3095", "3095", (14, 16)),
    ("36", "36", (14, 16)),
    ("38", "39", (14, 16)),
    ("6011", "6011", (16, 19)),  # Discover
    ("644", "649", (16, 19)),
    ("65", "65", (16, 19)),  # and RuPay, Troy
    ("3528", "3589", (16, 19)),  # JCB
    ("62", "62", (16, 19)),  # China UnionPay
    ("8100", "8171", (16, 19)),  # its newer range, and RuPay
    ("5018", "5018", (16, 18, 19)),  # Maestro
    ("5020", "5020", (16, 18, 19)),
    ("5038", "5038", (16, 18, 19)),
    ("5893", "5893", (16, 18, 19)),
    ("6304", "6304", (16, 18, 19)),
    ("6759", "6759", (16, 18, 19)),
    ("6761", "6763", (16, 18, 19)),
    ("2200", "2204", (16,)),  # Mir
    ("508500", "508999", (16,)),  # RuPay
    ("606985", "607984", (16,)),
    ("60", "60", (16,)),
    ("9792", "9792", (16,)),  # Troy
    ("8600", "8600", (16,)),  # Uzcard
    ("9860", "9860", (16,)),  # Humo
    ("5019", "5019", (16,)),  # Dankort
    ("506099", "506198", (16, 18, 19)),  # Verve
    ("507865", "507964", (16, 18, 19)),
    ("636368", "636368", (16,)),  # Elo
    ("438935", "438935", (16,)),
    ("504175", "504175", (16,)),
    ("451416", "451416", (16,)),
    ("636297", "636297", (16,)),
    ("606282", "606282", (16,)),  # Hipercard
    ("637", "639", (16,)),  # InstaPayment
)
_ISSUERS: Final = [(first.ljust(6, "0"), last.ljust(6, "9"), lengths) for first, last, lengths in _RANGES]

_RUN: Final = re.compile(rb"[0-9]+")
_ALONE: Final = re.compile(rb"[0-9]{14,19}(?![0-9])")
_SHAPES: Final = [  # those that begin with a run of four digits: the longest first
    re.compile(rb"[0-9]{4}(?P<sign>[ .-])%b(?![0-9])" % b"(?P=sign)".join(rb"[0-9]{%d}" % size for size in sizes))
    for sizes in ((6, 5), (6, 4), (4, 4, 4, 3), (4, 4, 4))
]
_ENTRY_BEFORE, _ENTRY_AFTER = re.compile(rb"[0-9A-Fa-f]{0,9}\Z"), re.compile(rb"[0-9A-Fa-f]{0,9}")
_OTHER_BEFORE: Final = re.compile(rb"[+#/_-]\Z|[0-9][.,]\Z")
_OTHER_AFTER: Final = re.compile(rb"[.,/-][0-9]")


def _is_issued(digits: str, parts: int) -> bool:
    """Whether digits, in so many groups, have an issuer's range and length and a valid Luhn check digit."""
    doubled = sum(sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2])
    if (doubled + sum(map(int, digits[-1::-2]))) % 10 or (parts == 1 and len(digits) == _MOST and digits[0] == "4"):
        return False
    return any(first <= digits[:6] <= last and len(digits) in lengths for first, last, lengths in _ISSUERS)


def _card(text: bytes, start: int) -> list[tuple[int, int]]:
    """The groups of the card that begins here with at least four digits; none if there is none."""
    if alone := _ALONE.match(text, start):
        return [alone.span()] if _is_issued(alone[0].decode(), 1) else []
    for shape in _SHAPES:
        found = shape.match(text, start)
        groups = [run.span() for run in _RUN.finditer(text, start, found.end())] if found else []
        if groups and _is_issued("".join(text[slice(*one)].decode() for one in groups), len(groups)):
            return groups
    return []


def _stands_alone(text: bytes, start: int, end: int) -> bool:
    """Whether nothing next to the number makes it part of something else."""
    if not is_apart(text, start, end) or _OTHER_BEFORE.search(text[max(0, start - 2) : start]):
        return False
    return not (
        _OTHER_AFTER.match(text, end) or (text[end : end + 1] in (b",", b"-", b"/") and is_glued(text, end + 1))
    )


def _is_entry(entry: bytes, least: int, backwards: bool) -> bool:
    """Whether this is a table entry of enough digits.

    Before a number it may also be hexadecimal; after one that could be the start of an account number (`DE89`).
    """
    if not entry or entry.isdigit():
        return len(entry) >= least
    return backwards and len(entry) >= 4 and any(48 <= byte <= 57 for byte in entry)


def _in_row(text: bytes, groups: list[tuple[int, int]]) -> bool:
    """Whether a number is part of a table: more entries next to it with the same separator, or groups in a row.

    After a card its month, year and code may follow: they have fewer digits, or a slash after them.
    """
    (start, first_end), end, parts = groups[0], groups[-1][1], len(groups)
    sign = text[first_end : first_end + 1] if parts > 1 else b" "
    if start and text[start - 1 : start] == sign:
        before = _ENTRY_BEFORE.search(text[max(0, start - 10) : start - 1])
        if sign != b" " or (before and _is_entry(before[0], 3 if parts > 1 else 8, True)):
            return True
    after = _ENTRY_AFTER.match(text, end + 1) if text[end : end + 1] == sign else None
    if after and _is_entry(after[0], 4 if parts > 1 else 8, False):
        return True
    return parts == 4 and len({text[one : one + 2] for one, _ in groups}) == 1  # 5596 5597 5598 5599


def _card_end(text: bytes, start: int) -> int:
    groups = _card(text, start)
    if groups and not _in_row(text, groups) and _stands_alone(text, start, groups[-1][1]):
        return groups[-1][1]
    return -1


def cards(texts: Texts, groups: DigitGroups) -> Detections:
    """The payment cards of every (folded) text."""
    sizes = groups.run_ends - groups.run_starts
    maybe = (sizes >= _LEAST) & (sizes <= _MOST)
    near = groups.run_starts[1:] == groups.run_ends[:-1] + 1
    maybe[:-2] |= (sizes[:-2] == 4) & near[:-1] & (sizes[1:-1] >= 4) & near[1:] & (sizes[2:] >= 4)
    return found_at_runs("card", texts, groups, maybe, 0, _card_end)
