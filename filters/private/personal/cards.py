"""Payment card numbers: right length, issuer's range, card-like grouping and a valid check digit.

A number is written without separators or in the groups that are printed on cards (4-4-4-4, 4-6-5, 4-6-4, 4-4-4-4-3),
with one blank, hyphen or dot between all of them. A tenth of all numbers have the right check digit (Luhn), so the
context must help: a number is not a card if a letter or underscore touches it; after `+`, `#`, `/`, `-`, `_` or a
decimal point, which introduce other numbers, or before a decimal point and digits; and in a row of more groups of the
same kind (a table). Ranges whose numbers would mostly be something else are left out: Visa with 13 digits (barcodes)
and with 19 in one piece, China UnionPay and Maestro with 17 and 18.
"""

import numpy as np
import numpy.typing as npt

from winnow.filters.language.kernels.spans import Texts
from winnow.filters.private.personal.candidates import DigitGroups, glued_after, glued_before
from winnow.filters.private.personal.detections import FIRST_ROOM, Detections, roomier
from winnow.schemas.kernels import kernel, leaf

__all__ = ["cards"]

_LEAST, _MOST = 14, 19


def _issuers() -> npt.NDArray[np.int64]:
    """Rows of a range's first and last six digits, and its lengths as a sum of powers of two."""
    ranges: tuple[tuple[str, str, tuple[int, ...]], ...] = (
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
    return np.array(
        [
            (int(first.ljust(6, "0")), int(last.ljust(6, "9")), sum(1 << length for length in lengths))
            for first, last, lengths in ranges
        ],
        np.int64,
    )


_ISSUERS = _issuers()

Bytes = npt.NDArray[np.uint8]
Ints = npt.NDArray[np.int64]


@leaf  # type: ignore[untyped-decorator]
def _is_issued(text: Bytes, starts: Ints, ends: Ints, first: int, last: int, issuers: Ints) -> bool:
    """Whether the digits of these runs have an issuer's range and length and a valid Luhn check digit."""
    length = 0
    for run in range(first, last):
        length += ends[run] - starts[run]
    if not _LEAST <= length <= _MOST:
        return False
    front, seen, total = 0, 0, 0
    for run in range(first, last):
        for at in range(starts[run], ends[run]):
            digit = text[at] - 48
            if seen < 6:
                front = 10 * front + digit
            seen += 1
            if (length - seen) % 2 == 1:
                digit = 2 * digit if digit < 5 else 2 * digit - 9
            total += digit
    if total % 10:
        return False
    for issuer in range(len(issuers)):
        if issuers[issuer, 0] <= front <= issuers[issuer, 1] and issuers[issuer, 2] >> length & 1:
            return last - first > 1 or length < _MOST or front // 100000 != 4
    return False


@leaf  # type: ignore[untyped-decorator]
def _joint(text: Bytes, starts: Ints, ends: Ints, run: int, low: int, high: int) -> int:
    """The single separator between this run and the text's next one; 0 if there is none or another."""
    if run + 1 >= high or run < low or starts[run + 1] != ends[run] + 1:
        return 0
    byte = text[ends[run]]
    return int(byte) if byte == 32 or byte == 45 or byte == 46 else 0


@leaf  # type: ignore[untyped-decorator]
def _last(text: Bytes, starts: Ints, ends: Ints, run: int, high: int, issuers: Ints) -> int:
    """The run after the card that begins with this one; -1 if there is none."""
    size = ends[run] - starts[run]
    if _LEAST <= size <= _MOST:
        return run + 1 if _is_issued(text, starts, ends, run, run + 1, issuers) else -1
    if size != 4:
        return -1
    sign = _joint(text, starts, ends, run, run, high)
    if sign == 0 or _joint(text, starts, ends, run + 1, run, high) != sign:
        return -1
    second, third = ends[run + 1] - starts[run + 1], ends[run + 2] - starts[run + 2]
    if second == 6:
        if (third == 5 or third == 4) and _is_issued(text, starts, ends, run, run + 3, issuers):
            return run + 3
        return -1
    if second != 4 or third != 4 or _joint(text, starts, ends, run + 2, run, high) != sign:
        return -1
    if ends[run + 3] - starts[run + 3] != 4:
        return -1
    more = _joint(text, starts, ends, run + 3, run, high) == sign and ends[run + 4] - starts[run + 4] == 3
    if more and _is_issued(text, starts, ends, run, run + 5, issuers):
        return run + 5
    return run + 4 if _is_issued(text, starts, ends, run, run + 4, issuers) else -1


@leaf  # type: ignore[untyped-decorator]
def _stands_alone(text: Bytes, low: int, high: int, start: int, end: int) -> bool:
    """Whether nothing next to the number makes it part of something else."""
    if glued_before(text, low, start) or glued_after(text, end, high):
        return False
    if start > low:
        byte = text[start - 1]
        if byte == 43 or byte == 35 or byte == 47 or byte == 45 or byte == 95:  # + # / - _
            return False
        if (byte == 46 or byte == 44) and start - 1 > low and 48 <= text[start - 2] <= 57:
            return False
    if end + 1 < high and (text[end] == 46 or text[end] == 44 or text[end] == 45 or text[end] == 47):
        return not (48 <= text[end + 1] <= 57 or (text[end] != 46 and glued_after(text, end + 1, high)))
    return True


@leaf  # type: ignore[untyped-decorator]
def _is_entry(text: Bytes, low: int, high: int, at: int, step: int, least: int) -> bool:
    """Whether a table entry of enough digits follows this position, forwards or backwards.

    Backwards it may also be hexadecimal; forwards that could be the start of an account number (`DE89`).
    """
    size, digits, plain = 0, 0, True
    while low <= at < high and size <= 8:
        byte = text[at]
        if 48 <= byte <= 57:
            digits += 1
        elif 97 <= byte | 32 <= 102:
            plain = False
        else:
            break
        size += 1
        at += step
    return digits >= least if plain else digits > 0 and size >= 4 and step < 0


@leaf  # type: ignore[untyped-decorator]
def _in_row(text: Bytes, starts: Ints, ends: Ints, first: int, last: int, low: int, high: int) -> bool:
    """Whether a number is part of a table: more entries next to it with the same separator, or groups in a row.

    After a card its month, year and code may follow: they have fewer digits, or a slash after them.
    """
    start, end, parts = starts[first], ends[last - 1], last - first
    sign = text[ends[first]] if parts > 1 else np.uint8(32)
    before = start > low and text[start - 1] == sign
    if before and (sign != 32 or _is_entry(text, low, high, start - 2, -1, 3 if parts > 1 else 8)):
        return True
    if end < high and text[end] == sign and _is_entry(text, low, high, end + 1, 1, 4 if parts > 1 else 8):
        return True
    near = parts == 4  # 5596 5597 5598 5599
    for run in range(first + 1, last):
        near = near and text[starts[run]] == text[start] and text[starts[run] + 1] == text[start + 1]
    return near


@kernel  # type: ignore[untyped-decorator]
def _cards(text: Bytes, offsets: Ints, runs: Ints, starts: Ints, ends: Ints, issuers: Ints) -> Ints:
    """The text, start and end of every card."""
    spans, count = np.empty((FIRST_ROOM, 3), np.int64), 0
    for row in range(len(offsets) - 1):
        low, high = runs[row], runs[row + 1]
        run = low
        while run < high:
            size = ends[run] - starts[run]
            last = _last(text, starts, ends, run, high, issuers) if size == 4 or size >= _LEAST else -1
            if last < 0 or _in_row(text, starts, ends, run, last, offsets[row], offsets[row + 1]):
                run += 1
                continue
            start, end = starts[run], ends[last - 1]
            if not _stands_alone(text, offsets[row], offsets[row + 1], start, end):
                run += 1
                continue
            if count == len(spans):
                spans = roomier(spans)
            spans[count] = (row, start, end)
            count += 1
            run = last
    return spans[:count].copy()


def cards(texts: Texts, groups: DigitGroups) -> Detections:
    """The payment cards of every (folded) text."""
    spans = _cards(texts.buffer, texts.offsets, groups.document_runs, groups.run_starts, groups.run_ends, _ISSUERS)
    return Detections("card", spans[:, 0], spans[:, 1], spans[:, 2], np.ones(len(texts.offsets) - 1, np.bool_))
